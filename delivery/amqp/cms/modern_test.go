package cms_test

import (
	"bytes"
	"crypto"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509/pkix"
	"encoding/asn1"
	"slices"
	"strings"
	"testing"

	"schakel/delivery/amqp/cms"
)

func keyopts(options ...string) []string {
	var args []string
	for _, o := range options {
		args = append(args, "-keyopt", o)
	}
	return args
}

// TestOpensslModern reads what another implementation writes with RSA-OAEP, AES-GCM and RSA-PSS, with all their parameters.
//
// Rules: AMQP-68, AMQP-101, AMQP-104
func TestOpensslModern(t *testing.T) {
	t.Parallel()
	p := newParties(t)
	o := newOpenssl(t, p)
	content := bytes.Repeat([]byte("0123456789"), 500)
	signatures := map[string][]string{
		"PSS":                      {"rsa_padding_mode:pss"},
		"PSS, salt of the digest":  {"rsa_padding_mode:pss", "rsa_pss_saltlen:-1"},
		"PSS, largest salt":        {"rsa_padding_mode:pss", "rsa_pss_saltlen:max"},
		"PSS, salt of 13":          {"rsa_padding_mode:pss", "rsa_pss_saltlen:13"},
		"PSS, no salt":             {"rsa_padding_mode:pss", "rsa_pss_saltlen:0"},
		"PSS, mask of another md":  {"rsa_padding_mode:pss", "rsa_mgf1_md:sha512"},
		"PSS, mask of a third one": {"rsa_padding_mode:pss", "rsa_mgf1_md:sha384", "rsa_pss_saltlen:max"},
		"PKCS1":                    {"rsa_padding_mode:pkcs1"},
	}
	signed := map[string][]byte{}
	for name, options := range signatures {
		for _, md := range []string{"sha256", "sha384", "sha512"} {
			args := append([]string{"-sign", "-nodetach", "-outform", "DER", "-md", md, "-signer", "sender.crt", "-inkey", "sender.key"}, keyopts(options...)...)
			message := o.run(content, args...)
			signed[name] = message
			if got, err := cms.Verify(message, p.want()); err != nil || !bytes.Equal(got.Content, content) {
				t.Errorf("%s with %s: %v", name, md, err)
			}
			changed := bytes.Replace(message, []byte("0123"), []byte("0124"), 1)
			if _, err := cms.Verify(changed, p.want()); cms.KindOf(err) != cms.InvalidSignature {
				t.Errorf("%s with %s, other content: %v", name, md, err)
			}
			broken := slices.Clone(message)
			broken[len(broken)-1] ^= 1
			if _, err := cms.Verify(broken, p.want()); cms.KindOf(err) != cms.InvalidSignature {
				t.Errorf("%s with %s, other signature: %v", name, md, err)
			}
		}
	}
	keys := map[string][]string{
		"OAEP":                     {"rsa_padding_mode:oaep"},
		"OAEP, SHA-256":            {"rsa_padding_mode:oaep", "rsa_oaep_md:sha256"},
		"OAEP, SHA-512":            {"rsa_padding_mode:oaep", "rsa_oaep_md:sha512"},
		"OAEP, mask of another md": {"rsa_padding_mode:oaep", "rsa_oaep_md:sha256", "rsa_mgf1_md:sha1"},
		"OAEP, SHA-1 with mask":    {"rsa_padding_mode:oaep", "rsa_mgf1_md:sha384"},
		"OAEP, label":              {"rsa_padding_mode:oaep", "rsa_oaep_md:sha256", "rsa_oaep_label:0a0bff"},
		"PKCS1":                    {"rsa_padding_mode:pkcs1"},
	}
	for name, options := range keys {
		for _, with := range []string{"-aes-128-gcm", "-aes-192-gcm", "-aes-256-gcm", "-aes-256-cbc"} {
			for _, more := range [][]string{nil, {"-stream"}, {"-keyid"}} {
				args := append([]string{"-encrypt", "-outform", "DER", with}, more...)
				body := o.run(signed["PSS"], append(append(args, "-recip", "recipient.crt"), keyopts(options...)...)...)
				got, err := cms.Unseal(body, p.keys(), p.want())
				if err != nil || !bytes.Equal(got.Content, content) {
					t.Errorf("%s, %s, %v: %v", name, with, more, err)
				}
			}
		}
	}
	sha1 := o.run(content, append([]string{"-sign", "-nodetach", "-outform", "DER", "-md", "sha1", "-signer", "sender.crt", "-inkey", "sender.key"}, keyopts("rsa_padding_mode:pss")...)...)
	if _, err := cms.Verify(sha1, p.want()); cms.KindOf(err) != cms.InvalidSignature {
		t.Errorf("PSS with SHA-1: %v", err)
	}
	mask := o.run(content, append([]string{"-sign", "-nodetach", "-outform", "DER", "-md", "sha256", "-signer", "sender.crt", "-inkey", "sender.key"}, keyopts("rsa_padding_mode:pss", "rsa_mgf1_md:sha1")...)...)
	if _, err := cms.Verify(mask, p.want()); cms.KindOf(err) != cms.InvalidSignature || !strings.Contains(err.Error(), "SHA-1") {
		t.Errorf("PSS with a mask of SHA-1: %v", err)
	}
}

// TestRejectedAlgorithms: what a setting rejects is not accepted, and the text names it.
//
// Rules: AMQP-131, AMQP-132
func TestRejectedAlgorithms(t *testing.T) {
	t.Parallel()
	p := newParties(t)
	o := newOpenssl(t, p)
	pss := append([]string{"-sign", "-nodetach", "-outform", "DER", "-md", "sha256", "-signer", "sender.crt", "-inkey", "sender.key"}, keyopts("rsa_padding_mode:pss")...)
	signed := o.run([]byte("<MsgHead/>"), pss...)
	encrypt := func(cipher string, options ...string) []byte {
		return o.run(signed, append([]string{"-encrypt", "-outform", "DER", cipher, "-recip", "recipient.crt"}, keyopts(options...)...)...)
	}
	body := encrypt("-aes-256-gcm", "rsa_padding_mode:oaep")
	for name, c := range map[string]struct {
		body []byte
		want cms.Kind
	}{
		cms.KeyRSA:           {encrypt("-aes256"), cms.DecryptionFailed},
		cms.KeyOAEP:          {body, cms.DecryptionFailed},
		cms.KeyOAEPSHA1:      {body, cms.DecryptionFailed},
		cms.ContentAESCBC:    {encrypt("-aes256"), cms.DecryptionFailed},
		cms.ContentAESGCM:    {body, cms.DecryptionFailed},
		cms.ContentTripleDES: {encrypt("-des3"), cms.DecryptionFailed},
		cms.SignaturePSS:     {body, cms.InvalidSignature},
		cms.SignatureRSA:     {p.seal(t, []byte("<MsgHead/>")), cms.InvalidSignature},
	} {
		if _, err := cms.Unseal(c.body, p.keys(), p.want()); err != nil {
			t.Errorf("%s, not rejected: %v", name, err)
		}
		_, err := cms.Limits{Rejected: []string{name}}.Unseal(c.body, p.keys(), p.want())
		if cms.KindOf(err) != c.want || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := (cms.Limits{Rejected: []string{cms.KeyOAEPSHA1}}).Unseal(encrypt("-aes256", "rsa_padding_mode:oaep", "rsa_oaep_md:sha256", "rsa_mgf1_md:sha256"), p.keys(), p.want()); err != nil {
		t.Errorf("OAEP with SHA-256: %v", err)
	}
	if cms.CheckRejected(cms.Algorithms()) != nil || cms.CheckRejected([]string{"rot13"}) == nil {
		t.Error("names of algorithms")
	}
}

// gcmMessage is an AuthEnvelopedData with attributes and parameters of choice, as RFC 5083 and RFC 5084 have it.
type gcmMessage struct {
	attributes []byte // [1], whole
	aad        []byte
	nonce      []byte
	tag        int
	named      int // the size of the tag that the parameters name
}

func (g gcmMessage) seal(t testing.TB, p parties, content []byte) []byte {
	t.Helper()
	secret := make([]byte, 32)
	rand.Read(secret)
	key, err := rsa.EncryptOAEP(crypto.SHA256.New(), rand.Reader, p.recipient.Certificate.PublicKey.(*rsa.PublicKey), secret, nil)
	must(t, err)
	block, err := aes.NewCipher(secret)
	must(t, err)
	aead, err := cipher.NewGCM(block)
	switch {
	case len(g.nonce) != 12:
		aead, err = cipher.NewGCMWithNonceSize(block, len(g.nonce))
	case g.tag != 16:
		aead, err = cipher.NewGCMWithTagSize(block, g.tag)
	}
	must(t, err)
	sealed := aead.Seal(nil, g.nonce, content, g.aad)
	mac := sealed[len(sealed)-g.tag:]
	sealed = sealed[:len(sealed)-g.tag]
	sha256 := pkix.AlgorithmIdentifier{Algorithm: asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 2, 1}}
	type oaep struct {
		Hash pkix.AlgorithmIdentifier `asn1:"explicit,tag:0"`
		Mask pkix.AlgorithmIdentifier `asn1:"explicit,tag:1"`
	}
	mask := pkix.AlgorithmIdentifier{Algorithm: asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 8}, Parameters: asn1.RawValue{FullBytes: der(t, sha256)}}
	recipient := struct {
		Version int
		Name    struct {
			Issuer asn1.RawValue
			Serial any
		}
		Algorithm pkix.AlgorithmIdentifier
		Key       []byte
	}{Algorithm: pkix.AlgorithmIdentifier{Algorithm: asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 7}, Parameters: asn1.RawValue{FullBytes: der(t, oaep{sha256, mask})}}, Key: key}
	recipient.Name.Issuer, recipient.Name.Serial = asn1.RawValue{FullBytes: p.recipient.Certificate.RawIssuer}, p.recipient.Certificate.SerialNumber
	gcm := pkix.AlgorithmIdentifier{Algorithm: asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 1, 46}, Parameters: asn1.RawValue{FullBytes: der(t, struct {
		Nonce []byte
		Size  int
	}{g.nonce, g.named})}}
	encrypted := der(t, struct {
		Type      asn1.ObjectIdentifier
		Algorithm pkix.AlgorithmIdentifier
		Content   []byte `asn1:"tag:0"`
	}{asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 1}, gcm, sealed})
	parts := slices.Concat(der(t, 0), wrapped(0x31, der(t, recipient)), encrypted, g.attributes, der(t, mac))
	return der(t, struct {
		Type    asn1.ObjectIdentifier
		Content asn1.RawValue
	}{asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 1, 23}, asn1.RawValue{FullBytes: wrapped(0xa0, wrapped(0x30, parts))}})
}

func der(t testing.TB, value any) []byte {
	t.Helper()
	out, err := asn1.Marshal(value)
	must(t, err)
	return out
}

func wrapped(tag byte, content []byte) []byte {
	out, err := asn1.Marshal(asn1.RawValue{Class: int(tag >> 6), Tag: int(tag & 0x1f), IsCompound: tag&0x20 != 0, Bytes: content})
	if err != nil {
		panic(err)
	}
	return out
}

// attributesOf are authenticated attributes with a content type, and as they are authenticated.
func attributesOf(t testing.TB, kind asn1.ObjectIdentifier) (attributes, aad []byte) {
	one := der(t, struct {
		Type   asn1.ObjectIdentifier
		Values []asn1.ObjectIdentifier `asn1:"set"`
	}{asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 3}, []asn1.ObjectIdentifier{kind}})
	return wrapped(0xa1, one), wrapped(0x31, one)
}

// TestAuthenticatedAttributes reads messages whose attributes are authenticated too, and with tags and nonces of other sizes.
// All that does not fit gives one error.
//
// Rules: AMQP-101, AMQP-131
func TestAuthenticatedAttributes(t *testing.T) {
	t.Parallel()
	p := newParties(t)
	content := p.sign(t, []byte("<MsgHead/>"))
	attributes, aad := attributesOf(t, asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 1})
	others, otherAAD := attributesOf(t, asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 2})
	nonce := []byte("twelve bytes")
	for name, c := range map[string]struct {
		message gcmMessage
		good    bool
	}{
		"none":                    {gcmMessage{nil, nil, nonce, 16, 16}, true},
		"attributes":              {gcmMessage{attributes, aad, nonce, 16, 16}, true},
		"tag of 12":               {gcmMessage{attributes, aad, nonce, 12, 12}, true},
		"tag of 13":               {gcmMessage{nil, nil, nonce, 13, 13}, true},
		"nonce of 16":             {gcmMessage{attributes, aad, []byte("sixteen bytes ..")[:16], 16, 16}, true},
		"attributes taken away":   {gcmMessage{nil, aad, nonce, 16, 16}, false},
		"attributes put in":       {gcmMessage{attributes, nil, nonce, 16, 16}, false},
		"as they stand":           {gcmMessage{attributes, attributes, nonce, 16, 16}, false},
		"another content type":    {gcmMessage{others, otherAAD, nonce, 16, 16}, false},
		"tag of a size not named": {gcmMessage{nil, nil, nonce, 16, 12}, false},
		"garbage as attributes":   {gcmMessage{wrapped(0xa1, []byte{4, 1, 1}), wrapped(0x31, []byte{4, 1, 1}), nonce, 16, 16}, false},
	} {
		body := c.message.seal(t, p, content)
		got, err := cms.Unseal(body, p.keys(), p.want())
		if c.good != (err == nil) || c.good && string(got.Content) != "<MsgHead/>" {
			t.Errorf("%s: %v", name, err)
		}
		if !c.good && (cms.KindOf(err) != cms.DecryptionFailed || !strings.HasSuffix(err.Error(), ": the content could not be decrypted")) {
			t.Errorf("%s: %v", name, err)
		}
	}
	whole := gcmMessage{attributes, aad, nonce, 16, 16}.seal(t, p, content)
	for _, at := range []int{1, 17, 20, 60, len(whole) - len(attributes) - 40} { // tag, attributes, content
		changed := slices.Clone(whole)
		changed[len(changed)-at] ^= 1
		if _, err := cms.Unseal(changed, p.keys(), p.want()); err == nil {
			t.Errorf("changed %d before the end: it is taken", at)
		}
	}
}

// FuzzModern puts anything in the place of a part of a message with RSA-OAEP and AES-GCM: it is refused with a kind, or the
// content holds the signed bytes.
func FuzzModern(f *testing.F) {
	p := newParties(f)
	attributes, aad := attributesOf(f, asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 1})
	body := gcmMessage{attributes, aad, []byte("twelve bytes"), 16, 16}.seal(f, p, p.sign(f, []byte("<MsgHead/>")))
	f.Add(uint16(0), uint16(0), []byte{})
	f.Add(uint16(20), uint16(1), []byte{0x80})
	f.Add(uint16(len(body)-10), uint16(10), []byte("abc"))
	f.Fuzz(func(t *testing.T, at, length uint16, change []byte) {
		from := int(at) % len(body)
		got, err := cms.Unseal(slices.Replace(bytes.Clone(body), from, min(from+int(length), len(body)), change...), p.keys(), p.want())
		switch {
		case err != nil && cms.KindOf(err) == "":
			t.Errorf("no kind: %v", err)
		case err == nil && string(got.Content) != "<MsgHead/>":
			t.Errorf("%q, which nobody signed", got.Content)
		}
	})
}

// FuzzPSS puts anything in the place of a part of a message signed with RSA-PSS and a mask of another hash.
func FuzzPSS(f *testing.F) {
	p := newParties(f)
	o := newOpenssl(f, p)
	signed := o.run([]byte("<MsgHead/>"), append([]string{"-sign", "-nodetach", "-outform", "DER", "-md", "sha256", "-signer", "sender.crt", "-inkey", "sender.key"}, keyopts("rsa_padding_mode:pss", "rsa_mgf1_md:sha512")...)...)
	f.Add(uint16(0), uint16(0), []byte{})
	f.Add(uint16(len(signed)-1), uint16(1), []byte{1})
	f.Add(uint16(len(signed)-300), uint16(4), []byte{0xa0, 0x80})
	f.Fuzz(func(t *testing.T, at, length uint16, change []byte) {
		from := int(at) % len(signed)
		got, err := cms.Verify(slices.Replace(bytes.Clone(signed), from, min(from+int(length), len(signed)), change...), p.want())
		switch {
		case err != nil && cms.KindOf(err) == "":
			t.Errorf("no kind: %v", err)
		case err == nil && string(got.Content) != "<MsgHead/>":
			t.Errorf("verified %q, which nobody signed", got.Content)
		}
	})
}
