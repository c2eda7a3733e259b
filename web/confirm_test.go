package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"schakel/registry"
	"schakel/registry/identity"
	"schakel/registry/partners"
	"schakel/registry/profile"
	"schakel/store"
	"schakel/store/needs"
	"schakel/store/storetest"
)

// twoPeople is a portal in which a second administrator works, Bea, and kinds of actions wait for a second person.
type twoPeople struct {
	*queueWorld
	ada, bea registry.Actor
	second   *browser
}

func newTwoPeople(t *testing.T, open storetest.Open, kinds ...string) *twoPeople {
	t.Helper()
	w := &twoPeople{queueWorld: newQueueWorldOn(t, open)}
	w.second = w.colleague(t, store.RoleAdministrator, "")
	w.ada, w.bea = registry.AccountActor(w.account(testEmail)), registry.AccountActor(w.account("administrator@roles.example.nl"))
	if err := w.set(registry.SystemActor(), kinds, registry.PolicyOn); err != nil {
		t.Fatal(err)
	}
	return w
}

// set changes whether kinds of actions wait.
func (w *twoPeople) set(actor registry.Actor, kinds []string, to string) error {
	state := must(w.reg.Profile.Load(w.t.Context()))(w.t)
	values := state.Values()
	for _, kind := range kinds {
		values["access.two_people_"+kind] = to
	}
	_, _, err := w.reg.Profile.Save(w.t.Context(), actor, profile.ProfileChange{Version: state.Version, Values: values, Reason: "we agreed so"})
	return err
}

// registered makes a registration that waits for approval.
func (w *twoPeople) registered(name string) store.Partner {
	w.t.Helper()
	p := store.Partner{Name: name, Status: store.PartnerRequested, ContactName: "Anna", ContactEmail: "anna@" + strings.ToLower(name) + ".example"}
	w.write(func(tx *store.Tx) error {
		p.EmailConfirmedAt = tx.Now
		return tx.InsertPartner(w.t.Context(), &p)
	})
	return p
}

// waits gives the action that waits by the error of who asked for it.
func waits(t testing.TB, err error) string {
	t.Helper()
	w, ok := errors.AsType[*registry.Waits](err)
	if !ok {
		t.Fatalf("it does not wait: %v", err)
	}
	return w.ID
}

// refusedAs fails unless an error is a refusal of a kind.
func refusedAs(t *testing.T, code string, err error) {
	t.Helper()
	if e, ok := errors.AsType[*registry.Error](err); !ok || e.Code != code {
		t.Errorf("refused as %v, want %s", err, code)
	}
}

func (w *twoPeople) partnerStatus(id string) string {
	w.t.Helper()
	return must(w.db.Partner(w.t.Context(), id))(w.t).Status
}

func (w *twoPeople) state(id string) store.Confirmation {
	w.t.Helper()
	return must(w.reg.Confirmations.Get(w.t.Context(), w.ada, id))(w.t)
}

// mailedAbout counts the mails to an address whose subject has these words.
func (w *twoPeople) mailedAbout(to, words string) (n int) {
	mails, _, err := w.db.Mails(w.t.Context(), store.Page{Number: 1, Size: 200})
	noError(w.t, err)
	for _, m := range mails {
		if m.Recipient == to && strings.Contains(m.Subject, words) {
			n++
		}
	}
	return n
}

// An approval takes effect when another person confirms it, and only to what was asked: nobody confirms their own, not by a second account either.
func TestSecondPersonConfirms(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]storetest.Open{"sqlite": storetest.SQLite, "postgres": storetest.Postgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "postgres" {
				needs.Full(t, "PostgreSQL")
			}
			w := newTwoPeople(t, open, registry.TwoApprovals)
			ctx, all := t.Context(), w.reg.Confirmations
			p := w.registered("Zuid")
			id := waits(t, w.reg.Partners.Approve(registry.WithReason(ctx, "I called them"), w.ada, p.ID))
			asked := w.state(id)
			if w.partnerStatus(p.ID) != store.PartnerRequested || asked.Reason != "I called them" || asked.AskedName != w.ada.Name || len(asked.Changes) < 2 {
				t.Fatalf("asked: %+v", asked)
			}
			if again := waits(t, w.reg.Partners.Approve(ctx, w.bea, p.ID)); again != id {
				t.Error("the same waits twice")
			}
			if w.mailedAbout("administrator@roles.example.nl", "confirm an action") != 1 || w.mailedAbout(testEmail, "confirm an action") != 0 || w.mailedAbout(p.ContactEmail, "") != 0 {
				t.Error("the wrong people got a mail")
			}

			refusedAs(t, registry.CodeForbidden, all.Confirm(ctx, w.ada, id))
			for email, change := range map[string]func(*store.Tx, store.Account) error{
				"Admin+second@example.nl": nil, // the same mailbox
				"ada@elsewhere.example": func(tx *store.Tx, a store.Account) error { // the same login at another provider
					return errors.Join(tx.InsertIdentity(ctx, w.ada.ID, "https://one.example", "ada"), tx.InsertIdentity(ctx, a.ID, "https://two.example", "ada"))
				},
			} {
				_, _, err := w.accounts.Invite(ctx, registry.SystemActor(), identity.NewAccount{Email: email, Name: "Ada again", Role: store.RoleAdministrator})
				noError(t, err)
				other := w.account(strings.ToLower(email))
				w.write(func(tx *store.Tx) error {
					other.Status = store.AccountActive
					if change == nil {
						return tx.UpdateAccount(ctx, &other)
					}
					return errors.Join(tx.UpdateAccount(ctx, &other), change(tx, other))
				})
				refusedAs(t, registry.CodeForbidden, all.Confirm(ctx, registry.AccountActor(other), id))
			}
			refusedAs(t, registry.CodeForbidden, all.Withdraw(ctx, w.bea, id))
			refusedAs(t, registry.CodeForbidden, all.Confirm(ctx, registry.SystemActor(), id))
			noError(t, all.Confirm(ctx, w.bea, id))
			if w.partnerStatus(p.ID) != store.PartnerApproved || w.state(id).Status != store.ConfirmationConfirmed {
				t.Error("a confirmed approval does not count")
			}
			refusedAs(t, registry.CodeConflict, all.Confirm(ctx, w.bea, id))
			if w.mailedAbout(testEmail, "confirmed") != 1 {
				t.Error("who asked is not told")
			}

			// What changed meanwhile makes it stale, and so does that who asked may not do it any more.
			q := w.registered("Noord")
			id = waits(t, w.reg.Partners.Approve(ctx, w.ada, q.ID))
			w.write(func(tx *store.Tx) error {
				q.Name = "Another"
				return tx.UpdatePartner(ctx, &q)
			})
			refusedAs(t, registry.CodeConflict, all.Confirm(ctx, w.bea, id))
			if s := w.state(id); s.Status != store.ConfirmationStale || s.Outcome == "" || w.partnerStatus(q.ID) != store.PartnerRequested {
				t.Errorf("after a change: %+v", s)
			}
			id = waits(t, w.reg.Partners.Approve(ctx, w.bea, q.ID))
			noError(t, w.accounts.Block(ctx, w.ada, w.bea.ID))
			refusedAs(t, registry.CodeConflict, all.Confirm(ctx, w.ada, id))
			if w.partnerStatus(q.ID) != store.PartnerRequested {
				t.Error("somebody who was blocked has a partner approved")
			}
			noError(t, w.accounts.Unblock(ctx, w.ada, w.bea.ID))

			// It can be declined, withdrawn, and expires.
			id = waits(t, w.reg.Partners.Approve(ctx, w.ada, q.ID))
			refusedAs(t, registry.CodeInvalid, all.Decline(ctx, w.bea, id, ""))
			noError(t, all.Decline(ctx, w.bea, id, "not yet"))
			id = waits(t, w.reg.Partners.Approve(ctx, w.ada, q.ID))
			noError(t, all.Withdraw(ctx, w.ada, id))
			id = waits(t, w.reg.Partners.Approve(ctx, w.ada, q.ID))
			w.clock.Advance(7*24*time.Hour + time.Second)
			refusedAs(t, registry.CodeConflict, all.Confirm(ctx, w.bea, id))
			noError(t, all.ExpireDue(ctx))
			if w.state(id).Status != store.ConfirmationExpired || w.partnerStatus(q.ID) != store.PartnerRequested || w.mailedAbout(testEmail, "expired") != 1 {
				t.Errorf("after its time: %+v", w.state(id))
			}
		})
	}
}

// Each kind of action waits by its own setting, and does what was asked once it is confirmed; what cannot be done is refused before it waits.
func TestEveryKindWaits(t *testing.T) {
	t.Parallel()
	w := newTwoPeople(t, storetest.SQLite, registry.ConfirmationKinds()...)
	ctx, all := t.Context(), w.reg.Confirmations
	route := partners.NewRoute{FromPartnerID: w.first.id, ToPartnerID: w.other.id, EventType: queueType}
	sub := store.Subscription{PartnerID: w.first.id, EndpointID: w.first.endpoint, Name: "More", Status: store.SubscriptionRequested}
	client := store.Client{PartnerID: w.first.id, Name: "Robot", Status: store.ClientActive, AuthMethod: "private_key_jwt", RequestedScopes: store.Strings{identity.ScopeEventsConsume}}
	w.write(func(tx *store.Tx) error {
		return errors.Join(tx.InsertSubscription(ctx, &sub), tx.InsertClient(ctx, &client))
	})
	for _, one := range []struct {
		name string
		ask  func() error
		done func() bool
	}{
		{"route", func() error { _, err := w.reg.Routes.Add(ctx, w.ada, route); return err }, func() bool { return len(must(w.db.Routes(ctx))(t)) == 1 }},
		{"subscription", func() error { return w.reg.Subscriptions.Approve(ctx, w.ada, sub.ID) }, func() bool {
			return must(w.db.Subscription(ctx, sub.ID))(t).Status == store.SubscriptionApproved
		}},
		{"client", func() error {
			_, err := w.reg.Clients.Decide(ctx, w.ada, client.ID, identity.Decision{Approve: true})
			return err
		}, func() bool { return len(must(w.db.Client(ctx, client.ID))(t).Scopes) == 1 }},
		{"settings", func() error { return w.set(w.ada, []string{registry.TwoRoutes}, registry.PolicyOff) }, func() bool {
			return !must(all.On(ctx, registry.TwoRoutes))(t)
		}},
	} {
		id := waits(t, one.ask())
		if one.done() {
			t.Errorf("%s: done before it is confirmed", one.name)
		}
		noError(t, all.Confirm(ctx, w.bea, id))
		if !one.done() {
			t.Errorf("%s: confirmed, and not done", one.name)
		}
	}
	route.EventType = "no type"
	_, err := w.reg.Routes.Add(ctx, w.ada, route)
	refusedAs(t, registry.CodeInvalid, err)
	refusedAs(t, registry.CodeConflict, w.reg.Partners.Approve(ctx, w.ada, w.first.id))
	if err := w.reg.Subscriptions.Suspend(ctx, w.ada, sub.ID, "to stop it"); err != nil {
		t.Errorf("what stops data waits: %v", err)
	}
}

// With changes of settings at ease, one person still does not turn off what waits, nor turn it on where nobody could confirm.
func TestTurningOffNeedsTwo(t *testing.T) {
	t.Parallel()
	w := newTwoPeople(t, storetest.SQLite, registry.TwoRoutes)
	id := waits(t, w.set(w.ada, []string{registry.TwoRoutes}, registry.PolicyOff))
	noError(t, w.set(w.bea, []string{registry.TwoDiscards}, registry.PolicyOn)) // does not wait
	refusedAs(t, registry.CodeConflict, w.reg.Confirmations.Confirm(t.Context(), w.bea, id))
	if s := w.state(id); s.Status != store.ConfirmationStale || !must(w.reg.Confirmations.On(t.Context(), registry.TwoRoutes))(t) {
		t.Errorf("settings that changed meanwhile: %+v", s)
	}
	noError(t, w.accounts.Block(t.Context(), w.ada, w.bea.ID))
	refusedAs(t, registry.CodeInvalid, w.set(w.ada, []string{registry.TwoApprovals}, registry.PolicyOn))
}

// The pages lead who did something to what waits, and a second person to what to decide; the badge counts what its page lists.
func TestSecondPersonPages(t *testing.T) {
	t.Parallel()
	w := newTwoPeople(t, storetest.SQLite, registry.TwoApprovals, registry.TwoDiscards, registry.TwoRoutes)
	p := w.registered("Zuid")
	page := "/admin/partners/" + p.ID
	wantPage(t, w.admin.get(page), http.StatusOK, "Reason for the second person")
	wantPage(t, w.admin.post(page+"/approve", nil), http.StatusUnprocessableEntity, "Give a reason for the second person")
	at := redirected(t, w.admin.post(page+"/approve", url.Values{"reason": {"I called them"}}))
	wantPage(t, w.admin.get(at), http.StatusOK, "Nothing changed yet", "Approve the registration of Zuid", "I called them", "Robin administrator", "Withdraw this action")
	wantPage(t, w.second.get(page), http.StatusOK, "waits here for a second person", `href="`+at+`"`)
	wantStatus(t, w.admin.post(at+"/confirm", nil), http.StatusConflict)
	waiting := match(t, `(?s)href="/admin/confirmations\?status=waiting">[^<]+</a>\s*</p>\s*<p class="schakel-tile__value">.*?</li>`, text(w.second.get("/admin")))
	wantWords(t, waiting, "Second person", ">1<")
	if n := rowsListed(t, w.second, "/admin/confirmations?status=waiting"); n != 1 {
		t.Errorf("the tile counts 1, its list %d", n)
	}

	dead := []string{w.failed(w.first, store.DeliveryDead, "rejected").ID, w.failed(w.first, store.DeliveryDead, "rejected").ID, w.failed(w.other, store.DeliveryDead, "rejected").ID}
	one := redirected(t, w.admin.post("/admin/deliveries/"+dead[0]+"/discard", url.Values{"reason": {"a test"}}))
	some := redirected(t, w.admin.post("/admin/dead-letters", url.Values{"action": {"discard"}, "id": dead[:2], "reason": {"two tests"}, "asked": {"1"}}))
	every := redirected(t, w.admin.post("/admin/dead-letters/all", url.Values{
		"action": {"discard"}, "reason": {"all of them"}, "counted": {w.clock.Now().UTC().Format(time.RFC3339Nano)}, "partner": {w.other.id},
	}))
	for _, id := range dead {
		if d := w.delivery(id); d.Status != store.DeliveryDead {
			t.Errorf("discarded before it is confirmed: %s", d.Status)
		}
	}
	list := wantPage(t, w.second.get("/admin/confirmations?status=waiting"), http.StatusOK, "4 actions", "Discard 2 deliveries.")
	wantWords(t, list, `href="/admin/confirmations?status=waiting"`)
	wantRedirect(t, w.second.post(every+"/confirm", nil), every)
	wantRedirect(t, w.second.post(one+"/confirm", nil), one)
	if d := w.delivery(dead[0]); d.Status != store.DeliveryDiscarded {
		t.Errorf("after the confirmation it is %s", d.Status)
	}
	wantPage(t, w.second.post(some+"/confirm", nil), http.StatusConflict, "out of date") // one of the two is discarded
	wantPage(t, w.second.get(some), http.StatusOK, "Out of date")
	wantPage(t, w.second.post(at+"/decline", nil), http.StatusUnprocessableEntity, `href="#decline-reason"`)
	wantRedirect(t, w.second.post(at+"/decline", url.Values{"reason": {"who is that?"}}), at)
	wantPage(t, w.admin.get(at), http.StatusOK, "Declined", "who is that?")
	wantPage(t, w.admin.get("/admin/audit"), http.StatusOK, "asked a second person to confirm", "declined what Ada Admin asked")

	form := url.Values{"from": {w.first.id}, "to": {w.other.id}, "eventType": {queueType}}
	wantPage(t, w.admin.post("/admin/routes", form), http.StatusUnprocessableEntity, "Give a reason for the second person")
	form.Set("reason", "they agreed")
	at = redirected(t, w.admin.post("/admin/routes", form))
	wantPage(t, w.second.get("/admin/routes"), http.StatusOK, `href="`+at+`"`)
	wantRedirect(t, w.admin.post(at+"/withdraw", nil), at)
	operator := w.colleague(t, store.RoleOperator, "")
	wantStatus(t, operator.get(at), http.StatusOK)
	wantStatus(t, w.colleague(t, store.RoleAuditor, "").post(at+"/confirm", nil), http.StatusForbidden)
}

// Every route that may discard, approve, open a route or change settings is known here with what makes it wait, and machines are refused.
func TestNothingPassesTheSecondPerson(t *testing.T) {
	t.Parallel()
	w, _ := newRolesWorld(t)
	held := []string{
		"POST /admin/partners/:id/approve", "POST /admin/subscriptions/:id/approve", "POST /admin/clients/:id/approve", "POST /admin/endpoints/:id/move/approve",
		"POST /admin/routes", "POST /admin/deliveries/:id/discard", "POST /admin/quarantine/:id/discard", "POST /admin/amqp/messages/:id/drop",
		"POST /admin/amqp/messages/all/:do", "POST /admin/errors", "POST /admin/errors/all", "POST /admin/dead-letters", "POST /admin/dead-letters/all",
		"POST /admin/deliveries", "POST /admin/deliveries/all",
		"POST /admin/settings", "POST /admin/settings/revert", "POST /admin/settings/strict", "POST /admin/settings/import/confirmation",
	}
	free := map[string]string{ // what needs one of the permissions and lets one person act, with the reason
		"reject": "stops", "decline": "leaves things as they are", "suspend": "stops", "end": "stops", "removal": "stops", "resume": "gives back what was approved",
		"confirm": "of a registration: it is approved after that", "/admin/settings/import": "shows what would change", "/admin/installation": "is no setting of the chain",
	}
	kinds := []registry.Permission{registry.DecideApprovals, registry.ChangeRoutes, registry.DiscardDeliveries, registry.ChangeSettings}
	for _, r := range w.app.Echo.Routes() {
		route, ok := w.app.RouteOf(r.Method, r.Path)
		name := r.Method + " " + r.Path
		if !ok || r.Method != http.MethodPost || !slices.ContainsFunc(route.Needs, func(p registry.Permission) bool { return slices.Contains(kinds, p) }) || slices.Contains(held, name) {
			continue
		}
		known := false
		for part := range free {
			known = known || strings.HasSuffix(r.Path, part) || strings.HasPrefix(r.Path, part)
		}
		if !known {
			t.Errorf("%s may do something that two people must do: see registry.Config.Hold, or say here why one is enough", name)
		}
	}
	all := w.reg.Confirmations
	state := must(w.reg.Profile.Load(t.Context()))(t)
	values := state.Values()
	values["access.two_people_discards"] = registry.PolicyOn
	_, _, err := w.reg.Profile.Save(t.Context(), registry.SystemActor(), profile.ProfileChange{Version: state.Version, Values: values})
	noError(t, err)
	refusedAs(t, registry.CodeSecondPerson, all.RefuseMachine(t.Context(), registry.TwoDiscards))
	noError(t, all.RefuseMachine(t.Context(), registry.TwoRoutes))
	machine := registry.Actor{Kind: registry.ActorClient, ID: "cli_1", Administrator: true}
	done := false
	refusedAs(t, registry.CodeSecondPerson, all.Hold(t.Context(), machine, registry.Ask{Kind: registry.TwoDiscards, Action: "x"}, func(context.Context) error {
		done = true
		return nil
	}))
	if done {
		t.Error("a machine did it")
	}
}
