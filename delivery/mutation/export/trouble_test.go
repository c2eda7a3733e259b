package export_test

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"schakel/delivery/mutation/export"
	"schakel/store"
	"schakel/store/needs"
	"schakel/store/storetest"
	"schakel/templates/i18n"
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
		if o, err := w.exporter.Delta(w.ctx, v, d.ID); err != nil || o.Ready || !strings.Contains(i18n.Message(o.Failed).String(), "cannot be read") {
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
		must(t, err)
		w.clock.Advance(export.Retention + time.Hour)
		w.expire(1)
		if _, err := w.exporter.Work(w.ctx); !errors.Is(err, export.ErrDeltaExpired) {
			t.Error(err)
		}
		row, err = w.exporter.Custom(w.ctx, v, row.ID)
		if err != nil || row.Status != store.MutationFailed || i18n.Message(row.Error).String() != "the delta can be fetched no more" {
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

// inUse measures what the last collection found in use. What was allocated since, which on a busy machine is much, is none of it.
func inUse() uint64 {
	runtime.GC()
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	return live[0].Value.Uint64()
}

// brittle stands between a program and a PostgreSQL, and ends the connection on which the server said a last byte once.
type brittle struct{ left atomic.Int64 }

// plenty is more than a server ever says.
const plenty = 1 << 40

// between gives the address of a database through a brittle line.
func between(t *testing.T, address string) (*brittle, string) {
	t.Helper()
	u, err := url.Parse(address)
	must(t, err)
	dir := t.TempDir()
	const name = ".s.PGSQL.5432"
	server := filepath.Join(u.Query().Get("host"), name)
	l, err := net.Listen("unix", filepath.Join(dir, name))
	must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	b := &brittle{}
	b.left.Store(plenty)
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go b.pass(client, server)
		}
	}()
	u.RawQuery = url.Values{"host": {dir}}.Encode()
	return b, u.String()
}

func (b *brittle) pass(client net.Conn, address string) {
	defer client.Close()
	server, err := net.Dial("unix", address)
	if err != nil {
		return
	}
	defer server.Close()
	go func() { _, _ = io.Copy(server, client) }()
	buffer := make([]byte, 16<<10)
	for {
		n, err := server.Read(buffer)
		if err != nil {
			return
		}
		if left := b.left.Add(-int64(n)); left <= 0 {
			b.left.Store(plenty)
			return
		}
		if _, err := client.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// TestBrokenLine: a database that goes away while a part is made is no broken zip: the part is made when it is back.
//
// Rules: MUT-29.
func TestBrokenLine(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	address := storetest.PostgresURL(t)
	line, through := between(t, address)
	db, err := store.Open(t.Context(), through, store.Options{Now: clock.Now})
	must(t, err)
	t.Cleanup(func() { _ = db.Close() })
	must(t, db.Migrate(t.Context()))
	w := newWorld(t, db, clock, "bgt")
	w.follow("north", "", "Pand")
	w.fill(80, func() []byte {
		noise := make([]byte, 20<<10)
		_, _ = rand.Read(noise)
		return fmt.Appendf(nil, "<Pand>%s</Pand>", base64.StdEncoding.EncodeToString(noise))
	})
	w.delta()
	for _, after := range []int64{100 << 10, 300 << 10, 700 << 10} {
		line.left.Store(after)
		if some, err := w.exporter.Work(w.ctx); !some && err == nil {
			t.Fatal("there is nothing to make")
		}
		line.left.Store(plenty)
		if rows := w.downloads(); rows[0].Status == store.MutationFailed {
			t.Fatalf("after %d bytes it failed for ever: %s", after, rows[0].Error)
		}
		clock.Advance(2 * time.Minute)
	}
	if n := w.work(); n != 1 {
		t.Errorf("%d parts were made", n)
	}
	if rows := w.downloads(); rows[0].Status != store.MutationCompleted {
		t.Errorf("%+v", rows[0])
	}
}

// fill begins the history with n groups, each of which adds a state.
func (w *world) fill(n int64, xml func() []byte) {
	w.t.Helper()
	w.write(func(tx *store.Tx) error {
		set, err := tx.LockDataset(w.ctx, w.set)
		if err != nil {
			return err
		}
		var a store.Appended
		for seq := int64(1); seq <= n; seq++ {
			id, object := uuid.NewString(), fmt.Sprint(seq)
			a.Groups = append(a.Groups, store.MutationGroup{DatasetID: w.set, Seq: seq, At: tx.Now})
			a.Mutations = append(a.Mutations, store.Mutation{DatasetID: w.set, Seq: seq, Number: 1, ObjectType: "Pand", ObjectID: object, WordtID: id})
			a.States = append(a.States, store.MutationState{
				ID: id, DatasetID: w.set, ObjectType: "Pand", ObjectID: object, BornSeq: seq, Digest: []byte{1}, Namespaces: "{}", XML: xml(),
			})
		}
		return tx.AppendGroups(w.ctx, set, a)
	})
}

func (w *world) downloads() []store.MutationDownload {
	w.t.Helper()
	rows, _, err := w.db.MutationDownloads(w.ctx, store.MutationDownloadFilter{DatasetID: w.set})
	if err != nil || len(rows) == 0 {
		w.t.Fatal(len(rows), err)
	}
	return rows
}

// TestShareWhileItEnds: who asks for what is about to go gets one of its own, not a download without bytes.
//
// Rules: MUT-51.
func TestShareWhileItEnds(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	w := newWorld(t, storetest.Postgres(t, storetest.WithClock(clock)), clock, "bgt") // SQLite has one writer
	v := w.follow("north", "")
	w.publish(20)
	d := w.delta()
	ask := func() (store.MutationDownload, error) {
		return w.exporter.Request(w.ctx, v, export.Request{By: "cli_1", DeltaID: d.ID, ObjectTypes: []string{"Pand"}})
	}
	first, err := ask()
	must(t, err)
	w.work()
	if first, err = w.exporter.Custom(w.ctx, v, first.ID); err != nil {
		t.Fatal(err)
	}
	type answer struct {
		row store.MutationDownload
		err error
	}
	answers := make(chan answer, 1)
	w.write(func(tx *store.Tx) error { // as Expire does
		if err := tx.ExpireMutationDownload(w.ctx, first.ID); err != nil {
			return err
		}
		if err := tx.Lock(w.ctx, "mutation_file", first.FileID); err != nil {
			return err
		}
		if err := tx.DropMutationFile(w.ctx, first.FileID); err != nil {
			return err
		}
		go func() {
			row, err := ask()
			answers <- answer{row, err}
		}()
		select {
		case a := <-answers:
			answers <- a
		case <-time.After(time.Second): // it waits for what comes of the file
		}
		return nil
	})
	second := <-answers
	if second.err != nil {
		t.Fatal(second.err)
	}
	w.work()
	row, err := w.exporter.Custom(w.ctx, v, second.row.ID)
	if err != nil || row.Status != store.MutationCompleted || !w.there(row.FileID) {
		t.Errorf("%v: %+v", err, row)
	}
}
