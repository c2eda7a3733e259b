package store_test

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"schakel/store"
)

func (w *world) newPublication(dataset, client, key string) store.MutationPublication {
	w.t.Helper()
	p := store.MutationPublication{
		DatasetID: dataset, ClientID: client, RequestKey: key, Kind: store.PublicationGroups, Status: store.MutationRunning, Hash: []byte{1},
	}
	w.write(func(tx *store.Tx) error { return tx.InsertPublication(w.ctx, &p) })
	return p
}

// A publication is found by its key, and goes on from where it is, for one at a time.
func TestPublication(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.newDataset("panden")
		w.newDataset("wegen")
		p := w.newPublication("panden", "cli_1", "key")
		twice := p
		w.fails(store.ErrConflict, func(tx *store.Tx) error { return tx.InsertPublication(w.ctx, &twice) })
		w.newPublication("panden", "cli_2", "key")
		other := w.newPublication("wegen", "cli_1", "key")
		w.newPublication("panden", "cli_1", "")
		last := w.newPublication("panden", "cli_1", "") // no key is no key
		gives(t, p)(w.db.PublicationByKey(w.ctx, "panden", "cli_1", "key"))
		missing(t)(w.db.PublicationByKey(w.ctx, "panden", "cli_1", ""))

		w.clock.Advance(time.Minute)
		stale := p
		fill(&p, 3, "ID", "DatasetID", "ClientID", "RequestKey", "Kind", "Name", "Status", "CreatedBy", "CreatedAt")
		w.write(func(tx *store.Tx) error { return tx.StepPublication(w.ctx, &p, 0, store.MutationRunning) })
		gives(t, p)(w.db.Publication(w.ctx, p.ID))
		w.fails(store.ErrConflict, func(tx *store.Tx) error { return tx.StepPublication(w.ctx, &stale, 0, store.MutationRunning) })
		w.fails(store.ErrConflict, func(tx *store.Tx) error { return tx.StepPublication(w.ctx, &stale, p.Groups, store.MutationFailed) })

		w.write(func(tx *store.Tx) error { return tx.CancelPublication(w.ctx, other.ID) })
		w.fails(store.ErrNotFound, func(tx *store.Tx) error { return tx.CancelPublication(w.ctx, other.ID) })
		w.fails(store.ErrConflict, func(tx *store.Tx) error { return tx.StepPublication(w.ctx, &other, 0, store.MutationRunning) })
		id := func(p store.MutationPublication) string { return p.ID }
		listed(t, id, []string{other.ID}, 1)(w.db.Publications(w.ctx, store.PublicationFilter{Status: store.MutationCancelled}))
		listed(t, id, []string{last.ID}, 4)(w.db.Publications(w.ctx, store.PublicationFilter{DatasetID: "panden", Page: store.Page{Number: 1, Size: 1}}))
	})
}

// Of a publication it is told which id each of its states got, also when groups of others lie between.
// Rules: MUT-10, MUT-11.
func TestPublishedStates(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.newDataset("panden")
		p := w.newPublication("panden", "cli_1", "key")
		w.publish(p.ID, "panden", []change{{"", "a"}, {"", "b"}})
		w.publish("mpb_other", "panden", []change{{"", "c"}})
		w.publish(p.ID, "panden", []change{{"b", ""}}, []change{{"a", ""}, {"", "d"}})
		p.FirstSeq, p.LastSeq = 1, 4
		got, err := w.db.PublishedStates(w.ctx, p, 10)
		same(t, got, err, []store.PublishedState{
			{Seq: 1, Group: 1, Mutation: 1, ID: "a", SourceID: "bron a"},
			{Seq: 1, Group: 1, Mutation: 2, ID: "b", SourceID: "bron b"},
			{Seq: 4, Group: 3, Mutation: 2, ID: "d", SourceID: "bron d"},
		})
		got, err = w.db.PublishedStates(w.ctx, p, 1)
		same(t, len(got), err, 1)
		p.ID = "none"
		got, err = w.db.PublishedStates(w.ctx, p, 1)
		same(t, len(got), err, 0)
	})
}

// What is old goes in small steps: groups in deltas of before, what went in them, a replaced history, publications that ended.
// What is there stays, as do groups that are in no delta yet.
// Rules: MUT-33.
func TestPruneMutations(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.newDataset("panden")
		w.newDataset("wegen")
		old := w.newPublication("panden", "cli_1", "key")
		w.publish(old.ID, "panden", []change{{"", "a"}, {"", "b"}}, []change{{"a", "a2"}})
		w.publish(old.ID, "wegen", []change{{"", "w"}}, []change{{"w", ""}})
		w.cut("panden", "d1")
		w.publish(old.ID, "panden", []change{{"a2", "a3"}})
		before := w.in(time.Second)
		w.clock.Advance(time.Minute)
		w.cut("panden", "d2")
		prune := func() int64 {
			return w.prune(func(tx *store.Tx, cursor string) (store.Pruned, error) {
				return tx.PruneMutations(w.ctx, before, cursor, 2)
			}, 2)
		}
		same(t, prune(), nil, int64(3+2+1)) // the mutations and groups of d1, and a
		same(t, told(t, w, "panden", 2, 9), nil, []string{"3 a2>a3"})
		same(t, told(t, w, "wegen", 0, 9), nil, []string{"1 >w", "2 w>"})
		same(t, w.alive("panden", 3), nil, "b a3")
		same(t, w.alive("panden", 2), nil, "b a2")

		w.write(func(tx *store.Tx) error { return tx.SetDatasetLineage(w.ctx, "panden", "two", "", true) })
		same(t, prune(), nil, int64(1+1+3))
		same(t, w.dataset("panden").LastSeq, nil, int64(3)) // numbers go on
		same(t, prune(), nil, int64(0))

		young := w.newPublication("panden", "cli_1", "later")
		gone := w.prune(func(tx *store.Tx, cursor string) (store.Pruned, error) {
			return tx.PrunePublications(w.ctx, before, cursor, 1)
		}, 1)
		same(t, gone, nil, int64(1))
		missing(t)(w.db.Publication(w.ctx, old.ID))
		gives(t, young)(w.db.Publication(w.ctx, young.ID))
	})
}

func TestMutationArea(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.newDataset("panden")
		var made []store.MutationArea
		for i := range 2 {
			var a store.MutationArea
			fill(&a, i)
			a.DatasetID, a.PartnerID = "panden", w.partner.ID
			w.write(func(tx *store.Tx) error { return tx.InsertMutationArea(w.ctx, &a) })
			made = append(made, a)
		}
		gives(t, made[0])(w.db.MutationArea(w.ctx, made[0].ID))
		missing(t)(w.db.MutationArea(w.ctx, "none"))
	})
}

// States are found by our id and by their publisher's, gone or not, and by their fields while they are there.
// Rules: MUT-12, MUT-13, MUT-15.
func TestFindStates(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.newDataset("panden")
		w.newDataset("wegen")
		w.publish("mpb_1", "panden", []change{{"", "a"}, {"", "b"}}, []change{{"a", "a2"}})
		w.publish("mpb_1", "wegen", []change{{"", "w"}})
		d := w.dataset("panden")
		found := func(rows []store.MutationState, err error) string {
			t.Helper()
			var ids []string
			for _, s := range rows {
				if s.DiedSeq > 0 {
					s.ID += "†"
				}
				if len(s.XML) > 0 || len(s.Digest) != 32 || s.Namespaces == "" {
					t.Errorf("found %+v", s)
				}
				ids = append(ids, s.ID)
			}
			same(t, err, nil, nil)
			slices.Sort(ids)
			return strings.Join(ids, " ")
		}
		same(t, found(w.db.StatesByID(w.ctx, d, []string{"a", "a2", "w", "none"})), nil, "a2 a†")
		same(t, found(w.db.StatesByID(w.ctx, d, nil)), nil, "")
		same(t, found(w.db.StatesBySource(w.ctx, d, []string{"bron b", `bron "'é`, "bron w", "bron a"})), nil, "a† b")
		same(t, found(w.db.LiveStatesOf(w.ctx, d, "Pand", []string{"1", "2"})), nil, "a2 b")
		same(t, found(w.db.LiveStatesOf(w.ctx, d, "Weg", []string{"1"})), nil, "")
		digest := state("", "", 0).Digest
		same(t, found(w.db.LiveStatesLike(w.ctx, d, "Pand", "1", digest, 5)), nil, "a2 b")
		one, err := w.db.LiveStatesLike(w.ctx, d, "Pand", "1", digest, 1)
		same(t, len(one), err, 1)
		same(t, found(w.db.LiveStatesLike(w.ctx, d, "Pand", "1", digest[:31], 5)), nil, "")
	})
}

// The queries that publishing and cutting do all the time use an index, in its order.
func TestMutationPlans(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		d := w.newDataset("panden")
		w.publish("mpb_1", "panden", []change{{"", "a"}})
		for name, q := range map[string]struct {
			index string
			run   func(tx *store.Tx) error
		}{
			"by id":     {"mutation_state", func(tx *store.Tx) error { _, err := tx.StatesByID(w.ctx, d, []string{"a", "b"}); return err }},
			"by source": {"mutation_state_source", func(tx *store.Tx) error { _, err := tx.StatesBySource(w.ctx, d, []string{"a", "b"}); return err }},
			"of object": {"mutation_state_object", func(tx *store.Tx) error { _, err := tx.LiveStatesOf(w.ctx, d, "Pand", []string{"1"}); return err }},
			"like":      {"mutation_state_object", func(tx *store.Tx) error { _, err := tx.LiveStatesLike(w.ctx, d, "Pand", "1", []byte{1}, 2); return err }},
			"any":       {"mutation_state_", func(tx *store.Tx) error { _, err := tx.HasStates(w.ctx, d); return err }},
			"alive":     {"mutation_state_born", func(tx *store.Tx) error { _, err := tx.OpenStates(d, 5).Next(w.ctx); return end(err) }},
			"groups":    {"mutation_state", func(tx *store.Tx) error { _, err := tx.OpenGroups("panden", 0, 5).Next(w.ctx); return end(err) }},
			"deaths":    {"mutation_state", func(tx *store.Tx) error { return w.append(tx, "mpb_1", "panden", [][]change{{{"a", ""}}}) }},
			"count":     {"mutation_state_died", func(tx *store.Tx) error { _, err := tx.CountStates(w.ctx, d, 5); return err }},
			"prune":     {"mutation_state_born", func(tx *store.Tx) error { _, err := tx.PruneMutations(w.ctx, tx.Now, "", 5); return err }},
			"published": {"mutation_state", func(tx *store.Tx) error {
				_, err := tx.PublishedStates(w.ctx, store.MutationPublication{DatasetID: "panden", FirstSeq: 1, LastSeq: 1}, 10)
				return err
			}},
		} {
			t.Run(name, func(t *testing.T) {
				var plan string
				w.fails(errStop, func(tx *store.Tx) error {
					recorder := tx.Record()
					if err := q.run(tx); err != nil {
						return err
					}
					plan = w.plan(tx, slices.DeleteFunc(recorder.Statements, func(s store.Statement) bool {
						return strings.Contains(s.Query, "INSERT") || strings.Contains(s.Query, "dataset ")
					}))
					return errStop
				})
				if !strings.Contains(plan, q.index) || strings.Contains(plan, "SCAN m") || strings.Contains(plan, "Seq Scan") ||
					strings.Contains(plan, "TEMP B-TREE") || (strings.Contains(plan, "Sort") && name != "published") {
					t.Errorf("want %s, no full scan and no sorting:\n%s", q.index, plan)
				}
			})
		}
	})
}

// end takes the end of a stream for none.
func end(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
