package archive_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"schakel/delivery/mutation/archive"
	"schakel/delivery/mutation/format"
	"schakel/store/needs"
)

func header(id string) format.Header {
	return format.Header{
		Root: format.Name{Prefix: "d", Space: "urn:d", Local: "dMutaties"}, Dataset: "d", Type: format.Delta, DeliveryID: id,
		Area: "POLYGON((0 0,1 0,1 1,0 0))", ObjectTypes: []string{"t"},
	}
}

func state(t testing.TB, n int) *format.State {
	t.Helper()
	s, err := format.ParseState(fmt.Sprint("id-", n), fmt.Appendf(nil, `<d:o><d:t nr="%d">naam %x</d:t></d:o>`, n, n*7919), format.Namespace{Prefix: "d", URI: "urn:d"})
	must(t, err)
	return s
}

// changes is a group with an add, a change and a delete, all of them on states of their own.
func changes(t testing.TB, n int) *format.Group {
	t.Helper()
	return &format.Group{Mutations: []format.Mutation{
		{ObjectType: "t", ObjectID: "a", Wordt: state(t, 4*n)},
		{ObjectType: "t", ObjectID: "b", Was: state(t, 4*n+1), Wordt: state(t, 4*n+2)},
		{ObjectType: "t", ObjectID: "c", Was: state(t, 4*n+3)},
	}}
}

func delivery(t testing.TB, groups int, o archive.DeliveryOptions) ([]byte, archive.Manifest) {
	t.Helper()
	var out bytes.Buffer
	w, err := archive.NewDeliveryWriter(&out, header("l-1"), o)
	must(t, err)
	for n := range groups {
		must(t, w.WriteGroup(changes(t, n)))
	}
	m, err := w.Close()
	must(t, err)
	return out.Bytes(), m
}

// drain reads a delivery and gives the positions of its groups.
func drain(doc []byte, limits archive.Limits) (string, archive.Manifest, error) {
	d := archive.NewDeliveryReader(bytes.NewReader(doc), limits, format.Limits{})
	at := ""
	for {
		_, pos, err := d.Next()
		if errors.Is(err, io.EOF) {
			return at, d.Seen(), nil
		}
		if err != nil {
			return at, d.Seen(), err
		}
		at += fmt.Sprintf("%s:%d ", pos.File, pos.Group)
	}
}

// TestDelivery writes a delivery in several files, reads it, and finds in the manifest what it saw. The library of the
// standard and unzip see the files in the order of their names.
//
// Rules: MUT-20, MUT-21, MUT-27, MUT-65
func TestDelivery(t *testing.T) {
	t.Parallel()
	doc, wrote := delivery(t, 5, archive.DeliveryOptions{PerFile: 7})
	at, seen, err := drain(doc, archive.Limits{})
	if want := "000001-d.xml:1 000001-d.xml:2 000002-d.xml:1 000002-d.xml:2 000003-d.xml:1 "; err != nil || at != want {
		t.Errorf("%s, %v", at, err)
	}
	if err := wrote.Check(seen); err != nil || wrote.Counts != (archive.Counts{Groups: 5, Adds: 5, Changes: 5, Deletes: 5}) || wrote.Files != 3 {
		t.Errorf("%v: wrote %+v, saw %+v", err, wrote, seen)
	}
	if again, _ := delivery(t, 5, archive.DeliveryOptions{PerFile: 7}); !bytes.Equal(doc, again) {
		t.Error("the same groups give other bytes")
	}
	z, err := zip.NewReader(bytes.NewReader(doc), int64(len(doc)))
	if err != nil || len(z.File) != 3 || z.File[0].Name != archive.Name(1, "d") {
		t.Errorf("the library: %v", err)
	}
	needs.Program(t, "unzip")
	file := filepath.Join(t.TempDir(), "d.zip")
	must(t, os.WriteFile(file, doc, 0o600))
	if out, err := exec.Command("unzip", "-t", file).CombinedOutput(); err != nil {
		t.Errorf("unzip: %v: %s", err, out)
	}
}

// TestEmptyDelivery has one file without groups.
//
// Rules: MUT-22
func TestEmptyDelivery(t *testing.T) {
	t.Parallel()
	doc, wrote := delivery(t, 0, archive.DeliveryOptions{})
	at, seen, err := drain(doc, archive.Limits{})
	if err != nil || at != "" || wrote.Check(seen) != nil || seen.Files != 1 || seen.DeliveryID != "l-1" {
		t.Errorf("%q, %+v, %v", at, seen, err)
	}
}

// TestMixed refuses a zip with files of two deliveries, and one with something else in it.
//
// Rules: MUT-21
func TestMixed(t *testing.T) {
	t.Parallel()
	file := func(id string) string {
		var out bytes.Buffer
		w, err := format.NewWriter(&out, header(id))
		must(t, err)
		must(t, errors.Join(w.WriteGroup(changes(t, 1)), w.Close()))
		return out.String()
	}
	doc := made(t, entry{"1.xml", file("l-1"), 8}, entry{"2.xml", file("l-2"), 8})
	if at, _, err := drain(doc, archive.Limits{}); !errors.Is(err, archive.ErrMixed) || at != "1.xml:1 " || !strings.Contains(err.Error(), `"l-2"`) || !strings.Contains(err.Error(), `"l-1"`) {
		t.Errorf("%s, %v", at, err)
	}
	if _, _, err := drain(made(t, entry{"1.xml", file("l-1"), 8}, entry{"read.me", "", 8}), archive.Limits{}); !errors.Is(err, archive.ErrName) {
		t.Errorf("%v", err)
	}
	others := archive.Limits{Others: true}
	beside := made(t, entry{"0.sha256", "9f86d081", 8}, entry{"1.xml", file("l-1"), 8}, entry{"2.gml", "\ufeff" + file("l-1"), 8}, entry{"read.me", "", 8})
	if at, seen, err := drain(beside, others); err != nil || at != "1.xml:1 2.gml:1 " || seen.Files != 2 {
		t.Errorf("%s, %+v, %v", at, seen, err)
	}
	if at, _, err := drain(doc[:len(doc)-400], archive.Limits{}); err == nil || at != "1.xml:1 " {
		t.Errorf("a cut delivery: %s, %v", at, err)
	}
}

// TestManifest reads what was written and refuses what does not fit.
//
// Rules: MUT-34, MUT-35, MUT-38, MUT-65
func TestManifest(t *testing.T) {
	t.Parallel()
	_, m := delivery(t, 2, archive.DeliveryOptions{})
	m.Lineage, m.Previous, m.Includes = "lin_1", "d-1", "d-2"
	raw, err := json.Marshal(m)
	must(t, err)
	again, err := archive.ReadManifest(bytes.NewReader(raw))
	if err != nil || again.Check(m) != nil || again.Previous != "d-1" || again.Includes != "d-2" || again.Lineage != "lin_1" {
		t.Errorf("%+v, %v", again, err)
	}
	for what, change := range map[string]func(*archive.Manifest){
		"delivery": func(m *archive.Manifest) { m.DeliveryID = "x" }, "sum": func(m *archive.Manifest) { m.SHA256 = "" },
		"counts": func(m *archive.Manifest) { m.Counts.Adds++ }, "size": func(m *archive.Manifest) { m.Bytes++ },
	} {
		other := m
		change(&other)
		if err := m.Check(other); !errors.Is(err, archive.ErrManifest) {
			t.Errorf("another %s: %v", what, err)
		}
	}
	for _, bad := range []string{"", "[]", "{}", `{"deliveryId":"1","sha256":"zz"}`, "{" + strings.Repeat(" ", 9<<20)} {
		if _, err := archive.ReadManifest(strings.NewReader(bad)); err == nil {
			t.Errorf("%.20q was taken", bad)
		}
	}
}

// TestManyFiles has more files than 16 bits can count, so that the records of 64 bits are used.
//
// Rules: MUT-28
func TestManyFiles(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for n := range 66_000 {
		if _, err := w.CreateRaw(&zip.FileHeader{Name: fmt.Sprintf("%06d", n)}); err != nil {
			t.Fatal(err)
		}
	}
	must(t, w.Close())
	z, files := archive.NewReader(&out, archive.Limits{}), 0
	for {
		_, err := z.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		must(t, err)
		files++
	}
	if files != 66_000 {
		t.Errorf("%d files", files)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
