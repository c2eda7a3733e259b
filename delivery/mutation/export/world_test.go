package export_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"schakel/delivery/mutation/archive"
	"schakel/delivery/mutation/export"
	"schakel/delivery/mutation/format"
	"schakel/delivery/mutation/historytest"
	"schakel/store"
	"schakel/store/storetest"
)

// world is a dataset with a random history, of which it is known what an exact copy holds behind each group.
type world struct {
	t        testing.TB
	ctx      context.Context
	db       *store.DB
	clock    *storetest.Clock
	exporter *export.Exporter
	set      string
	source   *historytest.History

	mu     sync.Mutex
	ids    map[string]string // of states, by what the source calls them
	copies map[int64][]string
	inside map[int64][]string // the part of ring
	last   int64
	wrap   bool // states stand in the element of the dataset
}

// ring is an area in which some of the objects lie.
var ring = historytest.Ring{
	Outer: historytest.Frame{Left: 155200, Bottom: 463200, Right: 155800, Top: 463800},
	Hole:  historytest.Frame{Left: 155400, Bottom: 463400, Right: 155600, Top: 463600},
}

// each runs fn on both databases.
func each(t *testing.T, fn func(t *testing.T, w *world)) {
	t.Helper()
	t.Parallel()
	storetest.EachClock(t, func(t *testing.T, db *store.DB, clock *storetest.Clock) { fn(t, newWorld(t, db, clock, "bgt")) })
}

func newWorld(t testing.TB, db *store.DB, clock *storetest.Clock, dataset string) *world {
	w := &world{
		t: t, ctx: t.Context(), db: db, clock: clock, set: dataset, source: historytest.New(7, historytest.BAG, dataset),
		ids: map[string]string{}, copies: map[int64][]string{0: {}}, inside: map[int64][]string{0: {}},
	}
	w.exporter = w.node("north")
	d := store.Dataset{
		ID: dataset, Title: "Dataset", Status: store.DatasetActive, RootPrefix: "mlm", RootSpace: "http://voorbeeld.nl/mutaties", RootLocal: "mutaties",
		Namespaces: "{}", ObjectTypes: historytest.Types(), CRS: 28992, AreaKind: store.AreaGeometry, PerFile: 20, Lineage: uuid.NewString(),
	}
	w.write(func(tx *store.Tx) error { return tx.InsertDataset(w.ctx, &d) })
	return w
}

// node is another process on the same database.
func (w *world) node(name string) *export.Exporter {
	return export.New(export.Config{DB: w.db, Now: w.clock.Now, Node: name})
}

func (w *world) write(fn func(tx *store.Tx) error) {
	w.t.Helper()
	must(w.t, w.db.Write(w.ctx, fn))
}

func (w *world) dataset() store.Dataset {
	w.t.Helper()
	d, err := w.db.Dataset(w.ctx, w.set)
	must(w.t, err)
	return d
}

// publish adds n groups to the history, and remembers what a copy holds behind each.
func (w *world) publish(n int) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for range n {
		g := w.source.Group()
		w.write(func(tx *store.Tx) error { return w.append(tx, g) })
		w.clock.Advance(time.Second)
		w.copies[w.last], w.inside[w.last] = w.source.Copy(nil), w.source.Copy(ring.Inside)
	}
}

func (w *world) append(tx *store.Tx, g *format.Group) error {
	set, err := tx.LockDataset(w.ctx, w.set)
	if err != nil {
		return err
	}
	w.last = set.LastSeq + 1
	a := store.Appended{Groups: []store.MutationGroup{{DatasetID: w.set, Seq: w.last, At: tx.Now}}}
	fresh := map[string]int{}
	for i, m := range g.Mutations {
		row := store.Mutation{DatasetID: w.set, Seq: w.last, Number: int64(i + 1), ObjectType: m.ObjectType, ObjectID: m.ObjectID}
		if m.Was != nil {
			row.WasID = w.ids[m.Was.ID]
			if at, here := fresh[row.WasID]; here {
				a.States[at].DiedSeq = w.last
			} else {
				a.Deaths = append(a.Deaths, store.StateDeath{ID: row.WasID, Seq: w.last})
			}
		}
		if m.Wordt != nil {
			row.WordtID = uuid.NewString()
			w.ids[m.Wordt.ID], fresh[row.WordtID] = row.WordtID, len(a.States)
			sum, err := m.Wordt.Digest()
			if err != nil {
				return err
			}
			a.States = append(a.States, store.MutationState{
				ID: row.WordtID, DatasetID: w.set, ObjectType: m.ObjectType, ObjectID: m.ObjectID, SourceID: m.Wordt.ID, BornSeq: w.last,
				Digest: sum[:], Namespaces: "{}", XML: m.Wordt.XML,
			})
			if w.wrap {
				s := &a.States[len(a.States)-1]
				s.XML, s.Namespaces = fmt.Appendf(nil, "<mlm:object>%s</mlm:object>", s.XML), `{"mlm":"http://voorbeeld.nl/mutaties"}`
			}
		}
		a.Mutations = append(a.Mutations, row)
	}
	return tx.AppendGroups(w.ctx, set, a)
}

func (w *world) delta() store.MutationDelta {
	w.t.Helper()
	d, err := w.exporter.MakeDelta(w.ctx, w.set, export.Options{})
	must(w.t, err)
	return d
}

// name gives the id by which a reader knows a delta.
func (w *world) name(v export.View, deltaID string) string {
	w.t.Helper()
	names, err := w.exporter.Names(w.ctx, v)
	must(w.t, err)
	return names.Of(deltaID)
}

// replica is a copy that somebody keeps by the ids of states alone.
type replica map[string]string

type manifest = archive.Manifest

type mutation struct{ format.Mutation }

func (m *mutation) line() string { return historytest.Line(m.ObjectType, m.ObjectID, m.Wordt) }

// groups reads the groups of a delivery, and gives its manifest as it was seen.
func (w *world) groups(fileID string, fn func(*format.Group) error) manifest {
	w.t.Helper()
	file, err := w.db.MutationFile(w.ctx, fileID)
	must(w.t, err)
	in := archive.NewDeliveryReader(w.db.OpenMutationFile(w.ctx, file), archive.Limits{}, format.Limits{})
	for {
		g, at, err := in.Next()
		if errors.Is(err, io.EOF) {
			return in.Seen()
		}
		if err == nil {
			err = fn(g)
		}
		if err != nil {
			w.t.Fatalf("%s, group %d: %v", at.File, at.Group, err)
		}
	}
}

func (w *world) each(fileID string, fn func(*mutation)) manifest {
	w.t.Helper()
	return w.groups(fileID, func(g *format.Group) error {
		for _, m := range g.Mutations {
			fn(&mutation{m})
		}
		return nil
	})
}

// apply applies a delivery, and gives its manifest as it was seen.
func (w *world) apply(r replica, fileID string) manifest {
	w.t.Helper()
	return w.groups(fileID, r.group)
}

func (r replica) group(g *format.Group) error {
	for _, m := range g.Mutations {
		if m.Was != nil {
			if r[m.Was.ID] != historytest.Line(m.ObjectType, m.ObjectID, m.Was) {
				return fmt.Errorf("WAS %s is not there", m.Was.ID)
			}
			delete(r, m.Was.ID)
		}
		if m.Wordt != nil {
			if _, there := r[m.Wordt.ID]; there {
				return fmt.Errorf("WORDT %s came twice", m.Wordt.ID)
			}
			r[m.Wordt.ID] = historytest.Line(m.ObjectType, m.ObjectID, m.Wordt)
		}
	}
	return nil
}

func (r replica) lines() []string {
	lines := []string{}
	for _, line := range r {
		lines = append(lines, line)
	}
	sort.Strings(lines)
	return lines
}

// holds checks that a replica equals an exact copy behind a group.
func (w *world) holds(r replica, seq int64, what string) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if got := r.lines(); !slices.Equal(got, w.copies[seq]) {
		w.t.Fatalf("%s: a copy has %d states behind group %d, and an exact one %d", what, len(got), seq, len(w.copies[seq]))
	}
}

// chain gives all deltas of the lineage of now, oldest first.
func (w *world) chain() []store.MutationDelta {
	w.t.Helper()
	rows, _, err := w.db.MutationDeltas(w.ctx, store.MutationDeltaFilter{DatasetID: w.set, Lineage: w.dataset().Lineage})
	must(w.t, err)
	return rows
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
