package backup

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"
)

// What is encrypted for two recipients opens with the identity of either and not with another; each byte that changes, and each that is
// missing, is damage.
func TestEncrypt(t *testing.T) {
	t.Parallel()
	text := bytes.Repeat([]byte("a backup of some length, "), 8000) // of more than one chunk
	var ids [3]*age.X25519Identity
	for i := range ids {
		var err error
		if ids[i], err = age.GenerateX25519Identity(); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(t.TempDir(), "recipients")
	if err := os.WriteFile(file, []byte("# of the office\n"+ids[1].Recipient().String()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	recipients, err := Recipients([]string{ids[0].Recipient().String(), file})
	if err != nil || len(recipients) != 2 {
		t.Fatalf("%d recipients, %v", len(recipients), err)
	}
	var out bytes.Buffer
	w, err := Encrypt(&out, recipients)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	read := func(content []byte, identities string) ([]byte, error) {
		r, size, err := Decrypt(bytes.NewReader(content), int64(len(content)), []byte(identities))
		if err != nil {
			return nil, err
		}
		return io.ReadAll(io.NewSectionReader(r, 0, size))
	}
	for _, id := range ids[:2] {
		if got, err := read(out.Bytes(), "# mine\n"+id.String()+"\n"); err != nil || !bytes.Equal(got, text) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
	}
	if got, err := read(text, ""); err != nil || !bytes.Equal(got, text) {
		t.Errorf("not encrypted: %d bytes, %v", len(got), err)
	}
	changed := bytes.Clone(out.Bytes())
	changed[len(changed)/2] ^= 1
	for name, tt := range map[string]struct {
		content    []byte
		identities string
		want       error
	}{
		"no identity": {out.Bytes(), "\n", ErrEncrypted}, "another": {out.Bytes(), ids[2].String(), ErrNoIdentity},
		"changed": {changed, ids[0].String(), ErrDamaged}, "cut off": {out.Bytes()[:out.Len()-70_000], ids[0].String(), ErrDamaged},
	} {
		if _, err := read(tt.content, tt.identities); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
	}
	for names, want := range map[string]string{"age1nonsense": "age recipient", filepath.Join(t.TempDir(), "none"): "no file with them"} {
		if _, err := Recipients([]string{names}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", names, err)
		}
	}
	if _, err := read(out.Bytes(), "no identity"); err == nil || !strings.Contains(err.Error(), "read age identities") {
		t.Errorf("what is no identity: %v", err)
	}
}
