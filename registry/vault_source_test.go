package registry

import (
	"bytes"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"schakel/store"
	"schakel/store/storetest"
)

// Keys come from a file, a variable or a command; each may give several, with comments. Anything else is an error that names its line.
func TestKeySources(t *testing.T) {
	one, two := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{1}, 32)), base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{2}, 32))
	path := filepath.Join(t.TempDir(), "k")
	write := func(text string) { noError(t, os.WriteFile(path, []byte(text), 0o600)) }
	write("# of 2026\n" + one + "\n\n" + two + " # new\n")
	t.Setenv("TEST_KEYS", one+"\n"+two)
	t.Setenv("TEST_BAD_KEYS", one+"\nAAAA")
	for _, s := range []KeySource{{File: path}, {Variable: "TEST_KEYS"}, {File: "/none", Command: "cat " + path}} {
		v, err := s.Open(t.Context())
		noError(t, err)
		if len(v.KeyIDs()) != 2 || v.ID() != KeyID(bytes.Repeat([]byte{1}, 32)) {
			t.Errorf("%s: %q, in use %s", s, v.KeyIDs(), v.ID())
		}
	}
	for s, want := range map[KeySource]string{
		{Variable: "TEST_NO_KEYS"}:                "variable TEST_NO_KEYS: it holds no key",
		{Variable: "TEST_BAD_KEYS"}:               "variable TEST_BAD_KEYS: line 2 must hold 32 bytes",
		{Command: "cat /no/such/file"}:            "key command cat: it failed: exit status 1: cat: /no/such/file",
		{Command: "cat /no/such /none"}:           "/no/such: No such file or directory cat: /none: No such",
		{Command: "/no/such/program x"}:           "key command /no/such/program: it failed",
		{File: filepath.Join(t.TempDir(), "new")}: "no such file",
	} {
		if _, err := s.OpenExisting(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", s, err, want)
		}
	}
}

// Keys are added to a file and removed from it; comments, other keys, and who may read it stay.
func TestKeyFileChanges(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "k")
	one, two := bytes.Repeat([]byte{1}, 32), bytes.Repeat([]byte{2}, 32)
	noError(t, os.WriteFile(path, []byte("# of 2026\n"+base64.StdEncoding.EncodeToString(one)), 0o600))
	s := KeySource{File: path}
	noError(t, s.Add(two))
	v, err := s.OpenExisting(t.Context())
	noError(t, err)
	if len(v.KeyIDs()) != 2 || v.ID() != KeyID(one) {
		t.Errorf("keys %q", v.KeyIDs())
	}
	noError(t, s.Remove(KeyID(one)))
	text, err := os.ReadFile(path)
	noError(t, err)
	if string(text) != "# of 2026\n"+base64.StdEncoding.EncodeToString(two)+"\n" {
		t.Errorf("left %q", text)
	}
	info, err := os.Stat(path)
	noError(t, err)
	if left, _ := os.ReadDir(filepath.Dir(path)); info.Mode().Perm() != 0o600 || len(left) != 1 {
		t.Errorf("mode %v, %d files", info.Mode(), len(left))
	}
	if err := (KeySource{File: filepath.Join(t.TempDir(), "none")}).Add(one); err == nil {
		t.Error("a file that is not there was changed")
	}
}

// A key that does not fit is told with its name, where it came from, and the name of the one that is wanted.
func TestWrongKeyIsNamed(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		right, err := VaultFromKey(bytes.Repeat([]byte{1}, 32))
		noError(t, err)
		noError(t, right.Check(t.Context(), db))
		path := filepath.Join(t.TempDir(), "other.key")
		wrong, err := OpenVault(path)
		noError(t, err)
		err = wrong.Check(t.Context(), db)
		if !errors.Is(err, ErrWrongKey) || !strings.Contains(err.Error(), "key "+right.ID()) || !strings.Contains(err.Error(), "key file "+path+" holds "+wrong.ID()) {
			t.Errorf("got %v", err)
		}
	})
}
