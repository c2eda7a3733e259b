package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"schakel/delivery/mutation/format"
	"schakel/store/needs"
)

// TestMutationsSchema: a foreign validator accepts a file of a dataset of one's own against the schema that is printed.
//
// Rules: MUT-62.
func TestMutationsSchema(t *testing.T) {
	t.Parallel()
	if code, _, errs := commandWith(t, "", "mutations", "schema", "--namespace", "urn:d", "--root", "1", "--prefix", "d"); code != exitUsage {
		t.Errorf("a root of no name: exit %d, %s", code, errs)
	}
	code, schema, errs := commandWith(t, "", "mutations", "schema", "--namespace", "urn:d", "--root", "dingMutaties")
	if code != 0 {
		t.Fatalf("exit %d: %s", code, errs)
	}
	xmllint := needs.Program(t, "xmllint")
	generic, err := os.ReadFile(filepath.Join("..", "delivery", "mutation", "format", "testdata", "format-2.0.xsd"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string][]byte{"own.xsd": []byte(schema), "mutatielevering-generiek-2.0.xsd": generic, "d.xml": thing(t)} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), xmllint, "--noout", "--nonet", "--schema", "own.xsd", "d.xml")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
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
