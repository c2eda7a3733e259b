package oracle

import (
	"bytes"
	"context"
	"database/sql"
	"io"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "github.com/mattn/go-sqlite3"

	"schakel/delivery/mutation/archive"
	mutationarea "schakel/delivery/mutation/area"
	"schakel/delivery/mutation/export"
	"schakel/delivery/mutation/format"
	"schakel/delivery/mutation/historytest"
	"schakel/delivery/mutation/replica"
	"schakel/store/storetest"
)

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
