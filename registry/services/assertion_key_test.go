package services

import (
	"crypto/tls"
	"crypto/x509"
	"testing"
	"time"

	"schakel/registry"
	"schakel/registry/identity/token"
)

// A key with a certificate is published at once and signs after its time; the one before signs until then, and stays published for hours.
//
// Rules: SEC-05.
func TestAssertionKeys(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		pki := newPKI(t, w.clock.Now())
		first, second := pki.Issue(goodOIN), pki.Issue(goodOIN)
		if keys, err := w.SigningKeys.AssertionKeys(ctx); err != nil || len(keys) != 0 {
			t.Fatalf("at first %v, %v", keys, err)
		}
		_, stranger := w.partner(t, "Noord", goodOIN, "anna@noord.example")
		_, err := w.SigningKeys.AddAssertionKey(ctx, stranger, first.TLS, 0)
		wantCode(t, "a partner gives a key", registry.CodeForbidden, err)
		one, err := w.SigningKeys.AddAssertionKey(ctx, w.admin, first.TLS, 0)
		must(t, err)
		if _, err := w.SigningKeys.AddAssertionKey(ctx, w.admin, first.TLS, 0); err == nil {
			t.Error("the same key twice")
		}
		two, err := w.SigningKeys.AddAssertionKey(ctx, w.admin, second.TLS, 48*time.Hour)
		must(t, err)
		state := func(after time.Duration) (signs string, published int) {
			t.Helper()
			w.clock.Advance(after)
			keys, err := w.SigningKeys.AssertionKeys(ctx)
			must(t, err)
			for _, k := range keys {
				if len(k.Chain) != 2 || k.Alg != "ES256" {
					t.Errorf("%+v", k)
				}
				if k.Signs(w.clock.Now()) {
					signs += k.KID
				}
			}
			return signs, len(keys)
		}
		for _, c := range []struct {
			after     time.Duration
			signs     string
			published int
		}{{time.Second, one, 2}, {47 * time.Hour, one, 2}, {2 * time.Hour, two, 2}, {token.MaxLifetime, two, 1}} {
			if signs, published := state(c.after); signs != c.signs || published != c.published {
				t.Errorf("%s later %s signs, %d are published; want %s, %d", c.after, signs, published, c.signs, c.published)
			}
		}
		must(t, w.SigningKeys.DropAssertionKeys(ctx, w.admin))
		if signs, _ := state(time.Second); signs != "" {
			t.Errorf("%s signs after all were dropped", signs)
		}
	})
}

// A pair that others could not check is refused with the reason.
func TestAssertionKeyInput(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		pki := newPKI(t, w.clock.Now())
		old := pki.Issue(goodOIN, func(c *x509.Certificate) { c.NotAfter = w.clock.Now().Add(-time.Minute) })
		encrypts := pki.Issue(goodOIN, func(c *x509.Certificate) { c.KeyUsage = x509.KeyUsageKeyEncipherment })
		good := pki.Issue(goodOIN)
		for name, pair := range map[string]tls.Certificate{
			"expired": old.TLS, "no signatures": encrypts.TLS, "nothing": {}, "no key": {Certificate: good.TLS.Certificate},
			"authority": {Certificate: [][]byte{pki.Between.Raw}, PrivateKey: good.Key},
		} {
			if _, err := w.SigningKeys.AddAssertionKey(t.Context(), w.admin, pair, 0); err == nil {
				t.Errorf("%s: taken", name)
			}
		}
		if _, err := w.SigningKeys.AddAssertionKey(t.Context(), w.admin, good.TLS, 91*24*time.Hour); err == nil {
			t.Error("a wait of 91 days: taken")
		}
	})
}
