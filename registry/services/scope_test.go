package services

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"schakel/registry"
	"schakel/registry/contracts"
	"schakel/registry/identity"
	"schakel/registry/partners"
	"schakel/store"
)

// G7: another partner's id, in whatever method takes one, is answered as if it did not exist, and changes nothing.
func TestAnothersRowsAreNotThere(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		p, actor, other, eve := w.twoPartners(t)
		w.catalogue(t)
		client, _, err := w.Clients.Create(ctx, actor, "", publisher())
		must(t, err)
		e := w.endpoint(t, actor)
		sub := w.subscribe(t, actor, e.ID, enrolled)
		must(t, w.Subscriptions.Approve(ctx, w.admin, sub.ID))
		w.dataset(t, buildings())
		_, err = w.Subscriptions.RequestDataset(ctx, actor, partners.DatasetRequest{Dataset: "buildings", EndpointID: w.files(t, actor).ID, Purpose: "plan visits", Area: partners.AreaInput{Text: square}})
		must(t, err)
		mine, err := w.Datasets.Followers(ctx, actor.Scope(), "buildings")
		must(t, err)
		area := mine[0].Area
		drop := func(_ any, err error) error { return err }
		for _, who := range []registry.Actor{eve, {Kind: registry.ActorAccount, Name: "Nobody"}} {
			for name, try := range map[string]func(context.Context, registry.Scope) error{
				"partner": func(ctx context.Context, s registry.Scope) error { return drop(w.Partners.Get(ctx, s, p.ID)) },
				"contact": func(ctx context.Context, _ registry.Scope) error {
					return drop(w.Partners.UpdateContact(ctx, who, p.ID, partners.Contact{Name: "Eve", Email: "e@x.nl"}))
				},
				"client": func(ctx context.Context, s registry.Scope) error { return drop(w.Clients.Get(ctx, s, client.ID)) },
				"client for another": func(ctx context.Context, _ registry.Scope) error {
					_, _, err := w.Clients.Create(ctx, who, p.ID, publisher())
					return err
				},
				"update client": func(ctx context.Context, _ registry.Scope) error {
					return drop(w.Clients.Update(ctx, who, client.ID, publisher()))
				},
				"rotate secret": func(ctx context.Context, _ registry.Scope) error {
					_, _, err := w.Clients.RotateSecret(ctx, who, client.ID)
					return err
				},
				"revoke client": func(ctx context.Context, _ registry.Scope) error { return w.Clients.Revoke(ctx, who, client.ID, "") },
				"endpoint":      func(ctx context.Context, s registry.Scope) error { return drop(w.Endpoints.Get(ctx, s, e.ID)) },
				"endpoint for another": func(ctx context.Context, _ registry.Scope) error {
					return drop(w.Endpoints.Create(ctx, who, p.ID, webhook()))
				},
				"update endpoint": func(ctx context.Context, _ registry.Scope) error {
					return drop(w.Endpoints.Update(ctx, who, e.ID, webhook()))
				},
				"pause endpoint":  func(ctx context.Context, _ registry.Scope) error { return w.Endpoints.Pause(ctx, who, e.ID, "") },
				"resume endpoint": func(ctx context.Context, _ registry.Scope) error { return w.Endpoints.Resume(ctx, who, e.ID) },
				"suspend endpoint": func(ctx context.Context, _ registry.Scope) error {
					return w.Endpoints.Suspend(ctx, who, e.ID, "because")
				},
				"end endpoint":         func(ctx context.Context, _ registry.Scope) error { return w.Endpoints.End(ctx, who, e.ID, "") },
				"subscription":         func(ctx context.Context, s registry.Scope) error { return drop(w.Subscriptions.Get(ctx, s, sub.ID)) },
				"grant":                func(ctx context.Context, s registry.Scope) error { return drop(w.Subscriptions.Grant(ctx, s, sub.ID)) },
				"approve subscription": func(ctx context.Context, _ registry.Scope) error { return w.Subscriptions.Approve(ctx, who, sub.ID) },
				"change subscription": func(ctx context.Context, _ registry.Scope) error {
					filters := `[{"exact":{"subject":"1"}}]`
					return w.Subscriptions.Change(ctx, who, sub.ID, partners.SubscriptionChange{Filters: &filters})
				},
				"reject subscription": func(ctx context.Context, _ registry.Scope) error {
					return w.Subscriptions.Reject(ctx, who, sub.ID, "because")
				},
				"suspend subscription": func(ctx context.Context, _ registry.Scope) error {
					return w.Subscriptions.Suspend(ctx, who, sub.ID, "because")
				},
				"resume subscription":  func(ctx context.Context, _ registry.Scope) error { return w.Subscriptions.Resume(ctx, who, sub.ID) },
				"pause subscription":   func(ctx context.Context, _ registry.Scope) error { return w.Subscriptions.Pause(ctx, who, sub.ID, "") },
				"unpause subscription": func(ctx context.Context, _ registry.Scope) error { return w.Subscriptions.Unpause(ctx, who, sub.ID) },
				"end subscription":     func(ctx context.Context, _ registry.Scope) error { return w.Subscriptions.End(ctx, who, sub.ID, "") },
				"change area": func(ctx context.Context, _ registry.Scope) error {
					return drop(w.Subscriptions.ChangeArea(ctx, who, sub.ID, partners.AreaChange{}))
				},
				"area": func(ctx context.Context, s registry.Scope) error {
					return drop(w.Datasets.Area(ctx, s, "buildings", area.ID))
				},
				"contract it never had": func(ctx context.Context, _ registry.Scope) error {
					return w.Contracts.DeleteDraft(ctx, who, "student-events", "1.0.0")
				},
				"metadata of a contract": func(ctx context.Context, _ registry.Scope) error {
					return drop(w.Contracts.Update(ctx, who, "student-events", contractInput("student-events")))
				},
			} {
				wantCode(t, who.Name+": "+name, registry.CodeNotFound, try(ctx, who.Scope()))
			}
			wantForbidden(t, w, who, p.ID, client.ID)
			wantEmptyLists(t, w, who.Scope(), p.ID)
		}
		if now, _ := w.db.Client(ctx, client.ID); now.TokenVersion != client.TokenVersion || now.Status != store.ClientActive {
			t.Error("the client was changed")
		}
		if now, _ := w.db.Endpoint(ctx, e.ID); now.ConfigVersion != e.ConfigVersion {
			t.Error("the endpoint was changed")
		}
		if now, _ := w.db.Subscription(ctx, sub.ID); now.Status != store.SubscriptionApproved {
			t.Error("the subscription was changed")
		}
		if list, _ := w.Endpoints.List(ctx, registry.ScopeOf(other.ID), ""); len(list) != 0 {
			t.Error("another's endpoint is listed")
		}
		if list, _ := w.Endpoints.List(ctx, actor.Scope(), ""); len(list) != 2 {
			t.Error("one's own endpoints are not listed")
		}
	})
}

// wantForbidden tries what only an administrator can do.
func wantForbidden(t *testing.T, w *world, who registry.Actor, partnerID, clientID string) {
	t.Helper()
	ctx := t.Context()
	_, _, lists := w.Partners.List(ctx, who, store.PartnerFilter{})
	_, waiting := w.Clients.Waiting(ctx, who)
	_, grant := w.Clients.Grant(ctx, who, clientID)
	_, decide := w.Clients.Decide(ctx, who, clientID, identity.Decision{Approve: true})
	_, _, mails := w.Mails.List(ctx, who, store.Page{})
	_, mail := w.Mails.Get(ctx, who, "mal_x")
	for name, err := range map[string]error{
		"list partners": lists, "waiting": waiting, "grant": grant, "decide": decide, "mails": mails, "mail": mail,
		"approve": w.Partners.Approve(ctx, who, partnerID), "end": w.Partners.End(ctx, who, partnerID, "because"),
	} {
		wantCode(t, who.Name+": "+name, registry.CodeForbidden, err)
	}
}

// wantEmptyLists asks each list for the rows of another partner.
func wantEmptyLists(t *testing.T, w *world, s registry.Scope, partnerID string) {
	t.Helper()
	ctx := t.Context()
	clients, err1 := w.Clients.List(ctx, s, partnerID)
	endpoints, err2 := w.Endpoints.List(ctx, s, partnerID)
	subs, n, err3 := w.Subscriptions.List(ctx, s, store.SubscriptionFilter{PartnerID: partnerID})
	entries, m, err4 := w.Audit.List(ctx, s, store.AuditFilter{PartnerID: partnerID})
	if err := errors.Join(err1, err2, err3, err4); err != nil || len(clients)+len(endpoints)+len(subs)+len(entries)+n+m != 0 {
		t.Errorf("%v lists %d clients, %d endpoints, %d subscriptions, %d entries, %v", s, len(clients), len(endpoints), n, m, err)
	}
	mine, _, err := w.Subscriptions.List(ctx, s, store.SubscriptionFilter{})
	if err != nil || len(mine) != 0 {
		t.Errorf("without a filter %v lists %d subscriptions, %v", s, len(mine), err)
	}
	audit, _, err := w.Audit.List(ctx, s, store.AuditFilter{})
	for _, a := range audit {
		if a.PartnerID != s.PartnerID {
			t.Errorf("%v reads %q, %v", s, a.Action, err)
		}
	}
}

// No secret and no token is in any row, mail or entry in clear.
//
// Rules: EDU-02, EDU-14.
func TestSecretsAreNotInClear(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		_, actor := w.partner(t, "Noord", goodOIN, "anna@noord.example")
		client, secret, err := w.Clients.Create(ctx, actor, "", publisher())
		must(t, err)
		e := w.endpoint(t, actor)
		row, err := w.db.Client(ctx, client.ID)
		must(t, err)
		wantAbsent(t, row, secret)
		stored, err := w.db.Endpoint(ctx, e.ID)
		must(t, err)
		wantAbsent(t, stored, webhook().TokenSecret)
		entries, _, err := w.db.Audits(ctx, store.AuditFilter{})
		must(t, err)
		wantAbsent(t, entries, secret, webhook().TokenSecret, goodPassword)
		mails, _, err := w.db.Mails(ctx, store.Page{})
		must(t, err)
		wantAbsent(t, mails, secret, webhook().TokenSecret, goodPassword)
	})
}

// sightOf reports whether an actor sees the contract student-events, the same in every way.
func (w *world) sightOf(t *testing.T, actor registry.Actor) bool {
	t.Helper()
	ctx := t.Context()
	reader, err := w.Contracts.Reader(ctx, actor)
	must(t, err)
	const id = "student-events"
	seen := map[string]bool{}
	list, total, err := w.Contracts.List(ctx, reader, store.ContractFilter{})
	must(t, err)
	seen["list"] = total > 0 && slices.ContainsFunc(list, func(c contracts.ContractSummary) bool { return c.ID == id })
	_, err = w.Contracts.Get(ctx, reader, id)
	seen["contract"] = err == nil
	_, err = w.Contracts.Versions(ctx, reader, id)
	seen["versions"] = err == nil
	_, err = w.Contracts.Version(ctx, reader, id, registry.Latest)
	seen["latest"] = err == nil
	_, _, err = w.Contracts.Document(ctx, reader, id, "1.0.0")
	seen["document"] = err == nil
	_, _, err = w.Contracts.Original(ctx, reader, id, "1.0.0")
	seen["original"] = err == nil
	_, err = w.Contracts.Compare(ctx, reader, id, "1.1.0", "1.0.0")
	seen["changes"] = err == nil
	_, err = w.Contracts.EventTypes(ctx, reader, id, "1.0.0")
	seen["event types of it"] = err == nil
	types, err := w.EventTypes.Catalogue(ctx, reader)
	must(t, err)
	seen["catalogue"] = len(types) == 2
	_, err = w.EventTypes.Get(ctx, reader, enrolled)
	seen["event type"] = err == nil
	for way, ok := range seen {
		if ok != seen["contract"] {
			t.Errorf("%s sees the contract: %t, but its %s: %t", actor.Name, seen["contract"], way, ok)
		}
	}
	return seen["contract"]
}

// Each visibility shows a contract to the same readers in every way there is, and lets those subscribe.
//
// Rules: EDU-06d.
func TestVisibilityHoldsEverywhere(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.catalogue(t)
		_, err := w.Contracts.Upload(ctx, w.admin, "student-events", contracts.Upload{Content: asyncDocument("1.1.0", enrolled, leftEvent)})
		must(t, err)
		_, err = w.publish(ctx, w.admin, "student-events", "1.1.0", "")
		must(t, err)
		named, byName, _, stranger := w.twoPartners(t)
		owner, asOwner := w.partner(t, "Uitgever Oost", "00000003423456780000", "oost@oost.example")
		readers := map[string]registry.Actor{
			"visitor": {}, "named": byName, "stranger": stranger, "owner": asOwner,
			"own": {Kind: registry.ActorClient, PartnerID: w.own.ID}, "admin": w.admin,
		}
		in := contractInput("student-events")
		in.OwnerPartnerID, in.Agreement = owner.ID, "Chain board"
		_, err = w.Contracts.Update(ctx, w.admin, "student-events", in)
		must(t, err)
		endpoints := map[string]string{}
		for _, who := range []string{"named", "stranger", "owner"} {
			endpoints[who] = w.endpoint(t, readers[who]).ID
		}
		for _, tt := range []struct {
			visibility string
			sees       string
		}{
			{store.VisibilityInternal, "owner own admin"},
			{store.VisibilityNamed, "named owner own admin"},
			{store.VisibilityPublic, "visitor named stranger owner own admin"},
			{store.VisibilityPartners, "named stranger owner own admin"},
		} {
			change := contracts.VisibilityChange{Visibility: tt.visibility, PartnerIDs: []string{named.ID}, Reason: "for the test", AcceptLoss: true}
			if c, err := w.Contracts.Get(ctx, registry.Reader{Administrator: true}, "student-events"); err != nil || c.Visibility != tt.visibility {
				_, err = w.Contracts.SetVisibility(ctx, w.admin, "student-events", change)
				must(t, err)
			}
			for who, actor := range readers {
				actor.Name = who
				want := slices.Contains(strings.Fields(tt.sees), who)
				if got := w.sightOf(t, actor); got != want {
					t.Errorf("%s: %s sees it: %t", tt.visibility, who, got)
				}
				if id := endpoints[who]; id != "" {
					w.wantSubscribes(t, tt.visibility+", "+who, actor, id, want)
				}
			}
		}
	})
}

// wantSubscribes asks for a subscription and takes it back.
func (w *world) wantSubscribes(t *testing.T, what string, actor registry.Actor, endpointID string, want bool) {
	t.Helper()
	sub, err := w.Subscriptions.Request(t.Context(), actor, partners.SubscriptionRequest{EndpointID: endpointID, Types: []string{enrolled}, Purpose: "testing"})
	if (err == nil) != want {
		t.Errorf("%s: subscribes: %v", what, err)
	}
	if err == nil {
		must(t, w.Subscriptions.End(t.Context(), actor, sub.ID, ""))
	}
}

// A contract becomes narrower only after a warning who loses sight, and each step is recorded with its reason.
//
// Rules: EDU-06d.
func TestNarrowerNeedsAcceptance(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.catalogue(t) // for partners
		first, actor, other, _ := w.twoPartners(t)
		sub := w.subscribe(t, actor, w.endpoint(t, actor).ID, enrolled)
		must(t, w.Subscriptions.Approve(ctx, w.admin, sub.ID))
		set := func(in contracts.VisibilityChange) error {
			_, err := w.Contracts.SetVisibility(ctx, w.admin, "student-events", in)
			return err
		}
		for what, in := range map[string]contracts.VisibilityChange{
			"no reason": {Visibility: store.VisibilityPublic}, "unknown": {Visibility: "all", Reason: "because"},
			"nobody named":  {Visibility: store.VisibilityNamed, Reason: "because"},
			"own by name":   {Visibility: store.VisibilityNamed, Reason: "because", PartnerIDs: []string{w.own.ID}},
			"unknown named": {Visibility: store.VisibilityNamed, Reason: "because", PartnerIDs: []string{"ptn_none"}, AcceptLoss: true},
		} {
			wantCode(t, what, registry.CodeInvalid, set(in))
		}
		wantCode(t, "as it is", registry.CodeConflict, set(contracts.VisibilityChange{Visibility: store.VisibilityPartners, Reason: "because"}))
		must(t, set(contracts.VisibilityChange{Visibility: store.VisibilityPublic, Reason: "the chain board said so"}))
		if got := w.lastSentence(t); !strings.Contains(got, "from public to") && !strings.Contains(got, "from partners to public: “the chain board said so”") {
			t.Errorf("told as %s", got)
		}
		narrow := contracts.VisibilityChange{Visibility: store.VisibilityNamed, PartnerIDs: []string{other.ID, other.ID}, Reason: "it leaked"}
		err := set(narrow)
		var loss *contracts.SightLossError
		if !errors.As(err, &loss) || !loss.Everybody || len(loss.Partners) != 1 || loss.Partners[0].ID != first.ID || loss.Partners[0].Subscriptions != 1 {
			t.Fatalf("got %v", err)
		}
		wantCode(t, "without acceptance", registry.CodeConflict, err)
		shown, err := w.Contracts.SightLoss(ctx, w.admin, "student-events", narrow)
		if err != nil || len(shown.Partners) != 1 {
			t.Errorf("preview %v, %v", shown, err)
		}
		_, err = w.Contracts.SightLoss(ctx, actor, "student-events", narrow)
		wantCode(t, "a partner looks who loses", registry.CodeForbidden, err)
		narrow.AcceptLoss = true
		must(t, set(narrow))
		named, err := w.Contracts.NamedPartners(ctx, registry.Reader{Administrator: true}, "student-events")
		if err != nil || len(named) != 1 || named[0].ID != other.ID {
			t.Errorf("named %v, %v", named, err)
		}
		// What was approved goes on; what was asked for is not approved any more.
		again, err := w.Subscriptions.Get(ctx, registry.Scope{All: true}, sub.ID)
		if err != nil || again.Status != store.SubscriptionApproved {
			t.Errorf("the subscription is %s, %v", again.Status, err)
		}
		must(t, set(contracts.VisibilityChange{Visibility: store.VisibilityPartners, Reason: "all may see it"}))
		asked := w.subscribe(t, actor, w.endpoint(t, actor).ID, leftEvent)
		must(t, set(narrow))
		wantCode(t, "approve what is out of sight", registry.CodeConflict, w.Subscriptions.Approve(ctx, w.admin, asked.ID))
	})
}

func TestOnlyOwnOrganisationShows(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := context.WithoutCancel(t.Context())
		p, actor, _, stranger := w.twoPartners(t)
		in := contractInput("noord-events")
		in.OwnerPartnerID = p.ID
		_, err := w.Contracts.Create(ctx, w.admin, in)
		must(t, err)
		change := contracts.VisibilityChange{Visibility: store.VisibilityPublic, Reason: "because"}
		for name, tt := range map[string]struct {
			actor registry.Actor
			code  string
		}{
			"owner": {actor, registry.CodeForbidden}, "stranger": {stranger, registry.CodeNotFound}, "own client": {registry.Actor{Kind: registry.ActorClient, PartnerID: w.own.ID}, registry.CodeNotFound},
			"nobody": {registry.Actor{}, registry.CodeNotFound},
		} {
			_, err := w.Contracts.SetVisibility(ctx, tt.actor, "noord-events", change)
			wantCode(t, name, tt.code, err)
		}
		_, err = w.Contracts.SetVisibility(ctx, w.admin, "none", change)
		wantCode(t, "unknown", registry.CodeNotFound, err)
		_, err = w.Contracts.SetVisibility(ctx, w.admin, "noord-events", change)
		wantCode(t, "administrator", "", err)
	})
}

// Rules: EDU-06d.
func TestContractVisibility(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		p, actor, _, stranger := w.twoPartners(t)
		for _, visibility := range []string{"public", "partners", "internal"} {
			in := contractInput(visibility)
			in.Visibility = visibility
			if visibility == "internal" {
				in.OwnerPartnerID = p.ID
			}
			_, err := w.Contracts.Create(ctx, w.admin, in)
			must(t, err)
			for _, v := range []string{"1.0.0", "2.0.0-rc.1", "3.0.0"} {
				_, err = w.Contracts.Upload(ctx, w.admin, visibility, contracts.Upload{Content: asyncDocument(v, "nl.example.thing."+visibility)})
				must(t, err)
				if v != "3.0.0" {
					_, err = w.publish(ctx, w.admin, visibility, v, "")
					must(t, err)
				}
			}
		}
		_, err := w.Contracts.Create(ctx, w.admin, contracts.ContractInput{ID: "empty", Kind: "openapi", Title: "Empty", Visibility: "public"})
		must(t, err)
		pending := registry.Actor{Kind: registry.ActorAccount, PartnerID: w.register(t, "Wacht", "00000003223456780000", "x@wacht.example").ID}
		for name, tt := range map[string]struct {
			actor registry.Actor
			ids   []string
			types int
		}{
			"anyone":       {registry.Actor{}, []string{"public"}, 1},
			"not approved": {pending, []string{"public"}, 1},
			"partner":      {stranger, []string{"partners", "public"}, 2},
			"owner":        {actor, []string{"internal", "partners", "public"}, 3},
			"own client":   {registry.Actor{Kind: registry.ActorClient, PartnerID: w.own.ID}, []string{"internal", "partners", "public"}, 3},
			"admin":        {w.admin, []string{"empty", "internal", "partners", "public"}, 3},
		} {
			reader, err := w.Contracts.Reader(ctx, tt.actor)
			must(t, err)
			list, total, err := w.Contracts.List(ctx, reader, store.ContractFilter{})
			must(t, err)
			var ids []string
			for _, c := range list {
				ids = append(ids, c.ID)
				if c.ID != "empty" && c.Latest.Version != "1.0.0" {
					t.Errorf("%s: latest of %s is %s", name, c.ID, c.Latest.Version)
				}
			}
			slices.Sort(ids)
			if !slices.Equal(ids, tt.ids) || total != len(tt.ids) {
				t.Errorf("%s sees %v of %d", name, ids, total)
			}
			for _, id := range []string{"public", "partners", "internal", "empty"} {
				_, err := w.Contracts.Get(ctx, reader, id)
				if slices.Contains(tt.ids, id) != (err == nil) {
					t.Errorf("%s, %s: %v", name, id, err)
				}
				_, err = w.Contracts.Version(ctx, reader, id, "3.0.0")
				mayDraft := reader.Administrator && id != "empty" || name == "owner" && id == "internal"
				if mayDraft != (err == nil) {
					t.Errorf("%s, draft of %s: %v", name, id, err)
				}
			}
			if types, err := w.EventTypes.Catalogue(ctx, reader); err != nil || len(types) != tt.types {
				t.Errorf("%s: %d types, %v", name, len(types), err)
			}
			_, err = w.EventTypes.Get(ctx, reader, "nl.example.thing.partners")
			if (tt.types > 1) != (err == nil) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// Only who maintains a contract changes it (EDU-21).
//
// Rules: EDU-21.
func TestOnlyTheOwnerPublishes(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		p, actor, _, stranger := w.twoPartners(t)
		in := contractInput("noord-events")
		in.OwnerPartnerID = p.ID
		_, err := w.Contracts.Create(ctx, w.admin, in)
		must(t, err)
		own := registry.Actor{Kind: registry.ActorClient, Name: "Pipeline", PartnerID: w.own.ID}
		if _, err := w.Contracts.Create(ctx, own, contractInput("office-events")); err != nil {
			t.Errorf("a client of the own organisation: %v", err)
		}
		_, err = w.Contracts.Create(ctx, registry.Actor{Kind: registry.ActorVisitor}, contractInput("mine"))
		wantCode(t, "a visitor creates", registry.CodeForbidden, err)
		for name, tt := range map[string]struct {
			actor registry.Actor
			id    string
			code  string
		}{
			"owner": {actor, "noord-events", ""}, "stranger": {stranger, "noord-events", registry.CodeNotFound},
			"own client": {own, "noord-events", registry.CodeNotFound}, "own client on own": {own, "office-events", ""},
			"partner on own": {actor, "office-events", registry.CodeNotFound}, "nobody": {registry.Actor{}, "office-events", registry.CodeNotFound},
		} {
			content := asyncDocument("1.0.0", "nl.example.thing."+tt.id[:5])
			_, err := w.Contracts.Upload(ctx, tt.actor, tt.id, contracts.Upload{Content: content})
			wantCode(t, name+" uploads", tt.code, err)
		}
		_, err = w.publish(ctx, stranger, "noord-events", "1.0.0", "")
		wantCode(t, "stranger publishes", registry.CodeNotFound, err)
		_, err = w.publish(ctx, own, "office-events", "1.0.0", "")
		wantCode(t, "own client publishes", "", err)
		asked, err := w.publish(ctx, actor, "noord-events", "1.0.0", "")
		if wantCode(t, "owner publishes", "", err); asked.RequestedAt.IsZero() {
			t.Error("nobody is asked")
		}
		wider := in
		wider.Visibility, wider.Title, wider.OwnerPartnerID = store.VisibilityPublic, "Noord", ""
		c, err := w.Contracts.Update(ctx, actor, "noord-events", wider)
		if err != nil || c.Title != "Noord" || c.Visibility != store.VisibilityPartners || c.OwnerPartnerID != p.ID {
			t.Errorf("owner changed more than the words: %+v, %v", c, err)
		}
	})
}
