package certs

import (
	"context"
	"crypto/x509"
	"net/http"
	"time"
)

// Doer sends an HTTP request; *http.Client is one. It has to follow no
// redirects into networks that certificates may not point at.
type Doer interface {
	Do(req *http.Request) (*http.Response, error)
}

// Anchor is a root that is trusted.
type Anchor struct {
	Certificate *x509.Certificate
	// NoRevocation means that what hangs below this root is never asked about:
	// for a test PKI without a responder. Default: asked, and refused when a
	// certificate names nobody to ask.
	NoRevocation bool
}

// Config holds the dependencies and limits of a Validator. HTTP, Now and Roots have no default.
type Config struct {
	Roots         []Anchor
	Intermediates []*x509.Certificate // issuers known beforehand, beside those given to Check
	HTTP          Doer                // the door to responders and lists
	Now           func() time.Time

	// DigitalSignature accepts signing certificates with digital signature but
	// without non-repudiation. Default: refused.
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

// Forget ends the life of every chain, answer and list that is cached, so that the
// next Check asks again (AMQP-62). An answer still serves within Config.Grace, and a
// list until its end, when nobody can be asked: one message with a bad signature
// must not undo that.
func (v *Validator) Forget() {
	v.chains.clear()
	v.answers.change(func(a answer) answer { a.refresh = time.Time{}; return a })
	v.lists.change(func(l list) list { l.refresh = time.Time{}; return l })
	v.failures.clear()
}

// Check decides whether cert may be used now (AMQP-58 to AMQP-61). others are
// further issuers, such as those that came with a message; they need not be
// trusted. An error is always an *Error.
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
