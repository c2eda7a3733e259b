package mutationcmd

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"schakel/delivery/mutation/format"
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

// TestMutationsSchema: a foreign validator accepts a file of a dataset of one's own against the schemas that are written, with
// nothing beside them; it refuses a file that breaks them.
//
// Rules: MUT-62.
func TestMutationsSchema(t *testing.T) {
	t.Parallel()
	command := func(args ...string) (int, string, string) {
		return commandWith(t, "", append([]string{"mutations", "schema", "--namespace", "urn:d", "--prefix", "d"}, args...)...)
	}
	dir := t.TempDir()
	for _, args := range [][]string{
		{"--root", "1"},
		{"--root", "a", "--prefix", "xml"},
		{"--root", "a", "--prefix", "XMLns"},
		{"--root", "a", "--dir", dir, "--generic", "b/c.xsd"},
		{"--root", "a", "--dir", dir, "--generic", "a.xsd"},
	} {
		if code, _, errs := command(args...); code != cli.ExitUsage {
			t.Errorf("%s: exit %d, %s", args, code, errs)
		}
	}
	code, told, errs := command("--root", "dingMutaties", "--dir", filepath.Join(dir, "xsd"))
	if want := filepath.Join(dir, "xsd", "dingMutaties.xsd") + "\n"; code != 0 || !strings.HasSuffix(told, want) {
		t.Fatalf("exit %d: %s %s", code, told, errs)
	}
	code, printed, errs := command("--root", "dingMutaties")
	if written, err := os.ReadFile(filepath.Join(dir, "xsd", "dingMutaties.xsd")); code != 0 || err != nil || string(written) != printed {
		t.Errorf("printed is something else than written: exit %d, %s, %v", code, errs, err)
	}
	xmllint := needs.Program(t, "xmllint")
	for name, text := range map[string][]byte{"d.xml": thing(t), "broken.xml": bytes.ReplaceAll(thing(t), []byte("toevoeging"), []byte("toevoegsel"))} {
		must(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
		cmd := exec.CommandContext(t.Context(), xmllint, "--noout", "--nonet", "--schema", filepath.Join("xsd", "dingMutaties.xsd"), name)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); (err == nil) != (name == "d.xml") {
			t.Errorf("%s: %v: %s", name, err, out)
		}
	}
}

// thing is a file with one object.
func thing(t *testing.T) []byte {
	t.Helper()
	var file bytes.Buffer
	w, err := format.NewWriter(&file, format.Header{
		Root: format.Name{Prefix: "d", Space: "urn:d", Local: "dingMutaties"}, Dataset: "dingen", Type: format.Delta, DeliveryID: "1", ObjectTypes: []string{"Ding"},
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := format.ParseState("1", []byte(`<d:object xmlns:d="urn:d"><d:Ding><d:naam>een</d:naam></d:Ding></d:object>`))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.WriteGroup(&format.Group{Mutations: []format.Mutation{{ObjectType: "Ding", ObjectID: "1", Wordt: s}}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// execute runs a command as the program does.
func execute(ctx context.Context, args []string, streams cli.Streams) int {
	var grammar struct {
		Mutations Commands `cmd:""`
	}
	return clitest.Execute(ctx, &grammar, args, streams)
}

// commandWith runs a command with standard input.
func commandWith(t *testing.T, input string, args ...string) (code int, out, problems string) {
	t.Helper()
	return clitest.Program(execute).Run(t, input, args...)
}

func command(t *testing.T, args ...string) (code int, out, problems string) {
	t.Helper()
	return commandWith(t, "", args...)
}

// says runs a command, and expects this exit code and these words from it.
func says(t *testing.T, want int, words string, args ...string) {
	t.Helper()
	clitest.Program(execute).Says(t, want, words, args...)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
