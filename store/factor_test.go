package store_test

import (
	"testing"
	"time"

	"schakel/store"
)

// account adds an active administrator.
func (w *world) account(email string) store.Account {
	a := store.Account{Email: email, Name: "A", Role: store.RoleAdministrator, Status: store.AccountActive}
	w.write(func(tx *store.Tx) error { return tx.InsertAccount(w.ctx, &a) })
	return a
}

// TestFactors: an account knows how many factors it has; a code works once, and a passkey belongs to one account.
func TestFactors(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		a, b := w.account("a@example.nl"), w.account("b@example.nl")
		app := store.Factor{AccountID: a.ID, Kind: store.FactorTOTP, Name: "App", Secret: "sealed"}
		key := store.Factor{AccountID: a.ID, Kind: store.FactorPasskey, Name: "Key", Secret: "public", Credential: "cred"}
		w.write(func(tx *store.Tx) error { return tx.InsertFactor(w.ctx, &app) })
		w.write(func(tx *store.Tx) error { return tx.InsertFactor(w.ctx, &key) })
		gives(t, []store.Factor{app, key})(w.db.Factors(w.ctx, a.ID))
		stolen := store.Factor{AccountID: b.ID, Kind: store.FactorPasskey, Credential: "cred"}
		if err := w.db.Write(w.ctx, func(tx *store.Tx) error { return tx.InsertFactor(w.ctx, &stolen) }); err == nil {
			t.Error("one passkey has two accounts")
		}
		count := func(want int64) {
			t.Helper()
			if found, err := w.db.Account(w.ctx, a.ID); err != nil || found.Factors != want {
				t.Errorf("%d factors, want %d (%v)", found.Factors, want, err)
			}
		}
		count(2)

		w.write(func(tx *store.Tx) error { return tx.UseFactor(w.ctx, app.ID, 7) })
		missing(t)(0, w.db.Write(w.ctx, func(tx *store.Tx) error { return tx.UseFactor(w.ctx, app.ID, 7) }))
		w.write(func(tx *store.Tx) error { return tx.UseFactor(w.ctx, key.ID, 0) }) // a passkey that does not count
		app.Counter, app.UsedAt, key.UsedAt = 7, w.now(), w.now()
		gives(t, []store.Factor{app, key})(w.db.Factors(w.ctx, a.ID))

		w.write(func(tx *store.Tx) error { return tx.ReplaceRecoveryCodes(w.ctx, a.ID, []string{"x", "y"}) })
		gives(t, 2)(w.db.RecoveryCodes(w.ctx, a.ID))
		missing(t)(0, w.db.Write(w.ctx, func(tx *store.Tx) error { return tx.UseRecoveryCode(w.ctx, b.ID, "x") }))
		w.write(func(tx *store.Tx) error { return tx.UseRecoveryCode(w.ctx, a.ID, "x") })
		missing(t)(0, w.db.Write(w.ctx, func(tx *store.Tx) error { return tx.UseRecoveryCode(w.ctx, a.ID, "x") }))
		gives(t, 1)(w.db.RecoveryCodes(w.ctx, a.ID))

		missing(t)(0, w.db.Write(w.ctx, func(tx *store.Tx) error { return tx.DeleteFactor(w.ctx, b.ID, app.ID) }))
		w.write(func(tx *store.Tx) error { return tx.DeleteFactor(w.ctx, a.ID, app.ID) })
		count(1)
		w.write(func(tx *store.Tx) error { return tx.DeleteFactors(w.ctx, a.ID) })
		count(0)
		gives(t, []store.Factor(nil))(w.db.Factors(w.ctx, a.ID))
		gives(t, 0)(w.db.RecoveryCodes(w.ctx, a.ID))
	})
}

// TestLoginSessions: sessions are listed newest first, and end one by one, all at once, or by age.
func TestLoginSessions(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		a, b := w.account("a@example.nl"), w.account("b@example.nl")
		begin := func(account string) store.LoginSession {
			s := store.LoginSession{AccountID: account, Address: "192.0.2.1", Agent: "x"}
			w.write(func(tx *store.Tx) error { return tx.InsertLoginSession(w.ctx, &s) })
			w.clock.Advance(time.Hour)
			return s
		}
		first, second, other := begin(a.ID), begin(a.ID), begin(b.ID)
		gives(t, []store.LoginSession{second, first})(w.db.LoginSessions(w.ctx, a.ID, w.in(-24*time.Hour), 10))
		gives(t, []store.LoginSession{second})(w.db.LoginSessions(w.ctx, a.ID, first.StartedAt, 10))
		first.SeenAt, first.ProvedAt = w.now(), w.now()
		first.CheckedAt, first.ProviderSession, first.IDToken = w.in(time.Minute), "sid", "sealed"
		w.write(func(tx *store.Tx) error { return tx.UpdateLoginSession(w.ctx, &first) })
		at := store.LoginSession{AccountID: b.ID, Address: "192.0.2.1", Agent: "x", Provider: "https://login.example", ProviderSession: "sid", ProvedAt: w.in(-time.Minute)}
		w.write(func(tx *store.Tx) error { return tx.InsertLoginSession(w.ctx, &at) })
		gives(t, []store.LoginSession{at})(w.db.ProviderSessions(w.ctx, at.Provider, "sid", 10))
		gives(t, []store.LoginSession(nil))(w.db.ProviderSessions(w.ctx, "", "", 10))
		w.write(func(tx *store.Tx) error { return tx.DeleteOtherSessions(w.ctx, b.ID, other.ID) })
		missing(t)(w.db.LoginSession(w.ctx, at.ID))
		gives(t, first)(w.db.LoginSession(w.ctx, first.ID))

		missing(t)(0, w.db.Write(w.ctx, func(tx *store.Tx) error { return tx.DeleteLoginSession(w.ctx, b.ID, first.ID) }))
		w.write(func(tx *store.Tx) error { return tx.DeleteLoginSession(w.ctx, a.ID, first.ID) })
		missing(t)(0, w.db.Write(w.ctx, func(tx *store.Tx) error { return tx.UpdateLoginSession(w.ctx, &first) }))
		w.write(func(tx *store.Tx) error { return tx.DeleteLoginSessions(w.ctx, a.ID) })
		missing(t)(w.db.LoginSession(w.ctx, second.ID))
		gives(t, other)(w.db.LoginSession(w.ctx, other.ID))
		w.write(func(tx *store.Tx) error {
			_, err := tx.PruneExpired(w.ctx, w.in(32*24*time.Hour), "", 10)
			return err
		})
		missing(t)(w.db.LoginSession(w.ctx, other.ID))

		begin(a.ID)
		begin(a.ID)
		third := begin(b.ID)
		w.write(func(tx *store.Tx) error {
			n, err := tx.EndAllSessions(w.ctx)
			same(t, n, err, int64(2)) // accounts, of three sessions
			return err
		})
		missing(t)(w.db.LoginSession(w.ctx, third.ID))
		now, err := w.db.Account(w.ctx, b.ID)
		same(t, now.SessionEpoch, err, b.SessionEpoch+1)
	})
}
