package store_test

import (
	"testing"
	"time"

	"schakel/store"
)

// TestRegistrationDraft: a draft is found by the hash of what its browser keeps until it expires, moves to another browser, and goes.
func TestRegistrationDraft(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		d := store.RegistrationDraft{TokenHash: "one", Sealed: "sealed", ExpiresAt: w.in(time.Hour)}
		w.write(func(tx *store.Tx) error { return tx.SaveRegistrationDraft(w.ctx, &d) })
		gives(t, d)(w.db.RegistrationDraft(w.ctx, "one", w.now()))
		w.clock.Advance(time.Minute)
		d.Sealed = "sealed again"
		w.write(func(tx *store.Tx) error { return tx.SaveRegistrationDraft(w.ctx, &d) })
		gives(t, d)(w.db.RegistrationDraft(w.ctx, "one", w.now()))
		missing(t)(w.db.RegistrationDraft(w.ctx, "one", w.in(2*time.Hour)))

		w.write(func(tx *store.Tx) error { return tx.RotateRegistrationDraft(w.ctx, d.ID, "two") })
		missing(t)(w.db.RegistrationDraft(w.ctx, "one", w.now()))
		d.TokenHash = "two"
		gives(t, d)(w.db.RegistrationDraft(w.ctx, "two", w.now()))
		w.fails(store.ErrNotFound, func(tx *store.Tx) error { return tx.RotateRegistrationDraft(w.ctx, "rgd_none", "three") })

		prune := func(before store.Time) {
			w.write(func(tx *store.Tx) error {
				_, err := tx.PruneExpired(w.ctx, before, "", 10)
				return err
			})
		}
		prune(w.now())
		gives(t, d)(w.db.RegistrationDraft(w.ctx, "two", w.now()))
		prune(w.in(time.Hour))
		missing(t)(w.db.RegistrationDraft(w.ctx, "two", w.now()))

		d.ID = ""
		w.write(func(tx *store.Tx) error { return tx.SaveRegistrationDraft(w.ctx, &d) })
		for range 2 { // the second time there is nothing to forget
			w.write(func(tx *store.Tx) error { return tx.DeleteRegistrationDraft(w.ctx, "two") })
		}
		missing(t)(w.db.RegistrationDraft(w.ctx, "two", w.now()))
	})
}

// A BRIN belongs to one open registration; a KvK number may be shared, and is found whoever has it.
func TestPartnerByBRINAndKVK(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		school := store.Partner{Name: "School", BRIN: "12AB", KVK: "87654321", Status: store.PartnerRequested}
		w.write(func(tx *store.Tx) error { return tx.InsertPartner(w.ctx, &school) })
		got, err := w.db.PartnerByBRIN(w.ctx, "12AB")
		same(t, got.ID, err, school.ID)
		missing(t)(w.db.PartnerByBRIN(w.ctx, ""))
		w.fails(store.ErrConflict, func(tx *store.Tx) error {
			return tx.InsertPartner(w.ctx, &store.Partner{Name: "Copy", BRIN: "12AB", Status: store.PartnerRequested})
		})
		got, err = w.db.PartnerByKVK(w.ctx, "87654321", "")
		same(t, got.ID, err, school.ID)
		missing(t)(w.db.PartnerByKVK(w.ctx, "87654321", school.ID))
		missing(t)(w.db.PartnerByKVK(w.ctx, "", ""))
		found, _, err := w.db.Partners(w.ctx, store.PartnerFilter{Search: "12ab"})
		same(t, len(found), err, 1)
		school.Status = store.PartnerEnded
		w.write(func(tx *store.Tx) error { return tx.UpdatePartner(w.ctx, &school) })
		missing(t)(w.db.PartnerByBRIN(w.ctx, "12AB"))
		missing(t)(w.db.PartnerByKVK(w.ctx, "87654321", ""))
	})
}
