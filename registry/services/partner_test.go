package services

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"schakel/registry"
	"schakel/registry/identity"
	"schakel/registry/partners"
	"schakel/store"
)

func TestRegisterRefusesInput(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		for field, spoil := range map[string]func(*partners.Registration){
			"name":          func(r *partners.Registration) { r.Name = "A" },
			"oin":           func(r *partners.Registration) { r.OIN = "12345678901" },
			"kvk":           func(r *partners.Registration) { r.KVK = "1" },
			"herId":         func(r *partners.Registration) { r.HerID = "x" },
			"contactName":   func(r *partners.Registration) { r.Contact.Name = "" },
			"email":         func(r *partners.Registration) { r.Contact.Email = "nobody" },
			"phone":         func(r *partners.Registration) { r.Contact.Phone = "call me" },
			"endpointKinds": func(r *partners.Registration) { r.EndpointKinds = []string{"pigeon"} },
			"terms":         func(r *partners.Registration) { r.TermsAccepted = false },
		} {
			in := registration("Noord", goodOIN, "anna@noord.example")
			spoil(&in)
			err := w.Partners.Register(t.Context(), in)
			wantOneField(t, field, field, err)
		}
		for _, name := range []string{"\u200b\u200b\u200b", "\u200d\u200d", "Noord\u202emat", "No\u00adord"} {
			for field, set := range map[string]func(*partners.Registration){
				"name": func(r *partners.Registration) { r.Name = name }, "contactName": func(r *partners.Registration) { r.Contact.Name = name },
			} {
				in := registration("Noord", goodOIN, "anna@noord.example")
				set(&in)
				if fields := fieldsOf(w.Partners.Register(t.Context(), in)); fields[field] == "" {
					t.Errorf("%s %+q: got %v", field, name, fields)
				}
			}
		}
		old := registration("Noord", goodOIN, "anna@noord.example")
		old.TermsVersion = "0"
		if fieldsOf(w.Partners.Register(t.Context(), old))["terms"] == "" {
			t.Error("outdated terms are accepted")
		}
		if counts, err := w.Partners.Counts(t.Context()); err != nil || len(counts) != 0 {
			t.Errorf("refused input left %v, %v", counts, err)
		}
	})
}

// Who registers again before the address was confirmed replaces the registration; the audit trail lists the replaced values.
func TestRegisterAgain(t *testing.T) {
	const zuid = "00000003123456780000"
	inWorlds(t, func(t *testing.T, w *world) {
		w.register(t, "Noord", goodOIN, "anna@noord.example")
		w.register(t, "Zuid", zuid, "anna@noord.example")
		if got := w.lastSentence(t); !strings.Contains(got, "again") || !strings.Contains(got, goodOIN) || !strings.Contains(got, zuid) {
			t.Errorf("told as %q", got)
		}
	})
}

// Rules: EDU-13, OPEN-14.
func TestRegistration(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		p := w.register(t, "  Scholengroep \n Noord ", " "+goodOIN, "Anna@Noord.example")
		if p.Name != "Scholengroep Noord" || p.Status != store.PartnerRequested || !p.EmailConfirmedAt.IsZero() {
			t.Errorf("got %+v", p)
		}
		if n := len(w.mailsTo(t, "admin@example.nl")); n != 0 {
			t.Errorf("administrators are told before the address is confirmed: %d mails", n)
		}
		wantCode(t, "approve unconfirmed", registry.CodeConflict, w.Partners.Approve(ctx, w.admin, p.ID))
		link := w.linkTo(t, "anna@noord.example")
		if got, err := w.Partners.ConfirmPartner(ctx, link); err != nil || got.ID != p.ID {
			t.Errorf("link is for %v, %v", got.ID, err)
		}
		_, err := w.Partners.Confirm(ctx, link, "short")
		wantField(t, "password", err) // short password
		account, err := w.Partners.Confirm(ctx, link, goodPassword)
		if err != nil || account.Status != store.AccountActive || account.PartnerID != p.ID {
			t.Fatalf("got %+v, %v", account, err)
		}
		if _, err := w.Partners.Confirm(ctx, link, goodPassword); !errors.Is(err, registry.ErrLinkDead) {
			t.Errorf("second use: %v", err)
		}
		if n := len(w.mailsTo(t, "admin@example.nl")); n != 1 {
			t.Errorf("administrators got %d mails", n)
		}
		if _, err := w.Accounts.Authenticate(ctx, identity.Login{Email: "anna@noord.example", Password: goodPassword, Addr: "192.0.2.9"}); err != nil {
			t.Errorf("cannot log in: %v", err)
		}
		must(t, w.Partners.Approve(ctx, w.admin, p.ID))
		if got := w.lastSentence(t); got != "Admin approved the registration of Scholengroep Noord." {
			t.Errorf("told as %q", got)
		}
	})
}

func TestRegisterTellsStrangersNothing(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		_, _ = w.partner(t, "Noord", goodOIN, "anna@noord.example")
		must(t, w.Partners.Register(ctx, registration("Copycat", "00000003123456780000", "anna@noord.example")))
		if got := w.mailsTo(t, "anna@noord.example")[0].Subject; !strings.Contains(got, "account already") {
			t.Errorf("the owner of the address reads %q", got)
		}
		must(t, w.Partners.Register(ctx, registration("Copycat", goodOIN, "eve@copy.example")))
		if got := w.mailsTo(t, "eve@copy.example"); len(got) != 1 || strings.Contains(got[0].Body, "/register/confirm/") {
			t.Errorf("got %+v", got)
		}
		if counts, _ := w.Partners.Counts(ctx); counts[store.PartnerRequested] != 0 {
			t.Errorf("a copy was registered: %v", counts)
		}
	})
}

func TestUnconfirmedRegistrationGivesWay(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		first := w.register(t, "Squatter", goodOIN, "eve@copy.example")
		old := w.linkTo(t, "eve@copy.example")
		again := w.register(t, "Squatter two", goodOIN, "eve@copy.example")
		if again.ID != first.ID || again.Name != "Squatter two" {
			t.Errorf("registering again made %+v", again)
		}
		if _, err := w.Partners.ConfirmPartner(ctx, old); !errors.Is(err, registry.ErrLinkDead) {
			t.Errorf("the older link works: %v", err)
		}
		must(t, w.Partners.Register(ctx, registration("Noord", goodOIN, "anna@noord.example")))
		if p, _ := w.db.PartnerByOIN(ctx, goodOIN); p.ID != first.ID {
			t.Error("an open registration was replaced within its day")
		}
		w.clock.Advance(25 * time.Hour)
		p := w.register(t, "Noord", goodOIN, "anna@noord.example")
		if p.ID == first.ID {
			t.Error("a lapsed registration keeps the OIN")
		}
		if _, err := w.Partners.Confirm(ctx, old, goodPassword); !errors.Is(err, registry.ErrLinkDead) {
			t.Errorf("got %v", err)
		}
		w.confirm(t, "anna@noord.example")
	})
}

func TestRegistrationThrottle(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		for range 10 {
			must(t, w.Partners.Register(t.Context(), registration("Noord", goodOIN, "anna@noord.example")))
		}
		err := w.Partners.Register(t.Context(), registration("Noord", goodOIN, "anna@noord.example"))
		if throttled, ok := errors.AsType[*registry.ThrottledError](err); !ok || throttled.After != time.Hour {
			t.Errorf("got %v", err)
		}
		elsewhere := registration("Noord", goodOIN, "anna@noord.example")
		elsewhere.Addr = "198.51.100.7"
		must(t, w.Partners.Register(t.Context(), elsewhere))
		w.clock.Advance(time.Hour)
		must(t, w.Partners.Register(t.Context(), registration("Noord", goodOIN, "anna@noord.example")))
	})
}

// Every verb from every state: allowed or refused.
func TestPartnerTransitions(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		p, actor := w.partner(t, "Noord", goodOIN, "anna@noord.example")
		verbs := map[string]func() error{
			"approve": func() error { return w.Partners.Approve(t.Context(), w.admin, p.ID) },
			"reject":  func() error { return w.Partners.Reject(t.Context(), w.admin, p.ID, "not known to us") },
			"suspend": func() error { return w.Partners.Suspend(t.Context(), w.admin, p.ID, "contract ended") },
			"resume":  func() error { return w.Partners.Resume(t.Context(), w.admin, p.ID) },
			"end":     func() error { return w.Partners.End(t.Context(), w.admin, p.ID, "merged") },
		}
		allowed := map[string]string{
			"requested approve": "approved", "requested reject": "rejected", "approved suspend": "suspended",
			"approved end": "ended", "suspended resume": "approved", "suspended end": "ended",
		}
		for _, state := range []string{"requested", "approved", "suspended", "ended", "rejected"} {
			for verb, do := range verbs {
				setState(t, w, &p, state)
				before := len(w.mailsTo(t, "anna@noord.example"))
				err := do()
				now, _ := w.db.Partner(t.Context(), p.ID)
				to, ok := allowed[state+" "+verb]
				if !ok {
					wantCode(t, verb+" "+state, registry.CodeConflict, err)
					to = state
				} else if err != nil || len(w.mailsTo(t, "anna@noord.example")) != before+1 {
					t.Errorf("%s %s: %v, or no mail", verb, state, err)
				}
				if now.Status != to {
					t.Errorf("%s %s: is %s, want %s", verb, state, now.Status, to)
				}
			}
		}
		setState(t, w, &p, "approved")
		wantCode(t, "no reason", registry.CodeInvalid, w.Partners.Suspend(t.Context(), w.admin, p.ID, ""))
		wantCode(t, "not an administrator", registry.CodeForbidden, w.Partners.End(t.Context(), actor, p.ID, "bye bye"))
		wantCode(t, "own", registry.CodeConflict, w.Partners.Suspend(t.Context(), w.admin, w.own.ID, "a joke"))
		wantCode(t, "unknown", registry.CodeNotFound, w.Partners.Suspend(t.Context(), w.admin, "ptn_x", "a joke"))
	})
}

func setState(t *testing.T, w *world, p *store.Partner, state string) {
	t.Helper()
	must(t, w.db.Write(t.Context(), func(tx *store.Tx) error {
		p.Status = state
		return tx.UpdatePartner(t.Context(), p)
	}))
}

func TestEndedPartnerKeepsNothing(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		p, actor := w.partner(t, "Noord", goodOIN, "anna@noord.example")
		w.catalogue(t)
		client, _, err := w.Clients.Create(ctx, actor, "", identity.NewClient{Name: "ERP", AuthMethod: "client_secret_basic", Scopes: w.Clients.FreeScopes(ctx)})
		must(t, err)
		e := w.endpoint(t, actor)
		sub := w.subscribe(t, actor, e.ID, enrolled)
		must(t, w.Subscriptions.Approve(ctx, w.admin, sub.ID))

		must(t, w.Partners.Suspend(ctx, w.admin, p.ID, "contract ended"))
		stopped, err := w.Clients.TokenClient(ctx, client.ID)
		if err != nil || stopped.Status == "active" || stopped.TokenVersion == client.TokenVersion {
			t.Errorf("client of a suspended partner: %+v, %v", stopped, err)
		}
		if s, _ := w.db.Subscription(ctx, sub.ID); s.Sending || s.Accepting {
			t.Error("a suspended partner still gets events")
		}
		_, err = w.Endpoints.Create(ctx, actor, "", webhook())
		wantCode(t, "suspended partner adds an endpoint", registry.CodeForbidden, err)
		must(t, w.Partners.Resume(ctx, w.admin, p.ID))
		if s, _ := w.db.Subscription(ctx, sub.ID); !s.Sending {
			t.Error("a resumed partner gets nothing")
		}

		must(t, w.Partners.End(ctx, w.admin, p.ID, "merged"))
		client, _ = w.db.Client(ctx, client.ID)
		e, _ = w.db.Endpoint(ctx, e.ID)
		sub, _ = w.db.Subscription(ctx, sub.ID)
		if client.Status != store.ClientRevoked || e.Status != store.EndpointEnded || e.TokenSecret != "" || sub.Status != store.SubscriptionEnded {
			t.Errorf("left: client %s, endpoint %s, subscription %s", client.Status, e.Status, sub.Status)
		}
	})
}

func TestUpdateContact(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		p, actor, _, stranger := w.twoPartners(t)
		got, err := w.Partners.UpdateContact(t.Context(), actor, p.ID, partners.Contact{Name: "Carla", Email: "Carla@noord.example"})
		if err != nil || got.ContactEmail != "carla@noord.example" {
			t.Errorf("got %+v, %v", got, err)
		}
		if old := w.mailsTo(t, "anna@noord.example")[0]; !strings.Contains(old.Subject, "has changed") {
			t.Errorf("the old address is not told: %q", old.Subject)
		}
		_, err = w.Partners.UpdateContact(t.Context(), stranger, p.ID, partners.Contact{Name: "Eve", Email: "eve@copy.example"})
		wantCode(t, "stranger", registry.CodeNotFound, err)
		_, err = w.Partners.UpdateContact(t.Context(), actor, p.ID, partners.Contact{})
		if f := fieldsOf(err); f["email"] == "" || f["contactName"] == "" {
			t.Errorf("got %v", err)
		}
	})
}

// Two administrators decide at the same moment: one decision counts.
func TestDecisionsAtOnce(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		p := w.register(t, "Noord", goodOIN, "anna@noord.example")
		w.confirm(t, "anna@noord.example")
		answers := make(chan error, 8)
		for i := range 8 {
			go func() {
				if i%2 == 0 {
					answers <- w.Partners.Approve(ctx, w.admin, p.ID)
				} else {
					answers <- w.Partners.Reject(ctx, w.admin, p.ID, "not known to us")
				}
			}()
		}
		counted := 0
		for range 8 {
			if err := <-answers; err == nil {
				counted++
			} else {
				wantCode(t, "second decision", registry.CodeConflict, err)
			}
		}
		if n := len(w.mailsTo(t, "anna@noord.example")); counted != 1 || n != 2 {
			t.Errorf("%d decisions count, %d mails", counted, n)
		}
	})
}

// A Norwegian organisation registers with its organisasjonsnummer and HER-id, and has no OIN: the mails, the search and the duplicate
// check name its number. One of the two is not enough, and neither is nothing.
func TestRegisterWithoutOIN(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		good := registration("Legekontoret Brua", "", "kari@brua.example")
		good.OrgNumber, good.HerID = "NO 312 345 676 MVA", "8094866"
		for field, edit := range map[string]func(*partners.Registration){
			"oin":       func(r *partners.Registration) { r.OrgNumber, r.HerID = "", "" },
			"orgNumber": func(r *partners.Registration) { r.OrgNumber = "" },
			"herId":     func(r *partners.Registration) { r.HerID = "" },
		} {
			in := good
			edit(&in)
			wantField(t, field, w.Partners.Register(ctx, in))
		}
		for _, wrong := range []string{"312345677", "31234567", "012345679", "3123456760", "31234567a"} {
			in := good
			in.OrgNumber = wrong
			wantField(t, "orgNumber", w.Partners.Register(ctx, in))
		}
		must(t, w.Partners.Register(ctx, good))
		p, err := w.db.PartnerByOrgNumber(ctx, "312345676")
		must(t, err)
		if p.OIN != "" || p.HerID != "8094866" || p.Name != good.Name {
			t.Errorf("registered %+v", p)
		}
		if mail := w.mailsTo(t, "kari@brua.example")[0]; !strings.Contains(mail.Body, "Legekontoret Brua (organisasjonsnummer 312345676, HER-id 8094866) to exchange") {
			t.Errorf("confirmation:\n%s", mail.Body)
		}
		second := good
		second.Contact.Email = "other@brua.example"
		must(t, w.Partners.Register(ctx, second))
		if mail := w.mailsTo(t, "other@brua.example")[0]; !strings.Contains(mail.Body, "with organisasjonsnummer 312345676 at") {
			t.Errorf("duplicate:\n%s", mail.Body)
		}
		other := registration("Sykehuset Fjord", "", "ola@fjord.example")
		other.OrgNumber, other.HerID = "974760673", "8141703"
		must(t, w.Partners.Register(ctx, other))
		w.confirm(t, "kari@brua.example")
		if mail := w.mailsTo(t, "admin@example.nl")[0]; !strings.Contains(mail.Body, "(organisasjonsnummer 312345676, HER-id 8094866) registered and waits") {
			t.Errorf("to the administrator:\n%s", mail.Body)
		}
		must(t, w.Partners.Approve(ctx, w.admin, p.ID))
		found, total, err := w.Partners.List(ctx, w.admin, store.PartnerFilter{Search: "312345676"})
		if err != nil || total != 1 || found[0].Status != store.PartnerApproved {
			t.Errorf("search: %d %+v, %v", total, found, err)
		}
	})
}

// Only an administrator corrects a registration: not to a number that another has, and the audit trail lists the changes.
func TestCorrect(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		p, actor, other, _ := w.twoPartners(t)
		good := partners.Registration{
			Name: "Scholengroep  Noordoost", OIN: "00000003273229730000", KVK: "27322973",
			Contact: partners.Contact{Name: "Carla", Email: "Carla@noord.example", Phone: "+31 30 123 45 67"},
		}
		wantCode(t, "by a partner", registry.CodeForbidden, w.Partners.Correct(ctx, actor, p.ID, good))
		taken := good
		taken.OIN, taken.KVK = other.OIN, ""
		if f := fieldsOf(w.Partners.Correct(ctx, w.admin, p.ID, taken)); len(f) != 1 || f["oin"] == "" {
			t.Errorf("the OIN of another: %v", f)
		}
		if f := fieldsOf(w.Partners.Correct(ctx, w.admin, p.ID, partners.Registration{})); f["name"] == "" || f["oin"] == "" || f["email"] == "" {
			t.Errorf("nothing: %v", f)
		}
		before, err := w.Partners.Get(ctx, w.admin.Scope(), p.ID)
		must(t, err)
		must(t, w.Partners.Correct(ctx, w.admin, p.ID, good))
		got, err := w.Partners.Get(ctx, w.admin.Scope(), p.ID)
		must(t, err)
		if got.Name != "Scholengroep Noordoost" || got.OIN != good.OIN || got.KVK != "27322973" || got.ContactEmail != "carla@noord.example" || got.Status != store.PartnerApproved || got.TermsVersion != before.TermsVersion || len(got.EndpointKinds) != len(before.EndpointKinds) {
			t.Errorf("got %+v", got)
		}
		if !slices.ContainsFunc(w.mailsTo(t, before.ContactEmail), func(m store.Mail) bool { return strings.Contains(m.Subject, "has changed") }) {
			t.Error("the old address is not told")
		}
		told := w.lastSentence(t)
		for _, words := range []string{"corrected the registration of Scholengroep Noordoost", "name Scholengroep Noordoost (was " + before.Name + ")", "contact person", "OIN " + good.OIN} {
			if !strings.Contains(told, words) {
				t.Errorf("told as %q, without %q", told, words)
			}
		}
		must(t, w.Partners.Correct(ctx, w.admin, p.ID, good))
		if again := w.lastSentence(t); again != told {
			t.Errorf("a correction of nothing is told: %s", again)
		}
		must(t, w.Partners.End(ctx, w.admin, p.ID, "moved"))
		wantCode(t, "ended", registry.CodeConflict, w.Partners.Correct(ctx, w.admin, p.ID, good))
		own, err := w.Partners.EnsureOwn(ctx, "Own", "")
		must(t, err)
		wantCode(t, "own", registry.CodeConflict, w.Partners.Correct(ctx, w.admin, own.ID, good))

		waiting := w.register(t, "Oost", before.OIN, "olga@oost.example")
		moved := partners.Registration{Name: "Oost", OIN: before.OIN, Contact: partners.Contact{Name: "Olga", Email: "o@oost.example"}}
		if f := fieldsOf(w.Partners.Correct(ctx, w.admin, waiting.ID, moved)); f["email"] == "" {
			t.Errorf("the address of who did not confirm it: %v", f)
		}
	})
}

// A registration that nobody approved, with the KvK number of another organisation, keeps nobody of that one out who logs in at a provider by it.
func TestRegistrationShadowsNoLogin(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		stranger := registration("Stichting Vreemd", goodOIN, "eve@vreemd.example")
		stranger.KVK = "12345678"
		must(t, w.Partners.Register(t.Context(), stranger))
		in := registration("Scholengroep Noord", "00000003123456780000", "anna@noord.example")
		in.KVK = "12345678"
		must(t, w.Partners.Register(t.Context(), in))
		p, err := w.db.PartnerByOIN(t.Context(), "00000003123456780000")
		must(t, err)
		w.confirm(t, "anna@noord.example")
		must(t, w.Partners.Approve(t.Context(), w.admin, p.ID))
		account, err := w.Accounts.LoginIdentity(t.Context(), identity.Identity{
			Issuer: "https://login.example", Subject: "jan", Name: "Jan", Email: "jan@noord.example", EmailVerified: true,
			Partner: identity.PartnerClaim{By: "kvk", Values: []string{"12345678"}},
		})
		if err != nil || account.PartnerID != p.ID {
			t.Errorf("logged in as %+v, %v", account, err)
		}
	})
}
