package services

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"schakel/registry"
	"schakel/registry/contracts"
	"schakel/registry/identity"
	"schakel/registry/partners"
	"schakel/store"
)

// Rules: EDU-07, EDU-13.
func TestSubscriptionRequest(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		p, actor, _, stranger := w.twoPartners(t)
		w.catalogue(t)
		e, theirs := w.endpoint(t, actor), w.endpoint(t, stranger)
		good := partners.SubscriptionRequest{EndpointID: e.ID, Types: []string{enrolled}, Purpose: "keep our records right"}
		for name, tt := range map[string]struct {
			field string
			spoil func(*partners.SubscriptionRequest)
		}{
			"no types":           {"types", func(r *partners.SubscriptionRequest) { r.Types = nil }},
			"unknown type":       {"types", func(r *partners.SubscriptionRequest) { r.Types = []string{"nl.example.nothing"} }},
			"too many types":     {"types", func(r *partners.SubscriptionRequest) { r.Types = manyTypes(201) }},
			"no purpose":         {"purpose", func(r *partners.SubscriptionRequest) { r.Purpose = "" }},
			"no endpoint":        {"endpoint", func(r *partners.SubscriptionRequest) { r.EndpointID = "" }},
			"unknown endpoint":   {"endpoint", func(r *partners.SubscriptionRequest) { r.EndpointID = "ept_x" }},
			"another's endpoint": {"endpoint", func(r *partners.SubscriptionRequest) { r.EndpointID = theirs.ID }},
		} {
			in := good
			tt.spoil(&in)
			_, err := w.Subscriptions.Request(ctx, actor, in)
			wantOneField(t, name, tt.field, err)
		}
		s, err := w.Subscriptions.Request(ctx, actor, good)
		if err != nil || s.Status != store.SubscriptionRequested || s.PartnerID != p.ID {
			t.Fatalf("got %+v, %v", s, err)
		}
		if row, _ := w.db.Subscription(ctx, s.ID); row.Accepting || row.Sending {
			t.Error("a request gets events")
		}
		if m := w.mailsTo(t, "admin@example.nl")[0]; !strings.Contains(m.Body, enrolled) {
			t.Errorf("administrators read %q", m.Body)
		}
		_, err = w.Subscriptions.Request(ctx, actor, good)
		wantField(t, "types", err) // the same type twice at one endpoint
		must(t, w.Subscriptions.Approve(ctx, w.admin, s.ID))
		if got, want := w.lastSentence(t), "Admin approved the subscription of Scholengroep Noord to "+enrolled+" at endpoint Main."; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if row, _ := w.db.Subscription(ctx, s.ID); !row.Accepting || !row.Sending {
			t.Error("an approved subscription gets nothing")
		}
	})
}

func manyTypes(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = "nl.example.t" + strconv.Itoa(i)
	}
	return list
}

func TestInternalTypesCannotBeAsked(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		_, actor := w.partner(t, "Noord", goodOIN, "anna@noord.example")
		w.catalogue(t)
		_, err := w.Contracts.SetVisibility(t.Context(), w.admin, "student-events", contracts.VisibilityChange{
			Visibility: store.VisibilityInternal, Reason: "for the test", AcceptLoss: true,
		})
		must(t, err)
		e := w.endpoint(t, actor)
		_, err = w.Subscriptions.Request(t.Context(), actor, partners.SubscriptionRequest{EndpointID: e.ID, Types: []string{enrolled}, Purpose: "look around"})
		wantField(t, "types", err)
	})
}

// Every verb from every state by both kinds of actor: allowed or refused.
//
// Rules: EDU-13.
func TestSubscriptionTransitions(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		_, actor := w.partner(t, "Noord", goodOIN, "anna@noord.example")
		w.catalogue(t)
		s := w.subscribe(t, actor, w.endpoint(t, actor).ID, enrolled)
		verbs := map[string]func(registry.Actor) error{
			"approve": func(a registry.Actor) error { return w.Subscriptions.Approve(ctx, a, s.ID) },
			"reject":  func(a registry.Actor) error { return w.Subscriptions.Reject(ctx, a, s.ID, "no ground for it") },
			"suspend": func(a registry.Actor) error { return w.Subscriptions.Suspend(ctx, a, s.ID, "under discussion") },
			"resume":  func(a registry.Actor) error { return w.Subscriptions.Resume(ctx, a, s.ID) },
			"pause":   func(a registry.Actor) error { return w.Subscriptions.Pause(ctx, a, s.ID, "") },
			"unpause": func(a registry.Actor) error { return w.Subscriptions.Unpause(ctx, a, s.ID) },
			"end":     func(a registry.Actor) error { return w.Subscriptions.End(ctx, a, s.ID, "") },
		}
		allowed := map[string]string{ // who may, and what comes of it
			"requested approve": "a approved", "requested reject": "a rejected", "requested end": "pa ended",
			"approved suspend": "a suspended", "approved pause": "pa paused", "approved end": "pa ended",
			"paused unpause": "pa approved", "paused suspend": "a suspended", "paused end": "pa ended",
			"suspended resume": "a approved", "suspended end": "pa ended",
		}
		for _, state := range []string{"requested", "approved", "paused", "suspended", "ended", "rejected"} {
			for verb, do := range verbs {
				for who, by := range map[string]registry.Actor{"p": actor, "a": w.admin} {
					must(t, w.db.Write(ctx, func(tx *store.Tx) error {
						s.Status = state
						return tx.UpdateSubscription(ctx, &s)
					}))
					may, to, _ := strings.Cut(allowed[state+" "+verb], " ")
					ok := strings.Contains(may, who)
					if !ok {
						to = state
					}
					err := do(by)
					now, _ := w.db.Subscription(ctx, s.ID)
					if ok != (err == nil) || now.Status != to || now.Sending != (to == "approved") {
						t.Errorf("%s %s by %s: %v, is %s", verb, state, who, err, now.Status)
					}
				}
			}
		}
	})
}

func TestApprovalLooksAgain(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		p, actor := w.partner(t, "Noord", goodOIN, "anna@noord.example")
		w.catalogue(t)
		first := w.subscribe(t, actor, w.endpoint(t, actor).ID, enrolled)
		must(t, w.Partners.Suspend(ctx, w.admin, p.ID, "under discussion"))
		wantCode(t, "suspended partner", registry.CodeForbidden, w.Subscriptions.Approve(ctx, w.admin, first.ID))
		must(t, w.Partners.Resume(ctx, w.admin, p.ID))
		_, err := w.Contracts.Withdraw(ctx, w.admin, "student-events", "1.0.0", "a mistake")
		must(t, err)
		wantCode(t, "type is gone", registry.CodeConflict, w.Subscriptions.Approve(ctx, w.admin, first.ID))
		must(t, w.Endpoints.End(ctx, actor, first.EndpointID, ""))
		if s, _ := w.db.Subscription(ctx, first.ID); s.Status != store.SubscriptionEnded {
			t.Errorf("the subscription of an ended endpoint is %s", s.Status)
		}
	})
}

func TestGrantShowsWhatIsGiven(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		p, actor, other, stranger := w.twoPartners(t)
		w.catalogue(t)
		own := publisher()
		own.Name, own.PublishSources = "Own system", []string{"https://office.example/*"}
		ours, _, err := w.Clients.Create(ctx, w.admin, "", own)
		must(t, err)
		theirs, _, err := w.Clients.Create(ctx, stranger, "", publisher())
		must(t, err)
		_, err = w.Clients.Decide(ctx, w.admin, theirs.ID, identity.Decision{Approve: true})
		must(t, err)
		s := w.subscribe(t, actor, w.endpoint(t, actor).ID, enrolled)
		g, err := w.Subscriptions.Grant(ctx, w.admin.Scope(), s.ID)
		must(t, err)
		if g.Host != "noord.example" || len(g.Types) != 1 || g.Types[0].Type.ContractVersion != "1.0.0" || g.Types[0].Classification != "confidential" {
			t.Errorf("got %+v", g)
		}
		want := []partners.GrantSource{{PartnerName: "Chain Office", Own: true, Type: enrolled, Client: ours.Name, ClientID: ours.ID, Source: "https://office.example/*"}}
		if !slices.Equal(g.Sources, want) {
			t.Errorf("without a route: %+v", g.Sources)
		}
		_, err = w.Routes.Add(ctx, w.admin, partners.NewRoute{FromPartnerID: other.ID, ToPartnerID: p.ID, EventType: enrolled})
		must(t, err)
		if g, err = w.Subscriptions.Grant(ctx, w.admin.Scope(), s.ID); err != nil || len(g.Sources) != 2 {
			t.Errorf("with a route: %+v, %v", g.Sources, err)
		}
		inbound, err := w.Endpoints.Create(ctx, w.admin, w.own.ID, webhook())
		must(t, err)
		in := store.Subscription{PartnerID: w.own.ID, EndpointID: inbound.ID, Types: []string{enrolled}, Status: store.SubscriptionRequested}
		must(t, w.db.Write(ctx, func(tx *store.Tx) error { return tx.InsertSubscription(ctx, &in) }))
		if g, err := w.Subscriptions.Grant(ctx, w.admin.Scope(), in.ID); err != nil || len(g.Sources) != 2 {
			t.Errorf("everybody's events go to the own organisation: %+v, %v", g.Sources, err)
		}
		w.setSetting(t, "events.source_binding", registry.PolicyWarn)
		if g, err = w.Subscriptions.Grant(ctx, w.admin.Scope(), s.ID); err != nil || len(g.Sources) != 2 || g.Sources[0].Source != partners.AnySource {
			t.Errorf("sources are not bound: %+v, %v", g.Sources, err)
		}
		if g, err = w.Subscriptions.Grant(ctx, actor.Scope(), s.ID); err != nil || g.Sources != nil || g.Partner.ID != p.ID {
			t.Errorf("the partner sees %+v, %v", g, err)
		}
	})
}

func TestRoutes(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		p, actor, other, _ := w.twoPartners(t)
		good := partners.NewRoute{FromPartnerID: p.ID, ToPartnerID: other.ID, EventType: enrolled}
		for name, tt := range map[string]struct {
			field string
			in    partners.NewRoute
		}{
			"own":     {"from", partners.NewRoute{FromPartnerID: w.own.ID, ToPartnerID: p.ID, EventType: enrolled}},
			"unknown": {"to", partners.NewRoute{FromPartnerID: p.ID, ToPartnerID: "ptn_x", EventType: enrolled}},
			"prefix":  {"eventType", partners.NewRoute{FromPartnerID: p.ID, ToPartnerID: other.ID, EventType: "nl.example.*"}},
		} {
			_, err := w.Routes.Add(ctx, w.admin, tt.in)
			wantOneField(t, name, tt.field, err)
		}
		route, err := w.Routes.Add(ctx, w.admin, good)
		must(t, err)
		if got := w.lastSentence(t); got != "Admin allowed "+enrolled+" from Scholengroep Noord to go to Leerlingzorg Zuid." {
			t.Errorf("told as %q", got)
		}
		_, err = w.Routes.Add(ctx, w.admin, good)
		wantCode(t, "twice", registry.CodeConflict, err)
		_, err = w.Routes.Add(ctx, actor, good)
		wantCode(t, "partner", registry.CodeForbidden, err)
		_, err = w.Routes.List(ctx, actor)
		wantCode(t, "partner lists", registry.CodeForbidden, err)
		wantCode(t, "partner removes", registry.CodeForbidden, w.Routes.Remove(ctx, actor, route.ID))
		must(t, w.Routes.Remove(ctx, w.admin, route.ID))
		back, err := w.Routes.Add(ctx, w.admin, partners.NewRoute{FromPartnerID: p.ID, ToPartnerID: p.ID, EventType: enrolled}) // its own events come back to it
		must(t, err)
		must(t, w.Routes.Remove(ctx, w.admin, back.ID))
		wantCode(t, "removed", registry.CodeNotFound, w.Routes.Remove(ctx, w.admin, route.ID))
		if rows, err := w.Routes.List(ctx, w.admin); err != nil || len(rows) != 0 {
			t.Errorf("%v, %v", rows, err)
		}
	})
}

// TestAreaChangedWhileDatasetEnds: neither stands in the way of the other.
func TestAreaChangedWhileDatasetEnds(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		_, actor, _, _ := w.twoPartners(t)
		w.dataset(t, buildings())
		sub, err := w.Subscriptions.RequestDataset(ctx, actor, partners.DatasetRequest{
			Dataset: "buildings", EndpointID: w.files(t, actor).ID, Purpose: "plan visits", Area: partners.AreaInput{Text: square},
		})
		must(t, err)
		changed := make(chan error, 1)
		must(t, w.db.Write(ctx, func(tx *store.Tx) error { // as Datasets.End does
			if _, err := tx.LockDataset(ctx, "buildings"); err != nil {
				return err
			}
			go func() {
				_, err := w.Subscriptions.ChangeArea(ctx, actor, sub.ID, partners.AreaChange{Area: partners.AreaInput{Text: "POLYGON((5 5,6 5,6 6,5 5))"}})
				changed <- err
			}()
			select {
			case err := <-changed:
				changed <- err
			case <-time.After(time.Second): // it waits
			}
			ended := sub
			ended.Status = store.SubscriptionEnded
			return tx.UpdateSubscription(ctx, &ended)
		}))
		refused := &registry.Error{}
		if err := <-changed; err != nil && !errors.As(err, &refused) {
			t.Error(err)
		}
	})
}

// What a preview of filters may show: nothing before the approval, nothing of others without a route, nothing that is for
// others (G2, G3, G7).
//
// Rules: EDU-07.
func TestRecentShowsNoMoreThanWasGranted(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		p, actor, other, _ := w.twoPartners(t)
		w.catalogue(t)
		sendTo := func(audience store.Audience, from store.Partner, id, name string) {
			must(t, w.db.Write(ctx, func(tx *store.Tx) error {
				_, err := tx.InsertEvents(ctx, []store.Event{{
					ID: tx.NewID("evt"), PartnerID: from.ID, ClientID: "cli_1", CEID: id, CESource: "urn:x", CEType: name,
					Attributes: []byte(`{}`), AcceptedAt: tx.Now, Audience: audience,
				}})
				return err
			}))
		}
		send := func(from store.Partner, id, name string) { sendTo("", from, id, name) }
		want := func(who store.Partner, withheld []string, ids ...string) {
			t.Helper()
			events, hidden, err := w.Subscriptions.Recent(ctx, who, []string{enrolled, leftEvent}, nil, 10)
			must(t, err)
			var got []string
			for _, e := range events {
				got = append(got, e.CEID)
			}
			if !slices.Equal(got, ids) || !slices.Equal(hidden, withheld) {
				t.Errorf("%s: shown %v, withheld %v; want %v and %v", who.Name, got, hidden, ids, withheld)
			}
		}
		send(w.own, "before", enrolled)
		s := w.subscribe(t, actor, w.endpoint(t, actor).ID, enrolled)
		want(p, []string{enrolled, leftEvent})
		w.clock.Advance(time.Minute)
		must(t, w.Subscriptions.Approve(ctx, w.admin, s.ID))
		w.clock.Advance(time.Minute)
		send(w.own, "after", enrolled)
		send(w.own, "other type", leftEvent)
		send(other, "theirs", enrolled)
		send(p, "sent by itself", enrolled)
		want(p, []string{leftEvent}, "after")
		want(other, []string{enrolled, leftEvent})
		want(w.own, nil, "sent by itself", "theirs", "other type", "after", "before")
		sendTo(store.OnlyFor(), w.own, "for us alone", enrolled)
		sendTo(store.OnlyFor(other.ID), w.own, "for another", enrolled)
		sendTo(store.OnlyFor(other.ID, p.ID), w.own, "for it too", enrolled)
		_, err := w.Routes.Add(ctx, w.admin, partners.NewRoute{FromPartnerID: other.ID, ToPartnerID: p.ID, EventType: enrolled})
		must(t, err)
		want(p, []string{leftEvent}, "for it too", "theirs", "after")
		must(t, w.Subscriptions.Suspend(ctx, w.admin, s.ID, "under discussion"))
		want(p, []string{enrolled, leftEvent})
	})
}

// A partner that was granted one line of versions does not see events of another one, and is not told of them when it
// asks for that (EDU-08, G2).
//
// Rules: EDU-08.
func TestRecentIsOfTheVersionsGranted(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		p, actor, _, _ := w.twoPartners(t)
		w.catalogue(t)
		s := w.subscribe(t, actor, w.endpoint(t, actor).ID, enrolled)
		must(t, w.Subscriptions.Approve(ctx, w.admin, s.ID))
		w.publishVersion(t, "2.0.0", enrolled)
		for id, versions := range map[string]string{"old": "1.0.0", "new": "2.0.0", "both": "1.0.0 2.0.0", "unknown": ""} {
			must(t, w.db.Write(ctx, func(tx *store.Tx) error {
				_, err := tx.InsertEvents(ctx, []store.Event{{
					ID: tx.NewID("evt"), PartnerID: w.own.ID, ClientID: "cli_1", CEID: id, CESource: "urn:x", CEType: enrolled,
					Attributes: []byte(`{}`), ContractVersions: versions, AcceptedAt: tx.Now,
				}})
				return err
			}))
		}
		for line, want := range map[string]string{"": "both old unknown", "1": "both old unknown", "2": ""} {
			events, withheld, err := w.Subscriptions.Recent(ctx, p, []string{enrolled}, map[string]string{enrolled: line}, 10)
			must(t, err)
			var got []string
			for _, e := range events {
				got = append(got, e.CEID)
			}
			slices.Sort(got)
			if strings.Join(got, " ") != want || (len(withheld) > 0) != (want == "") {
				t.Errorf("line %q: shown %v, withheld %v; want %q", line, got, withheld, want)
			}
		}
	})
}

// Who approves a subscription approves where its events go, as it was shown: of an endpoint that was changed meanwhile nothing is approved.
func TestApprovalIsOfTheDestinationSeen(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.catalogue(t)
		_, anna := w.partner(t, "Scholengroep Noord", goodOIN, "anna@noord.example")
		e := w.endpoint(t, anna)
		sub := w.subscribe(t, anna, e.ID, enrolled)
		in := webhook()
		for what, change := range map[string]func(){
			"the address":        func() { in.URL = "https://elsewhere.example/events" },
			"the token endpoint": func() { in.TokenURL = "https://elsewhere.example/token" },
		} {
			grant, err := w.Subscriptions.Grant(ctx, w.admin.Scope(), sub.ID)
			must(t, err)
			change()
			_, err = w.Endpoints.Update(ctx, anna, e.ID, in)
			must(t, err)
			wantCode(t, what, registry.CodeConflict, w.Subscriptions.ApproveSeen(ctx, w.admin, sub.ID, grant.Seen()))
		}
		grant, err := w.Subscriptions.Grant(ctx, w.admin.Scope(), sub.ID)
		must(t, err)
		must(t, w.Subscriptions.ApproveSeen(ctx, w.admin, sub.ID, grant.Seen()))
	})
}
