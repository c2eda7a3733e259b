package store_test

import (
	"errors"
	"testing"
	"time"

	"schakel/store"
)

// newDataset adds a dataset without history.
func (w *world) newDataset(id string) store.Dataset {
	w.t.Helper()
	d := store.Dataset{
		ID: id, Title: "Panden " + id, Status: store.DatasetActive, RootPrefix: "p", RootSpace: "urn:p", RootLocal: "pandMutaties", Namespaces: "{}",
		ObjectTypes: store.Strings{"Pand"}, AreaKind: store.AreaNone, GeometryElements: store.Strings{}, KeyElements: store.Strings{}, PerFile: 5000, Lineage: "one",
	}
	w.write(func(tx *store.Tx) error { return tx.InsertDataset(w.ctx, &d) })
	return d
}

func (w *world) dataset(id string) store.Dataset {
	w.t.Helper()
	d, err := w.db.Dataset(w.ctx, id)
	same(w.t, err, nil, nil)
	return d
}

func TestDataset(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		var d store.Dataset
		fill(&d, 1)
		d.ID, d.Title, d.Status = "panden", "Gebouwen", store.DatasetActive
		w.write(func(tx *store.Tx) error { return tx.InsertDataset(w.ctx, &d) })
		again := d
		w.fails(store.ErrConflict, func(tx *store.Tx) error { return tx.InsertDataset(w.ctx, &again) })
		same(t, w.dataset("panden"), nil, d)

		w.clock.Advance(time.Minute)
		fill(&d, 2, "ID", "Status", "Lineage", "LineageAt", "LineageSeq", "LineageReason", "ReplacedSeq", "LastSeq", "CheckedAt",
			"DeltaAskedAt", "SnapshotAskedAt", "CreatedAt", "CreatedBy", "EndedAt", "EndReason")
		w.write(func(tx *store.Tx) error { return tx.UpdateDataset(w.ctx, &d) })
		same(t, w.dataset("panden"), nil, d)

		w.newDataset("wegen")
		for _, status := range []string{store.SubscriptionEnded, store.SubscriptionApproved} {
			sub := store.Subscription{PartnerID: w.partner.ID, EndpointID: w.endpoint.ID, DatasetID: "panden", Status: status}
			w.write(func(tx *store.Tx) error { return tx.InsertSubscription(w.ctx, &sub) })
		}
		w.write(func(tx *store.Tx) error { return tx.EndDataset(w.ctx, "panden", "It moved.") })
		if d := w.dataset("panden"); !d.EndedAt.Equal(w.now().Time) || d.EndReason != "It moved." {
			t.Errorf("ended as %+v", d)
		}
		w.fails(store.ErrNotFound, func(tx *store.Tx) error { return tx.EndDataset(w.ctx, "none", "") })
		for _, f := range []struct {
			filter store.DatasetFilter
			want   []string
		}{
			{store.DatasetFilter{}, []string{"panden", "wegen"}},
			{store.DatasetFilter{Status: store.DatasetEnded}, []string{"panden"}},
			{store.DatasetFilter{Text: "WEG"}, []string{"wegen"}},
			{store.DatasetFilter{Status: store.DatasetActive}, []string{"wegen"}},
			{store.DatasetFilter{Status: store.DatasetActive, FollowedBy: w.partner.ID}, []string{"panden", "wegen"}},
			{store.DatasetFilter{Status: store.DatasetActive, FollowedBy: "another"}, []string{"wegen"}},
			{store.DatasetFilter{Text: "panden weg"}, []string{"wegen"}},
		} {
			listed(t, func(d store.Dataset) string { return d.ID }, f.want, len(f.want))(w.db.Datasets(w.ctx, f.filter))
		}
	})
}

// What is asked for at once is asked until it is answered; who asks again meanwhile waits for the next one.
func TestAskOfDataset(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.newDataset("panden")
		ask := func() store.Dataset {
			w.clock.Advance(time.Second)
			w.write(func(tx *store.Tx) error {
				return errors.Join(tx.AskDelta(w.ctx, "panden"), tx.AskSnapshot(w.ctx, "panden"))
			})
			d := w.dataset("panden")
			same(t, [2]store.Time{d.DeltaAskedAt, d.SnapshotAskedAt}, nil, [2]store.Time{w.now(), w.now()})
			return d
		}
		answer := func(d store.Dataset) store.Dataset {
			w.write(func(tx *store.Tx) error {
				return errors.Join(tx.AnswerDelta(w.ctx, d.ID, d.DeltaAskedAt), tx.AnswerSnapshot(w.ctx, d.ID, d.SnapshotAskedAt))
			})
			return w.dataset("panden")
		}
		first := ask()
		second := ask()
		same(t, answer(first), nil, second)
		done := answer(second)
		same(t, [2]store.Time{done.DeltaAskedAt, done.SnapshotAskedAt}, nil, [2]store.Time{})
	})
}

// What fails is counted until it works again, each thing of each dataset for itself.
func TestMutationTrouble(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.newDataset("panden")
		w.newDataset("wegen")
		fail := func(dataset, kind, text string) (got store.MutationTrouble) {
			w.clock.Advance(time.Minute)
			w.write(func(tx *store.Tx) (err error) { got, err = tx.FailMutation(w.ctx, dataset, kind, text); return err })
			return got
		}
		first := fail("panden", store.TroubleDelta, "no room")
		same(t, first, nil, store.MutationTrouble{DatasetID: "panden", Kind: store.TroubleDelta, Error: "no room", Times: 1, Since: w.now(), LastAt: w.now()})
		other := fail("wegen", store.TroubleSnapshot, "no room")
		again := fail("panden", store.TroubleDelta, "a hole")
		same(t, again, nil, store.MutationTrouble{DatasetID: "panden", Kind: store.TroubleDelta, Error: "a hole", Times: 2, Since: first.Since, LastAt: w.now()})
		gives(t, []store.MutationTrouble{again, other})(w.db.MutationTroubles(w.ctx, ""))
		mend := func(kind string) (was bool) {
			w.write(func(tx *store.Tx) (err error) { was, err = tx.MendMutation(w.ctx, "panden", kind); return err })
			return was
		}
		same(t, [3]bool{mend(store.TroubleSnapshot), mend(store.TroubleDelta), mend(store.TroubleDelta)}, nil, [3]bool{false, true, false})
		left, err := w.db.MutationTroubles(w.ctx, "panden")
		same(t, len(left), err, 0)
	})
}
