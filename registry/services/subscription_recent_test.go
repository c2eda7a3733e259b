package services

import (
	"slices"
	"strings"
	"testing"
	"time"

	"schakel/registry/partners"
	"schakel/store"
)

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
