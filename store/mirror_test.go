package store_test

import (
	"errors"
	"testing"
	"time"

	"schakel/store"
)

func (w *world) newMirror(name string) store.MirrorSource {
	var s store.MirrorSource
	fill(&s, len(name))
	s.Name, s.Prefix, s.AskedAt, s.RemovedAt = name, name, store.Time{}, store.Time{}
	w.write(func(tx *store.Tx) error { return tx.InsertMirrorSource(w.ctx, &s) })
	return s
}

func TestMirrorSource(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		a := w.newMirror("noord")
		again := a
		w.fails(store.ErrConflict, func(tx *store.Tx) error { return tx.InsertMirrorSource(w.ctx, &again) })
		gives(t, a)(w.db.MirrorSource(w.ctx, a.ID))
		missing(t)(w.db.MirrorSource(w.ctx, "none"))
		other := w.newMirror("Aal")
		gives(t, []store.MirrorSource{other, a})(w.db.MirrorSources(w.ctx))

		w.clock.Advance(time.Minute)
		fill(&a, 7, "ID", "Kind", "Prefix", "AskedAt", "AskedBy", "CreatedAt", "CreatedBy", "RemovedAt")
		w.write(func(tx *store.Tx) error {
			a.AskedAt, a.AskedBy = tx.Now, "Anna"
			return errors.Join(tx.UpdateMirrorSource(w.ctx, &a), tx.AskMirrorRun(w.ctx, a.ID, "Anna"))
		})
		gives(t, a)(w.db.MirrorSource(w.ctx, a.ID))
		w.write(func(tx *store.Tx) error { return tx.RemoveMirrorSource(w.ctx, a.ID, "Anna", "It stopped.") })
		missing(t)(w.db.MirrorSource(w.ctx, a.ID))
		gives(t, []store.MirrorSource{other})(w.db.MirrorSources(w.ctx))
		w.fails(store.ErrNotFound, func(tx *store.Tx) error { return tx.RemoveMirrorSource(w.ctx, a.ID, "Anna", "Again.") })
		w.newMirror("noord") // its name and prefix are free
	})
}

func TestMirrorCopies(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s := w.newMirror("noord")
		w.newContract("noord-a", store.VisibilityInternal)
		v := w.newVersion("noord-a", "1.0.0", "1", store.VersionPublished)
		c := store.MirrorContract{ContractID: "noord-a", SourceID: s.ID, OriginID: "a", OriginURL: "https://noord.example/a"}
		w.write(func(tx *store.Tx) error { return tx.InsertMirrorContract(w.ctx, &c) })
		again := c
		w.fails(store.ErrConflict, func(tx *store.Tx) error { return tx.InsertMirrorContract(w.ctx, &again) })
		gives(t, c)(w.db.MirrorContract(w.ctx, "noord-a"))
		missing(t)(w.db.MirrorContract(w.ctx, "own"))
		c.GoneAt = w.now()
		w.write(func(tx *store.Tx) error { return tx.SetMirrorContractGone(w.ctx, c.ContractID, c.GoneAt) })
		for _, source := range []string{"", s.ID} {
			gives(t, []store.MirrorContract{c})(w.db.MirrorContracts(w.ctx, source))
		}

		c.OriginTitle, c.OriginDescription = "Students", "All of them."
		w.write(func(tx *store.Tx) error {
			return tx.SetMirrorContractAbout(w.ctx, c.ContractID, c.OriginTitle, c.OriginDescription)
		})
		page, total, err := w.db.MirrorContractPage(w.ctx, s.ID, store.Page{Number: 1, Size: 10})
		same(t, page, err, []store.MirrorContract{c})
		same(t, total, err, 1)

		some, err := w.db.MirrorContractsOf(w.ctx, []string{"noord-a", "own"})
		same(t, some, err, []store.MirrorContract{c})
		some, err = w.db.MirrorContractsOf(w.ctx, nil)
		same(t, len(some), err, 0)

		m := store.MirrorCopy{VersionID: v.ID, ContractID: c.ContractID, Version: v.Version, SourceID: s.ID, OriginVersion: "1", OriginURL: "https://x", Digest: "d", ETag: `"1"`, SourceStatus: "published"}
		w.write(func(tx *store.Tx) error { return tx.InsertMirrorCopy(w.ctx, &m) })
		w.clock.Advance(time.Hour)
		w.write(func(tx *store.Tx) error {
			m.ETag, m.CheckedAt, m.SourceStatus, m.SourceSince = `"2"`, tx.Now, store.MirrorGone, tx.Now
			return errors.Join(tx.CheckMirrorCopy(w.ctx, m.VersionID, m.ETag), tx.SetMirrorCopyStatus(w.ctx, m.VersionID, m.SourceStatus))
		})
		gives(t, m)(w.db.MirrorCopy(w.ctx, v.ID))
		gives(t, []store.MirrorCopy{m})(w.db.MirrorCopies(w.ctx, c.ContractID))
		gives(t, map[string]int{s.ID: 1})(w.db.CountMirrorCopies(w.ctx))
	})
}

func TestMirrorRuns(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s := w.newMirror("noord")
		first := store.MirrorRun{SourceID: s.ID, Cause: "schedule", Lines: "[]"}
		w.write(func(tx *store.Tx) error { return tx.StartMirrorRun(w.ctx, &first) })
		w.clock.Advance(time.Hour)
		second := store.MirrorRun{SourceID: s.ID, Cause: "Anna", Lines: "[]"}
		w.write(func(tx *store.Tx) error { return tx.StartMirrorRun(w.ctx, &second) })
		w.fails(store.ErrNotFound, func(tx *store.Tx) error { f := first; return tx.FinishMirrorRun(w.ctx, &f) })
		second.Added, second.Unchanged, second.Changed, second.Refused, second.Marked, second.Failed = 1, 2, 3, 4, 5, 6
		second.Error, second.Lines = "why", `[{"outcome":"new"}]`
		w.write(func(tx *store.Tx) error { return tx.FinishMirrorRun(w.ctx, &second) })
		got, err := w.db.MirrorRun(w.ctx, second.ID)
		same(t, got, err, second)
		got, err = w.db.MirrorRun(w.ctx, first.ID)
		same(t, got.Error, err, "The run was broken off.")
		id := func(r store.MirrorRun) string { return r.ID }
		listed(t, id, []string{second.ID, first.ID}, 2)(w.db.MirrorRuns(w.ctx, s.ID, store.Page{}))
		gives(t, map[string]store.MirrorRun{s.ID: second})(w.db.LastMirrorRuns(w.ctx))

		w.clock.Advance(100 * time.Hour)
		w.write(func(tx *store.Tx) error {
			gives(t, store.Pruned{Rows: 1, Done: true})(tx.PruneMirrors(w.ctx, w.now(), "", 10))
			return nil
		})
		listed(t, id, []string{second.ID}, 1)(w.db.MirrorRuns(w.ctx, s.ID, store.Page{}))
	})
}

func TestMirrorAsides(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s := w.newMirror("noord")
		w.newContract("noord-a", store.VisibilityInternal)
		w.write(func(tx *store.Tx) error {
			return tx.InsertMirrorContract(w.ctx, &store.MirrorContract{ContractID: "noord-a", SourceID: s.ID, OriginID: "a"})
		})
		a := store.MirrorAside{SourceID: s.ID, ContractID: "noord-a", Version: "1.0.0", OriginURL: "https://x", Digest: "d", Size: 2, Content: []byte("{}")}
		w.write(func(tx *store.Tx) error { return tx.InsertMirrorAside(w.ctx, &a) })
		again := a
		w.fails(store.ErrConflict, func(tx *store.Tx) error { return tx.InsertMirrorAside(w.ctx, &again) })
		content, err := w.db.MirrorAsideContent(w.ctx, a.ID)
		same(t, string(content), err, "{}")
		gives(t, map[string]int{s.ID: 1})(w.db.CountMirrorAsides(w.ctx))
		gives(t, 1)(w.db.CountMirrorsAlarmed(w.ctx))

		w.clock.Advance(time.Hour)
		w.write(func(tx *store.Tx) error {
			a.SeenAt, a.SettledAt, a.SettledBy, a.Reason, a.Content = tx.Now, tx.Now, "Anna", "agreed", nil
			return errors.Join(tx.SeeMirrorAside(w.ctx, a.ID), tx.SettleMirrorAside(w.ctx, a.ID, a.SettledBy, a.Reason))
		})
		w.fails(store.ErrConflict, func(tx *store.Tx) error { return tx.SettleMirrorAside(w.ctx, a.ID, "Bob", "again") })
		gives(t, a)(w.db.MirrorAside(w.ctx, a.ID))
		id := func(a store.MirrorAside) string { return a.ID }
		for _, c := range []struct {
			f    store.MirrorAsideFilter
			want []string
		}{
			{store.MirrorAsideFilter{}, []string{a.ID}},
			{store.MirrorAsideFilter{Open: true}, []string{}},
			{store.MirrorAsideFilter{Settled: true}, []string{a.ID}},
			{store.MirrorAsideFilter{SourceID: s.ID, ContractID: "noord-a", Version: "1.0.0"}, []string{a.ID}},
			{store.MirrorAsideFilter{Version: "2.0.0"}, []string{}},
		} {
			listed(t, id, c.want, len(c.want))(w.db.MirrorAsides(w.ctx, c.f))
		}
		w.clock.Advance(time.Hour)
		w.write(func(tx *store.Tx) error {
			gives(t, store.Pruned{Rows: 1, Done: true})(tx.PruneMirrors(w.ctx, w.now(), "", 10))
			return nil
		})
	})
}
