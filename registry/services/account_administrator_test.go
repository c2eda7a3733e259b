package services

import (
	"testing"

	"schakel/registry"
	"schakel/store"
)

func TestAdministratorsDecideOnAccounts(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		eva, err := w.Accounts.InviteAdministrator(ctx, w.admin, "Eva", "Eva@example.nl")
		must(t, err)
		if eva.Email != "eva@example.nl" || eva.Role != store.RoleAdministrator || eva.Status != store.AccountInvited {
			t.Fatalf("invited as %+v", eva)
		}
		_, err = w.Accounts.InviteAdministrator(ctx, w.admin, "Eva", "eva@example.nl")
		wantCode(t, "invite again", registry.CodeInvalid, err)
		_, person := w.partner(t, "Scholengroep Noord", goodOIN, "anna@noord.example")
		for _, step := range []struct {
			what  string
			do    func() error
			code  string
			state string
		}{
			{"unblock at first", func() error { return w.Accounts.Unblock(ctx, w.admin, eva.ID) }, registry.CodeConflict, store.AccountInvited},
			{"block", func() error { return w.Accounts.Block(ctx, w.admin, eva.ID) }, "", store.AccountBlocked},
			{"block again", func() error { return w.Accounts.Block(ctx, w.admin, eva.ID) }, registry.CodeConflict, store.AccountBlocked},
			{"unblock", func() error { return w.Accounts.Unblock(ctx, w.admin, eva.ID) }, "", store.AccountInvited},
			{"a partner blocks", func() error { return w.Accounts.Block(ctx, person, eva.ID) }, registry.CodeForbidden, store.AccountInvited},
			{"block oneself", func() error { return w.Accounts.Block(ctx, w.admin, w.admin.ID) }, registry.CodeConflict, store.AccountInvited},
			{"block nobody", func() error { return w.Accounts.Block(ctx, w.admin, "acc_none") }, registry.CodeNotFound, store.AccountInvited},
		} {
			wantCode(t, step.what, step.code, step.do())
			now, err := w.db.Account(ctx, eva.ID)
			must(t, err)
			if now.Status != step.state {
				t.Errorf("after %q it is %s, want %s", step.what, now.Status, step.state)
			}
		}
		before, err := w.db.Account(ctx, person.ID)
		must(t, err)
		must(t, w.Accounts.Block(ctx, w.admin, person.ID))
		must(t, w.Accounts.Unblock(ctx, w.admin, person.ID))
		after, err := w.db.Account(ctx, person.ID)
		must(t, err)
		if after.Status != store.AccountActive || after.SessionEpoch == before.SessionEpoch {
			t.Errorf("after a block: %s, sessions of before live on: %t", after.Status, after.SessionEpoch == before.SessionEpoch)
		}
	})
}
