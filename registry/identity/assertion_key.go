package identity

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"time"

	"schakel/registry"
	"schakel/registry/identity/token"
	"schakel/store"
)

// longestWait bounds how long a key can be published before it signs.
const longestWait = 90 * 24 * time.Hour

// assertionPurpose ties a sealed key to its id, so that two cannot be swapped.
func assertionPurpose(kid string) string { return "assertion-key:" + kid }

// AssertionKeys lists the keys with a certificate that are published, the one that signs last first. Without any that is in use, those of access
// tokens sign.
func (s *SigningKeys) AssertionKeys(ctx context.Context) ([]token.CertifiedKey, error) {
	rows, err := s.cfg.DB.AssertionKeys(ctx)
	if err != nil {
		return nil, fmt.Errorf("read keys of assertions: %w", err)
	}
	var keys []token.CertifiedKey
	for _, row := range rows {
		k := token.CertifiedKey{KID: row.ID, Alg: row.Algorithm, StartsAt: row.StartsAt.Time, RetiredAt: row.RetiredAt.Time}
		if !k.Published(s.cfg.Now()) {
			continue
		}
		if k.Private, err = s.cfg.Vault.OpenKey(assertionPurpose(row.ID), row.PrivateKey); err != nil {
			return nil, fmt.Errorf("key of assertions %s: %w", row.ID, err)
		}
		for block, rest := pem.Decode([]byte(row.Certificate)); block != nil; block, rest = pem.Decode(rest) {
			c, err := x509.ParseCertificate(block.Bytes)
			if err != nil {
				return nil, fmt.Errorf("certificate of key %s: %w", row.ID, err)
			}
			k.Chain = append(k.Chain, c)
		}
		keys = append(keys, k)
	}
	return keys, nil
}

// AddAssertionKey adds a key with its certificate, which our key set publishes from now on and which signs our client assertions after a while.
// The key before signs until then, and stays published for some hours after. It returns its kid. Errors are for who runs the command.
func (s *SigningKeys) AddAssertionKey(ctx context.Context, actor registry.Actor, pair tls.Certificate, after time.Duration) (string, error) {
	if err := actor.RequireAdministrator(); err != nil {
		return "", err
	}
	chain, err := checkPair(pair, s.cfg.Now())
	if err != nil {
		return "", err
	}
	if after < 0 || after > longestWait {
		return "", fmt.Errorf("a key can wait for up to %d hours before it signs", int(longestWait/time.Hour))
	}
	private, _ := pair.PrivateKey.(crypto.Signer) // checkPair saw it
	kid, alg, err := token.NameKey(private.Public())
	if err != nil {
		return "", err
	}
	sealed, err := s.cfg.Vault.SealKey(assertionPurpose(kid), private)
	if err != nil {
		return "", err
	}
	row := store.AssertionKey{ID: kid, Algorithm: alg, PrivateKey: sealed, Certificate: writePEM(chain), NotAfter: store.At(chain[0].NotAfter)}
	err = s.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		row.StartsAt = store.At(tx.Now.Add(after))
		if row.StartsAt.Before(chain[0].NotBefore) {
			row.StartsAt = store.At(chain[0].NotBefore)
		}
		if err := tx.RetireAssertionKeys(ctx, row.StartsAt); err != nil {
			return fmt.Errorf("retire key of assertions: %w", err)
		}
		if err := tx.InsertAssertionKey(ctx, &row); err != nil {
			if errors.Is(err, store.ErrConflict) {
				return errors.New("this key is there already: a new certificate needs a new key")
			}
			return fmt.Errorf("add key of assertions: %w", err)
		}
		return registry.Record(ctx, tx, actor, registry.ActionSigningKeyMade, registry.ObjectOf("signing-key", kid, kid, ""), registry.Details{"certificate": chain[0].Subject.String()})
	})
	return kid, err
}

// DropAssertionKeys ends all keys with a certificate: those of access tokens sign our client assertions again.
func (s *SigningKeys) DropAssertionKeys(ctx context.Context, actor registry.Actor) error {
	if err := actor.RequireAdministrator(); err != nil {
		return err
	}
	return s.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		if err := tx.RetireAssertionKeys(ctx, tx.Now); err != nil {
			return fmt.Errorf("retire keys of assertions: %w", err)
		}
		return registry.Record(ctx, tx, actor, registry.ActionSigningKeyMade, registry.ObjectOf("signing-key", "", "", ""), registry.Details{"certificate": ""})
	})
}

// checkPair judges a certificate and its key for signatures that others check.
func checkPair(pair tls.Certificate, now time.Time) (chain []*x509.Certificate, err error) {
	for _, der := range pair.Certificate {
		c, err := x509.ParseCertificate(der)
		if err != nil {
			return nil, fmt.Errorf("read certificate: %w", err)
		}
		chain = append(chain, c)
	}
	if _, ok := pair.PrivateKey.(crypto.Signer); !ok || len(chain) == 0 {
		return nil, errors.New("a certificate and its private key are needed")
	}
	leaf := chain[0]
	switch key := leaf.PublicKey.(type) {
	case *ecdsa.PublicKey:
		if key.Curve != elliptic.P256() {
			return nil, errors.New("a key of ECDSA must be on P-256, for ES256")
		}
	case *rsa.PublicKey:
		if key.N.BitLen() < 2048 || key.N.BitLen() > 4096 {
			return nil, errors.New("a key of RSA must have 2048 to 4096 bits")
		}
	default:
		return nil, errors.New("the key must be ECDSA on P-256, or RSA")
	}
	switch {
	case leaf.IsCA:
		return nil, fmt.Errorf("%s is a certificate of an authority; the first in the file must be that of the key", leaf.Subject)
	case !now.Before(leaf.NotAfter):
		return nil, fmt.Errorf("the certificate of %s expired at %s", leaf.Subject, leaf.NotAfter.UTC().Format(time.RFC3339))
	case leaf.KeyUsage != 0 && leaf.KeyUsage&x509.KeyUsageDigitalSignature == 0:
		return nil, fmt.Errorf("the certificate of %s is not made for signatures (digitalSignature)", leaf.Subject)
	}
	return chain, nil
}

func writePEM(chain []*x509.Certificate) string {
	var text strings.Builder
	for _, c := range chain {
		_ = pem.Encode(&text, &pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}) // to memory
	}
	return text.String()
}
