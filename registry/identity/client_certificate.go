package identity

import (
	"context"
	"errors"
	"fmt"

	"schakel/registry"
	"schakel/registry/identity/token"
	"schakel/store"
	"schakel/templates/i18n"
)

// checkRegistered holds the certificates of keys that are registered (x5c in the JWK set) against the roots and the partner, as they are at each
// request for a token: who registers one that would be refused there is told now. It asks others whether one was revoked, so it is
// called outside transactions. Fields: jwks.
func (c *Clients) checkRegistered(ctx context.Context, owner store.Partner, in NewClient) error {
	if c.cfg.CheckChain == nil || in.AuthMethod != token.PrivateKeyJWT {
		return nil
	}
	client := token.Client{OIN: owner.OIN, CertificateSubject: in.CertificateSubject}
	for _, key := range token.KeysWithChains(in.JWKS) {
		err := c.cfg.CheckChain(ctx, key.Chain)
		if err == nil {
			err = client.CheckCertificate(key.Chain[0])
		}
		switch {
		case errors.Is(err, token.ErrRevocationUnknown):
			return registry.Invalid(registry.Problems{"jwks": i18n.M("identity.keys-certificate-unknown", key.Name)})
		case err != nil:
			return registry.Invalid(registry.Problems{"jwks": i18n.M("identity.keys-certificate", key.Name, err.Error())})
		}
	}
	return nil
}

// checkChanged is checkRegistered for other keys, or another subject, of a client than it has or asked for. What stays is not judged again: a certificate
// that has ended keeps nobody from another change.
func (c *Clients) checkChanged(ctx context.Context, scope registry.Scope, id string, in NewClient) error {
	client, err := c.Get(ctx, scope, id)
	if err != nil {
		return err
	}
	in = in.clean()
	for _, known := range []store.Client{client, AskedKeys(client)} {
		if in.JWKS == known.JWKS && in.CertificateSubject == known.CertificateSubject {
			return nil
		}
	}
	owner, err := c.cfg.DB.Partner(ctx, client.PartnerID)
	if err != nil {
		return fmt.Errorf("find partner of client: %w", err)
	}
	in.AuthMethod = client.AuthMethod
	return c.checkRegistered(ctx, owner, in)
}
