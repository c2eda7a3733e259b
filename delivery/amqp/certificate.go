package amqp

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"

	"schakel/delivery/amqp/certs"
	"schakel/delivery/amqp/cms"
	"schakel/registry/sorted"
	"schakel/store"
)

// errNoCertificate reports that nobody registered a certificate for the purpose.
var errNoCertificate = errors.New("no certificate is registered for this")

// withFresh does something with the certificates of a party. When it fails for a reason that fresh ones may cure, the
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

// curable reports whether fresh certificates may help. They do not when no registry can be asked now (AMQP-61), nor against
// a fault of the message itself.
func curable(err error) bool {
	switch certs.KindOf(err) {
	case certs.Expired, certs.NotYetValid, certs.WrongUsage, certs.Revoked, certs.Untrusted:
		return true
	}
	return errors.Is(err, cms.ErrOtherSigner) || errors.Is(err, errNoCertificate)
}

// verdicts holds the results of the checks of several certificates, each by itself, in their order.
type verdicts struct {
	good    []*x509.Certificate
	waiting map[string]error // why nobody can be asked about one now, by its DER
	later   []*x509.Certificate
	first   error // why the first one is no good
}

// verdicts looks at every certificate of a party for a purpose, the newest first: what is wrong with one says nothing of the
// others.
func (b *Bridge) verdicts(ctx context.Context, p *party, purpose string) verdicts {
	use := certs.Sign
	if purpose == store.AMQPEncrypt {
		use = certs.Encrypt
	}
	v := verdicts{waiting: map[string]error{}, first: errNoCertificate}
	for i, c := range p.of(purpose) {
		_, err := b.cfg.Check(ctx, c.leaf, c.chain, use)
		switch {
		case err == nil:
			v.good = append(v.good, c.leaf)
		case unavailable(err):
			v.later = append(v.later, c.leaf)
			v.waiting[string(c.leaf.Raw)] = err
		case i == 0:
			v.first = err
		}
	}
	return v
}

// newest gives the newest certificate that may be used now (AMQP-64); when there is none, why not. One that nobody can be
// asked about now may be good later.
func (v verdicts) newest() (*x509.Certificate, error) {
	switch {
	case len(v.good) > 0:
		return v.good[0], nil
	case len(v.later) > 0:
		return nil, v.waiting[string(v.later[0].Raw)]
	}
	return nil, v.first
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
		if errors.Is(first, errNoCertificate) || unavailable(err) && !unavailable(first) {
			first = err // that one may be good later
		}
	}
	return cms.Identity{}, fmt.Errorf("own certificate to sign with: %w", first)
}

// seal signs a document for an own party and encrypts it for a party (AMQP-67).
func (b *Bridge) seal(ctx context.Context, own, to *party, document []byte) ([]byte, error) {
	signer, err := b.signer(ctx, own)
	if err != nil {
		return nil, err
	}
	var sealed []byte
	err = b.withFresh(ctx, to.ID, func(p *party) error {
		newest, err := b.verdicts(ctx, p, store.AMQPEncrypt).newest()
		if err != nil {
			return fmt.Errorf("certificate of %s to encrypt with: %w", p.Name, err)
		}
		sealed, err = cms.Seal(document, signer, newest)
		return err
	})
	return sealed, err
}

// unseal decrypts with any of our keys, old or new (AMQP-64), and verifies against the registered certificates of the sender.
// It answers errors of cms and certs, or one of ours that reveals nothing of the message.
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
		found := b.verdicts(ctx, p, store.AMQPSign)
		want := slices.Concat(found.good, found.later)
		if len(want) == 0 {
			return found.first
		}
		opened, err := b.cfg.CMS.Unseal(body, ours, want)
		if err != nil {
			return b.blame(ctx, p, opened.Signer, err)
		}
		document = opened.Content
		return found.waiting[string(opened.Signer.Raw)]
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

// Untrusted gives the last issuer of a stored certificate that leads to no trusted root, with which nothing is encrypted or
// verified; empty for one that leads there.
func (b *Bridge) Untrusted(c store.AMQPCertificate) string {
	leaf, chain, err := parsePEM(c.Certificate)
	if err != nil || b.cfg.Trusts == nil || b.cfg.Trusts(leaf, chain) {
		return ""
	}
	last := leaf
	if len(chain) > 0 {
		last = chain[len(chain)-1]
	}
	return last.Issuer.String()
}

// errOurs is a fault on our side: the sender never gets an error for it (AMQP-48).
var errOurs = errors.New("this Schakel is not set up for it")

// keysOf gives the keys of an own party. Opening them takes a while, so those of before serve as long as the certificates are
// the same.
func (b *Bridge) keysOf(ctx context.Context, p *party) ([]Key, error) {
	if !p.Own {
		return nil, nil
	}
	sameRow := func(x, y certificate) bool { return x.ID == y.ID }
	if before := b.dir.Load().parties[p.ID]; before != nil && len(before.keys) > 0 && slices.EqualFunc(before.certificates, p.certificates, sameRow) {
		p.unfit = before.unfit
		return before.keys, nil
	}
	keys, err := b.cfg.Keys(ctx, p.ID)
	return b.usable(ctx, p, keys), err
}

// usable leaves out the keys whose certificate is of a usage that does not fit, and remembers which (AMQP-69, AMQP-70).
func (b *Bridge) usable(ctx context.Context, p *party, keys []Key) []Key {
	var good []Key
	p.unfit = nil
	for _, k := range keys {
		use := certs.Sign
		if k.Purpose == store.AMQPEncrypt {
			use = certs.Encrypt
		}
		if err := b.cfg.CheckOffline(k.Certificate, use); certs.KindOf(err) == certs.WrongUsage {
			b.cfg.Log.ErrorContext(ctx, "an own certificate is not used: its key usage does not fit", "party", p.ID, "purpose", k.Purpose, "error", err)
			p.unfit = append(p.unfit, Unfit{Party: p.Name, PartyID: p.ID, Purpose: k.Purpose, Thumbprint: certs.Thumbprint(k.Certificate), Detail: err.Error()})
			continue
		}
		good = append(good, k)
	}
	return good
}

// Unfit is an own certificate that is not used, because its key usage does not fit what it is registered for.
type Unfit struct {
	Party, PartyID      string
	Purpose, Thumbprint string
	Detail              string // for people
}

// Unfit lists the own certificates that are not used (AMQP-69).
func (b *Bridge) Unfit() []Unfit {
	var all []Unfit
	for _, p := range b.dir.Load().parties {
		all = append(all, p.unfit...)
	}
	sorted.By(all, func(x, y Unfit) int { return strings.Compare(x.Party+x.Thumbprint, y.Party+y.Thumbprint) })
	return all
}
