package mutationcmd

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"schakel/server/cli"
	"schakel/server/cli/clitest"
	"schakel/store/needs"
)

// What a consumer would stumble over is found in a file, in a zip and on standard input, with its place.
func TestMutationsLint(t *testing.T) {
	t.Parallel()
	good := needs.File(t, "mutation", "voorbeeld-bgt-new-change.xml")
	dir := t.TempDir()
	broken := needs.Shared(t, "mutation", "voorbeeld-bgt-new-change-fix.xml")
	var packed bytes.Buffer
	z := zip.NewWriter(&packed)
	w, err := z.Create("mutaties-1.xml")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(good[:len(good)/2]); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		input string
		args  []string
		code  int
		out   string
	}{
		"found":          {"", []string{broken}, cli.ExitFailed, "voorbeeld-bgt-new-change-fix.xml:266"},
		"cut off, zip":   {packed.String(), []string{"-"}, cli.ExitFailed, "unreadable"},
		"a folder":       {"", []string{dir}, cli.ExitUsage, "name the files in it"},
		"gzip":           {"\x1f\x8b\x08", []string{"-"}, cli.ExitFailed, "unpack it first"},
		"no such file":   {"", []string{filepath.Join(dir, "none.xml")}, cli.ExitUsage, ""},
		"wrong flag":     {"", []string{"--most", "0", broken}, cli.ExitUsage, ""},
		"nothing at all": {"", []string{"-"}, cli.ExitFailed, "unreadable"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, out, errs := commandWith(t, tt.input, append([]string{"mutations", "lint"}, tt.args...)...)
			if code != tt.code || !strings.Contains(out+errs, tt.out) {
				t.Errorf("exit %d\n%s\n%s", code, out, errs)
			}
		})
	}
	code, out, errs := commandWith(t, string(good), "mutations", "lint", "--format", "json", "-")
	var report struct{ Files, Groups, Errors int }
	if err := json.Unmarshal([]byte(out), &report); err != nil || report.Files != 1 || report.Groups == 0 || (code == 0) != (report.Errors == 0) {
		t.Errorf("exit %d, %v\n%s\n%s", code, err, out, errs)
	}
}

// What is named a zip and is none is told as that, and what is counted is told in words that fit the number.
func TestMutationsLintInWords(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, content := range map[string]string{"text.zip": "hello", "page.ZIP": "<html></html>", "empty.zip": "", "one.xml": clitest.ParcelXML(t)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"text.zip":  "it is no zip",
		"page.ZIP":  "it is no zip",
		"empty.zip": "it is no zip: it is empty",
		"one.xml":   "1 file, 1 group, 1 mutation: 0 errors, 0 warnings\n",
	} {
		code, out, problems := command(t, "mutations", "lint", filepath.Join(dir, name))
		if (code == cli.ExitOK) != (name == "one.xml") || !strings.Contains(out, want) || code != cli.ExitOK && !strings.Contains(out+problems, "1 error and 0 warnings in 0 files\n") {
			t.Errorf("%s: exit %d\n%s\n%s", name, code, out, problems)
		}
	}
}
