// Package certs decides whether a certificate may be used for one purpose at
// one instant: its validity (AMQP-58), its key usage (AMQP-59), its chain up to
// a trusted root, and whether it was revoked, asked of its issuer over OCSP and
// else looked up in its revocation list (AMQP-60).
//
// When nobody can be asked, the answer is the error kind Unavailable: the work
// is to be aborted and tried again later, and no party is notified (AMQP-61).
package certs

import (
	"crypto/sha1" // a name for certificates, not a protection
	"crypto/x509"
	"encoding/hex"
	"strings"
	"time"
)

// Usage names the purpose for which a certificate is wanted.
type Usage string

// The usages of the profile, by key usage (OID 2.5.29.15).
const (
	Sign    Usage = "sign"    // wants non-repudiation (AMQP-69)
	Encrypt Usage = "encrypt" // wants data encipherment or key encipherment (AMQP-70, INC-21)
)

// Thumbprint is the SHA-1 of the certificate in upper-case hexadecimal, which
// names certificates in error messages and in the address registry.
func Thumbprint(c *x509.Certificate) string {
	sum := sha1.Sum(c.Raw)
	return strings.ToUpper(hex.EncodeToString(sum[:]))
}

// Newest gives the certificate that became valid last, of those which are valid
// now and fit the usage (AMQP-64). It is nil when there is none. Revocation is
// not looked at.
func (v *Validator) Newest(list []*x509.Certificate, usage Usage) *x509.Certificate {
	now := v.cfg.Now()
	var best *x509.Certificate
	for _, c := range list {
		if checkTime(c, now) != nil || checkUsage(c, usage, v.cfg.DigitalSignature) != nil {
			continue
		}
		if best == nil || newer(c, best) {
			best = c
		}
	}
	return best
}

// newer compares by start, then by end, so that the order of the list does not matter.
func newer(a, b *x509.Certificate) bool {
	if !a.NotBefore.Equal(b.NotBefore) {
		return a.NotBefore.After(b.NotBefore)
	}
	return a.NotAfter.After(b.NotAfter)
}

func checkTime(c *x509.Certificate, now time.Time) error {
	switch {
	case now.Before(c.NotBefore):
		return fail(NotYetValid, c, "valid from "+c.NotBefore.UTC().Format(time.RFC3339), nil)
	case now.After(c.NotAfter):
		return fail(Expired, c, "valid until "+c.NotAfter.UTC().Format(time.RFC3339), nil)
	}
	return nil
}

// checkUsage looks at the key usage. A certificate without that extension fits nothing.
func checkUsage(c *x509.Certificate, usage Usage, digitalSignature bool) error {
	wanted := x509.KeyUsage(0)
	switch usage {
	case Sign:
		wanted = x509.KeyUsageContentCommitment
		if digitalSignature {
			wanted |= x509.KeyUsageDigitalSignature
		}
	case Encrypt:
		wanted = x509.KeyUsageDataEncipherment | x509.KeyUsageKeyEncipherment
	}
	if c.KeyUsage&wanted == 0 {
		return fail(WrongUsage, c, "its key usage does not allow it to "+string(usage), nil)
	}
	return nil
}
