package services

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"schakel/registry"
	"schakel/registry/contracts"
	"schakel/registry/partners"
	"schakel/store"
)

// sightOf reports whether an actor sees the contract student-events, the same in
// every way.
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

// Each visibility shows a contract to the same readers in every way there is, and
// lets those subscribe.
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

// A contract becomes narrower only after a warning who loses sight, and each step
// is recorded with its reason.
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
