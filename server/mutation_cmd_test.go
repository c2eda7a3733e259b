package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What a consumer would stumble over is found in a file, in a zip and on standard input, with its place.
func TestMutationsLint(t *testing.T) {
	t.Parallel()
	dir := filepath.Join("..", "..", "shared", "data", "mutation")
	good, err := os.ReadFile(filepath.Join(dir, "voorbeeld-bgt-new-change.xml"))
	if err != nil {
		t.Skipf("the sample messages are not on this machine: %v", err)
	}
	broken := filepath.Join(dir, "voorbeeld-bgt-new-change-fix.xml")
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
		"found":          {"", []string{broken}, exitFailed, "voorbeeld-bgt-new-change-fix.xml:266"},
		"cut off, zip":   {packed.String(), []string{"-"}, exitFailed, "unreadable"},
		"a folder":       {"", []string{dir}, exitUsage, "name the files in it"},
		"gzip":           {"\x1f\x8b\x08", []string{"-"}, exitFailed, "unpack it first"},
		"no such file":   {"", []string{filepath.Join(dir, "none.xml")}, exitUsage, ""},
		"wrong flag":     {"", []string{"--most", "0", broken}, exitUsage, ""},
		"nothing at all": {"", []string{"-"}, exitFailed, "unreadable"},
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
