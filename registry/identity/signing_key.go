package identity

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"schakel/registry"
	"schakel/registry/identity/token"
	"schakel/store"
	"schakel/templates/i18n"
)

// SigningKeys are the keys that sign our access tokens. The private parts are sealed by the vault.
type SigningKeys struct{ cfg registry.Config }

// NewSigningKeys makes the service.
func NewSigningKeys(cfg registry.Config) *SigningKeys { return &SigningKeys{cfg} }

var _ token.Keys = (*SigningKeys)(nil)

// SigningKeys implements token.Keys. It makes a key when none can sign now: at the first start, and when the clock was ahead when the
// others were made, so that they start later.
func (s *SigningKeys) SigningKeys(ctx context.Context) ([]token.Key, error) {
	rows, err := s.cfg.DB.SigningKeys(ctx)
	if err == nil && !started(rows, s.cfg.Now()) {
		if err = s.first(ctx); err == nil {
			rows, err = s.cfg.DB.SigningKeys(ctx)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read signing keys: %w", err)
	}
	keys := make([]token.Key, len(rows))
	for i, row := range rows {
		private, err := s.cfg.Vault.OpenKey(keyPurpose(row.ID), row.PrivateKey)
		if err != nil {
			return nil, fmt.Errorf("signing key %s: %w", row.ID, err)
		}
		keys[i] = token.Key{
			KID: row.ID, Private: private, Alg: row.Algorithm, CreatedAt: row.CreatedAt.Time, RetiredAt: row.RetiredAt.Time,
		}
	}
	return keys, nil
}

// started reports whether one of the keys may sign now.
func started(rows []store.SigningKey, now time.Time) bool {
	return slices.ContainsFunc(rows, func(k store.SigningKey) bool {
		return !k.CreatedAt.After(now) && (k.RetiredAt.IsZero() || now.Before(k.RetiredAt.Time))
	})
}

// clockSkew bounds how far the clocks of nodes may be apart before somebody has to look at them.
const clockSkew = time.Minute

// ErrClockWasAhead: a signing key starts in the future.
var ErrClockWasAhead = errors.New("a signing key starts in the future: the clock was ahead when it was made, or is behind now")

// Check reports whether access tokens can be signed now. [ErrClockWasAhead] means that they can, but that the clock of this machine or
// of another node was wrong or is: tokens made meanwhile are refused until their time.
func (s *SigningKeys) Check(ctx context.Context) error {
	keys, err := s.SigningKeys(ctx)
	if err != nil {
		return err
	}
	planned, err := s.cfg.DB.Setting(ctx, plannedSetting)
	if err != nil {
		return err
	}
	for _, k := range keys {
		if ahead := k.CreatedAt.Sub(s.cfg.Now()); ahead > clockSkew && k.RetiredAt.IsZero() && (k.KID != planned || ahead > publishedAhead+clockSkew) {
			return fmt.Errorf("%w (key %s starts at %s); check the clock, then run: schakel client new-key",
				ErrClockWasAhead, k.KID, k.CreatedAt.UTC().Format(time.RFC3339))
		}
	}
	return nil
}

// first makes a key unless another node did meanwhile. Two nodes may still make one each; both are published and either may sign.
func (s *SigningKeys) first(ctx context.Context) error {
	return s.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		rows, err := tx.SigningKeys(ctx)
		if err != nil || started(rows, tx.Now.Time) {
			return err
		}
		_, err = s.add(ctx, tx, registry.SystemActor(), tx.Now)
		return err
	})
}

// RotateSigningKey makes another key sign from now on. The old ones stay published until their last token has died.
func (s *SigningKeys) RotateSigningKey(ctx context.Context, actor registry.Actor) error {
	if err := actor.RequireAdministrator(); err != nil {
		return err
	}
	return s.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		rows, err := tx.SigningKeys(ctx)
		if err != nil {
			return fmt.Errorf("read signing keys: %w", err)
		}
		_, err = s.replace(ctx, tx, actor, rows, tx.Now)
		return err
	})
}

// publishedAhead sets how long a key that is made by schedule is published before it signs: longer than others keep our key set, and
// plannedSetting names the last such key, whose start in the future is no fault of a clock.
const (
	publishedAhead = 24 * time.Hour
	plannedSetting = "signing-key.planned"
)

// RotateDue makes another key when the newest will have signed for so long within a day, of all nodes once. It is published now and signs a
// day later, and the old one signs until then. Administrators are mailed. 0 is never. It returns the id of the key that it made, if any.
func (s *SigningKeys) RotateDue(ctx context.Context, every time.Duration) (made string, err error) {
	if every <= 0 {
		return "", nil
	}
	err = s.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		rows, err := tx.SigningKeys(ctx)
		if err != nil || len(rows) == 0 || tx.Now.Before(rows[0].CreatedAt.Add(every-publishedAhead)) {
			return err
		}
		planned, err := tx.Setting(ctx, plannedSetting)
		if err != nil {
			return err
		}
		actor, start := registry.SystemActor(), store.At(tx.Now.Add(publishedAhead))
		kid, err := s.replace(ctx, tx, actor, rows, start)
		if err != nil {
			return err
		}
		if err := tx.SwapSetting(ctx, plannedSetting, planned, kid); err != nil {
			return err
		}
		made = kid
		return s.cfg.MailChange(ctx, tx, actor, "", i18n.M("identity.mail.signing-subject", start.Time), registry.ChangePages{Administrator: "/admin/installation"},
			[]registry.Change{registry.ChangeOf("identity.mail.signing-key", rows[0].ID, kid)})
	})
	if errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrNotFound) { // another node was faster
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("replace signing key: %w", err)
	}
	return made, nil
}

// replace makes a key that signs from a moment on, at which all others stop.
func (s *SigningKeys) replace(ctx context.Context, tx *store.Tx, actor registry.Actor, rows []store.SigningKey, start store.Time) (kid string, err error) {
	for _, row := range rows {
		if !row.RetiredAt.IsZero() && !row.RetiredAt.After(start.Time) {
			continue
		}
		if err := tx.RetireSigningKey(ctx, row.ID, start); err != nil {
			return "", fmt.Errorf("retire signing key: %w", err)
		}
	}
	return s.add(ctx, tx, actor, start)
}

func (s *SigningKeys) add(ctx context.Context, tx *store.Tx, actor registry.Actor, start store.Time) (kid string, err error) {
	key, err := token.NewKey(start.Time)
	if err != nil {
		return "", err
	}
	sealed, err := s.cfg.Vault.SealKey(keyPurpose(key.KID), key.Private)
	if err != nil {
		return "", err
	}
	row := store.SigningKey{ID: key.KID, Algorithm: key.Alg, PrivateKey: sealed, CreatedAt: start}
	if err := tx.InsertSigningKey(ctx, &row); err != nil {
		return "", fmt.Errorf("add signing key: %w", err)
	}
	var d registry.Details
	if start.After(tx.Now.Time) {
		d = registry.Details{"starts": start}
	}
	return row.ID, registry.Record(ctx, tx, actor, registry.ActionSigningKeyMade, registry.ObjectOf("signing-key", row.ID, row.ID, ""), d)
}

// keyPurpose ties a sealed key to its id, so that two cannot be swapped.
func keyPurpose(kid string) string { return "signing-key:" + kid }
