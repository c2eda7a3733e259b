package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"schakel/delivery/outbox"
	"schakel/delivery/pull"
	"schakel/registry"
	"schakel/registry/identity"
	"schakel/registry/identity/token"
	"schakel/registry/partners"
	"schakel/store"
	"schakel/web/api"
)

// newPublishingPortal is the portal with an engine that runs, and with the API whose checks it publishes through.
func newPublishingPortal(t *testing.T) *portalHarness {
	t.Helper()
	h := newRunningPortal(t)
	cfg := h.cfg
	cfg.Tokens = must(token.New(token.Config{
		Issuer: apiTestBase, LiveAuthMethods: h.reg.Clients.AuthMethods, Scopes: identity.AllScopes(), Clients: h.reg.Clients, Replay: h.db, Keys: h.reg.SigningKeys, Now: h.clock.Now,
	}))(t)
	engine := cfg.Portal.Engine.(*outbox.Engine)
	cfg.API = &api.Config{DB: h.db, Engine: engine, Pull: pull.New(pull.Config{DB: h.db, Now: h.clock.Now}), Issuer: cfg.Tokens.(*token.Issuer), Registry: h.reg}
	h.app = must(New(cfg))(t)
	return h
}

// A partner publishes a test event as its own client, prefilled from the contract, through the checks of the API; it sees who gets it, but
// of other partners not who they are.
func TestPublishATestEventAsAClient(t *testing.T) {
	t.Parallel()
	h := newPublishingPortal(t)
	ctx := t.Context()
	b, pat := h.at(t, "pat@example.nl")
	other, otherActor := h.at(t, "other@example.nl")
	for _, actor := range []registry.Actor{pat, otherActor} {
		e := must(h.reg.Endpoints.Create(ctx, actor, "", partners.EndpointInput{Name: "Inbox of " + actor.Name, Kind: store.EndpointInbox}))(t)
		s := must(h.reg.Subscriptions.Request(ctx, actor, partners.SubscriptionRequest{EndpointID: e.ID, Types: []string{"nl.example.student.enrolled"}, Purpose: "To see what comes."}))(t)
		noError(t, h.reg.Subscriptions.Approve(ctx, h.admin, s.ID))
	}
	for _, to := range []string{pat.PartnerID, otherActor.PartnerID} { // to itself too
		must(h.reg.Routes.Add(ctx, h.admin, partners.NewRoute{FromPartnerID: pat.PartnerID, ToPartnerID: to, EventType: "nl.example.student.enrolled"}))(t)
	}
	h.cfg.Portal.Engine.Changed()
	make := func(in identity.NewClient) string {
		in.Name, in.AuthMethod, in.SourceReason = "Records", token.ClientSecretBasic, "It relays for others."
		c, _, err := h.reg.Clients.Create(ctx, registry.SystemActor(), pat.PartnerID, in)
		noError(t, err)
		return "/partner/clients/" + c.ID
	}
	reads := make(identity.NewClient{Scopes: []string{identity.ScopeEventsConsume}})
	lacks(t, text(b.get(reads)), "/publish")
	wantRedirect(t, b.get(reads+"/publish"), reads)
	wantRedirect(t, b.post(reads+"/publish", url.Values{"event": {"{}"}}), reads)

	client := make(identity.NewClient{Scopes: []string{identity.ScopeEventsPublish}, PublishTypes: []string{"nl.example.student.enrolled"}, PublishSources: []string{"urn:nld:oin:1:*"}})
	here := client + "/publish"
	wantWords(t, text(b.get(client)), here)
	wantStatus(t, other.get(here), http.StatusNotFound)
	wantStatus(t, other.post(here, url.Values{"event": {"{}"}}), http.StatusNotFound)
	page := text(b.get(here))
	example := exampleOn(t, page)
	wantWords(t, example, `"student": "42"`, `"schakeltest": true`, `"source": "urn:nld:oin:1:example"`)
	lacks(t, page, "nl.example.student.left") // not granted

	send := func(content string) *http.Response {
		return b.post(here, url.Values{"type": {"nl.example.student.enrolled"}, "event": {content}})
	}
	for _, test := range []struct {
		content, words string
		status         int
	}{
		{"", "Enter an event", http.StatusUnprocessableEntity},
		{"[1]", "not a JSON object", http.StatusUnprocessableEntity},
		{strings.Replace(example, "urn:nld:oin:1:example", "urn:other", 1), "/source", http.StatusForbidden},
		{strings.Replace(example, "student.enrolled", "student.left", 1), "/type", http.StatusForbidden},
		{strings.Replace(example, `"specversion": "1.0"`, `"specversion": "9"`, 1), "specversion", http.StatusBadRequest},
	} {
		wantPage(t, send(test.content), test.status, test.words)
	}
	if n := must(h.db.CountDeliveries(ctx, store.DeliveryFilter{}))(t); n != 0 {
		t.Fatalf("%d deliveries of what was refused", n)
	}
	wantPage(t, send(strings.Replace(example, "urn:nld:oin:1:example", "urn:other", 1)), http.StatusForbidden, "1 thing is wrong", "The API refuses this event")
	unmarked := strings.Replace(example, "\"schakeltest\": true,\n", "", 1)
	outcome := redirected(t, send(unmarked))
	page = text(b.get(outcome))
	wantWords(t, page, "2 deliveries", "Another partner", "Partner of pat@example.nl", "/partner/deliveries/dlv_")
	lacks(t, page, "Partner of other@example.nl")
	e := must(h.db.Event(ctx, match(t, `evt_[0-9A-Za-z]+`, outcome)))(t)
	if !strings.Contains(string(e.Attributes), `schakeltest`) || e.ClientID != idOf(client) || e.PartnerID != pat.PartnerID {
		t.Errorf("published %s by %s", e.Attributes, e.ClientID)
	}
	wantWords(t, text(b.get("/partner/audit")), "published a test event as the client Records")
	// What another client published is not shown.
	second := make(identity.NewClient{Scopes: []string{identity.ScopeEventsPublish}, PublishTypes: []string{"nl.example.student.*"}, PublishSources: []string{"urn:nld:oin:*"}})
	lacks(t, text(b.get(second+"/publish?event="+e.ID)), "Another partner", "Who gets it")
}

// What the organisation of the portal gets, without any route, is not said to go to another partner.
func TestPublishToTheOrganisationOfThePortal(t *testing.T) {
	t.Parallel()
	h := newPublishingPortal(t)
	ctx := t.Context()
	b, pat := h.at(t, "pat@example.nl")
	own := must(h.db.OwnPartner(ctx))(t)
	e := must(h.reg.Endpoints.Create(ctx, h.admin, own.ID, partners.EndpointInput{Name: "Inbox", Kind: store.EndpointInbox}))(t)
	s := must(h.reg.Subscriptions.Request(ctx, h.admin, partners.SubscriptionRequest{EndpointID: e.ID, Types: []string{"nl.example.student.enrolled"}, Purpose: "To see what comes."}))(t)
	if s.Status == store.SubscriptionRequested {
		noError(t, h.reg.Subscriptions.Approve(ctx, h.admin, s.ID))
	}
	h.cfg.Portal.Engine.Changed()
	c, _, err := h.reg.Clients.Create(ctx, registry.SystemActor(), pat.PartnerID, identity.NewClient{
		Name: "Records", AuthMethod: token.ClientSecretBasic, SourceReason: "It relays for others.", Scopes: []string{identity.ScopeEventsPublish},
		PublishTypes: []string{"nl.example.student.enrolled"}, PublishSources: []string{"urn:nld:oin:1:*"},
	})
	noError(t, err)
	here := "/partner/clients/" + c.ID + "/publish"
	page := text(b.get(redirected(t, b.post(here, url.Values{"type": {"nl.example.student.enrolled"}, "event": {exampleOn(t, text(b.get(here)))}}))))
	wantWords(t, page, "1 delivery", own.Name+", which runs this portal")
	lacks(t, page, "Another partner", "/partner/deliveries/dlv_")
}
