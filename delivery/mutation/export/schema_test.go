package export_test

import (
	"archive/zip"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"schakel/delivery/mutation/export"
	"schakel/delivery/mutation/format"
	"schakel/store/needs"
	"schakel/store/storetest"
)

// parsed reads a state as it stands in the store.
func parsed(t testing.TB, id string, raw []byte) *format.State {
	t.Helper()
	s, err := format.ParseState(id, raw)
	must(t, err)
	return s
}

// TestSchemaOfPDOK has a foreign validator judge deliveries against the schema that PDOK publishes.
//
// Rules: MUT-20, MUT-21, MUT-24, MUT-27, MUT-31.
func TestSchemaOfPDOK(t *testing.T) {
	needs.Unraced(t)
	t.Parallel()
	generic := needs.File(t, "mutation", "mutatielevering-generiek-2.0.xsd")
	for _, wrap := range []bool{false, true} {
		validateAll(t, generic, wrap)
	}
}

// TestSchema has a foreign validator judge deliveries against the schema of the format in our own words: of objects that
// were published in the element of the dataset, and of objects that were published without it. Ours have an id each.
//
// Rules: MUT-20, MUT-21, MUT-24, MUT-27, MUT-31, MUT-62.
func TestSchema(t *testing.T) {
	needs.Unraced(t)
	t.Parallel()
	generic := strings.Replace(format.GenericSchema(), `name="id" type="string"`, `name="id" type="string" use="required"`, 1)
	if generic == format.GenericSchema() {
		t.Fatal("the schema has no id to ask for")
	}
	for _, wrap := range []bool{false, true} {
		validateAll(t, []byte(generic), wrap)
	}
}

// validateAll judges all files of a delta, a snapshot and a part of each, against the schema of the format and one for the
// dataset. Files hold up to twenty mutations, in the order of their names.
func validateAll(t *testing.T, generic []byte, wrap bool) {
	t.Helper()
	needs.Program(t, "xmllint")
	clock := storetest.NewClock()
	w := newWorld(t, storetest.SQLite(t, storetest.WithClock(clock)), clock, "bgt")
	w.wrap = wrap
	v := w.follow("north", ring.WKT(), "Pand", "Perceel")
	w.publish(80)
	d := w.delta()
	s := w.snapshot()
	if _, err := w.exporter.Latest(w.ctx, v); err != nil {
		t.Fatal(err)
	}
	w.work()
	part, err := w.exporter.Delta(w.ctx, v, w.name(v, d.ID))
	if err != nil || !part.Ready {
		t.Fatal(err)
	}
	full, err := w.exporter.Latest(w.ctx, v)
	if err != nil || !full.Ready {
		t.Fatal(err)
	}
	dir := t.TempDir()
	put(t, filepath.Join(dir, "generic.xsd"), generic)
	var own bytes.Buffer
	must(t, format.WriteSchema(&own, format.Name{Prefix: "mlm", Space: "http://voorbeeld.nl/mutaties", Local: "mutaties"}, "object", "generic.xsd"))
	put(t, filepath.Join(dir, "own.xsd"), own.Bytes())
	for fileID, least := range map[string]int{d.FileID: 4, s.FileID: 2, part.FileID: 1, full.FileID: 1} {
		if n := w.validate(dir, fileID); n < least {
			t.Errorf("%d files", n)
		}
	}
	w.empty(dir)
}

// empty validates a delta without groups.
func (w *world) empty(dir string) {
	w.t.Helper()
	d, err := w.exporter.MakeDelta(w.ctx, w.set, export.Options{Empty: true})
	must(w.t, err)
	if n := w.validate(dir, d.FileID); n != 1 {
		w.t.Errorf("an empty delta has %d files", n)
	}
}

// validate unpacks a zip with the library of the standard, and has each file judged.
func (w *world) validate(dir, fileID string) int {
	w.t.Helper()
	f, err := w.db.MutationFile(w.ctx, fileID)
	must(w.t, err)
	raw, err := io.ReadAll(w.db.OpenMutationFile(w.ctx, f))
	must(w.t, err)
	z, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw)))
	must(w.t, err)
	names := ""
	for _, entry := range z.File {
		if entry.Name <= names {
			w.t.Errorf("%s stands behind %s", entry.Name, names)
		}
		names = entry.Name
		from, err := entry.Open()
		must(w.t, err)
		text, err := io.ReadAll(from)
		must(w.t, err)
		file := filepath.Join(dir, "f.xml")
		put(w.t, file, text)
		if out, err := exec.Command("xmllint", "--noout", "--nonet", "--schema", filepath.Join(dir, "own.xsd"), file).CombinedOutput(); err != nil {
			w.t.Fatalf("%s: %s", entry.Name, out)
		}
	}
	return len(z.File)
}

func put(t testing.TB, name string, text []byte) {
	t.Helper()
	must(t, os.WriteFile(name, text, 0o600))
}
