package export_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"schakel/delivery/mutation/export"
	"schakel/store"
	"schakel/store/storetest"
)

// bulk adds n groups that add a building of about a kilobyte each, a quarter of them in ring.
func (w *world) bulk(n int) {
	w.t.Helper()
	filling := strings.Repeat("een gebouw met ramen ", 40)
	for n > 0 {
		some := min(n, 500)
		n -= some
		w.write(func(tx *store.Tx) error {
			set, err := tx.LockDataset(w.ctx, w.set)
			if err != nil {
				return err
			}
			var a store.Appended
			for i := range some {
				seq, id := set.LastSeq+1+int64(i), uuid.Must(uuid.NewV7()).String()
				x, object := 155000+seq%1000, fmt.Sprint(seq)
				a.Groups = append(a.Groups, store.MutationGroup{DatasetID: w.set, Seq: seq, At: tx.Now})
				a.Mutations = append(a.Mutations, store.Mutation{DatasetID: w.set, Seq: seq, Number: 1, ObjectType: "Pand", ObjectID: object, WordtID: id})
				a.States = append(a.States, store.MutationState{
					ID: id, DatasetID: w.set, ObjectType: "Pand", ObjectID: object, BornSeq: seq, Digest: []byte{1}, Namespaces: `{"gml":"http://www.opengis.net/gml/3.2"}`,
					XML: fmt.Appendf(nil, `<Pand><naam>%s%d</naam><gml:Point><gml:pos>%d 463300</gml:pos></gml:Point></Pand>`, filling, seq*7919, x),
				})
			}
			return tx.AppendGroups(w.ctx, set, a)
		})
	}
}

// BenchmarkCut makes deltas, snapshots and parts of deltas of 20,000 groups with one state of about a kilobyte, from SQLite.
func BenchmarkCut(b *testing.B) {
	const n = 20_000
	clock := storetest.NewClock()
	w := newWorld(b, storetest.SQLite(b, storetest.WithClock(clock)), clock, "bgt")
	w.bulk(n)
	rate := func(b *testing.B, groups int64) {
		b.ReportMetric(float64(groups)/b.Elapsed().Seconds(), "groups/s")
		b.ReportMetric(0, "ns/op")
	}
	b.Run("delta", func(b *testing.B) {
		groups := int64(0)
		for b.Loop() {
			b.StopTimer()
			w.bulk(n)
			b.StartTimer()
			d := w.delta()
			groups += d.ToSeq - d.FromSeq
		}
		rate(b, groups)
	})
	b.Run("snapshot", func(b *testing.B) {
		groups := int64(0)
		for b.Loop() {
			groups += w.snapshot().Done
		}
		rate(b, groups)
	})
	b.Run("part", func(b *testing.B) {
		groups := int64(0)
		view := export.View{Dataset: w.dataset(), PartnerID: "p"}
		for b.Loop() {
			b.StopTimer()
			w.clock.Advance(time.Second)
			s := w.snapshot() // another one, since parts are shared
			b.StartTimer()
			w.part(view, s)
			groups += s.Done
		}
		rate(b, groups)
	})
}

func (w *world) part(v export.View, s store.MutationSnapshot) {
	w.t.Helper()
	row, err := w.exporter.Request(w.ctx, v, export.Request{By: "a", Geofilter: ring.WKT()})
	if err != nil || row.SnapshotID != s.ID || w.work() != 1 {
		w.t.Fatal(row.SnapshotID, err)
	}
}
