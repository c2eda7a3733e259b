package store_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"testing"
	"time"

	"schakel/store"
	"schakel/store/storetest"
)

// history adds a dataset whose last group has the given number.
func (w *world) history(id string, last int64) {
	w.write(func(tx *store.Tx) error {
		_, err := tx.Raw().ExecContext(w.ctx, tx.Raw().Rebind(`INSERT INTO dataset (id, title, status, root_prefix, root_space, root_local, object_types, area_kind, per_file,
			lineage, lineage_at, last_seq, created_at, updated_at) VALUES (?, 'A', 'active', 'a', 'urn:a', 'aMutaties', '["a"]', 'none', 5000, 'first', ?, ?, ?, ?)`),
			id, tx.Now, last, tx.Now, tx.Now)
		return err
	})
}

// extend moves the end of the history of a dataset, and replaces its lineage.
func (w *world) extend(id, lineage string, last, before int64) {
	w.write(func(tx *store.Tx) error {
		_, err := tx.Raw().ExecContext(w.ctx, tx.Raw().Rebind(`UPDATE dataset SET lineage = ?, last_seq = ?, lineage_seq = ?, lineage_at = ? WHERE id = ?`),
			lineage, last, before, tx.Now, id)
		return err
	})
}

// cut adds the next delta of a dataset, up to the last group.
func (w *world) cut(dataset, id string) store.MutationDelta {
	w.t.Helper()
	d, err := w.db.NextMutationDelta(w.ctx, dataset)
	noErr(w.t, err)
	w.clock.Advance(time.Minute)
	d.ID, d.ToAt, d.Manifest, d.FileID, d.Bytes, d.SHA256 = id, w.now(), "{}", "file of "+id, 10, "ab"
	w.write(func(tx *store.Tx) error { return tx.InsertMutationDelta(w.ctx, &d) })
	return d
}

// TestMutationDeltas: deltas of a dataset are a chain without gaps or overlap, which begins anew with another lineage.
//
// Rules: MUT-35, MUT-38.
func TestMutationDeltas(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.history("bgt", 5)
		started := w.now()
		missing(t)(w.db.LastMutationDelta(w.ctx, "bgt"))
		missing(t)(w.db.NextMutationDelta(w.ctx, "none"))
		one := w.cut("bgt", "one")
		same(t, one.FromAt, nil, started)
		late := one
		late.ID = "late"
		w.fails(store.ErrConflict, func(tx *store.Tx) error { return tx.InsertMutationDelta(w.ctx, &late) })
		w.extend("bgt", "first", 9, 0)
		two := w.cut("bgt", "two")
		same(t, []any{two.Number, two.PreviousID, two.FromSeq, two.ToSeq, two.FromAt}, nil, []any{int64(2), "one", int64(5), int64(9), one.ToAt})
		w.extend("bgt", "second", 12, 11)
		three := w.cut("bgt", "three")
		same(t, []any{three.Number, three.PreviousID, three.FromSeq, three.ToSeq, three.Lineage}, nil, []any{int64(3), "", int64(11), int64(12), "second"})
		gives(t, three)(w.db.LastMutationDelta(w.ctx, "bgt"))
		gives(t, two)(w.db.MutationDelta(w.ctx, "two"))

		for _, c := range []struct {
			f    store.MutationDeltaFilter
			want []string
		}{
			{store.MutationDeltaFilter{}, []string{"one", "two", "three"}},
			{store.MutationDeltaFilter{NewestFirst: true}, []string{"three", "two", "one"}},
			{store.MutationDeltaFilter{Lineage: "first", After: 1}, []string{"two"}},
			{store.MutationDeltaFilter{Since: two.ToAt}, []string{"two", "three"}},
		} {
			c.f.DatasetID = "bgt"
			rows, total, err := w.db.MutationDeltas(w.ctx, c.f)
			same(t, deltaIDs(rows), err, c.want)
			same(t, total, nil, len(c.want))
		}
		w.endDeltas(one, two, three)
	})
}

func (w *world) endDeltas(one, two, three store.MutationDelta) {
	untold, err := w.db.MutationDeltasToTell(w.ctx, "bgt", 2)
	same(w.t, deltaIDs(untold), err, []string{"one", "two"})
	w.write(func(tx *store.Tx) error { return tx.TellMutationDelta(w.ctx, "one") })
	untold, err = w.db.MutationDeltasToTell(w.ctx, "bgt", 9)
	same(w.t, deltaIDs(untold), err, []string{"two", "three"})

	over, err := w.db.MutationDeltasOver(w.ctx, one.ToAt, store.Time{Time: time.Unix(0, 0)}, 9)
	same(w.t, len(over), err, 0)
	over, err = w.db.MutationDeltasOver(w.ctx, two.ToAt, store.Time{Time: time.Unix(0, 0)}, 9)
	same(w.t, deltaIDs(over), err, []string{"one"})
	over, err = w.db.MutationDeltasOver(w.ctx, one.ToAt, w.in(time.Hour), 9)
	same(w.t, deltaIDs(over), err, []string{"one", "two"})
	w.write(func(tx *store.Tx) error { return tx.EndMutationDelta(w.ctx, "one") })
	w.fails(store.ErrNotFound, func(tx *store.Tx) error { return tx.EndMutationDelta(w.ctx, "one") })
	over, err = w.db.MutationDeltasOver(w.ctx, one.ToAt, w.in(time.Hour), 9)
	same(w.t, deltaIDs(over), err, []string{"two"})

	w.write(func(tx *store.Tx) error {
		return errors.Join(tx.CheckDataset(w.ctx, "bgt", w.in(time.Hour)), tx.CheckDataset(w.ctx, "bgt", three.ToAt))
	})
	var checked store.Time
	read, _ := w.db.Pools()
	same(w.t, checked, read.Get(&checked, `SELECT checked_at FROM dataset`), checked)
	same(w.t, checked, nil, w.in(time.Hour))
}

func deltaIDs(rows []store.MutationDelta) (ids []string) {
	for _, r := range rows {
		ids = append(ids, r.ID)
	}
	return ids
}

func TestMutationSnapshots(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.history("bgt", 5)
		first := store.MutationSnapshot{ID: "a", DatasetID: "bgt", DeltaID: "one", DeltaNumber: 1, Lineage: "first"}
		second := first
		second.ID = "b"
		w.write(func(tx *store.Tx) error { return tx.StartMutationSnapshot(w.ctx, &first) })
		w.clock.Advance(time.Second)
		w.write(func(tx *store.Tx) error { return tx.StartMutationSnapshot(w.ctx, &second) })
		got, err := w.db.MutationSnapshot(w.ctx, "a")
		same(t, got.Status, err, store.MutationFailed)
		w.fails(store.ErrNotFound, func(tx *store.Tx) error { return tx.StepMutationSnapshot(w.ctx, "a", 1) })
		w.fails(store.ErrConflict, func(tx *store.Tx) error { return tx.FinishMutationSnapshot(w.ctx, &first) })
		w.write(func(tx *store.Tx) error { return tx.StepMutationSnapshot(w.ctx, "b", 7) })
		got, err = w.db.LatestMutationSnapshot(w.ctx, "bgt")
		missing(t)(got, err)
		second.Done, second.Total, second.Manifest, second.FileID, second.Bytes, second.SHA256 = 8, 8, "{}", "file", 9, "ab"
		w.write(func(tx *store.Tx) error { return tx.FinishMutationSnapshot(w.ctx, &second) })
		got, err = w.db.LatestMutationSnapshot(w.ctx, "bgt")
		same(t, got, err, second)
		w.write(func(tx *store.Tx) error { return tx.FailMutationSnapshot(w.ctx, "b", "Late.") })
		rows, total, err := w.db.MutationSnapshots(w.ctx, "bgt", store.Page{Number: 1, Size: 1})
		same(t, rows, err, []store.MutationSnapshot{second})
		same(t, total, nil, 2)

		third := first
		third.ID = "c"
		w.write(func(tx *store.Tx) error { return tx.StartMutationSnapshot(w.ctx, &third) })
		w.extend("bgt", "second", 5, 5) // while it is made
		w.fails(store.ErrConflict, func(tx *store.Tx) error { return tx.FinishMutationSnapshot(w.ctx, &third) })
		got, err = w.db.LatestMutationSnapshot(w.ctx, "bgt")
		missing(t)(got, err)
		w.write(func(tx *store.Tx) error {
			return errors.Join(tx.FailMutationSnapshot(w.ctx, "c", "The history was replaced."), tx.EndMutationSnapshot(w.ctx, "b"))
		})
		got, err = w.db.MutationSnapshot(w.ctx, "c")
		same(t, got.Error, err, "The history was replaced.")
	})
}

// TestNextDeltaWhileOthersCut: what comes next never ends before it begins, also when another node cuts at that moment.
//
// Rules: MUT-35.
func TestNextDeltaWhileOthersCut(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.history("bgt", 0)
		ctx, stop := context.WithCancel(w.ctx)
		over := make(chan struct{})
		go func() {
			defer close(over)
			defer stop()
			for n := int64(1); n <= 300; n++ {
				w.extend("bgt", "first", n, 0)
				w.cut("bgt", fmt.Sprint("delta ", n))
			}
		}()
		for ctx.Err() == nil {
			next, err := w.db.NextMutationDelta(w.ctx, "bgt")
			if err != nil || next.ToSeq < next.FromSeq {
				t.Errorf("from %d to %d, %v", next.FromSeq, next.ToSeq, err)
				break
			}
		}
		<-over
	})
}

// mutationQueries lists the queries on deltas and downloads that run every few seconds, and the index each must use: the rows of
// deltas stay for ever.
var mutationQueries = map[string]planned{
	"last delta": {"mutation_delta", func(w *world, tx *store.Tx) error { _, err := tx.LastMutationDelta(w.ctx, "bgt"); return err }},
	"untold deltas": {"mutation_delta_untold", func(w *world, tx *store.Tx) error {
		_, err := tx.MutationDeltasToTell(w.ctx, "bgt", 9)
		return err
	}},
	"deltas that are over": {"mutation_delta_there", func(w *world, tx *store.Tx) error {
		_, err := tx.MutationDeltasOver(w.ctx, w.now(), w.now(), 9)
		return err
	}},
	"untold parts": {"mutation_download_", func(w *world, tx *store.Tx) error {
		_, err := tx.MutationDownloadsToTell(w.ctx, "bgt", 9)
		return err
	}},
	"downloads that are over": {"mutation_download_there", func(w *world, tx *store.Tx) error {
		_, err := tx.MutationDownloadsOver(w.ctx, w.now(), 9)
		return err
	}},
	"part of a subscription": {"mutation_download_delta", func(w *world, tx *store.Tx) error {
		_, err := tx.SubscribedDownload(w.ctx, store.MutationDownloadKey{DeltaID: "one", Lineage: "filtered", Mark: "of_a_part"}, "sub_1")
		return err
	}},
	"who shares a file": {"mutation_download_", func(w *world, tx *store.Tx) error {
		_, err := tx.MutationFileInUse(w.ctx, "file", "one", "")
		return err
	}},
	"downloads that a partner waits for": {"mutation_download_", func(w *world, tx *store.Tx) error {
		_, err := tx.WaitingMutationDownloads(w.ctx, "ptn_1")
		return err
	}},
	"bytes that a partner keeps": {"mutation_download_", func(w *world, tx *store.Tx) error {
		_, err := tx.KeptMutationDownloads(w.ctx, "ptn_1")
		return err
	}},
	"oldest that a partner keeps": {"mutation_download_", func(w *world, tx *store.Tx) error {
		_, err := tx.OldestKeptMutationDownload(w.ctx, "ptn_1")
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		return err
	}},
	"partners that keep much": {"mutation_download_", func(w *world, tx *store.Tx) error {
		_, err := tx.PartnersKeepingDownloads(w.ctx, 9)
		return err
	}},
	"waiting downloads": {"mutation_download_waiting", func(w *world, tx *store.Tx) error {
		_, err := tx.ClaimMutationDownload(w.ctx, "north", w.now())
		return err
	}},
}

// wholeMutations finds a table read from end to end; a scan of a partial index is none.
var wholeMutations = regexp.MustCompile(`SCAN [dst](\n|$)|SCAN mutation_\w+(\n|$)|Seq Scan on mutation_`)

func TestDeltaPlans(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.history("bgt", 5)
		w.cut("bgt", "one")
		w.wanted("d1", "one", "sub_1", "")
		usesIndexes(t, w, mutationQueries, wholeMutations)
	})
}

// TestSnapshotsAtOnce: a node that begins a snapshot while another finishes one waits for it, and they do not wait for each
// other: whoever publishes meanwhile would fail with them.
func TestSnapshotsAtOnce(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	w := newWorld(t, storetest.Postgres(t, storetest.WithClock(clock)), clock) // SQLite has one writer
	w.history("bgt", 5)
	w.cut("bgt", "one")
	first := store.MutationSnapshot{ID: "s1", DatasetID: "bgt", DeltaID: "one", Lineage: "first"}
	w.write(func(tx *store.Tx) error { return tx.StartMutationSnapshot(w.ctx, &first) })
	begun := make(chan error, 1)
	w.write(func(tx *store.Tx) error {
		if err := tx.Lock(w.ctx, "dataset", "bgt"); err != nil {
			return err
		}
		go func() {
			begun <- w.db.Write(w.ctx, func(tx *store.Tx) error {
				second := store.MutationSnapshot{ID: "s2", DatasetID: "bgt", DeltaID: "one", Lineage: "first"}
				return tx.StartMutationSnapshot(w.ctx, &second)
			})
		}()
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for waits := 0; waits == 0; <-tick.C {
			if err := tx.Raw().GetContext(w.ctx, &waits, `SELECT COUNT(*) FROM pg_locks WHERE NOT granted
				AND pid IN (SELECT pid FROM pg_stat_activity WHERE datname = current_database())`); err != nil {
				return err
			}
			if err := w.ctx.Err(); err != nil {
				return err
			}
		}
		return tx.FinishMutationSnapshot(w.ctx, &first)
	})
	if err := <-begun; err != nil {
		t.Error(err)
	}
	got, err := w.db.MutationSnapshot(w.ctx, "s1")
	same(t, got.Status, err, store.MutationDone)
}
