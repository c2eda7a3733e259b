package services

import (
	"errors"
	"strings"
	"testing"

	"schakel/registry"
	"schakel/registry/identity"
	"schakel/store"
)

// TestAccessIsMailed: whoever loses access or a role is told, and a role that comes from an OpenID provider is told to those whom a colleague's
// decision is told to.
func TestAccessIsMailed(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		p, anna := w.partner(t, "Scholengroep Noord", goodOIN, "anna@noord.example")
		told := func(email, what string, words ...string) {
			t.Helper()
			mails := w.mailsTo(t, email)
			if len(mails) == 0 {
				t.Errorf("%s: %s got no mail", what, email)
				return
			}
			text := mails[0].Subject + "\n" + mails[0].Body
			for _, word := range words {
				if !strings.Contains(text, word) {
					t.Errorf("%s: %s was mailed %q, without %q", what, email, text, word)
				}
			}
		}
		person := func(email, role string) store.Account {
			a := store.Account{Email: email, Name: "Bea", Role: role, PartnerID: p.ID, Status: store.AccountActive, PasswordHash: "x"}
			must(t, w.db.Write(ctx, func(tx *store.Tx) error { return tx.InsertAccount(ctx, &a) }))
			return a
		}
		bea := person("bea@noord.example", store.RoleManager)
		must(t, w.Accounts.SetRole(ctx, anna, bea.ID, store.RoleReader))
		told(bea.Email, "demoted", "Your access at", "→")
		n := len(w.mailsTo(t, anna.Name))
		must(t, w.Accounts.Block(ctx, anna, bea.ID))
		told(bea.Email, "blocked", "Your access at", "→ blocked")
		must(t, w.Accounts.Remove(ctx, anna, bea.ID))
		told(bea.Email, "removed", "Your access at", "blocked → none")
		if now := len(w.mailsTo(t, anna.Name)); now != n {
			t.Errorf("%d mails about somebody else", now-n)
		}

		id := identity.Identity{Issuer: "https://login.example", Subject: "1", Name: "Mia", Email: "mia@noord.example", Partner: identity.PartnerClaim{By: "id", Values: []string{p.ID}}}
		_, err := w.Accounts.LoginIdentity(ctx, id)
		must(t, err)
		told("anna@noord.example", "a manager by the provider", "The access of Mia", "Changed by https://login.example", "none → ")
		told("admin@example.nl", "a manager by the provider", "The access of Mia")
		if got := w.mailsTo(t, "mia@noord.example"); len(got) != 0 {
			t.Errorf("the new manager is told of itself: %q", got[0].Subject)
		}
		id.Administrator = true
		_, err = w.Accounts.LoginIdentity(ctx, id)
		must(t, err)
		told("admin@example.nl", "an administrator by the provider", "The access of Mia", "→ administrator")
		told("anna@noord.example", "an administrator by the provider", "The access of Mia", "→ administrator")
		again := identity.Identity{Issuer: "https://login.example", Subject: "2", Name: "Eve", Email: "eve@example.nl", Administrator: true}
		_, err = w.Accounts.LoginIdentity(ctx, again)
		must(t, err)
		told("admin@example.nl", "a new administrator", "The access of Eve", "none → administrator")
		again.Administrator = false
		for range 2 { // who tries again has nothing more to lose
			before := len(w.mailsTo(t, "admin@example.nl"))
			_, err = w.Accounts.LoginIdentity(ctx, again)
			if !errors.Is(err, identity.ErrNoAccount) {
				t.Fatal(err)
			}
			told("admin@example.nl", "without the claim", "The access of Eve", "administrator → none", "Changed by https://login.example")
			if n = len(w.mailsTo(t, "admin@example.nl")) - before; n > 1 {
				t.Errorf("%d mails", n)
			}
		}
		if n != 0 {
			t.Errorf("%d mails of a second try", n)
		}
		again.Administrator = true
		_, err = w.Accounts.LoginIdentity(ctx, again)
		must(t, err)

		other, _ := w.partner(t, "Leerlingzorg Zuid", "00000003123456780000", "bob@zuid.example")
		id.Administrator = false
		_, err = w.Accounts.LoginIdentity(ctx, id)
		must(t, err)
		id.Partner.Values = []string{other.ID}
		_, err = w.Accounts.LoginIdentity(ctx, id)
		must(t, err)
		told("anna@noord.example", "of another partner", "The access of Mia", "Scholengroep Noord → Leerlingzorg Zuid")
		cfg := w.cfg
		cfg.LocalAccounts = registry.LocalOff
		must(t, w.Accounts.Configure(cfg, w.Profile))
		lia := person("lia@noord.example", store.RoleManager)
		taken := identity.Identity{Issuer: "https://login.example", Subject: "3", Name: "Lia", Email: lia.Email, EmailVerified: true, Partner: identity.PartnerClaim{By: "id", Values: []string{p.ID}}}
		_, err = w.Accounts.LoginIdentity(ctx, taken)
		must(t, err)
		for _, email := range []string{lia.Email, "admin@example.nl"} {
			told(email, "taken over", "→ logs in at https://login.example")
		}
	})
}
