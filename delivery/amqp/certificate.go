package amqp

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"

	"schakel/delivery/amqp/certs"
	"schakel/delivery/amqp/cms"
	"schakel/store"
)

// errNoCertificate says that nobody registered a certificate for the purpose.
var errNoCertificate = errors.New("no certificate is registered for this")

// withFresh does something with the certificates of a counterpart. When it fails for a reason that fresh ones may cure, the
// cache is invalidated, the address registry asked, and it is done once more (AMQP-62, AMQP-63).
func (b *Bridge) withFresh(ctx context.Context, partyID string, do func(p *party) error) error {
	p := b.dir.Load().parties[partyID]
	if p == nil {
		return errNoCertificate
	}
	err := do(p)
	if err == nil || !curable(err) {
		return err
	}
	if refreshed := b.cfg.Refresh(ctx, partyID); refreshed != nil {
		b.cfg.Log.WarnContext(ctx, "the address registry could not be asked", "party", partyID, "error", refreshed)
		return err
	}
	if loaded := b.load(ctx); loaded != nil {
		return loaded
	}
	if p = b.dir.Load().parties[partyID]; p == nil {
		return err
	}
	return do(p)
}

// curable tells whether fresh certificates may help. That nobody can be asked now is no such thing (AMQP-61), nor is what
// the message itself has wrong.
func curable(err error) bool {
	switch certs.KindOf(err) {
	case certs.Expired, certs.NotYetValid, certs.WrongUsage, certs.Revoked, certs.Untrusted:
		return true
	}
	return errors.Is(err, cms.ErrOtherSigner) || errors.Is(err, errNoCertificate)
}

// valid gives the certificates of a party that may be used now, the newest first; when there is none, why not the newest.
func (b *Bridge) valid(ctx context.Context, p *party, purpose string) ([]*x509.Certificate, error) {
	use := certs.Sign
	if purpose == store.AMQPEncrypt {
		use = certs.Encrypt
	}
	var good []*x509.Certificate
	first := errNoCertificate
	for i, c := range p.of(purpose) {
		_, err := b.cfg.Check(ctx, c.leaf, c.chain, use)
		switch {
		case err == nil:
			good = append(good, c.leaf)
		case certs.KindOf(err) == certs.Unavailable:
			return nil, err
		case i == 0:
			first = err
		}
	}
	if len(good) == 0 {
		return nil, first
	}
	return good, nil
}

// signer gives the newest certificate of an own party that may sign now, with its key (AMQP-69, AMQP-72).
func (b *Bridge) signer(ctx context.Context, own *party) (cms.Identity, error) {
	first := errNoCertificate
	for _, k := range own.keys {
		if k.Purpose != store.AMQPSign {
			continue
		}
		_, err := b.cfg.Check(ctx, k.Certificate, k.Chain, certs.Sign)
		if err == nil {
			return k.Identity, nil
		}
		if errors.Is(first, errNoCertificate) {
			first = err
		}
	}
	return cms.Identity{}, fmt.Errorf("own certificate to sign with: %w", first)
}

// seal signs a document for an own party and encrypts it for a counterpart (AMQP-67).
func (b *Bridge) seal(ctx context.Context, own, to *party, document []byte) ([]byte, error) {
	signer, err := b.signer(ctx, own)
	if err != nil {
		return nil, err
	}
	var sealed []byte
	err = b.withFresh(ctx, to.ID, func(p *party) error {
		list, err := b.valid(ctx, p, store.AMQPEncrypt)
		if err != nil {
			return fmt.Errorf("certificate of %s to encrypt with: %w", p.Name, err)
		}
		sealed, err = cms.Seal(document, signer, list[0])
		return err
	})
	return sealed, err
}

// unseal decrypts with any of our keys, old or new (AMQP-64), and verifies against the registered certificates of the sender.
// The errors are those of cms and certs, or one of ours that says nothing of the message.
func (b *Bridge) unseal(ctx context.Context, own, from *party, body []byte) ([]byte, error) {
	var ours []cms.Identity
	for _, k := range own.keys {
		if k.Purpose == store.AMQPEncrypt {
			ours = append(ours, k.Identity)
		}
	}
	if len(ours) == 0 {
		return nil, fmt.Errorf("own certificate to decrypt with: %w", errOurs)
	}
	var document []byte
	err := b.withFresh(ctx, from.ID, func(p *party) error {
		want, err := b.valid(ctx, p, store.AMQPSign)
		if err != nil {
			return err
		}
		opened, err := cms.Unseal(body, ours, want)
		if err != nil {
			return b.blame(ctx, p, opened.Signer, err)
		}
		document = opened.Content
		return nil
	})
	return document, err
}

// blame names what is wrong with a signer that is registered but may not sign now: expired or revoked says more than that
// the signature is no good.
func (b *Bridge) blame(ctx context.Context, p *party, signer *x509.Certificate, err error) error {
	if signer == nil || !errors.Is(err, cms.ErrOtherSigner) {
		return err
	}
	for _, c := range p.of(store.AMQPSign) {
		if c.leaf.Equal(signer) {
			if _, why := b.cfg.Check(ctx, c.leaf, c.chain, certs.Sign); why != nil {
				return why
			}
		}
	}
	return err
}

// errOurs is a fault on our side: the sender is never told (AMQP-48).
var errOurs = errors.New("this Schakel is not set up for it")
