package cms_test

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/smallstep/pkcs7"
	"schakel/delivery/amqp/cms"
	"schakel/store/needs"
)

type openssl struct {
	t   testing.TB
	dir string
}

func newOpenssl(t testing.TB, p parties) openssl {
	t.Helper()
	needs.Program(t, "openssl")
	o := openssl{t, t.TempDir()}
	for name, id := range map[string]cms.Identity{"sender": p.sender, "recipient": p.recipient, "other": p.other} {
		key, err := x509.MarshalPKCS8PrivateKey(id.Key)
		must(t, err)
		o.write(name+".crt", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: id.Certificate.Raw}))
		o.write(name+".key", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}))
	}
	return o
}

func (o openssl) write(name string, content []byte) {
	o.t.Helper()
	must(o.t, os.WriteFile(filepath.Join(o.dir, name), content, 0o600))
}

// run gives input to "openssl cms" and returns what it prints.
func (o openssl) run(input []byte, args ...string) []byte {
	o.t.Helper()
	o.write("in", input)
	cmd := exec.Command("openssl", append([]string{"cms", "-in", "in", "-binary"}, args...)...)
	cmd.Dir = o.dir
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		o.t.Fatalf("openssl cms %q: %v: %s", args, err, complaints.String())
	}
	return out
}

// TestOpensslReads: another implementation decrypts and verifies what we made,
// from the raw body and without the content beside it.
//
// Rules: AMQP-41, AMQP-66, AMQP-67, AMQP-68
func TestOpensslReads(t *testing.T) {
	t.Parallel()
	p := newParties(t)
	o := newOpenssl(t, p)
	for _, size := range []int{0, 1, 4096, 300_000} {
		content := bytes.Repeat([]byte("æøå "), size/6+1)[:size]
		body := p.seal(t, content)
		signed := o.run(body, "-decrypt", "-inform", "DER", "-recip", "recipient.crt", "-inkey", "recipient.key")
		got := o.run(signed, "-verify", "-inform", "DER", "-noverify", "-certfile", "sender.crt")
		if !bytes.Equal(got, content) {
			t.Errorf("%d bytes: openssl reads something else", size)
		}
		shape := o.run(body, "-cmsout", "-print", "-inform", "DER", "-noout")
		for _, want := range []string{"pkcs7-envelopedData", "aes-256-cbc", "rsaEncryption"} {
			if !bytes.Contains(shape, []byte(want)) {
				t.Errorf("%d bytes: the envelope has no %s", size, want)
			}
		}
		shape = o.run(signed, "-cmsout", "-print", "-inform", "DER", "-noout")
		for _, want := range []string{"pkcs7-signedData", "sha256"} {
			if !bytes.Contains(shape, []byte(want)) {
				t.Errorf("%d bytes: inside the envelope is no %s", size, want)
			}
		}
	}
}

// TestOpensslWrites: we read what another implementation makes, in the forms it has, streamed with indefinite lengths as well.
//
// Rules: AMQP-64, AMQP-66, AMQP-67, AMQP-68
func TestOpensslWrites(t *testing.T) {
	t.Parallel()
	p := newParties(t)
	o := newOpenssl(t, p)
	content := bytes.Repeat([]byte("0123456789"), 5000)
	sign := []string{"-sign", "-nodetach", "-outform", "DER", "-signer", "sender.crt", "-inkey", "sender.key", "-md"}
	signed := map[string][]byte{}
	for name, more := range map[string][]string{
		"plain": {"sha256"}, "sha384": {"sha384"}, "sha512": {"sha512"}, "key id": {"sha256", "-keyid"},
		"no attributes": {"sha256", "-noattr"}, "streamed": {"sha256", "-stream"}, "with others": {"sha256", "-certfile", "other.crt"},
	} {
		signed[name] = o.run(content, append(sign, more...)...)
	}
	for name, signed := range signed {
		got, err := cms.Verify(signed, p.want())
		if err != nil || !bytes.Equal(got.Content, content) {
			t.Errorf("signed, %s: %v", name, err)
		}
	}
	encrypt := []string{"-encrypt", "-outform", "DER"}
	for name, more := range map[string][]string{
		"aes128": {"-aes-128-cbc", "recipient.crt"}, "aes192": {"-aes-192-cbc", "recipient.crt"}, "aes256": {"-aes-256-cbc", "recipient.crt"},
		"triple des": {"-des3", "recipient.crt"}, "key id": {"-aes256", "-keyid", "recipient.crt"},
		"streamed": {"-aes256", "-stream", "recipient.crt"}, "two": {"-aes256", "other.crt", "recipient.crt"},
	} {
		for inside, signed := range signed {
			got, err := cms.Unseal(o.run(signed, append(encrypt, more...)...), p.keys(), p.want())
			if err != nil || !bytes.Equal(got.Content, content) {
				t.Errorf("encrypted, %s, around %s: %v", name, inside, err)
			}
		}
	}
}

// TestOpensslRefused has sound messages of kinds that the profile does not allow.
//
// Rules: AMQP-66, AMQP-127, AMQP-131, AMQP-132
func TestOpensslRefused(t *testing.T) {
	t.Parallel()
	p := newParties(t)
	o := newOpenssl(t, p)
	sign := []string{"-sign", "-outform", "DER", "-signer", "sender.crt", "-inkey", "sender.key"}
	for name, test := range map[string]struct {
		args []string
		want cms.Kind
	}{
		"detached":       {nil, cms.InvalidCMS},
		"no certificate": {[]string{"-nodetach", "-nocerts"}, cms.InvalidSignature},
		"two signers":    {[]string{"-nodetach", "-signer", "other.crt", "-inkey", "other.key"}, cms.InvalidSignature},
		"SHA-1":          {[]string{"-nodetach", "-md", "sha1"}, cms.InvalidSignature},
		"other content":  {[]string{"-nodetach", "-econtent_type", "1.2.3.4"}, cms.InvalidCMS},
	} {
		signed := o.run([]byte("<MsgHead/>"), append(sign, test.args...)...)
		if _, err := cms.Verify(signed, p.want()); cms.KindOf(err) != test.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	encrypt := []string{"-encrypt", "-outform", "DER"}
	for name, more := range map[string][]string{
		"another cipher": {"-camellia256", "recipient.crt"}, "another hash": {"-aes256", "-recip", "recipient.crt", "-keyopt", "rsa_padding_mode:oaep", "-keyopt", "rsa_oaep_md:sha224"},
	} {
		if _, err := cms.Open(o.run([]byte("x"), append(encrypt, more...)...), p.keys()); cms.KindOf(err) != cms.DecryptionFailed {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAttributesShownAsContent: a signature over attributes must not be taken for one over content that looks like them.
//
// Rules: AMQP-132
func TestAttributesShownAsContent(t *testing.T) {
	t.Parallel()
	p := newParties(t)
	o := newOpenssl(t, p)
	content := []byte{0x31, 0x02, 0x05, 0x00}
	signed := o.run(content, "-sign", "-nodetach", "-noattr", "-outform", "DER", "-signer", "sender.crt", "-inkey", "sender.key")
	if _, err := cms.Verify(signed, p.want()); cms.KindOf(err) != cms.InvalidSignature || errors.Is(err, cms.ErrOtherSigner) {
		t.Error(err)
	}
}

// TestLibraryReads has a second foreign reader, in Go.
//
// Rules: AMQP-68
func TestLibraryReads(t *testing.T) {
	t.Parallel()
	p := newParties(t)
	outer, err := pkcs7.Parse(p.seal(t, []byte("<MsgHead/>")))
	must(t, err)
	plain, err := outer.Decrypt(p.recipient.Certificate, p.recipient.Key)
	must(t, err)
	inner, err := pkcs7.Parse(plain)
	must(t, err)
	if err := inner.Verify(); err != nil || string(inner.Content) != "<MsgHead/>" {
		t.Errorf("%q: %v", inner.Content, err)
	}
}
