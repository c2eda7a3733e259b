package amqp

import (
	"context"
	"slices"
	"strings"

	"schakel/delivery/amqp/certs"
	"schakel/store"
)

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
	slices.SortFunc(all, func(x, y Unfit) int { return strings.Compare(x.Party+x.Thumbprint, y.Party+y.Thumbprint) })
	return all
}
