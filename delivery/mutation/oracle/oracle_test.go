package oracle

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"testing"

	"schakel/delivery/mutation/archive"
	"schakel/delivery/mutation/export"
	"schakel/delivery/mutation/format"
	"schakel/delivery/mutation/historytest"
	"schakel/delivery/mutation/ingest"
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
