package cms_test

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"schakel/delivery/amqp/certs"
	"schakel/delivery/amqp/cms"
)

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

// TestInvalidSignature has signed messages that were changed, inside an
// envelope that is sound.
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
