package store_test

import (
	"testing"
	"time"

	"schakel/store"
)

func TestAccount(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		var a, b store.Account
		fill(&a, 1)
		fill(&b, 2)
		b.PartnerID = a.PartnerID
		admin := store.Account{Email: "beheer@example.nl", Name: "B", Role: store.RoleAdministrator, Status: store.AccountActive}
		w.write(func(tx *store.Tx) error {
			for _, row := range []*store.Account{&b, &a, &admin} {
				if err := tx.InsertAccount(w.ctx, row); err != nil {
					return err
				}
			}
			return nil
		})
		got, err := w.db.Account(w.ctx, a.ID)
		same(t, got, err, a)
		got, err = w.db.AccountByEmail(w.ctx, b.Email)
		same(t, got, err, b)
		got, err = w.db.AccountByEmail(w.ctx, "niemand@example.nl")
		missing(t, got, err)

		rows, err := w.db.Accounts(w.ctx, a.PartnerID)
		same(t, rows, err, []store.Account{a, b})
		rows, err = w.db.Accounts(w.ctx, "")
		same(t, rows, err, []store.Account{admin})

		w.fails(store.ErrConflict, func(tx *store.Tx) error {
			return tx.InsertAccount(w.ctx, &store.Account{Email: a.Email})
		})
		w.clock.Advance(time.Second)
		fill(&a, 3, "ID", "CreatedAt")
		w.write(func(tx *store.Tx) error { return tx.UpdateAccount(w.ctx, &a) })
		got, err = w.db.Account(w.ctx, a.ID)
		same(t, got, err, a)
		same(t, got.UpdatedAt, nil, w.now())
	})
}

func TestIdentity(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		a := store.Account{Email: "a@example.nl", Role: store.RolePartner, Status: store.AccountActive}
		w.write(func(tx *store.Tx) error {
			if err := tx.InsertAccount(w.ctx, &a); err != nil {
				return err
			}
			return tx.InsertIdentity(w.ctx, a.ID, "https://idp.example", "sub-1")
		})
		got, err := w.db.AccountByIdentity(w.ctx, "https://idp.example", "sub-1")
		same(t, got, err, a)
		got, err = w.db.AccountByIdentity(w.ctx, "https://other.example", "sub-1")
		missing(t, got, err)
		w.fails(store.ErrConflict, func(tx *store.Tx) error { return tx.InsertIdentity(w.ctx, a.ID, "https://idp.example", "sub-1") })
	})
}
