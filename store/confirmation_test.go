package store_test

import (
	"testing"
	"time"

	"schakel/store"
)

// One action on one object waits at a time, is decided about once, and counts as expired before that is written.
func TestConfirmations(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ask := func(action, object string) store.Confirmation {
			t.Helper()
			c := store.Confirmation{Kind: "approvals", Action: action, ObjectKind: "partner", ObjectID: object, Args: "{}", Changes: store.Strings{"a\x1f[]"}, AskedBy: "acc_1", AskedName: "Ada"}
			w.write(func(tx *store.Tx) error {
				c.ExpiresAt = store.At(tx.Now.Add(time.Hour))
				return tx.InsertConfirmation(w.ctx, &c)
			})
			return c
		}
		first := ask("partner.approve", "par_1")
		w.fails(store.ErrConflict, func(tx *store.Tx) error {
			return tx.InsertConfirmation(w.ctx, &store.Confirmation{Action: first.Action, ObjectID: first.ObjectID, ExpiresAt: tx.Now})
		})
		second := ask("partner.approve", "par_2")
		now := store.At(w.clock.Now())
		waiting := func(now store.Time) store.ConfirmationFilter {
			return store.ConfirmationFilter{Status: store.ConfirmationWaiting, ObjectKinds: []string{"partner"}, Now: now}
		}
		rows, total, err := w.db.Confirmations(w.ctx, waiting(now))
		if err != nil || total != 2 || rows[0].ID != second.ID || rows[0].Changes[0] != "a\x1f[]" {
			t.Errorf("waiting: %+v of %d, %v", rows, total, err)
		}
		if found, err := w.db.WaitingConfirmation(w.ctx, first.Action, "par_1", now); err != nil || found.ID != first.ID {
			t.Errorf("found %+v, %v", found, err)
		}
		first.Status, first.DecidedBy, first.Outcome = store.ConfirmationDeclined, "acc_2", "no"
		w.write(func(tx *store.Tx) error { return tx.DecideConfirmation(w.ctx, &first) })
		w.fails(store.ErrConflict, func(tx *store.Tx) error { return tx.DecideConfirmation(w.ctx, &first) })
		if got, err := w.db.Confirmation(w.ctx, first.ID); err != nil || got.Outcome != "no" || got.DecidedAt.IsZero() || got.WaitsAt(now) {
			t.Errorf("decided: %+v, %v", got, err)
		}
		ask("partner.approve", "par_1") // it can be asked again

		later := store.At(now.Add(2 * time.Hour))
		expired := waiting(later)
		expired.Status = store.ConfirmationExpired
		if n, err := w.db.CountConfirmations(w.ctx, waiting(later)); err != nil || n != 0 {
			t.Errorf("%d wait after the end, %v", n, err)
		}
		if n, err := w.db.CountConfirmations(w.ctx, expired); err != nil || n != 2 {
			t.Errorf("%d expired, %v", n, err)
		}
		w.clock.Advance(2 * time.Hour)
		if due, err := w.db.HasExpiredConfirmations(w.ctx, store.At(w.clock.Now())); err != nil || !due {
			t.Errorf("due: %v, %v", due, err)
		}
		w.write(func(tx *store.Tx) error {
			rows, err := tx.ExpireConfirmations(w.ctx)
			if err == nil && (len(rows) != 2 || rows[0].Status != store.ConfirmationExpired) {
				t.Errorf("expired: %+v", rows)
			}
			return err
		})
		if due, err := w.db.HasExpiredConfirmations(w.ctx, store.At(w.clock.Now())); err != nil || due {
			t.Errorf("due after that: %v, %v", due, err)
		}
	})
}

// What issuers call an account is compared between accounts.
func TestAccountSubjects(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		a := store.Account{Email: "ada@example.nl", Name: "Ada", Role: store.RoleAdministrator, Status: store.AccountActive}
		w.write(func(tx *store.Tx) error {
			if err := tx.InsertAccount(w.ctx, &a); err != nil {
				return err
			}
			return tx.InsertIdentity(w.ctx, a.ID, "https://idp.example", "subject-1")
		})
		if got, err := w.db.AccountSubjects(w.ctx, a.ID); err != nil || len(got) != 1 || got[0] != "subject-1" {
			t.Errorf("subjects %v, %v", got, err)
		}
	})
}
