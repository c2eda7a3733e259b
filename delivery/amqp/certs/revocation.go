package certs

import (
	"context"
	"crypto/x509"
	"errors"
	"time"
)

// skew limits the error of the clocks of others.
const skew = 5 * time.Minute

// errSource is why a responder or a list gave no answer that counts.
var errSource = errors.New("no usable answer on revocation")

// checkRevocation asks about every certificate of the chain but the root. The
// first has to name somebody to ask; an issuer need not. That one cannot be asked
// about does not hide that another is revoked.
func (v *Validator) checkRevocation(ctx context.Context, chain []*x509.Certificate, now time.Time) error {
	if !v.asksBelow(chain[len(chain)-1]) {
		return nil
	}
	var unavailable error
	for i := range len(chain) - 1 {
		c, issuer := chain[i], chain[i+1]
		if len(c.OCSPServer) == 0 && len(c.CRLDistributionPoints) == 0 {
			if i > 0 {
				continue
			}
			return fail(Untrusted, c, "it names nobody who can be asked about revocation", nil)
		}
		err := v.ask(ctx, chain[0], c, issuer, now)
		switch {
		case KindOf(err) == Unavailable:
			unavailable = err
		case err != nil:
			return err
		}
	}
	return unavailable
}

// ask takes the answer of the first source that has one: the responders, then
// the lists (INC-24), then a good answer of before that is within Config.Grace.
func (v *Validator) ask(ctx context.Context, subject, c, issuer *x509.Certificate, now time.Time) error {
	status, err := v.askResponders(ctx, c, issuer, now)
	if err != nil {
		var other error
		if status, other = v.askLists(ctx, c, issuer, now); other != nil {
			cached, ok := v.answers.get(string(c.Raw))
			if !ok || !now.Before(cached.until.Add(v.cfg.Grace)) || cached.status == statusUnknown {
				return fail(Unavailable, subject, "", errors.Join(err, other))
			}
			status = cached.status
		}
	}
	detail := ""
	if subject != c {
		detail = "its issuer " + Thumbprint(c)
	}
	switch status {
	case statusGood:
		return nil
	case statusRevoked:
		return fail(Revoked, subject, detail, nil)
	}
	return fail(Untrusted, subject, "its issuer does not know it", nil)
}
