package export_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"schakel/delivery/mutation/export"
	"schakel/store"
	"schakel/store/needs"
	"schakel/store/storetest"
)

// TestUnreadableArea: a follower whose area cannot be read gets to know why, and keeps nobody from the delta.
func TestUnreadableArea(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		v, whole := w.follow("north", "POLYGON((1 1,2 2))"), w.follow("south", "")
		w.publish(5)
		d := w.delta()
		if n := w.work(); n != 0 {
			t.Error("what cannot be made is tried")
		}
		if o, err := w.exporter.Delta(w.ctx, v, d.ID); err != nil || o.Ready || !strings.Contains(o.Failed, "cannot be read") {
			t.Errorf("an area that cannot be read is passed over: %+v, %v", o, err)
		}
		if list, n, err := w.exporter.Deltas(w.ctx, v, "", store.Page{}); err != nil || n != 1 || list[0].Ready || list[0].Failed == "" {
			t.Errorf("listed as %+v, %v", list, err)
		}
		w.snapshot()
		if o, err := w.exporter.Latest(w.ctx, v); err != nil || o.Ready || o.Failed == "" {
			t.Errorf("a snapshot is %+v, %v", o, err)
		}
		_, lineage := w.exporter.Lineage(w.ctx, v)
		_, asked := w.exporter.Request(w.ctx, v, export.Request{By: "a", DeltaID: d.ID})
		if !errors.Is(lineage, export.ErrUnreadable) || !errors.Is(asked, export.ErrUnreadable) {
			t.Error(lineage, asked)
		}
		if o, err := w.exporter.Delta(w.ctx, whole, d.ID); err != nil || !o.Ready {
			t.Errorf("%v, %+v", err, o)
		}
		counts, err := w.db.CountMutationDownloads(w.ctx)
		if err != nil || counts[store.MutationFailed] != 1 {
			t.Error(counts, err)
		}
	})
}

// TestGoneMeanwhile: what a waiting download is a part of is gone when its turn comes: it has failed, and says why.
func TestGoneMeanwhile(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.publish(5)
		d := w.delta()
		v := export.View{Dataset: w.dataset(), PartnerID: "own"}
		row, err := w.exporter.Request(w.ctx, v, export.Request{By: "a", DeltaID: d.ID, Geofilter: ring.WKT()})
		if err != nil {
			t.Fatal(err)
		}
		w.clock.Advance(export.Retention + time.Hour)
		w.expire(1)
		if _, err := w.exporter.Work(w.ctx); !errors.Is(err, export.ErrDeltaExpired) {
			t.Error(err)
		}
		row, err = w.exporter.Custom(w.ctx, v, row.ID)
		if err != nil || row.Status != store.MutationFailed || !strings.Contains(row.Error, export.ErrDeltaExpired.Error()) {
			t.Errorf("%v, %+v", err, row)
		}
	})
}

// TestStopped: work that is broken off leaves nothing but a file that is pruned, and is begun again.
//
// Rules: MUT-22.
func TestStopped(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.publish(60)
		v := w.follow("north", ring.WKT())
		first := w.delta()
		w.publish(20)
		w.stopped(func(ctx context.Context) error {
			_, err := w.exporter.MakeDelta(ctx, w.set, export.Options{})
			return err
		})
		w.stopped(func(ctx context.Context) error { _, err := w.exporter.Snapshot(ctx, w.set); return err })
		w.stopped(func(ctx context.Context) error { _, err := w.exporter.Work(ctx); return err })
		if s, _, err := w.db.MutationSnapshots(w.ctx, w.set, store.Page{}); err != nil || len(s) > 0 && s[0].Status == store.MutationRunning {
			t.Errorf("%v, %+v", err, s)
		}
		s := w.snapshot()
		r := replica{}
		w.apply(r, s.FileID)
		w.holds(r, w.last, "after a stop")
		w.clock.Advance(2 * time.Minute) // a claim whose commit was not answered any more holds until its lease is over
		w.work()
		if o, err := w.exporter.Delta(w.ctx, v, w.name(v, first.ID)); err != nil || !o.Ready {
			t.Errorf("%v, %+v", err, o)
		}
		w.replay(replica{}, w.chain(), "after a stop")
	})
}

// stopped does work with a context that ends after a moment, each time a little later, until the work is done.
func (w *world) stopped(work func(context.Context) error) {
	w.t.Helper()
	for n := range 12 {
		ctx, cancel := context.WithTimeout(w.ctx, time.Duration(n)*4*time.Millisecond)
		err := work(ctx)
		ended := ctx.Err() != nil
		cancel()
		if err == nil || errors.Is(err, export.ErrNothingNew) {
			return
		}
		if !ended {
			w.t.Fatal(err)
		}
	}
}

// TestFlatMemory makes a delta and a snapshot of much, and weighs the memory in use; it runs alone, since it weighs the
// whole process. The states take 40 MB.
//
// Rules: MUT-28, MUT-54.
func TestFlatMemory(t *testing.T) {
	needs.Full(t, "much memory, and no other test beside it")
	clock := storetest.NewClock()
	w := newWorld(t, storetest.SQLite(t, storetest.WithClock(clock)), clock, "bgt")
	w.bulk(40_000)
	before := inUse()
	peak := uint64(0)
	ctx, cancel := context.WithCancel(w.ctx)
	weighed := make(chan struct{})
	go func() {
		defer close(weighed)
		for tick := time.NewTicker(100 * time.Millisecond); ctx.Err() == nil; <-tick.C {
			peak = max(peak, inUse())
		}
	}()
	d := w.delta()
	s := w.snapshot()
	cancel()
	<-weighed
	if d.ToSeq != 40_000 || s.Done != 40_000 || peak > before+24<<20 {
		t.Errorf("%d bytes in use before, %d at most", before, peak)
	}
	t.Logf("%d KiB before, %d KiB at most; zips of %d KiB", before>>10, peak>>10, d.Bytes>>10)
}

func inUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
