package services

import (
	"errors"
	"testing"

	"schakel/registry"
	"schakel/registry/identity"
	"schakel/store"
)

// TestOpenLinksEnd: a link that lies in a mailbox does not undo a password that was chosen later, nor a block.
func TestOpenLinksEnd(t *testing.T) {
	t.Parallel()
	a, _, _ := newTestAccounts(t)
	ctx := t.Context()
	account := newAdministrator(t, a, "a@example.nl")
	dead := func(when string, purpose registry.LinkPurpose, token string) {
		t.Helper()
		if _, err := a.LinkAccount(ctx, purpose, token); !errors.Is(err, registry.ErrLinkDead) {
			t.Errorf("%s the link works: %v", when, err)
		}
		if _, err := a.ChoosePassword(ctx, purpose, token, "yet another good one"); !errors.Is(err, registry.ErrLinkDead) {
			t.Errorf("%s the link sets a password: %v", when, err)
		}
	}
	purpose, token, err := a.PasswordLink(ctx, account.Email)
	must(t, err)
	_, err = a.ChangePassword(ctx, account.ID, goodPassword, "another good one", "192.0.2.1", "")
	must(t, err)
	dead("after a change of the password", purpose, token)

	invited, token, err := a.Invite(ctx, registry.SystemActor(), identity.NewAccount{Email: "b@example.nl", Name: "Bea", Role: store.RoleAdministrator})
	must(t, err)
	must(t, a.Block(ctx, registry.AccountActor(account), invited.ID))
	dead("after a block", registry.LinkInvitation, token)
	must(t, a.Unblock(ctx, registry.AccountActor(account), invited.ID))
	dead("after a block that ended", registry.LinkInvitation, token)
}
