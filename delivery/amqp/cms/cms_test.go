package cms_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"schakel/delivery/amqp/certs"
	"schakel/delivery/amqp/cms"
	"schakel/delivery/amqp/pkitest"
)

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
	must(t, err)
	return body
}

func (p parties) sign(t testing.TB, content []byte) []byte {
	t.Helper()
	signed, err := cms.Sign(content, p.sender)
	must(t, err)
	return signed
}

func envelope(t testing.TB, content []byte, c *x509.Certificate) []byte {
	t.Helper()
	body, err := cms.Envelope(content, c)
	must(t, err)
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
		must(t, err)
		if cap(opened.Content)-len(opened.Content) > 64 {
			t.Errorf("%d bytes: decrypted into %d", size, cap(opened.Content))
		}
		if _, err := cms.Verify(opened.Content, p.want()); err != nil {
			t.Errorf("%d bytes: inside the envelope is no signed message: %v", size, err)
		}
	}
}

// TestSealIsSignThenEnvelope: the one step and the two steps are read alike, and neither touches what it was given.
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

// TestParallelCertificates: what was encrypted for an older certificate is still opened, among identities that lack one.
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
	must(t, err)
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

// TestInvalidCMS has bodies that are no envelope.
//
// Rules: AMQP-127
func TestInvalidCMS(t *testing.T) {
	t.Parallel()
	p := newParties(t)
	body := p.seal(t, []byte("<MsgHead/>"))
	tests := map[string][]byte{
		"nothing":        nil,
		"text":           []byte("<MsgHead/>"),
		"zeros":          make([]byte, 100),
		"a MIME part":    append([]byte("Content-Type: application/pkcs7-mime\r\n\r\n"), body...),
		"something more": append(slices.Clone(body), 0),
		"signed only":    p.sign(t, []byte("x")),
		"a certificate":  p.sender.Certificate.Raw,
		"nested":         bytes.Repeat([]byte{0x30, 0x80}, 1<<20),
		"many":           append([]byte{0x30, 0x83, 0x04, 0x00, 0x00}, make([]byte, 1<<18)...),
		"long length":    {0x30, 0x88, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
	}
	for _, n := range []int{1, 2, 10, 100, len(body) / 2, len(body) - 1} {
		tests["cut off at "+strconv.Itoa(n)] = body[:n]
	}
	for name, body := range tests {
		if _, err := cms.Open(body, p.keys()); cms.KindOf(err) != cms.InvalidCMS {
			t.Errorf("%s: %v", name, err)
		}
	}
	small := cms.Limits{Bytes: len(body) - 1}
	if _, err := small.Open(body, p.keys()); cms.KindOf(err) != cms.InvalidCMS {
		t.Errorf("too large: %v", err)
	}
}

// TestDecryptionFailed: whatever is wrong behind the recipient's name looks the
// same, so that nobody can use the answers to decrypt.
//
// Rules: AMQP-131
func TestDecryptionFailed(t *testing.T) {
	t.Parallel()
	p := newParties(t)
	body := p.seal(t, []byte("<MsgHead/>"))
	name := p.recipient.Certificate.RawIssuer
	wrapped := bytes.Index(body, name) + len(name) + 40 // within the wrapped key
	data := bytes.LastIndex(body, []byte{0x2a, 0x04, 0x10})
	tests := map[string]func([]byte){
		"wrapped key":         func(b []byte) { b[wrapped] ^= 1 },
		"wrapped key at zero": func(b []byte) { clear(b[wrapped : wrapped+200]) },
		"algorithm":           func(b []byte) { b[data] = 0x2b },
		"another key size":    func(b []byte) { b[data] = 0x02 },
		"initial vector":      func(b []byte) { b[data+3] ^= 1 },
		"first block":         func(b []byte) { b[data+3+16+6] ^= 1 },
		"last block":          func(b []byte) { b[len(b)-1] ^= 1 },
		"last block but one":  func(b []byte) { clear(b[len(b)-32 : len(b)-16]) },
	}
	var texts []string
	const oneText = "transport:decryption-failed: the content could not be decrypted"
	check := func(name string, err error) {
		var failure *cms.Failure
		if !errors.As(err, &failure) || failure.Kind != cms.DecryptionFailed {
			t.Errorf("%s: %v", name, err)
			return
		}
		text := failure.Error()
		if name == "algorithm" { // it stands in the clear; the sender gets the same answer in any case
			text = oneText
		}
		texts = append(texts, text+failure.Expected+failure.Actual)
		if failure.Expected != certs.Thumbprint(p.recipient.Certificate) {
			t.Errorf("%s: expected %q", name, failure.Expected)
		}
	}
	for name, change := range tests {
		changed := slices.Clone(body)
		change(changed)
		_, err := cms.Unseal(changed, p.keys(), p.want())
		check(name, err)
	}
	wrongKey := cms.Identity{Certificate: p.recipient.Certificate, Key: p.other.Key}
	for range 20 { // some random key gives a padding that fits, now and then
		_, err := cms.Unseal(body, []cms.Identity{wrongKey}, p.want())
		check("wrong key", err)
	}
	_, err := cms.Unseal(envelope(t, []byte("not signed"), p.recipient.Certificate), p.keys(), p.want())
	check("not signed", err)
	slices.Sort(texts)
	if len(slices.Compact(texts)) != 1 {
		t.Errorf("failures can be told apart: %q", slices.Compact(texts))
	}
}

// TestInvalidSignature has signed messages that were changed, inside an envelope that is sound.
//
// Rules: AMQP-132
func TestInvalidSignature(t *testing.T) {
	t.Parallel()
	p := newParties(t)
	content := []byte("<MsgHead>the content</MsgHead>")
	signed := p.sign(t, content)
	at := func(what []byte) int { return bytes.Index(signed, what) }
	digestName := bytes.LastIndex(signed, []byte{0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01})
	attribute := at([]byte{0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x04})
	tests := map[string]func([]byte){
		"content":          func(b []byte) { b[at(content)] ^= 1 },
		"signature":        func(b []byte) { b[len(b)-1] ^= 1 },
		"signed digest":    func(b []byte) { b[attribute+20] ^= 1 },
		"no signed digest": func(b []byte) { b[attribute+8] = 9 },
		"digest algorithm": func(b []byte) { b[digestName+8] = 2 },
		"unknown digest":   func(b []byte) { b[digestName+8] = 77 },
		"no signer's name": func(b []byte) {
			b[bytes.LastIndex(b, p.sender.Certificate.RawIssuer)+len(p.sender.Certificate.RawIssuer)+3] ^= 1
		},
		"public key": func(b []byte) { b[bytes.Index(b, p.sender.Certificate.RawSubjectPublicKeyInfo)+60] ^= 1 },
	}
	for name, change := range tests {
		changed := slices.Clone(signed)
		change(changed)
		_, err := cms.Unseal(envelope(t, changed, p.recipient.Certificate), p.keys(), p.want())
		if cms.KindOf(err) != cms.InvalidSignature || errors.Is(err, cms.ErrOtherSigner) {
			t.Errorf("%s: %v", name, err)
		}
		if !strings.Contains(err.Error(), "transport:invalid-signature") {
			t.Errorf("%s: text %q", name, err)
		}
	}
}

// TestVerifyRefusesShape has what is no signed message at all.
//
// Rules: AMQP-127
func TestVerifyRefusesShape(t *testing.T) {
	t.Parallel()
	p := newParties(t)
	signed := p.sign(t, []byte("x"))
	for name, body := range map[string][]byte{
		"nothing": nil, "cut off": signed[:len(signed)-1], "envelope": p.seal(t, nil), "longer": append(slices.Clone(signed), 5, 0),
	} {
		if got, err := cms.Verify(body, p.want()); cms.KindOf(err) != cms.InvalidCMS || got.Signer != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzOpen gives anything as a body: it never panics, and every fault of a message has a kind.
func FuzzOpen(f *testing.F) {
	p := newParties(f)
	f.Add(p.seal(f, []byte("<MsgHead/>")))
	f.Add(p.sign(f, []byte("<MsgHead/>")))
	f.Add([]byte{0x30, 0x80, 0x24, 0x80, 0x04, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00})
	f.Fuzz(func(t *testing.T, body []byte) {
		if _, err := cms.Unseal(body, p.keys(), p.want()); err != nil && cms.KindOf(err) == "" {
			t.Errorf("no kind: %v", err)
		}
	})
}

// FuzzVerify puts anything in the place of a part of a signed message: either
// it is refused, or the content equals the signed one.
func FuzzVerify(f *testing.F) {
	p := newParties(f)
	content := []byte("<MsgHead/>")
	signed := p.sign(f, content)
	f.Add(uint16(0), uint16(0), []byte{})
	f.Add(uint16(60), uint16(1), []byte{0x80})
	f.Add(uint16(bytes.Index(signed, content)), uint16(3), []byte("abc"))
	f.Fuzz(func(t *testing.T, at, length uint16, change []byte) {
		from := int(at) % len(signed)
		changed := slices.Replace(bytes.Clone(signed), from, min(from+int(length), len(signed)), change...)
		got, err := cms.Verify(changed, p.want())
		switch {
		case err != nil && cms.KindOf(err) == "":
			t.Errorf("no kind: %v", err)
		case err == nil && !bytes.Equal(got.Content, content):
			t.Errorf("verified %q, which nobody signed", got.Content)
		}
	})
}

// TestHostileMemory: a body of 16 MiB made to be costly takes no more memory than an honest one.
//
// Rules: AMQP-127
func TestHostileMemory(t *testing.T) { // not parallel: it measures the heap
	p := newParties(t)
	const size = 16 << 20
	pieces := append([]byte{0x24, 0x80}, bytes.Repeat([]byte{0x04, 0x00}, size/2)...)
	for name, body := range map[string][]byte{
		"deep":        bytes.Repeat([]byte{0x30, 0x80}, size/2),
		"pieces":      append(pieces, 0, 0),
		"deep pieces": bytes.Repeat([]byte{0x24, 0x80}, size/2),
		"flat":        append([]byte{0x30, 0x84, 0x01, 0x00, 0x00, 0x00}, bytes.Repeat([]byte{0x05, 0x00}, size/2)...),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := cms.Open(body, p.keys())
		runtime.ReadMemStats(&after)
		if cms.KindOf(err) != cms.InvalidCMS {
			t.Errorf("%s: %v", name, err)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > size {
			t.Errorf("%s: %d bytes for a body of %d", name, used, size)
		}
	}
}

// BenchmarkSeal and BenchmarkOpen: 4 KB, 1 MB and 16 MB of content.
func BenchmarkSeal(b *testing.B) {
	p := newParties(b)
	for name, size := range sizes() {
		b.Run(name, func(b *testing.B) {
			content := make([]byte, size)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				p.seal(b, content)
			}
		})
	}
}

// BenchmarkOpen opens and verifies.
func BenchmarkOpen(b *testing.B) {
	p := newParties(b)
	for name, size := range sizes() {
		b.Run(name, func(b *testing.B) {
			body := p.seal(b, make([]byte, size))
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := cms.Unseal(body, p.keys(), p.want()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func sizes() map[string]int { return map[string]int{"4KB": 4 << 10, "1MB": 1 << 20, "16MB": 16 << 20} }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
