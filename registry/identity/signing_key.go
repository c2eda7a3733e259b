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
	for _, k := range keys {
		if ahead := k.CreatedAt.Sub(s.cfg.Now()); ahead > clockSkew && k.RetiredAt.IsZero() {
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
		return s.add(ctx, tx, registry.SystemActor())
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
		for _, row := range rows {
			if !row.RetiredAt.IsZero() {
				continue
			}
			if err := tx.RetireSigningKey(ctx, row.ID); err != nil {
				return fmt.Errorf("retire signing key: %w", err)
			}
		}
		return s.add(ctx, tx, actor)
	})
}

func (s *SigningKeys) add(ctx context.Context, tx *store.Tx, actor registry.Actor) error {
	key, err := token.NewKey(tx.Now.Time)
	if err != nil {
		return err
	}
	sealed, err := s.cfg.Vault.SealKey(keyPurpose(key.KID), key.Private)
	if err != nil {
		return err
	}
	row := store.SigningKey{ID: key.KID, Algorithm: key.Alg, PrivateKey: sealed}
	if err := tx.InsertSigningKey(ctx, &row); err != nil {
		return fmt.Errorf("add signing key: %w", err)
	}
	return registry.Record(ctx, tx, actor, registry.ActionSigningKeyMade, registry.ObjectOf("signing-key", row.ID, row.ID, ""), nil)
}

// keyPurpose ties a sealed key to its id, so that two cannot be swapped.
func keyPurpose(kid string) string { return "signing-key:" + kid }
