package webhook_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"schakel/delivery/event"
	"schakel/delivery/jwe"
	"schakel/store"
	"schakel/store/needs"
)

// TestDecryptionOfTheGuide decrypts data with the examples of the guide as they are printed.
func TestDecryptionOfTheGuide(t *testing.T) {
	t.Parallel()
	needs.Full(t, "Python, Node.js, Java and a compiler")
	guide, err := os.ReadFile("receivers.md")
	if err != nil {
		t.Fatal(err)
	}
	elliptic256, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	rsa3072, err := rsa.GenerateKey(rand.Reader, 3072)
	if err != nil {
		t.Fatal(err)
	}
	encrypter := jwe.New(jwe.Config{Now: time.Now, Open: func(string) ([]byte, error) { return make([]byte, 32), nil }})
	const data = `{"name" : "Zoë"}`
	ev, err := event.ParseJSON([]byte(`{"specversion":"1.0","id":"1","source":"urn:a","type":"t","data":`+data+`}`), event.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		language, file string
		run            []string
		pem, keysOfRSA bool
	}{
		{"js", "decrypt.mjs", []string{needs.Program(t, "node")}, false, false},
		{"python", "decrypt.py", []string{needs.Program(t, "python3")}, true, false},
		{"go", "decrypt.go", []string{"go", "run"}, false, false},
		{"java", "Decrypt.java", []string{needs.Program(t, "java")}, true, true},
	} {
		// The first line, a comment, names the file.
		start := strings.Index(string(guide), " "+tc.file)
		if start < 0 {
			t.Fatalf("the guide has no %s", tc.file)
		}
		_, rest, _ := strings.Cut(string(guide)[start:], "\n")
		source, _, _ := strings.Cut(rest, "\n```\n")
		dir := t.TempDir()
		file := filepath.Join(dir, tc.file)
		if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
		for name, private := range map[string]crypto.Signer{"EC": elliptic256, "RSA": rsa3072} {
			if tc.keysOfRSA && name != "RSA" {
				continue
			}
			t.Run(tc.language+name, func(t *testing.T) {
				t.Parallel()
				public, err := jose.JSONWebKey{Key: private.Public(), KeyID: "k"}.MarshalJSON()
				if err != nil {
					t.Fatal(err)
				}
				out, err := encrypter.Encrypt(t.Context(), &store.Encryption{Recipient: string(public)}, "e", &ev)
				if err != nil {
					t.Fatal(err)
				}
				key, err := jose.JSONWebKey{Key: private}.MarshalJSON()
				if tc.pem {
					var der []byte
					der, err = x509.MarshalPKCS8PrivateKey(private)
					key = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
				}
				if err != nil {
					t.Fatal(err)
				}
				keyFile := filepath.Join(t.TempDir(), "key")
				if err := os.WriteFile(keyFile, key, 0o600); err != nil {
					t.Fatal(err)
				}
				args := append(tc.run[1:len(tc.run):len(tc.run)], file)
				if tc.keysOfRSA {
					args = append(args, string(out.Data))
				}
				cmd := exec.CommandContext(t.Context(), tc.run[0], args...)
				cmd.Env, cmd.Stdin = append(os.Environ(), "KEY="+keyFile), strings.NewReader(string(out.AppendJSON(nil)))
				got, err := cmd.Output()
				if err != nil || string(got) != data {
					t.Errorf("%q %v", got, err)
					if failure, ok := err.(*exec.ExitError); ok {
						t.Log(string(failure.Stderr))
					}
				}
			})
		}
	}
}
