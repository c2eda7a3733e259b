package certs_test

import (
	"context"
	"crypto/x509"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"schakel/delivery/amqp/certs"
	"schakel/delivery/amqp/pkitest"
)

// clock is a clock that tests move by hand, before they ask.
type clock struct{ now time.Time }

func newClock() *clock { return &clock{time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC)} }

func (c *clock) Now() time.Time { return c.now }

// newWorld makes a PKI, and a validator that trusts it and asks it, by a clock that the test moves.
func newWorld(t testing.TB) (*clock, *pkitest.PKI, *certs.Validator) {
	clock := newClock()
	pki := pkitest.New(t, clock.Now)
	return clock, pki, newValidator(pki, clock)
}

func newValidator(pki *pkitest.PKI, clock *clock, change ...func(*certs.Config)) *certs.Validator {
	cfg := certs.Config{
		Roots: []certs.Anchor{{Certificate: pki.Root}}, Intermediates: pki.Issuers(),
		HTTP: http.DefaultClient, Now: clock.Now, Timeout: time.Minute,
	}
	for _, c := range change {
		c(&cfg)
	}
	return certs.New(cfg)
}

// check asks and gives the kind of the error.
func check(t *testing.T, v *certs.Validator, c *x509.Certificate, usage certs.Usage) certs.Kind {
	t.Helper()
	_, err := v.Check(t.Context(), c, nil, usage)
	if err != nil && certs.KindOf(err) == "" {
		t.Errorf("no kind: %v", err)
	}
	return certs.KindOf(err)
}

// TestValidity has certificates before, at and after the ends of their life.
//
// Rules: AMQP-58, AMQP-129
func TestValidity(t *testing.T) {
	t.Parallel()
	clock, pki, v := newWorld(t)
	now := clock.now
	for name, test := range map[string]struct {
		from, until time.Time
		want        certs.Kind
	}{
		"in between":    {now.AddDate(0, 0, -1), now.AddDate(0, 0, 1), ""},
		"first instant": {now, now.AddDate(0, 0, 1), ""},
		"last instant":  {now.AddDate(0, 0, -1), now, ""},
		"expired":       {now.AddDate(0, 0, -2), now.Add(-time.Second), certs.Expired},
		"not yet":       {now.Add(time.Second), now.AddDate(0, 0, 1), certs.NotYetValid},
	} {
		for usage, c := range map[certs.Usage]*x509.Certificate{
			certs.Sign:    pki.Signer(pkitest.Valid(test.from, test.until)).Certificate,
			certs.Encrypt: pki.Recipient(pkitest.Valid(test.from, test.until)).Certificate,
		} {
			if got := check(t, v, c, usage); got != test.want {
				t.Errorf("%s, %s: %q, want %q", name, usage, got, test.want)
			}
		}
	}
}

// TestUsage is the matrix of key usages.
//
// Rules: AMQP-59, AMQP-69, AMQP-70, INC-21
func TestUsage(t *testing.T) {
	t.Parallel()
	clock, pki, strict := newWorld(t)
	mild := newValidator(pki, clock, func(c *certs.Config) { c.DigitalSignature = true })
	const no = certs.WrongUsage
	for name, test := range map[string]struct {
		usage               x509.KeyUsage
		sign, mild, encrypt certs.Kind
		warned              bool
	}{
		"absent":                 {0, no, no, no, false},
		"non-repudiation":        {x509.KeyUsageContentCommitment, "", "", no, false},
		"digital signature":      {x509.KeyUsageDigitalSignature, no, "", no, false},
		"data encipherment":      {x509.KeyUsageDataEncipherment, no, no, "", false},
		"key encipherment":       {x509.KeyUsageKeyEncipherment, no, no, "", true},
		"both encipherments":     {x509.KeyUsageKeyEncipherment | x509.KeyUsageDataEncipherment, no, no, "", false},
		"authentication":         {x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment, no, "", "", true},
		"key agreement, signing": {x509.KeyUsageKeyAgreement | x509.KeyUsageCRLSign, no, no, no, false},
	} {
		c := pki.Leaf(test.usage).Certificate
		if got := check(t, strict, c, certs.Sign); got != test.sign {
			t.Errorf("%s: sign: %q", name, got)
		}
		if got := check(t, mild, c, certs.Sign); got != test.mild {
			t.Errorf("%s: sign, mild: %q", name, got)
		}
		result, err := strict.Check(t.Context(), c, nil, certs.Encrypt)
		if certs.KindOf(err) != test.encrypt || slices.Contains(result.Warnings, certs.KeyEnciphermentOnly) != test.warned {
			t.Errorf("%s: encrypt: %v, %q", name, err, result.Warnings)
		}
		if err := strict.CheckOffline(c, certs.Encrypt); certs.KindOf(err) != test.encrypt {
			t.Errorf("%s: offline: %v", name, err)
		}
		if got := check(t, strict, c, "something else"); got != no {
			t.Errorf("%s: something else: %q", name, got)
		}
	}
}

// TestTrust has certificates that no root of ours stands behind.
func TestTrust(t *testing.T) {
	t.Parallel()
	clock := newClock()
	pki, foreign := pkitest.New(t, clock.Now), pkitest.New(t, clock.Now)
	v := newValidator(pki, clock)
	if got := check(t, v, foreign.Signer().Certificate, certs.Sign); got != certs.Untrusted {
		t.Errorf("foreign: %q", got)
	}
	if _, err := v.Check(t.Context(), foreign.Signer().Certificate, append(foreign.Issuers(), foreign.Root), certs.Sign); certs.KindOf(err) != certs.Untrusted {
		t.Errorf("a foreign root that came along: %v", err)
	}
	bare := newValidator(pki, clock, func(c *certs.Config) { c.Intermediates = nil })
	leaf := pki.Signer().Certificate
	if got := check(t, bare, leaf, certs.Sign); got != certs.Untrusted {
		t.Errorf("no issuer: %q", got)
	}
	result, err := bare.Check(t.Context(), leaf, pki.Issuers(), certs.Sign)
	if err != nil || len(result.Chain) != 3 || !result.Chain[2].Equal(pki.Root) {
		t.Errorf("an issuer that came along: %d, %v", len(result.Chain), err)
	}
	if got := check(t, bare, leaf, certs.Sign); got != "" {
		t.Errorf("the chain that is cached: %q", got)
	}
	bare.Forget()
	if got := check(t, bare, leaf, certs.Sign); got != certs.Untrusted {
		t.Errorf("the chain that was forgotten: %q", got)
	}
}

// TestIssuerExpires: a chain in the cache ends with the first of its certificates.
//
// Rules: AMQP-58
func TestIssuerExpires(t *testing.T) {
	t.Parallel()
	clock, pki, v := newWorld(t)
	leaf := pki.Signer(pkitest.Valid(clock.now, clock.now.AddDate(10, 0, 0))).Certificate
	if got := check(t, v, leaf, certs.Sign); got != "" {
		t.Fatal(got)
	}
	clock.now = clock.now.AddDate(6, 0, 0)
	if got := check(t, v, leaf, certs.Sign); got != certs.Untrusted {
		t.Errorf("the issuer has expired: %q", got)
	}
}

// TestNewest takes the newest of those that can be used.
//
// Rules: AMQP-64
func TestNewest(t *testing.T) {
	t.Parallel()
	clock := newClock()
	pki := pkitest.New(t, clock.Now)
	now := clock.now
	valid := func(from, until int) *x509.Certificate {
		return pki.Recipient(pkitest.Valid(now.AddDate(0, 0, from), now.AddDate(0, 0, until))).Certificate
	}
	older, newer, longer := valid(-20, 100), valid(-10, 50), valid(-10, 60)
	expired, next, signer := valid(-5, -1), valid(1, 100), pki.Signer().Certificate
	all := []*x509.Certificate{older, newer, longer, expired, next, signer}
	v := newValidator(pki, clock)
	for range 2 {
		for list, want := range map[*[]*x509.Certificate]*x509.Certificate{
			&all: longer, {older, newer}: newer, {expired, next, signer}: nil, {}: nil,
		} {
			if got := v.Newest(*list, certs.Encrypt); !got.Equal(want) {
				t.Errorf("of %d another is taken", len(*list))
			}
		}
		slices.Reverse(all)
	}
	if got := v.Newest(all, certs.Sign); !got.Equal(signer) {
		t.Error("the signer is not found")
	}
}

// TestError names the certificate, and keeps what caused it.
func TestError(t *testing.T) {
	t.Parallel()
	_, pki, v := newWorld(t)
	pki.SetOCSP(pkitest.Hangs)
	pki.SetCRL(pkitest.Hangs)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := pki.Signer().Certificate
	_, err := v.Check(ctx, c, nil, certs.Sign)
	if certs.KindOf(err) != certs.Unavailable || !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), certs.Thumbprint(c)) {
		t.Error(err)
	}
	if len(certs.Thumbprint(c)) != 40 || strings.ToUpper(certs.Thumbprint(c)) != certs.Thumbprint(c) {
		t.Error(certs.Thumbprint(c))
	}
}

// BenchmarkCheck is a certificate whose answer is cached, as for all but one message an hour.
func BenchmarkCheck(b *testing.B) {
	_, pki, v := newWorld(b)
	c := pki.Signer().Certificate
	b.ReportAllocs()
	for b.Loop() {
		if _, err := v.Check(b.Context(), c, nil, certs.Sign); err != nil {
			b.Fatal(err)
		}
	}
}

// TestTrusts tells a certificate below a trusted root from others without asking anybody.
func TestTrusts(t *testing.T) {
	t.Parallel()
	_, pki, v := newWorld(t)
	_, stranger, _ := newWorld(t)
	for c, want := range map[*x509.Certificate]bool{pki.Signer().Certificate: true, stranger.Signer().Certificate: false} {
		if v.Trusts(c, stranger.Issuers()) != want {
			t.Errorf("%s: trusted %t", c.Subject, !want)
		}
	}
}
