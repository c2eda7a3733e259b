package store_test

import (
	"fmt"
	"testing"

	"schakel/store"
)

// A filter is saved under its name once and seen by its account alone; a list opens with one at most.
func TestSavedFilters(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		save := func(account, list, name, query string, preset bool) {
			t.Helper()
			w.write(func(tx *store.Tx) error {
				return tx.SaveFilter(w.ctx, &store.SavedFilter{AccountID: account, List: list, Name: name, Query: query, Preset: preset})
			})
		}
		accounts := []string{}
		for _, email := range []string{"one@example.nl", "two@example.nl"} {
			a := store.Account{Email: email, Name: "A", Role: store.RoleAdministrator, Status: store.AccountActive}
			w.write(func(tx *store.Tx) error { return tx.InsertAccount(w.ctx, &a) })
			accounts = append(accounts, a.ID)
		}
		mine, other := accounts[0], accounts[1]
		const list = "/admin/deliveries"
		save(mine, list, "night", "status=dead", true)
		save(mine, list, "Busy", "status=retrying", false)
		save(mine, list, "night", "status=held", false)
		save(mine, "/admin/issues", "night", "state=open", true)
		save(other, list, "night", "status=dead", true)
		rows, err := w.db.SavedFilters(w.ctx, mine, list)
		if err != nil || len(rows) != 2 || rows[0].Name != "Busy" || rows[1].Query != "status=held" || rows[1].Preset {
			t.Fatalf("%+v, %v", rows, err)
		}
		preset := func(account, list string, want string) {
			t.Helper()
			rows, err := w.db.SavedFilters(w.ctx, account, list)
			got := ""
			for _, f := range rows {
				if f.Preset {
					got += f.Name
				}
			}
			same(t, got, err, want)
		}
		w.write(func(tx *store.Tx) error { return tx.PresetFilter(w.ctx, mine, list, rows[0].ID) })
		preset(mine, list, "Busy")
		save(mine, list, "third", "status=dead", true)
		preset(mine, list, "third")
		w.write(func(tx *store.Tx) error { return tx.PresetFilter(w.ctx, mine, list, "") })
		preset(mine, list, "")
		preset(mine, "/admin/issues", "night")
		preset(other, list, "night")

		missing(t)(w.db.SavedFilter(w.ctx, other, rows[0].ID))
		w.fails(store.ErrNotFound, func(tx *store.Tx) error { return tx.DeleteSavedFilter(w.ctx, other, rows[0].ID) })
		w.write(func(tx *store.Tx) error { return tx.DeleteSavedFilter(w.ctx, mine, rows[0].ID) })
		missing(t)(w.db.SavedFilter(w.ctx, mine, rows[0].ID))

		for n := range store.MaxSavedFilters - 2 {
			save(mine, list, fmt.Sprint("more ", n), "status=dead", false)
		}
		save(mine, list, "night", "status=dead", false)
		w.fails(store.ErrConflict, func(tx *store.Tx) error {
			return tx.SaveFilter(w.ctx, &store.SavedFilter{AccountID: mine, List: list, Name: "one more", Query: "status=dead"})
		})
	})
}
