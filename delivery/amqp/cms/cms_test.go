package cms_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"schakel/delivery/amqp/certs"
	"schakel/delivery/amqp/cms"
	"schakel/delivery/amqp/pkitest"
)

// parties are a sender, a recipient, and one who is neither.
type parties struct{ sender, recipient, other cms.Identity }

func newParties(t testing.TB) parties {
	t.Helper()
	pki := pkitest.New(t, fixedNow)
	return parties{cms.Identity(pki.Signer()), cms.Identity(pki.Recipient()), cms.Identity(pki.Recipient())}
}

func fixedNow() time.Time { return time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC) }

func (p parties) want() []*x509.Certificate { return []*x509.Certificate{p.sender.Certificate} }

func (p parties) keys() []cms.Identity { return []cms.Identity{p.recipient} }

func (p parties) seal(t testing.TB, content []byte) []byte {
	t.Helper()
	body, err := cms.Seal(content, p.sender, p.recipient.Certificate)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func (p parties) sign(t testing.TB, content []byte) []byte {
	t.Helper()
	signed, err := cms.Sign(content, p.sender)
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

func envelope(t testing.TB, content []byte, c *x509.Certificate) []byte {
	t.Helper()
	body, err := cms.Envelope(content, c)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// TestRoundTrip: the signed octets come back as they were, for every size
// around the block of the cipher and the steps of a DER length.
//
// Rules: AMQP-67, AMQP-68, AMQP-69, AMQP-70
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	p := newParties(t)
	for _, size := range []int{0, 1, 15, 16, 17, 100, 127, 128, 255, 256, 65535, 65536, 1 << 20} {
		content := make([]byte, size)
		rand.Read(content)
		body := p.seal(t, content)
		got, err := cms.Unseal(body, p.keys(), p.want())
		if err != nil || !bytes.Equal(got.Content, content) {
			t.Fatalf("%d bytes: %v", size, err)
		}
		if !got.Signer.Equal(p.sender.Certificate) || !got.Recipient.Equal(p.recipient.Certificate) {
			t.Errorf("%d bytes: signer or recipient is another", size)
		}
		opened, err := cms.Open(body, p.keys())
		if err != nil {
			t.Fatal(err)
		}
		if cap(opened.Content)-len(opened.Content) > 64 {
			t.Errorf("%d bytes: decrypted into %d", size, cap(opened.Content))
		}
		if _, err := cms.Verify(opened.Content, p.want()); err != nil {
			t.Errorf("%d bytes: inside the envelope is no signed message: %v", size, err)
		}
	}
}

// TestSealIsSignThenEnvelope: the one step and the two steps are read alike,
// and neither touches what it was given.
//
// Rules: AMQP-67
func TestSealIsSignThenEnvelope(t *testing.T) {
	t.Parallel()
	p := newParties(t)
	signed := p.sign(t, []byte("<MsgHead/>"))
	roomy := append(slices.Clone(signed), "behind the slice"...)
	body := envelope(t, roomy[:len(signed)], p.recipient.Certificate)
	if string(roomy[len(signed):]) != "behind the slice" {
		t.Error("Envelope wrote behind its input")
	}
	before := slices.Clone(body)
	got, err := cms.Unseal(body, p.keys(), p.want())
	if err != nil || string(got.Content) != "<MsgHead/>" {
		t.Fatal(err)
	}
	if !bytes.Equal(body, before) {
		t.Error("Unseal changed its input: it could not be opened again")
	}
	if len(p.seal(t, []byte("<MsgHead/>"))) != len(body) {
		t.Error("Seal writes another form")
	}
}

// TestParallelCertificates: what was encrypted for an older certificate is
// still opened, among identities that lack one.
//
// Rules: AMQP-64
func TestParallelCertificates(t *testing.T) {
	t.Parallel()
	p := newParties(t)
	keys := []cms.Identity{{}, p.other, p.recipient}
	for _, id := range keys[1:] {
		opened, err := cms.Open(envelope(t, []byte("x"), id.Certificate), keys)
		if err != nil || !opened.Recipient.Equal(id.Certificate) {
			t.Errorf("opened with another certificate: %v", err)
		}
	}
}

// TestUnknownRecipient names both sides.
//
// Rules: AMQP-128
func TestUnknownRecipient(t *testing.T) {
	t.Parallel()
	p := newParties(t)
	_, err := cms.Open(p.seal(t, []byte("x")), []cms.Identity{p.other, p.sender})
	var failure *cms.Failure
	if !errors.As(err, &failure) || failure.Kind != cms.UnknownRecipient {
		t.Fatal(err)
	}
	if want := certs.Thumbprint(p.other.Certificate) + "," + certs.Thumbprint(p.sender.Certificate); failure.Expected != want {
		t.Errorf("expected %s, want %s", failure.Expected, want)
	}
	if !strings.Contains(failure.Actual, "Test Issuer") || !strings.Contains(failure.Actual, "serial number") {
		t.Errorf("actual %q does not name the recipient", failure.Actual)
	}
}

// TestOtherSigner: a sound signature of somebody else is refused, and named.
//
// Rules: AMQP-72, AMQP-132
func TestOtherSigner(t *testing.T) {
	t.Parallel()
	p := newParties(t)
	for name, want := range map[string][]*x509.Certificate{"nobody": nil, "another": {p.other.Certificate}} {
		got, err := cms.Unseal(p.seal(t, []byte("x")), p.keys(), want)
		var failure *cms.Failure
		if !errors.Is(err, cms.ErrOtherSigner) || !errors.As(err, &failure) || failure.Kind != cms.InvalidSignature {
			t.Fatalf("%s: %v", name, err)
		}
		if got.Content != nil || !got.Signer.Equal(p.sender.Certificate) || failure.Actual != certs.Thumbprint(p.sender.Certificate) {
			t.Errorf("%s: %+v", name, failure)
		}
	}
	_, err := cms.Verify(p.sign(t, nil), append(p.want(), p.other.Certificate))
	if err != nil {
		t.Errorf("one of two: %v", err)
	}
}

// TestUnfitKeys: an identity without a fitting key is a fault of ours, not of the message.
func TestUnfitKeys(t *testing.T) {
	t.Parallel()
	p := newParties(t)
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for name, key := range map[string]any{"none": nil, "text": "key", "curve": curve} {
		id := cms.Identity{Certificate: p.recipient.Certificate, Key: key}
		if _, err := cms.Open(p.seal(t, []byte("x")), []cms.Identity{id}); !errors.Is(err, cms.ErrKey) || cms.KindOf(err) != "" {
			t.Errorf("%s: open: %v", name, err)
		}
		if _, err := cms.Sign(nil, cms.Identity{Key: key}); !errors.Is(err, cms.ErrKey) {
			t.Errorf("%s: sign: %v", name, err)
		}
	}
	if _, err := cms.Seal(nil, p.sender, nil); !errors.Is(err, cms.ErrRecipient) {
		t.Error(err)
	}
	if _, err := cms.Envelope(nil, &x509.Certificate{PublicKey: &curve.PublicKey}); !errors.Is(err, cms.ErrRecipient) {
		t.Error(err)
	}
}

// TestConcurrent has many at work on the same identities; the race detector looks on.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	p := newParties(t)
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			content := bytes.Repeat([]byte{byte(i)}, 1000+i)
			body, err := cms.Seal(content, p.sender, p.recipient.Certificate)
			if err != nil {
				t.Error(err)
				return
			}
			if got, err := cms.Unseal(body, p.keys(), p.want()); err != nil || !bytes.Equal(got.Content, content) {
				t.Error(err)
			}
		})
	}
	group.Wait()
}
