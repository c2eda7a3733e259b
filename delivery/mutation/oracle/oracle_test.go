// Package oracle compares the whole way of a mutation - published, exported as deltas and
// snapshots, filtered by area, followed - with sources that know what an exact copy holds
// at every boundary (MUT-01). TestCopies takes random, small histories; TestStream weighs what
// a large one costs.
package oracle

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "github.com/mattn/go-sqlite3"
	"schakel/delivery/mutation/archive"
	mutationarea "schakel/delivery/mutation/area"
	"schakel/delivery/mutation/export"
	"schakel/delivery/mutation/format"
	"schakel/delivery/mutation/historytest"
	"schakel/delivery/mutation/ingest"
	"schakel/delivery/mutation/replica"
	"schakel/store"
	"schakel/store/storetest"
)

var rounds = flag.Int("rounds", 8, "deltas of each history")

const dataset = "register"

// area is requested by some consumers: a frame with a hole, on lines that objects touch.
var area = historytest.Ring{
	Outer: historytest.Frame{Left: 155200, Bottom: 463100, Right: 155900, Top: 463800},
	Hole:  historytest.Frame{Left: 155400, Bottom: 463300, Right: 155700, Top: 463600},
}

// world is a dataset with its source and its consumers.
type world struct {
	db        *store.DB
	ingester  *ingest.Ingester
	exporter  *export.Exporter
	rnd       *rand.Rand
	history   *historytest.History
	record    historytest.Record
	published int
	checked   int // copies
	consumers []*consumer
}

// TestCopies publishes random histories of three registers in every form, over lines that break and are tried again;
// makes deltas and snapshots while more is published, filters, and follows. Every copy is exact at every boundary.
//
// Rules: MUT-01, MUT-02, MUT-04, MUT-15, MUT-17, MUT-29, MUT-32, MUT-34, MUT-36, MUT-42, MUT-44, MUT-45, MUT-48, MUT-55.
func TestCopies(t *testing.T) {
	t.Parallel()
	for n, model := range historytest.Models() {
		t.Run(string(model), func(t *testing.T) {
			t.Parallel()
			storetest.Each(t, func(t *testing.T, db *store.DB) {
				w := newWorld(t, db, uint64(n), model)
				for range *rounds {
					w.round(t)
				}
				for _, c := range w.consumers {
					w.catchUp(t, c)
				}
				if w.checked < *rounds {
					t.Errorf("only %d copies were looked at", w.checked)
				}
				t.Logf("%d groups, %d copies", w.record.Len(), w.checked)
			})
		})
	}
}

func newWorld(t *testing.T, db *store.DB, seed uint64, model historytest.Model) *world {
	t.Helper()
	w := &world{
		db: db, ingester: ingest.New(ingest.Config{DB: db}), exporter: export.New(export.Config{DB: db}),
		rnd: rand.New(rand.NewPCG(seed, rand.Uint64())), history: historytest.New(rand.Uint64(), model, ""),
		consumers: consumers(t),
	}
	must(t, db.Write(t.Context(), func(tx *store.Tx) error {
		return tx.InsertDataset(t.Context(), &store.Dataset{
			ID: dataset, Title: "Register", Status: store.DatasetActive, RootPrefix: "r", RootSpace: historytest.Namespace, RootLocal: "mutaties",
			Namespaces: "{}", ObjectTypes: historytest.Types(), CRS: 28992, AreaKind: store.AreaGeometry, PerFile: 11, Lineage: "5f0c0c4e-8a52-4b0e-9d5a-6a3f5d1c9b11",
		})
	}))
	return w
}

// round publishes, makes deltas, now and then makes a snapshot while more is published, and lets some consumers catch up.
func (w *world) round(t *testing.T) {
	t.Helper()
	for range 1 + w.rnd.IntN(4) {
		w.publish(t, w.next(1+w.rnd.IntN(25)))
	}
	if w.checked == 0 || w.rnd.IntN(3) == 0 {
		w.snapshot(t)
	}
	if _, err := w.exporter.MakeDelta(t.Context(), dataset, export.Options{}); !errors.Is(err, export.ErrNothingNew) {
		must(t, err)
	}
	for _, c := range w.consumers {
		if w.rnd.IntN(3) > 0 {
			w.catchUp(t, c)
		}
	}
}

// next makes the next groups of the source, in the order in which they will be published.
func (w *world) next(n int) []*format.Group {
	groups := make([]*format.Group, n)
	for i := range groups {
		groups[i] = w.history.Group()
	}
	w.record.Add(groups...)
	return groups
}

// publish sends groups, again and again with the same key while the line breaks.
func (w *world) publish(t *testing.T, groups []*format.Group) {
	t.Helper()
	w.published++
	shape := shapes()[w.rnd.IntN(len(shapes()))]
	doc := body(t, w.history, shape, groups)
	send := func(r io.Reader) error {
		_, err := w.ingester.Publish(t.Context(), ingest.Request{
			Dataset: dataset, ClientID: "cli", Key: fmt.Sprint(w.published), Kind: store.PublicationGroups, Source: source(shape, r),
		})
		return err
	}
	for w.rnd.IntN(2) == 0 {
		_ = send(torn(w.rnd, doc)) // how far it came is not told
	}
	must(t, send(bytes.NewReader(doc)))
}

// snapshot makes one while somebody publishes.
func (w *world) snapshot(t *testing.T) {
	t.Helper()
	var err error
	var beside sync.WaitGroup
	beside.Go(func() { _, err = w.exporter.Snapshot(t.Context(), dataset) })
	w.publish(t, w.next(20))
	beside.Wait()
	must(t, err)
}

// catchUp fetches what a consumer does not have, in order, and looks at its copy after each.
func (w *world) catchUp(t *testing.T, c *consumer) {
	t.Helper()
	row := must1(w.db.Dataset(t.Context(), dataset))(t)
	view := export.View{Dataset: row, PartnerID: "own"}
	if c.behind == "" {
		offer, err := w.exporter.Latest(t.Context(), view)
		if errors.Is(err, export.ErrNoSnapshot) {
			return
		}
		must(t, err)
		m, doc := w.fetch(t, view, c, "", offer)
		w.apply(t, c, m, doc)
		w.check(t, c, offer.Snapshot.Seq)
		c.behind = m.Includes
	}
	for {
		offers, _, err := w.exporter.Deltas(t.Context(), view, c.behind, store.Page{Number: 1, Size: 3})
		must(t, err)
		if len(offers) == 0 {
			return
		}
		for _, o := range offers {
			m, doc := w.fetch(t, view, c, o.Delta.ID, o)
			w.apply(t, c, m, doc)
			w.check(t, c, o.Delta.ToSeq)
			c.behind = o.Delta.ID
			if w.rnd.IntN(4) == 0 {
				w.apply(t, c, m, doc) // again: harmless
				w.check(t, c, o.Delta.ToSeq)
			}
		}
	}
}

// fetch reads the zip a consumer is to get: the one of everybody, or one made for it.
func (w *world) fetch(t *testing.T, view export.View, c *consumer, deltaID string, o export.Offer) (archive.Manifest, []byte) {
	t.Helper()
	ctx := t.Context()
	if c.want.Geofilter == "" && len(c.want.ObjectTypes) == 0 {
		return o.Manifest, w.bytes(t, o.FileID)
	}
	request := c.want
	request.DeltaID, request.By = deltaID, "cli"
	d := must1(w.exporter.Request(ctx, view, request))(t)
	for d.Status != store.MutationCompleted {
		if d.Status == store.MutationFailed || ctx.Err() != nil {
			t.Fatal("the download failed:", d.Error, context.Cause(ctx))
		}
		must1(w.exporter.Work(ctx))(t)
		d = must1(w.db.MutationDownload(ctx, d.ID))(t)
	}
	return must1(export.Manifest(d.Manifest))(t), w.bytes(t, d.FileID)
}

func (w *world) bytes(t *testing.T, fileID string) []byte {
	t.Helper()
	f := must1(w.db.MutationFile(t.Context(), fileID))(t)
	return must1(io.ReadAll(w.db.OpenMutationFile(t.Context(), f)))(t)
}

func TestMain(m *testing.M) {
	if stage() {
		return
	}
	storetest.Main(m)
}

// shapes are the forms in which groups can be published.
func shapes() []string { return []string{"xml", "zip", "json", "ndjson"} }

// body writes groups as a publisher sends them.
func body(t *testing.T, h *historytest.History, shape string, groups []*format.Group) []byte {
	t.Helper()
	var b bytes.Buffer
	switch shape {
	case "xml":
		w := must1(format.NewWriter(&b, h.Header(dataset, format.Delta, "p")))(t)
		for _, g := range groups {
			must(t, w.WriteGroup(g))
		}
		must(t, w.Close())
	case "zip":
		w := must1(archive.NewDeliveryWriter(&b, h.Header(dataset, format.Delta, "p"), archive.DeliveryOptions{PerFile: 7}))(t)
		for _, g := range groups {
			must(t, w.WriteGroup(g))
		}
		must1(w.Close())(t)
	case "json":
		all := make([]any, len(groups))
		for i, g := range groups {
			all[i] = plain(g)
		}
		must(t, json.NewEncoder(&b).Encode(map[string]any{"groups": all}))
	case "ndjson":
		for _, g := range groups {
			must(t, json.NewEncoder(&b).Encode(plain(g)))
		}
	}
	return b.Bytes()
}

func plain(g *format.Group) any {
	state := func(s *format.State) any {
		if s == nil {
			return nil
		}
		return map[string]string{"id": s.ID, "xml": string(s.XML)}
	}
	var list []any
	for _, m := range g.Mutations {
		one := map[string]any{"objectType": m.ObjectType, "objectId": m.ObjectID}
		if m.Was != nil {
			one["was"] = state(m.Was)
		}
		if m.Wordt != nil {
			one["wordt"] = state(m.Wordt)
		}
		list = append(list, one)
	}
	return map[string]any{"mutations": list}
}

// source reads what was written by body.
func source(shape string, r io.Reader) ingest.Source {
	switch shape {
	case "xml":
		return ingest.FromXML("000001.xml", r, format.Limits{})
	case "zip":
		return ingest.FromZip(r, archive.Limits{}, format.Limits{})
	case "json":
		return ingest.FromJSON("groups.json", r, format.Limits{})
	}
	return ingest.FromNDJSON("groups.ndjson", r, format.Limits{})
}

// torn ends a stream in the middle, at any byte, as a line that breaks does.
func torn(r *rand.Rand, doc []byte) io.Reader {
	return io.MultiReader(bytes.NewReader(doc[:r.IntN(len(doc))]), broken{})
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func must1[V any](v V, err error) func(t *testing.T) V {
	return func(t *testing.T) V {
		t.Helper()
		must(t, err)
		return v
	}
}

// consumer keeps a copy of what it asked for.
type consumer struct {
	name     string
	want     export.Request                          // what it asks for; nothing is everything
	keep     func(kind string, s *format.State) bool // nil is everything
	database string
	options  replica.Options
	behind   string // the last delta it has
}

// consumers keep copies in every way that a follower knows.
func consumers(t *testing.T) []*consumer {
	t.Helper()
	sqlite := func(name string) string { return "sqlite:" + filepath.Join(t.TempDir(), name+".db") }
	geofilter := export.Request{Geofilter: area.WKT()}
	return []*consumer{
		{name: "everything", database: sqlite("all"), options: replica.Options{Name: dataset, Verify: "stop"}},
		{name: "everything in PostgreSQL", database: storetest.PostgresURL(t), options: replica.Options{Name: dataset, Mutations: 7}},
		{name: "by all fields", database: sqlite("fields"), options: replica.Options{Name: dataset, Match: replica.Match{AllFields: true}}},
		{name: "an area", want: geofilter, keep: func(_ string, s *format.State) bool { return area.Inside(s) }, database: sqlite("area"), options: replica.Options{Name: dataset, AreaOf: areaOf, Tombstones: true}},
		{name: "two types", want: export.Request{ObjectTypes: []string{"Pand", "besluit"}}, keep: func(kind string, _ *format.State) bool { return kind == "Pand" || kind == "Besluit" }, database: sqlite("types"), options: replica.Options{Name: dataset}},
	}
}

// held makes an area of what a manifest tells.
type held struct{ *mutationarea.Filter }

// Inside implements replica.Area.
func (h held) Inside(s *format.State) (bool, error) { return h.Holds(s) }

func areaOf(text string, by *archive.Located) (replica.Area, error) {
	list, err := mutationarea.Split(text, mutationarea.Options{Dataset: mutationarea.CRS(by.CRS)})
	if err != nil {
		return nil, err
	}
	f, err := mutationarea.NewFilter(mutationarea.Config{Fields: mutationarea.Fields{CRS: mutationarea.RD}, Areas: list})
	return held{f}, err
}

// apply brings a zip into the copy; now and then the line breaks on the way.
func (w *world) apply(t *testing.T, c *consumer, m archive.Manifest, doc []byte) {
	t.Helper()
	ctx := t.Context()
	f := must1(replica.Open(ctx, c.database, c.options))(t)
	defer f.Close()
	d := replica.Delivery{
		ID: m.DeliveryID, Type: m.Type, Chained: m.Type == format.Delta, Previous: m.Previous, Lineage: m.Lineage, Includes: m.Includes, Manifest: &m,
		Open: func(context.Context) (io.ReadCloser, error) { return io.NopCloser(w.line(doc)), nil },
	}
	for tries := 0; ; tries++ {
		var report replica.Report
		err := f.Apply(ctx, d, &report)
		if err == nil {
			break
		}
		if tries > 50 || !strings.Contains(err.Error(), "EOF") && !strings.Contains(err.Error(), "ends in the middle") {
			t.Fatalf("%s: %s %s: %v", c.name, m.Type, m.DeliveryID, err)
		}
	}
}

// line brings a document, or a part of it.
func (w *world) line(doc []byte) io.Reader {
	if w.rnd.IntN(3) == 0 {
		return torn(w.rnd, doc)
	}
	return bytes.NewReader(doc)
}

// check holds a copy against what must be in it, as its users see it.
func (w *world) check(t *testing.T, c *consumer, seq int64) {
	t.Helper()
	driver, name := "sqlite3", strings.TrimPrefix(c.database, "sqlite:")
	if strings.HasPrefix(name, "postgres") {
		driver = "pgx"
	}
	w.checked++
	db := must1(sql.Open(driver, name))(t)
	defer db.Close()
	got := must1(historytest.ReadCopy(t.Context(), db, dataset))(t)
	if d := historytest.Difference(got, w.record.At(seq, c.keep)); d != "" {
		t.Fatalf("%s at group %d: %s", c.name, seq, d)
	}
}
