package store_test

import (
	"errors"
	"testing"
	"time"

	"schakel/store"
)

// wanted asks for a download of a delta for a subscription, or for who asked.
func (w *world) wanted(id, delta, subscription, by string) store.MutationDownload {
	d := store.MutationDownload{
		ID: id, DatasetID: "bgt", PartnerID: w.partner.ID, SubscriptionID: subscription, RequestedBy: by, DeltaID: delta,
		AreaID: "mar_1", Geofilter: "POLYGON EMPTY", ObjectTypes: store.Strings{"a"}, Lineage: "filtered", Mark: "of_a_part",
	}
	w.clock.Advance(time.Second)
	w.write(func(tx *store.Tx) error { return tx.InsertMutationDownload(w.ctx, &d) })
	return d
}

func (w *world) claimDownload(owner string) (d store.MutationDownload, err error) {
	err = w.db.Write(w.ctx, func(tx *store.Tx) error {
		d, err = tx.ClaimMutationDownload(w.ctx, owner, w.in(time.Minute))
		return err
	})
	return d, err
}

// TestWaitingDownloads: what a partner asked for is counted, and gives way to what subscriptions bring.
func TestWaitingDownloads(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.history("bgt", 5)
		w.cut("bgt", "one")
		w.cut("bgt", "two")
		w.wanted("d1", "one", "", "cli_1")
		w.wanted("d2", "two", "sub_1", "")
		gives(t, 1)(w.db.WaitingMutationDownloads(w.ctx, w.partner.ID))
		gives(t, 0)(w.db.WaitingMutationDownloads(w.ctx, "another"))
		got, err := w.claimDownload("north")
		same(t, got.ID, err, "d2")
	})
}

// TestKeptDownloads: the bytes of what a partner asked for count once a file, and not where a delta has them too. What is kept
// of each request counts besides, and not when it is over.
func TestKeptDownloads(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.history("bgt", 5)
		w.cut("bgt", "one")
		const request = 4096 + int64(len("POLYGON EMPTY")+len("{é}"))
		kept := func(bytes int64, oldest string, partners ...string) {
			t.Helper()
			gives(t, bytes)(w.db.KeptMutationDownloads(w.ctx, w.partner.ID))
			d, err := w.db.OldestKeptMutationDownload(w.ctx, w.partner.ID)
			if oldest == "" {
				missing(t)(d, err)
			} else {
				same(t, d.ID, err, oldest)
			}
			gives(t, partners)(w.db.PartnersKeepingDownloads(w.ctx, request+11))
		}
		done := func(id, subscription, by, file string) {
			w.wanted(id, "one", subscription, by)
			d, err := w.claimDownload("north")
			same(t, d.ID, err, id)
			d.Status, d.FileID, d.Manifest, d.Bytes = store.MutationCompleted, file, "{é}", 6
			w.write(func(tx *store.Tx) error { return tx.EndMutationDownload(w.ctx, &d) })
		}
		delta, err := w.db.MutationDelta(w.ctx, "one")
		same(t, err, nil, nil)
		done("d1", "sub_1", "", "f1")
		kept(0, "")
		done("d2", "", "cli_1", delta.FileID)
		kept(request, "d2")
		done("d3", "", "cli_1", "f3")
		kept(2*request+6, "d2", w.partner.ID)
		done("d4", "", "cli_1", "f3")
		kept(3*request+6, "d2", w.partner.ID)
		done("d5", "", "cli_1", "f5")
		kept(4*request+12, "d2", w.partner.ID)
		for _, id := range []string{"d2", "d3", "d4"} {
			w.write(func(tx *store.Tx) error { return tx.ExpireMutationDownload(w.ctx, id) })
		}
		kept(request+6, "d5")
		gone, err := w.db.MutationDownload(w.ctx, "d3")
		same(t, gone.Geofilter+gone.Manifest, err, "")
		w.wanted("d6", "one", "", "cli_1")
		kept(request+6, "d5")
		d, err := w.claimDownload("north")
		same(t, d.ID, err, "d6")
		d.Status, d.Error = store.MutationFailed, "no"
		w.write(func(tx *store.Tx) error { return tx.EndMutationDownload(w.ctx, &d) })
		kept(2*request+6-int64(len("{é}")), "d5", w.partner.ID)
		gives(t, int64(0))(w.db.KeptMutationDownloads(w.ctx, "another"))
	})
}

// TestMutationDownloads: one node makes a download at a time, another takes it over when that dies, and one with the same
// bytes waits for it.
func TestMutationDownloads(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.history("bgt", 5)
		w.cut("bgt", "one")
		first, twin := w.wanted("d1", "one", "sub_1", ""), w.wanted("d2", "one", "", "cli_1")
		gives(t, first)(w.db.MutationDownload(w.ctx, "d1"))
		a, err := w.claimDownload("north")
		same(t, a.ID, err, first.ID)
		b, err := w.claimDownload("south")
		missing(t)(store.MutationDownload{}, err)
		same(t, b.ID, nil, "")
		w.write(func(tx *store.Tx) error {
			return tx.KeepMutationDownload(w.ctx, "d1", "north", w.in(time.Minute), 40)
		})
		w.clock.Advance(2 * time.Minute) // the node is silent
		b, err = w.claimDownload("south")
		same(t, []string{b.ID, b.Owner}, err, []string{"d1", "south"})
		w.fails(store.ErrLeaseLost, func(tx *store.Tx) error {
			return tx.KeepMutationDownload(w.ctx, "d1", "north", w.in(time.Minute), 50)
		})
		a.Status = store.MutationCompleted
		w.fails(store.ErrLeaseLost, func(tx *store.Tx) error { return tx.EndMutationDownload(w.ctx, &a) })
		w.write(func(tx *store.Tx) error { return tx.LetGoOfMutationDownload(w.ctx, "d1", "south") })
		b, err = w.claimDownload("south")
		same(t, b.ID, err, "d1")
		b.Status, b.FileID, b.Manifest, b.Bytes, b.SHA256 = store.MutationCompleted, "file", "{}", 12, "ab"
		w.write(func(tx *store.Tx) error { return tx.EndMutationDownload(w.ctx, &b) })

		key := store.MutationDownloadKey{DeltaID: "one", Lineage: "filtered", Mark: "of_a_part"}
		done, err := w.db.SameMutationDownload(w.ctx, key)
		same(t, []any{done.ID, done.Progress, done.FileID}, err, []any{"d1", int64(100), "file"})
		done, err = w.db.SubscribedDownload(w.ctx, key, "sub_1")
		same(t, done.ID, err, "d1")
		done, err = w.db.SubscribedDownload(w.ctx, key, "")
		missing(t)(done, err)
		gives(t, map[string]int{store.MutationCompleted: 1, store.MutationPending: 1})(w.db.CountMutationDownloads(w.ctx))
		rows, total, err := w.db.MutationDownloads(w.ctx, store.MutationDownloadFilter{
			DatasetID: "bgt", PartnerID: w.partner.ID, Statuses: []string{store.MutationPending, store.MutationCompleted},
		})
		same(t, []string{rows[0].ID, rows[1].ID}, err, []string{twin.ID, first.ID})
		same(t, total, nil, 2)
		w.expireDownloads()
	})
}

// expireDownloads ends d1, which is of a subscription, with its delta, and d2, which was asked for, in time.
func (w *world) expireDownloads() {
	untold, err := w.db.MutationDownloadsToTell(w.ctx, "bgt", 9)
	same(w.t, len(untold), err, 1)
	w.write(func(tx *store.Tx) error { return tx.TellMutationDownload(w.ctx, "d1") })
	untold, err = w.db.MutationDownloadsToTell(w.ctx, "bgt", 9)
	same(w.t, len(untold), err, 0)

	d, err := w.claimDownload("north")
	same(w.t, d.ID, err, "d2")
	d.Status, d.Error, d.FileID = store.MutationCompleted, "", "file"
	w.write(func(tx *store.Tx) error { return tx.EndMutationDownload(w.ctx, &d) })
	over := func(before store.Time, want ...string) {
		rows, err := w.db.MutationDownloadsOver(w.ctx, before, 9)
		var ids []string
		for _, r := range rows {
			ids = append(ids, r.ID)
		}
		same(w.t, ids, err, want)
	}
	inUse := func(want bool) {
		gives(w.t, want)(w.db.MutationFileInUse(w.ctx, "file", "one", ""))
	}
	over(w.now())
	w.write(func(tx *store.Tx) error { return tx.EndMutationDelta(w.ctx, "one") })
	over(w.now(), "d1")
	over(w.in(time.Second), "d1", "d2")
	w.write(func(tx *store.Tx) error { return tx.ExpireMutationDownload(w.ctx, "d1") })
	inUse(true)
	w.write(func(tx *store.Tx) error { return tx.ExpireMutationDownload(w.ctx, "d2") })
	inUse(false)
	w.write(func(tx *store.Tx) error { return tx.TouchMutationFile(w.ctx, "file") })
	w.fails(store.ErrNotFound, func(tx *store.Tx) error { return tx.ExpireMutationDownload(w.ctx, "d2") })
	w.write(func(tx *store.Tx) error {
		gives(w.t, store.Pruned{Done: true})(tx.PruneMutationDownloads(w.ctx, w.now(), "", 9))
		gives(w.t, store.Pruned{Rows: 2, Done: true})(tx.PruneMutationDownloads(w.ctx, w.in(time.Second), "", 9))
		return nil
	})
}

// TestMutationFollower: how far a copy is moves on with what is fetched, and is forgotten when what it holds changes.
//
// Rules: MUT-49.
func TestMutationFollower(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.history("bgt", 5)
		one := w.cut("bgt", "one")
		two := w.cut("bgt", "two")
		f := store.MutationFollower{SubscriptionID: w.subscription.ID, DatasetID: "bgt", AreaID: "mar_1", ObjectTypes: store.Strings{"a"}, ReadObjectTypes: store.Strings{}}
		w.write(func(tx *store.Tx) error { return tx.InsertMutationFollower(w.ctx, &f) })
		missing(t)(w.db.MutationFollower(w.ctx, "none"))
		w.write(func(tx *store.Tx) error {
			return errors.Join(tx.FollowedDelta(w.ctx, f, two), tx.FollowedDelta(w.ctx, f, one))
		})
		f.DeltaID, f.DeltaNumber, f.FetchedAt = "two", 2, w.now()
		gives(t, f)(w.db.MutationFollower(w.ctx, f.SubscriptionID))
		w.write(func(tx *store.Tx) error {
			return tx.FollowedSnapshot(w.ctx, f, store.MutationSnapshot{ID: "s", DeltaID: "one", DeltaNumber: 1})
		})
		f.SnapshotID, f.DeltaID, f.DeltaNumber = "s", "one", 1
		gives(t, f)(w.db.MutationFollower(w.ctx, f.SubscriptionID))
		readers, err := w.db.MutationReaders(w.ctx, "bgt")
		same(t, readers, err, []store.MutationReader{{MutationFollower: f, PartnerID: w.partner.ID}})
		same(t, readers[0].Everything(), nil, false)

		w.write(func(tx *store.Tx) error {
			return tx.SetMutationFollower(w.ctx, f.SubscriptionID, "mar_2", []string{"b"})
		})
		w.asksAnotherArea(f.SubscriptionID)
		w.write(func(tx *store.Tx) error { // what was on its way then
			return errors.Join(tx.FollowedDelta(w.ctx, f, two), tx.FollowedSnapshot(w.ctx, f, store.MutationSnapshot{ID: "s", DeltaID: "one", DeltaNumber: 1}))
		})
		gives(t, store.MutationFollower{SubscriptionID: f.SubscriptionID, DatasetID: "bgt", AreaID: "mar_2", ObjectTypes: store.Strings{"b"}, ReadObjectTypes: store.Strings{}})(w.db.MutationFollower(w.ctx, f.SubscriptionID))
		w.write(func(tx *store.Tx) error {
			ended := w.subscription
			ended.Status = store.SubscriptionEnded
			return tx.UpdateSubscription(w.ctx, &ended)
		})
		readers, err = w.db.MutationReaders(w.ctx, "bgt")
		same(t, len(readers), err, 0)
	})
}

// asksAnotherArea: what a follower asks for is stored beside what it reads, and dropped again.
func (w *world) asksAnotherArea(subscriptionID string) {
	w.t.Helper()
	before, err := w.db.MutationFollower(w.ctx, subscriptionID)
	noErr(w.t, err)
	for _, area := range []string{"mar_3", "mar_4"} { // asked twice, it still reads what it read
		w.write(func(tx *store.Tx) error { return tx.AskMutationFollower(w.ctx, subscriptionID, area, []string{"c"}) })
		asked, err := w.db.MutationFollower(w.ctx, subscriptionID)
		same(w.t, []string{asked.AreaID, asked.Reading().AreaID, asked.Reading().ObjectTypes[0]}, err, []string{area, before.AreaID, before.ObjectTypes[0]})
	}
	w.write(func(tx *store.Tx) error { return tx.KeepMutationFollower(w.ctx, subscriptionID) })
	gives(w.t, before)(w.db.MutationFollower(w.ctx, subscriptionID))
}
