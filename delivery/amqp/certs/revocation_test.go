package certs_test

import (
	"crypto/x509"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"schakel/delivery/amqp/certs"
	"schakel/delivery/amqp/pkitest"
)

// TestRevocation is the matrix of what responder and list say. A list is asked
// only when no responder gives an answer that counts.
//
// Rules: AMQP-60, AMQP-61, AMQP-130, INC-24
func TestRevocation(t *testing.T) {
	t.Parallel()
	const later = certs.Unavailable
	for name, test := range map[string]struct {
		ocsp, crl     pkitest.Mode
		good, revoked certs.Kind
		lists         int // questions to the list
	}{
		"good":                       {pkitest.Good, pkitest.Down, "", certs.Revoked, 0},
		"delegated":                  {pkitest.Delegated, pkitest.Down, "", certs.Revoked, 0},
		"unknown":                    {pkitest.Unknown, pkitest.Good, certs.Untrusted, certs.Untrusted, 0},
		"down, list":                 {pkitest.Down, pkitest.Good, "", certs.Revoked, 1},
		"garbage, list":              {pkitest.Garbage, pkitest.Good, "", certs.Revoked, 1},
		"stale, list":                {pkitest.Stale, pkitest.Good, "", certs.Revoked, 1},
		"bad signature, list":        {pkitest.BadSignature, pkitest.Good, "", certs.Revoked, 1},
		"false helper, list":         {pkitest.FalseHelper, pkitest.Good, "", certs.Revoked, 1},
		"down, down":                 {pkitest.Down, pkitest.Down, later, later, 2},
		"down, garbage":              {pkitest.Down, pkitest.Garbage, later, later, 2},
		"stale, stale":               {pkitest.Stale, pkitest.Stale, later, later, 2},
		"bad signature, twice":       {pkitest.BadSignature, pkitest.BadSignature, later, later, 2},
		"false helper, list is down": {pkitest.FalseHelper, pkitest.Down, later, later, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, pki, v := newWorld(t)
			good, revoked := pki.Signer().Certificate, pki.Recipient().Certificate
			pki.Revoke(revoked)
			pki.SetOCSP(test.ocsp)
			pki.SetCRL(test.crl)
			if got := check(t, v, good, certs.Sign); got != test.good {
				t.Errorf("good: %q, want %q", got, test.good)
			}
			if got := check(t, v, revoked, certs.Encrypt); got != test.revoked {
				t.Errorf("revoked: %q, want %q", got, test.revoked)
			}
			if got := pki.Asked("/crl"); got != test.lists {
				t.Errorf("the list was asked %d times, want %d", got, test.lists)
			}
		})
	}
}

// TestServerComesBack: what failed for want of an answer succeeds as soon as there is one; nothing of the failure is cached.
//
// Rules: AMQP-61
func TestServerComesBack(t *testing.T) {
	t.Parallel()
	_, pki, v := newWorld(t)
	c := pki.Signer().Certificate
	pki.SetOCSP(pkitest.Down)
	pki.SetCRL(pkitest.Down)
	if got := check(t, v, c, certs.Sign); got != certs.Unavailable {
		t.Fatalf("down: %q", got)
	}
	pki.SetOCSP(pkitest.Good)
	if got := check(t, v, c, certs.Sign); got != "" {
		t.Errorf("up: %q", got)
	}
}

// TestAnswersAreKept: within an hour, and no longer, one answer serves; Forget drops it at once.
//
// Rules: AMQP-60
func TestAnswersAreKept(t *testing.T) {
	t.Parallel()
	for path, change := range map[string]func(*x509.Certificate){"/ocsp": pkitest.WithoutCRL, "/crl": pkitest.WithoutOCSP} {
		clock, pki, v := newWorld(t)
		c := pki.Signer(change).Certificate
		asked := func(want certs.Kind, times int) {
			t.Helper()
			if got := check(t, v, c, certs.Sign); got != want || pki.Asked(path) != times {
				t.Errorf("%s: %q after %d questions, want %q after %d", path, got, pki.Asked(path), want, times)
			}
		}
		asked("", 1)
		clock.now = clock.now.Add(59 * time.Minute)
		pki.Revoke(c)
		asked("", 1)
		clock.now = clock.now.Add(time.Minute)
		asked(certs.Revoked, 2)
		asked(certs.Revoked, 2)
		v.Forget()
		asked(certs.Revoked, 3)
	}
}

// TestOldListServesOn: a list that is valid still serves when no newer one can be had, and not for longer.
//
// Rules: AMQP-60, AMQP-61
func TestOldListServesOn(t *testing.T) {
	t.Parallel()
	clock, pki, v := newWorld(t)
	c := pki.Signer(pkitest.WithoutOCSP).Certificate
	if got := check(t, v, c, certs.Sign); got != "" {
		t.Fatal(got)
	}
	pki.SetCRL(pkitest.Down)
	for after, want := range []certs.Kind{"", certs.Unavailable} {
		clock.now = clock.now.Add(23 * time.Hour)
		if got := check(t, v, c, certs.Sign); got != want {
			t.Errorf("%d: %q, want %q", after, got, want)
		}
	}
}

// TestNobodyToAsk: refused, unless the root is set to be trusted without asking.
//
// Rules: AMQP-60
func TestNobodyToAsk(t *testing.T) {
	t.Parallel()
	clock := newClock()
	pki := pkitest.New(t, clock.Now)
	c := pki.Signer(pkitest.WithoutOCSP, pkitest.WithoutCRL).Certificate
	if got := check(t, newValidator(pki, clock), c, certs.Sign); got != certs.Untrusted {
		t.Errorf("default: %q", got)
	}
	quiet := newValidator(pki, clock, func(cfg *certs.Config) { cfg.Roots[0].NoRevocation = true })
	if got := check(t, quiet, c, certs.Sign); got != "" {
		t.Errorf("no revocation: %q", got)
	}
	if got := check(t, quiet, pki.Signer().Certificate, certs.Sign); got != "" || pki.Asked("/ocsp")+pki.Asked("/crl") != 0 {
		t.Errorf("no revocation, and yet asked: %q", got)
	}
}

// TestIssuerRevoked: an issuer that was taken back takes its certificates along.
//
// Rules: AMQP-60
func TestIssuerRevoked(t *testing.T) {
	t.Parallel()
	_, pki, v := newWorld(t)
	for name, revoke := range map[string]bool{"good": false, "revoked": true} {
		issuer := pki.SubIssuer()
		leaf := issuer.Signer().Certificate
		if revoke {
			pki.Revoke(issuer.Intermediate)
		}
		_, err := v.Check(t.Context(), leaf, issuer.Issuers(), certs.Sign)
		if got := certs.KindOf(err); got != map[bool]certs.Kind{true: certs.Revoked}[revoke] {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// doer answers without a network.
type doer func(*http.Request) (*http.Response, error)

func (d doer) Do(r *http.Request) (*http.Response, error) { return d(r) }

// TestBounds: answers that are too large count as none, and a certificate that
// names a hundred servers does not make us ask them all.
//
// Rules: AMQP-61
func TestBounds(t *testing.T) {
	t.Parallel()
	clock := newClock()
	pki := pkitest.New(t, clock.Now)
	urls := make([]string, 100)
	for i := range urls {
		urls[i] = "http://one.example/" + strings.Repeat("x", i)
	}
	c := pki.Signer(func(c *x509.Certificate) { c.OCSPServer, c.CRLDistributionPoints = urls, urls }).Certificate
	asked := 0
	v := newValidator(pki, clock, func(cfg *certs.Config) {
		cfg.MaxCRL, cfg.MaxOCSP = 100, 100
		cfg.HTTP = doer(func(*http.Request) (*http.Response, error) {
			asked++
			return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(strings.Repeat("x", 101)))}, nil
		})
	})
	if got := check(t, v, c, certs.Sign); got != certs.Unavailable || asked != 6 {
		t.Errorf("%q after %d questions", got, asked)
	}
}

// TestConcurrentChecks shares one validator; the race detector looks on.
func TestConcurrentChecks(t *testing.T) {
	t.Parallel()
	clock := newClock()
	pki := pkitest.New(t, clock.Now)
	v := newValidator(pki, clock, func(cfg *certs.Config) { cfg.CacheSize = 2 })
	list := []*x509.Certificate{pki.Signer().Certificate, pki.Signer().Certificate, pki.Signer(pkitest.WithoutOCSP).Certificate}
	var group sync.WaitGroup
	for i := range 12 {
		group.Go(func() {
			if got := check(t, v, list[i%len(list)], certs.Sign); got != "" {
				t.Errorf("%q", got)
			}
			v.Forget()
		})
	}
	group.Wait()
}

// TestGrace: a good answer and a list serve within the grace period while no source can be asked, also after Forget, and not
// for longer. What is revoked is seen as soon as a source answers.
//
// Rules: AMQP-60, AMQP-61
func TestGrace(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*x509.Certificate)
		life   time.Duration
	}{
		"answer": {pkitest.WithoutCRL, time.Hour},
		"list":   {pkitest.WithoutOCSP, 24 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := newClock()
			pki := pkitest.New(t, clock.Now)
			v := certs.New(certs.Config{Roots: []certs.Anchor{{Certificate: pki.Root}}, Intermediates: pki.Issuers(), HTTP: pki.Server.Client(), Now: clock.Now, Grace: 4 * time.Hour})
			leaf, other := pki.Signer(c.change).Certificate, pki.Signer(c.change).Certificate
			is := func(what string, c *x509.Certificate, want certs.Kind) {
				t.Helper()
				if got := check(t, v, c, certs.Sign); got != want {
					t.Errorf("%s: %q, want %q", what, got, want)
				}
			}
			is("at first", leaf, "")
			pki.SetOCSP(pkitest.Down)
			pki.SetCRL(pkitest.Down)
			start := clock.now
			clock.now = start.Add(c.life + 3*time.Hour)
			is("within the grace", leaf, "")
			v.Forget()
			is("within the grace, forgotten", leaf, "")
			if name == "answer" {
				is("never asked about", other, certs.Unavailable)
			}
			clock.now = start.Add(c.life + 5*time.Hour)
			is("after the grace", leaf, certs.Unavailable)
			clock.now = start.Add(c.life + 3*time.Hour)
			pki.Revoke(leaf)
			pki.SetOCSP(pkitest.Good)
			pki.SetCRL(pkitest.Good)
			is("revoked meanwhile", leaf, certs.Revoked)
		})
	}
}

// TestRest: a source that does not answer is not asked by every message, and is asked again after its rest.
//
// Rules: AMQP-61
func TestRest(t *testing.T) {
	t.Parallel()
	clock := newClock()
	pki := pkitest.New(t, clock.Now)
	v := certs.New(certs.Config{Roots: []certs.Anchor{{Certificate: pki.Root}}, Intermediates: pki.Issuers(), HTTP: pki.Server.Client(), Now: clock.Now, RestAfter: 10 * time.Second})
	pki.SetOCSP(pkitest.Down)
	for range 5 {
		if got := check(t, v, pki.Signer(pkitest.WithoutCRL).Certificate, certs.Sign); got != certs.Unavailable {
			t.Errorf("down: %q", got)
		}
	}
	if n := pki.Asked("/ocsp"); n != 1 {
		t.Errorf("asked %d times", n)
	}
	pki.SetOCSP(pkitest.Good)
	clock.now = clock.now.Add(10 * time.Second)
	if got := check(t, v, pki.Signer(pkitest.WithoutCRL).Certificate, certs.Sign); got != "" {
		t.Errorf("up: %q", got)
	}
}
