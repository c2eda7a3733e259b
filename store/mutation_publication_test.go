package store_test

import (
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
		got, err := w.db.PublicationByKey(w.ctx, "panden", "cli_1", "key")
		same(t, got, err, p)
		got, err = w.db.PublicationByKey(w.ctx, "panden", "cli_1", "")
		missing(t, got, err)

		w.clock.Advance(time.Minute)
		stale := p
		fill(&p, 3, "ID", "DatasetID", "ClientID", "RequestKey", "Kind", "Name", "Status", "CreatedBy", "CreatedAt")
		w.write(func(tx *store.Tx) error { return tx.StepPublication(w.ctx, &p, 0, store.MutationRunning) })
		got, err = w.db.Publication(w.ctx, p.ID)
		same(t, got, err, p)
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
		got, err := w.db.Publication(w.ctx, old.ID)
		missing(t, got, err)
		got, err = w.db.Publication(w.ctx, young.ID)
		same(t, got, err, young)
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
		got, err := w.db.MutationArea(w.ctx, made[0].ID)
		same(t, got, err, made[0])
		got, err = w.db.MutationArea(w.ctx, "none")
		missing(t, got, err)
	})
}
