// Package certs decides whether a certificate may be used for one purpose at one instant: its validity (AMQP-58), its key usage
// (AMQP-59), its chain up to a trusted root, and whether it was revoked, asked of its issuer over OCSP and else looked up in its
// revocation list (AMQP-60).
//
// When nobody can be asked, the answer is the error kind Unavailable: the work is to be aborted and tried again later, and no
// party is notified (AMQP-61).
package certs

import (
	"context"
	"crypto/sha1" // #nosec G505 -- a name for certificates, not a protection
	"crypto/x509"
	"encoding/hex"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Usage names the purpose for which a certificate is wanted.
type Usage string

// The usages of the profile, by key usage (OID 2.5.29.15).
const (
	Sign    Usage = "sign"    // wants non-repudiation (AMQP-69)
	Encrypt Usage = "encrypt" // wants data encipherment or key encipherment (AMQP-70, INC-21)
	Client  Usage = "client"  // wants digital signature, and the extended use for TLS clients where any is named (SEC-25)
)

// Thumbprint is the SHA-1 of the certificate in upper-case hexadecimal, which
// names certificates in error messages and in the address registry.
func Thumbprint(c *x509.Certificate) string {
	sum := sha1.Sum(c.Raw) // #nosec G401 -- see the import
	return strings.ToUpper(hex.EncodeToString(sum[:]))
}

// Newest gives the certificate that became valid last, of those which are valid now and fit the usage (AMQP-64). It is nil when
// there is none. Revocation is not looked at.
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
	case Client:
		wanted = x509.KeyUsageDigitalSignature
		if len(c.ExtKeyUsage)+len(c.UnknownExtKeyUsage) > 0 && !slices.Contains(c.ExtKeyUsage, x509.ExtKeyUsageClientAuth) && !slices.Contains(c.ExtKeyUsage, x509.ExtKeyUsageAny) {
			return fail(WrongUsage, c, "its extended key usage does not name TLS clients", nil)
		}
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

// Doer sends an HTTP request; *http.Client is one. It has to follow no
// redirects into networks that certificates may not point at.
type Doer interface {
	Do(req *http.Request) (*http.Response, error)
}

// Anchor is a root that is trusted.
type Anchor struct {
	Certificate *x509.Certificate
	// NoRevocation means that what hangs below this root is never asked about: for a test PKI without a responder. Default:
	// asked, and refused when a certificate names nobody to ask.
	NoRevocation bool
}

// Config holds the dependencies and limits of a Validator. HTTP, Now and Roots have no default.
type Config struct {
	Roots         []Anchor
	Intermediates []*x509.Certificate // issuers known beforehand, beside those given to Check
	HTTP          Doer                // the door to responders and lists
	Now           func() time.Time

	// DigitalSignature accepts signing certificates with digital signature but without non-repudiation. Default: refused.
	DigitalSignature bool
	Timeout          time.Duration // of one question; default 10 s
	CacheFor         time.Duration // longest life of an answer; default and most 1 h
	// Grace lets a good answer or a list serve so much longer than its life while no source can be asked (AMQP-61).
	// Default: not at all.
	Grace time.Duration
	// RestAfter keeps a source that gave no answer from being asked again, so that a hanging one does not delay every
	// message. Default: it is asked each time.
	RestAfter       time.Duration
	CacheSize       int   // answers and lists in the cache; default 1024, and 64 lists
	MaxOCSP, MaxCRL int64 // largest answer and list in bytes; default 64 KiB and 16 MiB

	// Lists are revocation lists, DER or PEM, in files or at addresses, that are looked at before anybody is asked. Default none.
	Lists []string
	// Soft accepts a certificate about which nobody can be asked. Default: refused.
	Soft bool
}

func (c Config) withDefaults() Config {
	setDefault(&c.Timeout, 10*time.Second)
	setDefault(&c.CacheFor, time.Hour)
	c.CacheFor = min(c.CacheFor, time.Hour)
	setDefault(&c.CacheSize, 1024)
	setDefault(&c.MaxOCSP, 64<<10)
	setDefault(&c.MaxCRL, 16<<20)
	return c
}

func setDefault[T int | int64 | time.Duration](field *T, value T) {
	if *field <= 0 {
		*field = value
	}
}

// Warning is something about a certificate that is accepted and yet worth a word.
type Warning string

// KeyEnciphermentOnly warns of a certificate for encryption without data
// encipherment, which the profile asks for and the exchange itself does not (INC-21).
const KeyEnciphermentOnly Warning = "the certificate has key encipherment without data encipherment"

// Result holds the findings of Check on a certificate that may be used.
type Result struct {
	Chain    []*x509.Certificate // from the certificate up to the root
	Warnings []Warning
}

// Validator decides about certificates. It is safe for concurrent use.
type Validator struct {
	cfg           Config
	roots         *x509.CertPool
	intermediates []*x509.Certificate
	answers       *cache[answer]
	lists         *cache[list]
	chains        *cache[[]*x509.Certificate]
	failures      *cache[failure] // of sources, by address
}

// New makes a Validator.
func New(cfg Config) *Validator {
	v := &Validator{
		cfg:           cfg.withDefaults(),
		roots:         x509.NewCertPool(),
		intermediates: cfg.Intermediates,
	}
	v.answers = newCache[answer](v.cfg.CacheSize)
	v.chains = newCache[[]*x509.Certificate](v.cfg.CacheSize)
	v.lists = newCache[list](min(v.cfg.CacheSize, 64))
	v.failures = newCache[failure](v.cfg.CacheSize)
	for _, root := range cfg.Roots {
		v.roots.AddCert(root.Certificate)
	}
	return v
}

// Forget ends the life of every chain, answer and list that is cached, so that the next Check asks again (AMQP-62). An answer
// still serves within Config.Grace, and a list until its end, when nobody can be asked: one message with a bad signature must not
// undo that.
func (v *Validator) Forget() {
	v.chains.clear()
	v.answers.change(func(a answer) answer { a.refresh = time.Time{}; return a })
	v.lists.change(func(l list) list { l.refresh = time.Time{}; return l })
	v.failures.clear()
}

// Check decides whether cert may be used now (AMQP-58 to AMQP-61). others are further issuers, such as those that came with a
// message; they need not be trusted. An error is always an *Error.
func (v *Validator) Check(ctx context.Context, cert *x509.Certificate, others []*x509.Certificate, usage Usage) (Result, error) {
	now := v.cfg.Now()
	if err := v.CheckOffline(cert, usage); err != nil {
		return Result{}, err
	}
	chain, err := v.chain(cert, others, now)
	if err != nil {
		return Result{}, fail(Untrusted, cert, "no chain to a trusted root", err)
	}
	if err := v.checkRevocation(ctx, chain, now); err != nil {
		return Result{}, err
	}
	return Result{Chain: chain, Warnings: warnings(cert, usage)}, nil
}

// CheckOffline looks at validity and key usage only, which needs no network:
// for own certificates at start and for those a person enters (AMQP-69).
func (v *Validator) CheckOffline(cert *x509.Certificate, usage Usage) error {
	if err := checkTime(cert, v.cfg.Now()); err != nil {
		return err
	}
	return checkUsage(cert, usage, v.cfg.DigitalSignature)
}

// Trusts reports whether a certificate leads to a trusted root now, by others or an issuer known beforehand. It asks nobody, so a
// certificate that was revoked may still be trusted.
func (v *Validator) Trusts(cert *x509.Certificate, others []*x509.Certificate) bool {
	_, err := v.chain(cert, others, v.cfg.Now())
	return err == nil
}

func warnings(cert *x509.Certificate, usage Usage) []Warning {
	if usage == Encrypt && cert.KeyUsage&x509.KeyUsageDataEncipherment == 0 {
		return []Warning{KeyEnciphermentOnly}
	}
	return nil
}

// asksBelow reports whether certificates below this root are asked about.
func (v *Validator) asksBelow(root *x509.Certificate) bool {
	for _, a := range v.cfg.Roots {
		if a.Certificate.Equal(root) {
			return !a.NoRevocation
		}
	}
	return true
}

// chain gives the first chain to a root. It is cached: whatever certificates come along the next time, the signatures in it stay
// as they are, and its times are looked at again.
func (v *Validator) chain(cert *x509.Certificate, others []*x509.Certificate, now time.Time) ([]*x509.Certificate, error) {
	if cached, ok := v.chains.get(string(cert.Raw)); ok && allValid(cached, now) {
		return cached, nil
	}
	between := x509.NewCertPool()
	for _, c := range v.intermediates {
		between.AddCert(c)
	}
	for _, c := range others {
		between.AddCert(c)
	}
	chains, err := cert.Verify(x509.VerifyOptions{
		Roots: v.roots, Intermediates: between, CurrentTime: now,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
	})
	if err != nil {
		return nil, err
	}
	chain := slices.Clip(chains[0]) // shared by all who ask: nobody appends in place
	v.chains.put(string(cert.Raw), chain)
	return chain, nil
}

func allValid(chain []*x509.Certificate, now time.Time) bool {
	return !slices.ContainsFunc(chain, func(c *x509.Certificate) bool { return checkTime(c, now) != nil })
}

// Kind is the reason that a certificate may not be used.
type Kind string

// Why a certificate may not be used.
const (
	Expired     Kind = "expired"       // its validity is over (AMQP-58, AMQP-129)
	NotYetValid Kind = "not yet valid" // its validity has not begun (AMQP-58)
	WrongUsage  Kind = "wrong usage"   // its key usage is another (AMQP-59)
	Revoked     Kind = "revoked"       // its issuer took it back (AMQP-60, AMQP-130)
	Untrusted   Kind = "untrusted"     // no chain to a root, unknown to its issuer, or nobody to ask
	Unavailable Kind = "unavailable"   // no answer on its revocation now: abort, try again (AMQP-61)
)

// Error is why a certificate may not be used.
type Error struct {
	Kind       Kind
	Thumbprint string // of the certificate that was asked about
	Detail     string // for a person; empty when there is nothing to add

	err error
}

// Error is a text for logs.
func (e *Error) Error() string {
	text := "certificate " + e.Thumbprint + " " + string(e.Kind)
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	if e.err != nil {
		text += ": " + strings.ReplaceAll(e.err.Error(), "\n", "; ")
	}
	return text
}

// Unwrap gives the cause, or nil.
func (e *Error) Unwrap() error { return e.err }

// KindOf gives the kind of an *Error, and "" for every other error.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return ""
}

func fail(kind Kind, c *x509.Certificate, detail string, err error) *Error {
	return &Error{Kind: kind, Thumbprint: Thumbprint(c), Detail: detail, err: err}
}
