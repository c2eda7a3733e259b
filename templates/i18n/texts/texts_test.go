package texts

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// What .ci/small leaves out of the catalogues comes back byte for byte.
func TestPackedCatalogues(t *testing.T) {
	root := t.TempDir()
	here := filepath.Join(root, "templates", "i18n", "texts")
	for _, dir := range []string{here, filepath.Join(root, ".ci")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	read := func(path string) []byte {
		t.Helper()
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	write := func(path string, text []byte) {
		t.Helper()
		if err := os.WriteFile(path, text, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(root, ".ci", "small"), read("../../../.ci/small"))
	names := []string{"templates/i18n/texts/en.txt", "templates/i18n/texts/nl.txt", "templates/i18n/texts/nb.txt"}
	for _, name := range names {
		write(filepath.Join(root, name), read(filepath.Base(name)))
	}
	out, err := exec.Command(filepath.Join(root, ".ci", "small"), names...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	packed := func(name string) []byte {
		return Unpack(read(filepath.Join(root, ".cache", "small", "templates+i18n+texts+"+name)))
	}
	english := packed("en.txt")
	for _, name := range []string{"en.txt", "nl.txt", "nb.txt"} {
		text, want := packed(name), read(name)
		if !bytes.Equal(withKeys(text, english), want) {
			t.Errorf("%s does not come back as it was", name)
		}
		if name != "en.txt" && len(text) > len(want)*4/5 {
			t.Errorf("%s has %d of %d bytes without its keys", name, len(text), len(want))
		}
	}
}
