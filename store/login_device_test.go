package store_test

import (
	"testing"
	"time"

	"schakel/store"
)

// TestLoginDevices: a browser is found by the hash of what it keeps, with its last login; an account forgets its browsers at once, and
// each after a long time.
func TestLoginDevices(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		a := store.Account{Email: "a@example.nl", Name: "A", Role: store.RoleAdministrator, Status: store.AccountActive}
		w.write(func(tx *store.Tx) error { return tx.InsertAccount(w.ctx, &a) })
		provided := func(want bool) { t.Helper(); gives(t, want)(w.db.HasIdentity(w.ctx, a.ID)) }
		provided(false)
		w.write(func(tx *store.Tx) error { return tx.InsertIdentity(w.ctx, a.ID, "https://id.example.nl", "1") })
		provided(true)

		made := w.now()
		save := func() { w.write(func(tx *store.Tx) error { return tx.SaveLoginDevice(w.ctx, "hash", a.ID) }) }
		save()
		w.clock.Advance(time.Hour)
		save()
		gives(t, store.LoginDevice{TokenHash: "hash", AccountID: a.ID, CreatedAt: made, UsedAt: w.now()})(w.db.LoginDevice(w.ctx, "hash"))
		gone := func() { t.Helper(); missing(t)(w.db.LoginDevice(w.ctx, "hash")) }
		w.write(func(tx *store.Tx) error { return tx.DeleteLoginDevices(w.ctx, a.ID) })
		gone()

		save()
		for after, want := range []bool{true, false} {
			w.write(func(tx *store.Tx) error {
				_, err := tx.PruneExpired(w.ctx, w.in(time.Duration(399+2*after)*24*time.Hour), "", 10)
				return err
			})
			if _, err := w.db.LoginDevice(w.ctx, "hash"); (err == nil) != want {
				t.Errorf("after %d days: %v", 399+2*after, err)
			}
		}
		gone()
	})
}
