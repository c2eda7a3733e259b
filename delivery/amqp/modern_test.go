package amqp_test

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"schakel/delivery/amqp/cms"
	"schakel/store"
	"schakel/store/needs"
)

// foreign seals a document with openssl, which signs with RSA-PSS and encrypts with AES-GCM and RSA-OAEP.
func foreign(t *testing.T, document []byte, from, to identity) []byte {
	t.Helper()
	needs.Program(t, "openssl")
	dir := t.TempDir()
	put := func(name string, content []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	key, err := x509.MarshalPKCS8PrivateKey(from.sign.Key)
	if err != nil {
		t.Fatal(err)
	}
	put("key", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}))
	put("signer", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: from.sign.Certificate.Raw}))
	put("recipient", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: to.encrypt.Certificate.Raw}))
	put("document", document)
	run := func(args ...string) {
		cmd := exec.Command("openssl", append([]string{"cms", "-binary", "-outform", "DER"}, args...)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("openssl %v: %v: %s", args, err, out)
		}
	}
	run("-sign", "-nodetach", "-md", "sha256", "-signer", "signer", "-inkey", "key", "-keyopt", "rsa_padding_mode:pss", "-in", "document", "-out", "signed")
	run("-encrypt", "-aes-256-gcm", "-recip", "recipient", "-keyopt", "rsa_padding_mode:oaep", "-in", "signed", "-out", "sealed")
	body, err := os.ReadFile(filepath.Join(dir, "sealed"))
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// TestModernAlgorithms: a message that a foreign tool seals with RSA-PSS, RSA-OAEP and AES-GCM is processed. When a setting
// rejects one of them, it is refused; the entry and the log name the algorithm, and the sender learns no more than that it
// could not be decrypted.
//
// Rules: AMQP-68, AMQP-101, AMQP-131
func TestModernAlgorithms(t *testing.T) {
	t.Parallel()
	log := &journal{}
	a := simple(t, keepLog(log))
	put := func() string {
		msgID, id := uuid.NewString(), uuid.NewString()
		document := dialogue(t, a.peer, a.b.me, msgID)
		m := letter(t, a.peer, a.b.me, document, id)
		m.Data = [][]byte{foreign(t, document, a.peer, a.b.me)}
		send(t, a.wire, a.b.me.Async, m)
		return id
	}
	a.b.message(store.AMQPIn, store.AMQPBusiness, put(), store.AMQPProcessed)
	take(t, a.wire, a.peer.Async, 1)
	a.b.stop()
	a.b.cfg.CMS = cms.Limits{Rejected: []string{cms.KeyOAEPSHA1}}
	a.b.start()
	row := a.b.message(store.AMQPIn, store.AMQPBusiness, put(), store.AMQPRefused)
	if !strings.Contains(row.Detail, cms.KeyOAEPSHA1) || !strings.Contains(log.String(), cms.KeyOAEPSHA1) {
		t.Errorf("nothing names the algorithm: %s", row.Detail)
	}
	told := take(t, a.wire, a.peer.Error, 1)[0].ApplicationProperties
	text, _ := told["errorDescription"].(string)
	data, _ := told["errorConditionData"].(string)
	if told["errorCondition"] != "transport:decryption-failed" || bytes.Contains([]byte(text+data), []byte("oaep")) {
		t.Errorf("the sender is told %v", told)
	}
}
