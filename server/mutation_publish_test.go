package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"schakel/delivery/mutation/format"
	"schakel/registry"
	"schakel/registry/datasets"
	"schakel/registry/identity"
	"schakel/server/cli"
	"schakel/server/cli/clitest"
	"schakel/server/mutationcmd"
	"schakel/store"
	"schakel/store/needs"
)

// publishWorld is a running Schakel with a dataset of parcels, and the line to it.
type publishWorld struct {
	address  string // of the program
	line     string // of what goes between, which can cut
	cutAfter atomic.Int64
	cuts     atomic.Int64 // how many connections are cut yet
	flags    []string
}

// newPublishWorld starts a Schakel whose publisher calls it through a line that can be cut.
func newPublishWorld(t *testing.T) *publishWorld {
	t.Helper()
	p := built(t)
	must(t, p.start(t.Context(), cli.Streams{Out: io.Discard}))
	t.Cleanup(func() {
		if err := p.stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
	_, err := p.registry.Datasets.Create(t.Context(), registry.SystemActor(), datasets.DatasetInput{
		ID: "percelen-nl", Title: "Parcels", RootPrefix: "d", RootSpace: "urn:d", RootLocal: "dMutaties", ObjectTypes: []string{"Perceel"},
		AreaKind: store.AreaNone, PerFile: 50,
	})
	must(t, err)
	id, keyFile := keyClient(t, p, identity.ScopeMutationsPublish)
	w := &publishWorld{address: p.public.Addr()}
	w.listen(t)
	w.flags = []string{
		"--url", "http://" + w.line + "/mutations/v1/datasets/percelen-nl", "--token-url", "http://" + w.address + "/oauth/token",
		"--client-id", id, "--client-key-file", keyFile, "--token-audience", p.base + "/oauth/token",
	}
	return w
}

// listen takes connections for the program.
func (w *publishWorld) listen(t *testing.T) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	w.line = l.Addr().String()
	go func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			go w.pass(from)
		}
	}()
}

// pass carries one connection, and cuts it when that is its turn.
func (w *publishWorld) pass(from net.Conn) {
	defer from.Close()
	to, err := net.Dial("tcp", w.address)
	if err != nil {
		return
	}
	defer to.Close()
	go func() { _, _ = io.Copy(from, to); _ = from.Close() }()
	part, since := make([]byte, 32<<10), int64(0) // connections are used for more than one request
	for {
		n, err := from.Read(part)
		left := w.cuts.Load()
		if since += int64(n); left == 0 {
			since = 0
		}
		if since > w.cutAfter.Load() && w.cuts.CompareAndSwap(left, left-1) {
			return
		}
		if _, wrong := to.Write(part[:n]); err != nil || wrong != nil {
			return
		}
	}
}

// run publishes, and reads the report.
func (w *publishWorld) run(t *testing.T, input string, args ...string) (code int, r mutationcmd.PublishReport, problems string) {
	t.Helper()
	code, out, problems := commandWith(t, input, append(append([]string{"mutations", "publish", "--json"}, w.flags...), args...)...)
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("exit %d: %v\n%s\n%s", code, err, out, problems)
	}
	return code, r, problems
}

// TestMutationsPublish sends each form to a running Schakel, twice: the second time nothing changes.
//
// Rules: MUT-05, MUT-22.
func TestMutationsPublish(t *testing.T) {
	t.Parallel()
	w := newPublishWorld(t)
	packed, _ := clitest.ParcelZip(t, format.Delta, "d-1", "", "", "z0:1", "z1:1")
	xml := `<?xml version="1.0"?>` + clitest.ParcelXML(t)
	files := []string{
		clitest.ParcelFile(t, "load.xml", xml), clitest.ParcelFile(t, "delta.zip", string(packed)), clitest.ParcelFile(t, "lines.ndjson", clitest.ParcelLines("n", 3)),
		clitest.ParcelFile(t, "groups.json", `{"groups":[`+strings.TrimSpace(clitest.ParcelLines("j", 1))+`]}`),
	}
	code, first, problems := w.run(t, "", files...)
	if code != cli.ExitOK || first.Counts.Groups != 7 || first.Counts.Adds != 7 {
		t.Fatalf("exit %d, %+v\n%s", code, first, problems)
	}
	for i, want := range []struct {
		form, kind string
		from, to   int64
	}{{"xml", "delta", 1, 1}, {"zip", "delta", 2, 3}, {"ndjson", "groups", 4, 6}, {"json", "groups", 7, 7}} {
		f := first.Files[i]
		if f.Status != mutationcmd.FilePublished || f.Form != want.form || f.Kind != want.kind || f.FirstSeq != want.from || f.LastSeq != want.to || f.PublicationID == "" || len(f.States) == 0 || f.Bytes == 0 {
			t.Errorf("%+v", f)
		}
	}
	code, again, problems := w.run(t, "", files...)
	for i, f := range again.Files {
		if f.Status != mutationcmd.StatusReplayed || !f.Replayed || f.Key != first.Files[i].Key || f.PublicationID != first.Files[i].PublicationID {
			t.Errorf("exit %d, again %+v\n%s", code, f, problems)
		}
	}
	code, piped, problems := w.run(t, clitest.ParcelLines("s", 2), "-")
	if code != cli.ExitOK || piped.Files[0].Form != "ndjson" || piped.Files[0].LastSeq != 9 {
		t.Errorf("standard input: exit %d, %+v\n%s", code, piped, problems)
	}
	says(t, cli.ExitOK, "lines.ndjson: replayed, 3 groups: 3 adds, 0 changes, 0 deletes, seq 4 to 6; publication ", append(append([]string{"mutations", "publish"}, w.flags...), files[2])...)
	says(t, cli.ExitOK, "groups.json: replayed, 1 group: 1 add, 0 changes, 0 deletes, seq 7 to 7; publication ", append(append([]string{"mutations", "publish"}, w.flags...), files[3])...)
}

// TestMutationsPublishCut cuts the line in the middle: a file is sent again and goes on behind what is in, in the same run or in
// the next; standard input goes on with the key that was told.
//
// Rules: MUT-22, MUT-29.
func TestMutationsPublishCut(t *testing.T) {
	t.Parallel()
	needs.Full(t, "27,000 groups, over lines that are cut")
	w := newPublishWorld(t)
	w.cutAfter.Store(6 << 20)
	w.cuts.Store(1)
	code, r, problems := w.run(t, "", clitest.ParcelFile(t, "a.ndjson", clitest.ParcelLines("a", 9000)))
	if f := r.Files[0]; code != cli.ExitOK || f.Tries < 2 || f.FirstSeq != 1 || f.LastSeq != 9000 || f.Counts.Groups != 9000 || !strings.Contains(problems, "again in") {
		t.Errorf("exit %d, %+v\n%s", code, f, problems)
	}

	w.cuts.Store(1000)
	b := clitest.ParcelFile(t, "b.ndjson", clitest.ParcelLines("b", 9000))
	code, r, problems = w.run(t, "", "--max-time", "1s", b, b)
	f := r.Files[0]
	if code != cli.ExitFailed || f.Status != mutationcmd.FileUnfinished || f.Groups == nil || *f.Groups == 0 || *f.Groups >= 9000 || r.Files[1].Status != mutationcmd.FileUnsent || !strings.Contains(problems, "groups are in; key ") {
		t.Errorf("exit %d, %+v\n%s", code, r, problems)
	}
	w.cuts.Store(0)
	code, r, problems = w.run(t, "", b)
	if g := r.Files[0]; code != cli.ExitOK || g.Key != f.Key || g.PublicationID != f.PublicationID || g.Counts.Groups != 9000 || g.Replayed {
		t.Errorf("exit %d, %+v\n%s", code, g, problems)
	}

	w.cuts.Store(1)
	lines := clitest.ParcelLines("c", 9000)
	code, r, problems = w.run(t, lines, "-")
	f = r.Files[0]
	if code != cli.ExitFailed || f.Tries != 1 || f.Groups == nil || *f.Groups == 0 || !strings.Contains(problems, "cannot be sent again") {
		t.Errorf("exit %d, %+v\n%s", code, f, problems)
	}
	for range 100 { // the other side may still be at work on what it got before the line was cut, and closes it before all is sent
		if code, r, problems = w.run(t, lines, "--key", f.Key, "-"); r.Files[0].Code != "key-in-use" && r.Files[0].Status != mutationcmd.FileUnfinished {
			break
		}
	}
	if g := r.Files[0]; code != cli.ExitOK || g.Counts.Groups != 9000 || g.PublicationID != f.PublicationID {
		t.Errorf("exit %d, %+v\n%s", code, g, problems)
	}
}

// TestMutationsPublishRefused expects the place of a mistake and how much is in, and goes on behind that with the mended file.
//
// Rules: MUT-05, MUT-12, MUT-22.
func TestMutationsPublishRefused(t *testing.T) {
	t.Parallel()
	w := newPublishWorld(t)
	remove := `{"mutations":[{"objectType":"Perceel","objectId":"g0","was":{"id":"%s"}}]}` + "\n"
	wrong := clitest.ParcelFile(t, "g.ndjson", clitest.ParcelLines("g", 2)+fmt.Sprintf(remove, "never"))
	code, r, problems := w.run(t, "", wrong, wrong)
	f := r.Files[0]
	if code != cli.ExitFailed || f.Status != mutationcmd.FileRefused || f.HTTPStatus != 422 || f.Code != "mutations-refused" || *f.Groups != 2 || f.Tries != 1 || r.Files[1].Status != mutationcmd.FileUnsent ||
		!strings.Contains(problems, "2 groups are in; key "+f.Key) {
		t.Fatalf("exit %d, %+v\n%s", code, r, problems)
	}
	if e := f.Errors[0]; e.File != wrong || e.Line != 3 || e.Group != 3 || e.Mutation != 1 || e.Code != "unknown-was" || e.Detail == "" {
		t.Errorf("%+v", e)
	}
	says(t, cli.ExitFailed, wrong+":3:", append(append([]string{"mutations", "publish"}, w.flags...), wrong)...)
	says(t, cli.ExitFailed, ": group 3, mutation 1: unknown-was: ", append(append([]string{"mutations", "publish"}, w.flags...), wrong)...)
	mended := clitest.ParcelFile(t, "mended.ndjson", clitest.ParcelLines("g", 2)+fmt.Sprintf(remove, "g0"))
	code, r, problems = w.run(t, "", "--key", f.Key, mended)
	if g := r.Files[0]; code != cli.ExitOK || g.Counts.Groups != 3 || g.Counts.Deletes != 1 || g.PublicationID != f.PublicationID {
		t.Errorf("exit %d, %+v\n%s", code, g, problems)
	}
	initial := clitest.ParcelFile(t, "initial.json", `{"groups":[`+strings.TrimSpace(clitest.ParcelLines("i", 1))+`]}`)
	code, r, problems = w.run(t, "", "--kind", "initial", initial)
	if g := r.Files[0]; code != cli.ExitFailed || g.Code != "dataset-not-empty" || g.Groups == nil || *g.Groups != 0 {
		t.Errorf("exit %d, %+v\n%s", code, g, problems)
	}
	code, r, problems = w.run(t, "", "--kind", "initial", "--replace-reason", "It was wrong.", initial)
	if g := r.Files[0]; code != cli.ExitOK || g.Kind != "initial" || g.Counts.Adds != 1 {
		t.Errorf("exit %d, %+v\n%s", code, g, problems)
	}
	packed, _ := clitest.ParcelZip(t, format.Delta, "d-1", "", "", "z0:1", "i0:1", "z0:1")
	code, r, problems = w.run(t, "", clitest.ParcelFile(t, "twice.zip", string(packed)))
	if g := r.Files[0]; code != cli.ExitFailed || len(g.Errors) == 0 || !strings.Contains(g.Errors[0].File, "twice.zip:") || g.Errors[0].Code != "id-used" {
		t.Errorf("exit %d, %+v\n%s", code, g, problems)
	}
	code, r, problems = w.run(t, "", "--token-audience", "https://other.example", initial)
	if g := r.Files[0]; code != cli.ExitFailed || g.Status != mutationcmd.FileUnfinished || g.Groups != nil || g.Tries != 1 {
		t.Errorf("exit %d, %+v\n%s", code, g, problems)
	}
}
