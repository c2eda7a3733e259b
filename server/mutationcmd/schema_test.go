package mutationcmd

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"schakel/delivery/mutation/format"
	"schakel/server/cli"
	"schakel/store/needs"
)

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
		{"--root", "1"}, {"--root", "a", "--prefix", "xml"}, {"--root", "a", "--prefix", "XMLns"},
		{"--root", "a", "--dir", dir, "--generic", "b/c.xsd"}, {"--root", "a", "--dir", dir, "--generic", "a.xsd"},
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
