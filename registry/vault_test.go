package registry

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"schakel/store"
	"schakel/store/storetest"
)

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestVaultSealsAndOpens(t *testing.T) {
	t.Parallel()
	v, err := VaultFromKey(bytes.Repeat([]byte{7}, 32))
	noError(t, err)
	other, err := VaultFromKey(bytes.Repeat([]byte{8}, 32))
	noError(t, err)
	sealed := v.Seal("purpose", []byte("top secret"))
	if again := v.Seal("purpose", []byte("top secret")); again == sealed || strings.Contains(sealed, "secret") {
		t.Errorf("sealed text tells something: %q, %q", sealed, again)
	}
	plain, err := v.Open("purpose", sealed)
	if err != nil || string(plain) != "top secret" {
		t.Errorf("got %q, %v", plain, err)
	}
	if _, err := other.Open("purpose", sealed); !errors.Is(err, ErrWrongKey) {
		t.Errorf("other key: %v", err)
	}
	for name, tt := range map[string][2]string{
		"other purpose": {"other", sealed}, "damaged": {"purpose", sealed[:len(sealed)-3] + "AAA"}, "empty": {"purpose", ""},
		"plain": {"purpose", "top secret"}, "cut": {"purpose", sealed[:20]}, "no base64": {"purpose", sealed + "!"},
	} {
		if plain, err := v.Open(tt[0], tt[1]); err == nil {
			t.Errorf("%s: opened as %q", name, plain)
		}
	}
}

func FuzzVaultOpen(f *testing.F) {
	v, err := VaultFromKey(bytes.Repeat([]byte{7}, 32))
	if err != nil {
		f.Fatal(err)
	}
	f.Add("v1." + v.ID() + ".AAAA")
	f.Fuzz(func(t *testing.T, sealed string) {
		if plain, err := v.Open("p", sealed); err == nil {
			t.Errorf("%q opened as %q", sealed, plain)
		}
	})
}

func TestVaultFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "data", "schakel.key")
	var sealed [4]string
	var wg sync.WaitGroup
	for i := range sealed {
		wg.Go(func() {
			v, err := OpenVault(path)
			if err != nil {
				t.Error(err)
				return
			}
			sealed[i] = v.Seal("p", []byte("x"))
		})
	}
	wg.Wait()
	v, err := OpenVault(path)
	noError(t, err)
	for _, s := range sealed {
		if _, err := v.Open("p", s); err != nil {
			t.Errorf("processes that started together have different keys: %v", err)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 1 {
		t.Errorf("%d files are left", len(left))
	}
}

func TestVaultRefusesFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	good := filepath.Join(dir, "good.key")
	_, err := OpenVault(good)
	noError(t, err)
	key, err := os.ReadFile(good)
	noError(t, err)
	write := func(name string, content []byte, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		noError(t, os.WriteFile(path, content, 0o600))
		noError(t, os.Chmod(path, mode)) // whatever the umask
		return path
	}
	link := filepath.Join(dir, "link.key")
	noError(t, os.Symlink(good, link))
	for name, path := range map[string]string{
		"group can read": write("group.key", key, 0o640), "world can read": write("world.key", key, 0o604),
		"symlink": link, "folder": dir, "short": write("short.key", key[:10], 0o600), "empty": write("empty.key", nil, 0o600),
	} {
		if _, err := OpenVault(path); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

func TestVaultCheck(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		right, err := VaultFromKey(bytes.Repeat([]byte{1}, 32))
		noError(t, err)
		wrong, err := VaultFromKey(bytes.Repeat([]byte{2}, 32))
		noError(t, err)
		noError(t, right.Check(t.Context(), db))
		noError(t, right.Check(t.Context(), db))
		if err := wrong.Check(t.Context(), db); !errors.Is(err, ErrWrongKey) {
			t.Errorf("got %v", err)
		}
	})
}
