package identity

import (
	"context"
	"errors"
	"fmt"
	"time"

	"schakel/registry"
	"schakel/registry/identity/token"
	"schakel/store"
	"schakel/templates/i18n"
)

// ReadKeys are static tokens with which the pipelines of a partner read the contract register (EDU-06e, EDU-N06): a dependency
// updater sends one fixed bearer token and cannot ask for access tokens. A key reads what its partner may see of contracts, and
// nothing else.
type ReadKeys struct {
	cfg registry.Config
}

// NewReadKeys makes the service.
func NewReadKeys(cfg registry.Config) *ReadKeys { return &ReadKeys{cfg} }

// NewReadKey holds the input for a key.
type NewReadKey struct {
	Name    string
	Expires time.Time // zero: never
}

// maxReadKeyLife bounds how far away the end of a key may be.
const maxReadKeyLife = 5 * 366 * 24 * time.Hour

// hintLength counts the characters of a key that are stored to recognise it by.
const hintLength = 4

// Create makes a key. Plain is the key, shown this once. An administrator names the
// partner it is for, or none for the own organisation. Fields: name, expires.
func (k *ReadKeys) Create(ctx context.Context, actor registry.Actor, partnerID string, in NewReadKey) (key store.ReadKey, plain string, err error) {
	wrong := registry.Problems{}
	wrong.Add("name", registry.CheckName(in.Name, 2, 100))
	if now := k.cfg.Now(); !in.Expires.IsZero() && (in.Expires.Before(now) || in.Expires.After(now.Add(maxReadKeyLife))) {
		wrong.Add("expires", "identity.read-key-expires")
	}
	if err := wrong.Err(); err != nil {
		return key, "", err
	}
	err = k.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		owner, err := registry.OwnerFor(ctx, tx, actor, partnerID)
		if err != nil {
			return err
		}
		mine, err := tx.ReadKeys(ctx, owner.ID)
		if err != nil {
			return fmt.Errorf("count read keys: %w", err)
		}
		live := 0
		for _, other := range mine {
			if ReadKeyWorks(other, tx.Now.Time) {
				live++
			}
		}
		if err := registry.WithinMost(actor, "keys", live); err != nil {
			return err
		}
		key = store.ReadKey{PartnerID: owner.ID, Name: in.Name, ExpiresAt: store.At(in.Expires), CreatedBy: actor.Name}
		plain, key.SecretHash = token.NewReadKey()
		key.Hint = plain[len(plain)-hintLength:]
		if err := tx.InsertReadKey(ctx, &key); err != nil {
			return fmt.Errorf("add read key: %w", err)
		}
		if err := registry.Record(ctx, tx, actor, registry.ActionReadKeyCreated, readKeyObject(key), registry.Details{"expires": registry.FormatDay(key.ExpiresAt)}); err != nil {
			return err
		}
		pages := registry.ChangePages{Administrator: "/admin/partners/" + owner.ID + "/keys", Partner: registry.PartnerPath(owner) + "/keys"}
		if owner.Own {
			pages.Administrator = "/admin/own/keys"
		}
		return k.cfg.MailChange(ctx, tx, actor, owner.ID, i18n.M("identity.mail.read-key-subject", owner.Name), pages,
			[]registry.Change{registry.ChangeOf("identity.mail.part-read-key", "", key.Name)})
	})
	return key, plain, err
}

// List lists the keys of a partner, newest first, also those that ended. An
// administrator that names no partner gets the own organisation's.
func (k *ReadKeys) List(ctx context.Context, scope registry.Scope, partnerID string) ([]store.ReadKey, error) {
	id, ok := scope.Narrow(partnerID)
	if !ok {
		return nil, nil
	}
	owner, err := registry.PartnerOrOwn(ctx, &k.cfg.DB.Queries, id)
	if err != nil {
		return nil, registry.Found("partner", err)
	}
	rows, err := k.cfg.DB.ReadKeys(ctx, owner.ID)
	return rows, registry.Wrap("list read keys", err)
}

// Revoke ends a key for good, at once. Field: reason.
func (k *ReadKeys) Revoke(ctx context.Context, actor registry.Actor, id, reason string) error {
	if err := registry.CheckReason(reason, false); err != nil {
		return err
	}
	return k.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		key, err := tx.ReadKey(ctx, id)
		if err != nil {
			return registry.Found("key", err)
		}
		if err := registry.AllowChange(ctx, tx, actor, "key", key.PartnerID); err != nil {
			return err
		}
		err = tx.RevokeReadKey(ctx, id, reason)
		if errors.Is(err, store.ErrNotFound) {
			return registry.Conflict("identity.read-key-revoked")
		}
		if err != nil {
			return fmt.Errorf("revoke read key: %w", err)
		}
		return registry.Record(ctx, tx, actor, registry.ActionReadKeyRevoked, readKeyObject(key), registry.Details{"reason": reason})
	})
}

// touchEvery rounds the last use of a key, so that not every use writes.
const touchEvery = time.Hour

// Authenticate returns the owner of a key: the partner, which must be approved. A token that is unknown, revoked or over gives an
// *Error of CodeNotFound that says which.
func (k *ReadKeys) Authenticate(ctx context.Context, plain string) (store.ReadKey, store.Partner, error) {
	key, err := k.cfg.DB.ReadKeyBySecret(ctx, token.HashReadKey(plain))
	if err != nil {
		return key, store.Partner{}, registry.Found("key", err)
	}
	if !ReadKeyWorks(key, k.cfg.Now()) {
		return key, store.Partner{}, &registry.Error{Code: registry.CodeNotFound, Message: "identity.read-key-over"}
	}
	partner, err := k.cfg.DB.Partner(ctx, key.PartnerID)
	if err != nil {
		return key, partner, registry.Found("partner", err)
	}
	if partner.Status != store.PartnerApproved {
		return key, partner, &registry.Error{Code: registry.CodeNotFound, Message: "identity.read-key-partner"}
	}
	if k.cfg.Now().Sub(key.LastUsedAt.Time) > touchEvery {
		err = k.cfg.DB.Write(ctx, func(tx *store.Tx) error { return tx.TouchReadKey(ctx, key.ID) })
		if err != nil {
			return key, partner, fmt.Errorf("keep last use of key: %w", err)
		}
	}
	return key, partner, nil
}

// ReadKeyWorks reports whether a key can be used at a time.
func ReadKeyWorks(k store.ReadKey, now time.Time) bool {
	return k.RevokedAt.IsZero() && (k.ExpiresAt.IsZero() || now.Before(k.ExpiresAt.Time))
}

func readKeyObject(k store.ReadKey) registry.Object {
	return registry.ObjectOf("read-key", k.ID, k.Name, k.PartnerID)
}
