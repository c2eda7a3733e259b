package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"math/big"
	"testing"
	"time"

	"golang.org/x/crypto/ocsp"
)

// authority signs lists and answers for one certificate.
type authority struct {
	key       *ecdsa.PrivateKey
	cert, own *x509.Certificate // its own, and the one it issued
	now       time.Time
}

const listURL = "http://crl.example/part1"

func newAuthority(t testing.TB) authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	a := authority{key: key, now: time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC)}
	a.cert = a.issue(t, &x509.Certificate{IsCA: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign})
	a.own = a.issue(t, &x509.Certificate{CRLDistributionPoints: []string{"ldap://x", listURL}})
	return a
}

func (a authority) issue(t testing.TB, template *x509.Certificate) *x509.Certificate {
	t.Helper()
	template.SerialNumber, template.Subject = big.NewInt(7), pkix.Name{CommonName: "CA"}
	template.BasicConstraintsValid = true
	template.NotBefore, template.NotAfter = a.now.AddDate(-1, 0, 0), a.now.AddDate(1, 0, 0)
	parent := a.cert
	if parent == nil {
		parent = template
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &a.key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (a authority) list(t testing.TB, change func(*x509.RevocationList)) []byte {
	t.Helper()
	template := &x509.RevocationList{Number: big.NewInt(1), ThisUpdate: a.now, NextUpdate: a.now.AddDate(0, 0, 1)}
	change(template)
	der, err := x509.CreateRevocationList(rand.Reader, template, a.cert, a.key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func (a authority) answer(t testing.TB, change func(*ocsp.Response)) []byte {
	t.Helper()
	template := ocsp.Response{Status: ocsp.Good, SerialNumber: a.own.SerialNumber, ThisUpdate: a.now, NextUpdate: a.now.AddDate(0, 0, 1)}
	change(&template)
	der, err := ocsp.CreateResponse(a.cert, a.cert, template, a.key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func extension(id int, critical bool, value []byte) func(*x509.RevocationList) {
	return func(l *x509.RevocationList) {
		l.ExtraExtensions = []pkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, id}, Critical: critical, Value: value}}
	}
}

func point(url string) []byte {
	name := append([]byte{0x86, byte(len(url))}, url...)
	full := append([]byte{0xa0, byte(len(name))}, name...)
	outer := append([]byte{0xa0, byte(len(full))}, full...)
	return append([]byte{0x30, byte(len(outer))}, outer...)
}

// TestReadList has lists that are in order and yet do not speak of the certificate, or have a meaning that is not known.
//
// Rules: AMQP-60
func TestReadList(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	for name, test := range map[string]struct {
		change func(*x509.RevocationList)
		good   bool
	}{
		"plain":           {func(*x509.RevocationList) {}, true},
		"unknown remark":  {extension(99, false, []byte{5, 0}), true},
		"unknown meaning": {extension(99, true, []byte{5, 0}), false},
		"changes only":    {extension(27, true, []byte{2, 1, 1}), false},
		"users only":      {extension(28, true, []byte{0x30, 3, 0x81, 1, 0xff}), true},
		"issuers only":    {extension(28, true, []byte{0x30, 3, 0x82, 1, 0xff}), false},
		"some reasons":    {extension(28, true, []byte{0x30, 4, 0x83, 2, 1, 0x40}), false},
		"indirect":        {extension(28, true, []byte{0x30, 3, 0x84, 1, 0xff}), false},
		"attributes":      {extension(28, true, []byte{0x30, 3, 0x85, 1, 0xff}), false},
		"this part":       {extension(28, true, point(listURL)), true},
		"another part":    {extension(28, true, point(listURL+"0")), false},
		"malformed":       {extension(28, true, []byte{0x30, 3, 0x81}), false},
		"of the future":   {func(l *x509.RevocationList) { l.ThisUpdate = a.now.Add(time.Hour) }, false},
		"ended": {func(l *x509.RevocationList) {
			l.ThisUpdate, l.NextUpdate = a.now.Add(-2*time.Hour), a.now.Add(-time.Hour)
		}, false},
	} {
		found, err := readList(a.list(t, test.change), a.cert, a.now)
		if err == nil {
			err = found.scope.check(a.own)
		}
		if (err == nil) != test.good {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestReadOCSP has the ends of an answer's life.
//
// Rules: AMQP-60
func TestReadOCSP(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	for name, test := range map[string]struct {
		change func(*ocsp.Response)
		good   bool
	}{
		"plain":          {func(*ocsp.Response) {}, true},
		"clocks differ":  {func(r *ocsp.Response) { r.ThisUpdate = a.now.Add(skew) }, true},
		"of the future":  {func(r *ocsp.Response) { r.ThisUpdate = a.now.Add(skew + time.Second) }, false},
		"ended":          {func(r *ocsp.Response) { r.NextUpdate = a.now.Add(-skew - time.Second) }, false},
		"of another":     {func(r *ocsp.Response) { r.SerialNumber = big.NewInt(8) }, false},
		"revoked":        {func(r *ocsp.Response) { r.Status, r.RevokedAt = ocsp.Revoked, a.now }, true},
		"revoked before": {func(r *ocsp.Response) { r.Status, r.RevokedAt = ocsp.Revoked, a.now.AddDate(0, 0, -9) }, true},
	} {
		found, err := readOCSP(a.answer(t, test.change), a.own, a.cert, a.now)
		if (err == nil) != test.good {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil && (found.status == statusRevoked) != (name[0] == 'r') {
			t.Errorf("%s: status %d", name, found.status)
		}
	}
}

// FuzzReadOCSP: nothing that a responder sends makes a certificate good that it did not sign for.
func FuzzReadOCSP(f *testing.F) {
	a := newAuthority(f)
	revoked := a.answer(f, func(r *ocsp.Response) { r.Status, r.RevokedAt = ocsp.Revoked, a.now })
	f.Add(revoked)
	f.Add(ocsp.TryLaterErrorResponse)
	f.Fuzz(func(t *testing.T, body []byte) {
		if found, err := readOCSP(body, a.own, a.cert, a.now); err == nil && found.status == statusGood {
			t.Errorf("%x makes the certificate good", body)
		}
	})
}

// FuzzReadList: nothing that is not signed is taken for a list.
func FuzzReadList(f *testing.F) {
	a := newAuthority(f)
	f.Add([]byte{0x30, 0})
	f.Add(a.list(f, extension(28, true, point(listURL))))
	other := newAuthority(f) // of the same name, with another key
	f.Fuzz(func(t *testing.T, der []byte) {
		if _, err := readList(der, other.cert, a.now); err == nil {
			t.Errorf("%x is taken for a list", der)
		}
	})
}

// TestCache makes room for what is new.
func TestCache(t *testing.T) {
	t.Parallel()
	c := newCache[int](2)
	for i, key := range []string{"a", "b", "a", "c"} {
		c.put(key, i)
	}
	_, a := c.get("a")
	b, _ := c.get("b")
	if a || b != 1 || len(c.items) != 2 || len(c.order) != 2 {
		t.Errorf("%v %v", c.items, c.order)
	}
	c.clear()
	if _, ok := c.get("b"); ok {
		t.Error("not cleared")
	}
}
