package export_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"sort"
	"testing"
	"time"

	"github.com/google/uuid"

	"schakel/delivery/mutation/export"
	"schakel/delivery/mutation/historytest"
	"schakel/store"
	"schakel/store/needs"
	"schakel/store/storetest"
)

// childDatabase names the database that a child process works on until it is killed.
const childDatabase = "SCHAKEL_TEST_CUT_DATABASE"

func TestMain(m *testing.M) {
	if database := os.Getenv(childDatabase); database != "" {
		fmt.Fprintln(os.Stderr, child(context.Background(), database))
		os.Exit(1)
	}
	storetest.Main(m)
}

// child publishes, makes deltas and snapshots and downloads without end.
func child(ctx context.Context, database string) error {
	db, err := store.Open(ctx, database, store.Options{Alone: true})
	if err != nil {
		return err
	}
	fmt.Println("open")
	c := export.New(export.Config{DB: db, Lease: time.Nanosecond}) // one node: what it held before it died is its own
	for {
		for range 1 + rand.IntN(30) {
			if err := db.Write(ctx, func(tx *store.Tx) error { return nextGroup(ctx, tx) }); err != nil {
				return err
			}
		}
		if _, err := c.MakeDelta(ctx, "bgt", export.Options{}); err != nil && !errors.Is(err, export.ErrNothingNew) {
			return err
		}
		fmt.Println("delta")
		if rand.IntN(3) == 0 {
			if _, err := c.Snapshot(ctx, "bgt"); err != nil {
				return err
			}
		}
		if _, err := c.Work(ctx); err != nil {
			return err
		}
	}
}

// nextGroup adds an object and changes the one before it.
func nextGroup(ctx context.Context, tx *store.Tx) error {
	set, err := tx.LockDataset(ctx, "bgt")
	if err != nil {
		return err
	}
	seq := set.LastSeq + 1
	id := func(object, version int64) string {
		return uuid.NewSHA1(uuid.Nil, fmt.Appendf(nil, "%d %d", object, version)).String()
	}
	state := func(object, version int64) store.MutationState {
		x := historytest.ExtentX + float64(object%1000)
		return store.MutationState{
			ID: id(object, version), DatasetID: "bgt", ObjectType: "Pand", ObjectID: fmt.Sprint(object), BornSeq: seq, Digest: []byte{1}, Namespaces: "{}",
			XML: fmt.Appendf(nil, `<Pand><Point xmlns="http://www.opengis.net/gml/3.2"><pos>%g 463100</pos></Point><nr>%d.%d</nr></Pand>`, x, object, version),
		}
	}
	a := store.Appended{
		Groups:    []store.MutationGroup{{DatasetID: "bgt", Seq: seq, At: tx.Now}},
		States:    []store.MutationState{state(seq, 0)},
		Mutations: []store.Mutation{{DatasetID: "bgt", Seq: seq, Number: 1, ObjectType: "Pand", ObjectID: fmt.Sprint(seq), WordtID: id(seq, 0)}},
	}
	if seq > 1 {
		a.States, a.Deaths = append(a.States, state(seq-1, 1)), []store.StateDeath{{ID: id(seq-1, 0), Seq: seq}}
		a.Mutations = append(a.Mutations, store.Mutation{
			DatasetID: "bgt", Seq: seq, Number: 2, ObjectType: "Pand", ObjectID: fmt.Sprint(seq - 1), WasID: id(seq-1, 0), WordtID: id(seq-1, 1),
		})
	}
	return tx.AppendGroups(ctx, set, a)
}

// TestKill kills a process at random moments while it publishes, makes deltas and snapshots and downloads. What is there
// afterwards is whole: a chain without gap or double, snapshots that are exact, and nothing else but files that are pruned.
//
// Rules: MUT-22, MUT-34, MUT-35.
func TestKill(t *testing.T) {
	t.Parallel()
	needs.Full(t, "many processes, one after the other")
	path := storetest.SQLitePath(t)
	w := openKilled(t, path)
	v := w.follow("north", "POLYGON((155000 463000,155500 463000,155500 463500,155000 463500,155000 463000))")
	w.write(func(tx *store.Tx) error { // so much that a snapshot takes a while
		for range 1000 {
			if err := nextGroup(w.ctx, tx); err != nil {
				return err
			}
		}
		return nil
	})
	w.delta()
	must(t, w.db.Close())
	for round := range 8 {
		killed(t, path, round%2)
	}
	w.db, _ = openDB(t, path)
	w.exporter = export.New(export.Config{DB: w.db, Lease: time.Nanosecond})
	s := w.snapshot()
	w.work()
	chain := w.chain()
	if last := chain[len(chain)-1]; last.ToSeq != w.dataset().LastSeq || s.DeltaID != last.ID || len(chain) < 3 {
		t.Errorf("%d deltas up to %d of %d", len(chain), last.ToSeq, w.dataset().LastSeq)
	}
	w.storedWhole(chain)
	for _, d := range chain {
		if o, err := w.exporter.Delta(w.ctx, v, w.name(v, d.ID)); err != nil || !o.Ready || o.Manifest.Check(w.each(o.FileID, func(*mutation) {})) != nil {
			t.Fatalf("%v: the part of delta %d: %+v", err, d.Number, o)
		}
	}
}

// storedWhole replays the deltas and all snapshots that are done, and holds them against the states in the store.
func (w *world) storedWhole(chain []store.MutationDelta) {
	w.t.Helper()
	r, done, failed := replica{}, 0, 0
	at := map[int64][]string{}
	snapshots, _, err := w.db.MutationSnapshots(w.ctx, w.set, store.Page{})
	must(w.t, err)
	for i, d := range chain {
		if i > 0 && (d.PreviousID != chain[i-1].ID || d.FromSeq != chain[i-1].ToSeq || d.Number != int64(i+1)) {
			w.t.Fatalf("delta %d does not follow: %+v", d.Number, d)
		}
		w.apply(r, d.FileID)
		at[d.ToSeq] = r.lines()
	}
	for _, s := range snapshots {
		if s.Status != store.MutationDone {
			failed++
			continue
		}
		done++
		full := replica{}
		w.apply(full, s.FileID)
		if !slices.Equal(full.lines(), at[s.Seq]) || !slices.Equal(full.lines(), w.statesAt(s.Seq)) {
			w.t.Fatalf("snapshot %s is not exact", s.ID)
		}
	}
	w.t.Logf("%d deltas, %d snapshots, %d broken off", len(chain), done, failed)
}

// statesAt lists what was there behind a group.
func (w *world) statesAt(seq int64) []string {
	lines, from := []string{}, w.db.OpenStates(w.dataset(), seq)
	for {
		row, err := from.Next(w.ctx)
		if errors.Is(err, io.EOF) {
			sort.Strings(lines)
			return lines
		}
		must(w.t, err)
		lines = append(lines, historytest.Line(row.ObjectType, row.ObjectID, parsed(w.t, row.ID, row.XML)))
	}
}

func openDB(t *testing.T, path string) (*store.DB, error) {
	db, err := store.Open(t.Context(), "sqlite:"+path, store.Options{})
	must(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return db, db.Migrate(t.Context())
}

func openKilled(t *testing.T, path string) *world {
	db, err := openDB(t, path)
	must(t, err)
	return newWorld(t, db, storetest.NewClockAt(time.Now()), "bgt")
}

// killed runs a child for a moment, from when its database is open and it has made so many deltas.
func killed(t *testing.T, path string, deltas int) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childDatabase+"=sqlite:"+path)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	lines := bufio.NewScanner(out)
	for range 1 + deltas { // the first says that it is open
		if !lines.Scan() {
			t.Error("the child ended by itself")
		}
	}
	<-time.After(time.Duration(50+rand.IntN(400)) * time.Millisecond)
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait()
}
