package registry

import (
	"context"
	"crypto"
	"crypto/x509"
	"errors"
	"fmt"

	"schakel/registry/token"
	"schakel/store"
)

// SigningKeys are the keys that sign our access tokens. The private parts are
// sealed by the vault.
type SigningKeys struct{ cfg Config }

var _ token.Keys = (*SigningKeys)(nil)

// SigningKeys implements token.Keys. It makes the first key when there is none.
func (s *SigningKeys) SigningKeys(ctx context.Context) ([]token.Key, error) {
	rows, err := s.cfg.DB.SigningKeys(ctx)
	if err == nil && len(rows) == 0 {
		if err = s.first(ctx); err == nil {
			rows, err = s.cfg.DB.SigningKeys(ctx)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read signing keys: %w", err)
	}
	keys := make([]token.Key, len(rows))
	for i, row := range rows {
		private, err := s.open(row)
		if err != nil {
			return nil, fmt.Errorf("signing key %s: %w", row.ID, err)
		}
		keys[i] = token.Key{
			KID: row.ID, Private: private, Alg: row.Algorithm, CreatedAt: row.CreatedAt.Time, RetiredAt: row.RetiredAt.Time,
		}
	}
	return keys, nil
}

// first makes a key unless another node did meanwhile. Two nodes may still make
// one each; both are published and either may sign.
func (s *SigningKeys) first(ctx context.Context) error {
	return s.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		rows, err := tx.SigningKeys(ctx)
		if err != nil || len(rows) > 0 {
			return err
		}
		return s.add(ctx, tx, SystemActor())
	})
}

// RotateSigningKey makes another key sign from now on. The old ones stay
// published until their last token has died.
func (s *SigningKeys) RotateSigningKey(ctx context.Context, actor Actor) error {
	if err := actor.requireAdministrator(); err != nil {
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

func (s *SigningKeys) add(ctx context.Context, tx *store.Tx, actor Actor) error {
	key, err := token.NewKey(tx.Now.Time)
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key.Private)
	if err != nil {
		return fmt.Errorf("write signing key: %w", err)
	}
	row := store.SigningKey{ID: key.KID, Algorithm: key.Alg, PrivateKey: s.cfg.Vault.Seal(keyPurpose(key.KID), der)}
	if err := tx.InsertSigningKey(ctx, &row); err != nil {
		return fmt.Errorf("add signing key: %w", err)
	}
	return record(ctx, tx, actor, ActionSigningKeyMade, object{kind: "signing-key", id: row.ID, name: row.ID}, nil)
}

func (s *SigningKeys) open(row store.SigningKey) (crypto.Signer, error) {
	der, err := s.cfg.Vault.Open(keyPurpose(row.ID), row.PrivateKey)
	if err != nil {
		return nil, err
	}
	key, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, fmt.Errorf("read signing key: %w", err)
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, errors.New("this kind of key cannot sign")
	}
	return signer, nil
}

// keyPurpose ties a sealed key to its id, so that two cannot be swapped.
func keyPurpose(kid string) string { return "signing-key:" + kid }
