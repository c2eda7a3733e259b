package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"schakel/registry"
	"schakel/registry/contracts"
	"schakel/registry/identity"
	"schakel/registry/partners"
	"schakel/store"
	"schakel/store/storetest"
	webpartners "schakel/web/partners"
	"schakel/web/site"
)

// victim is a partner with something of everything.
type victim struct {
	partner store.Partner
	ids     map[string]string // by the name of the path parameter
}

func (h *apiHarness) newVictim(t *testing.T) victim {
	t.Helper()
	v := victim{partner: h.newPartner(t, "Victim"), ids: map[string]string{}}
	subscription := h.approvedSubscription(t, v.partner.ID)
	v.ids["subscriptionId"], v.ids["endpointId"] = subscription.ID, subscription.EndpointID
	check := store.EndpointCheck{EndpointID: subscription.EndpointID, StartedBy: "Victim"}
	noError(t, h.db.Write(t.Context(), func(tx *store.Tx) error { return tx.BeginEndpointCheck(t.Context(), &check) }))
	v.ids["checkId"] = check.ID
	// A partner's own events come back to it only along a route.
	must(h.reg.Routes.Add(t.Context(), registry.SystemActor(), partners.NewRoute{
		FromPartnerID: v.partner.ID, ToPartnerID: v.partner.ID, EventType: "nl.example.student.enrolled",
	}))(t)
	publisher, consumer := h.publisher(t, v.partner.ID), h.consumer(t, v.partner.ID)
	v.ids["eventId"] = strings.TrimPrefix(publisher.publish(t, sampleEvent("victim-1")).want(t, 202).header.Get("Location"), "/events/v1/events/")
	deliveries := must(h.db.DeliveriesOf(t.Context(), v.ids["eventId"]))(t)
	if len(deliveries) != 1 {
		t.Fatalf("%d deliveries", len(deliveries))
	}
	v.ids["deliveryId"] = deliveries[0].ID
	v.ids["resendId"] = consumer.postJSON(t, "/events/v1/resends", `{"status":["discarded"]}`).want(t, 202).member(t, "resendId").(string)
	v.ids["amqpMessageId"] = strings.TrimPrefix(h.amqpMessage(t, v.partner.ID, "victim-1", comeIn(store.AMQPDead)), "/events/v1/amqp-messages/")
	h.newDraft(t, "victims-draft", v.partner.ID)
	v.ids["contractId"], v.ids["version"], v.ids["name"] = "victims-draft", "1.0.0", "nl.example.secret.type"
	return v
}

// newDraft makes a contract of a partner with a draft that nobody else may see.
func (h *apiHarness) newDraft(t *testing.T, id, partnerID string) {
	t.Helper()
	must(h.reg.Contracts.Create(t.Context(), registry.SystemActor(), contracts.ContractInput{
		ID: id, Kind: "asyncapi", Title: "Secret", OwnerPartnerID: partnerID, Visibility: store.VisibilityPartners,
	}))(t)
	must(h.reg.Contracts.Upload(t.Context(), registry.SystemActor(), id, contracts.Upload{
		Content: []byte(strings.ReplaceAll(sampleContract, "nl.example.student", "nl.example.secret")),
	}))(t)
}

// rows writes down all that is the victim's.
func (h *apiHarness) rows(t *testing.T, v victim) string {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	subscription := must(h.db.Subscription(ctx, v.ids["subscriptionId"]))(t)
	delivery := must(h.db.Delivery(ctx, v.ids["deliveryId"]))(t)
	event := must(h.db.Event(ctx, v.ids["eventId"]))(t)
	versions := must(h.db.ContractVersions(ctx, v.ids["contractId"]))(t)
	contract := must(h.db.Contract(ctx, v.ids["contractId"]))(t)
	message := must(h.db.AMQPMessage(ctx, v.ids["amqpMessageId"]))(t)
	all := must(json.Marshal([]any{subscription, delivery, event, versions, contract, message}))(t)
	return string(all)
}

// TestOtherPartnersIDs walks every operation of our APIs with the ids of another
// partner, as a partner and as a client of the own organisation that reads and
// subscribes (guarantee G7): not found or forbidden, nothing of it in the answer,
// and nothing changed.
//
// Rules: EDU-07.
func TestOtherPartnersIDs(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		h := newAPIHarnessOn(t, db, clock, nil).withCatalogue(t)
		v := h.newVictim(t)
		attacker := h.newPartner(t, "Attacker")
		callers := []*apiClient{
			h.newClient(t, attacker.ID, identity.NewClient{
				Scopes:       []string{site.ScopeEventsConsume, site.ScopeSubscriptionsWrite, site.ScopeRegistryRead, site.ScopeRegistryWrite, site.ScopeEventsPublish},
				PublishTypes: []string{"nl.example.student.*"}, PublishSources: []string{"urn:nld:oin:*"},
			}),
			h.consumer(t, ""), h.publisher(t, ""),
		}
		before, walked := h.rows(t, v), 0
		for _, doc := range h.spec.docs {
			for path, item := range doc.Paths.Map() {
				for method := range item.Operations() {
					if !strings.Contains(path, "{") {
						continue
					}
					walked++
					for _, c := range callers {
						h.wantHidden(t, c, v, method, base(doc, item)+path)
					}
				}
			}
		}
		if walked < 20 {
			t.Errorf("only %d operations walked", walked)
		}
		if after := h.rows(t, v); after != before {
			t.Errorf("changed from %s\nto %s", before, after)
		}
	}, storetest.WithClock(clock))
}

func (h *apiHarness) wantHidden(t *testing.T, c *apiClient, v victim, method, template string) {
	t.Helper()
	target := template
	for name, id := range v.ids {
		target = strings.ReplaceAll(target, "{"+name+"}", id)
	}
	body, media := bodyFor(template)
	if method == http.MethodGet {
		body = ""
	}
	answer := c.do(t, method, target, body, "Content-Type", media, "Idempotency-Key", freshKey())
	if answer.status != http.StatusNotFound && answer.status != http.StatusForbidden {
		t.Errorf("%s %s: %d %s", method, template, answer.status, answer.body)
	}
	for _, secret := range []string{v.partner.ID, v.partner.Name, "victim-1"} {
		if strings.Contains(string(answer.body), secret) {
			t.Errorf("%s %s tells %q: %s", method, template, secret, answer.body)
		}
	}
}

// bodyFor is a body that an operation takes, so that it is not refused for that.
func bodyFor(template string) (body, media string) {
	switch {
	case strings.HasSuffix(template, "/versions"):
		return strings.Replace(sampleContract, "1.0.0", "9.9.9", 1), "application/yaml"
	case strings.HasSuffix(template, "/withdrawal"):
		return `{"reason":"to see what happens"}`, "application/json"
	case strings.Contains(template, "/subscriptions/"):
		return `{"status":"paused"}`, "application/json"
	}
	return "{}", "application/json"
}

// TestOtherPartnersLists: no list and no filter shows what is another partner's.
func TestOtherPartnersLists(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil).withCatalogue(t)
	v := h.newVictim(t)
	attacker := h.newPartner(t, "Attacker")
	c := h.consumer(t, attacker.ID)
	for _, target := range []string{
		"/events/v1/deliveries", "/events/v1/deliveries?eventId=" + v.ids["eventId"], "/events/v1/deliveries?subscriptionId=" + v.ids["subscriptionId"],
		"/events/v1/deliveries?partnerId=" + v.partner.ID, "/events/v1/subscriptions", "/events/v1/subscriptions?partnerId=" + v.partner.ID,
	} {
		answer := c.get(t, target).want(t, http.StatusOK)
		if answer.header.Get("Total-Count") != "0" || strings.Contains(string(answer.body), "_") {
			t.Errorf("%s: %s", target, answer.body)
		}
	}
	if body := string(c.get(t, "/registry/v1/contracts").want(t, 200).body); strings.Contains(body, "victims-draft") {
		t.Errorf("contracts %s", body)
	}
	job := c.postJSON(t, "/events/v1/resends", fmt.Sprintf(`{"deliveryIds":[%q],"status":["pending","held","dead","retrying"]}`, v.ids["deliveryId"])).want(t, 202)
	if job.member(t, "total").(float64) != 0 {
		t.Errorf("job %s", job.body)
	}
	endpoint := h.newEndpoint(t, v.partner.ID)
	refused := c.postJSON(t, "/events/v1/subscriptions", fmt.Sprintf(`{"endpointId":%q,"types":["nl.example.student.left"],"purpose":"to see more"}`, endpoint.ID))
	p := refused.problem(t, http.StatusBadRequest, registry.CodeInvalid)
	if !slices.ContainsFunc(p.Errors, func(e site.ProblemError) bool { return e.Pointer == "/endpointId" }) {
		t.Errorf("subscription at another's endpoint: %s", refused.body)
	}
}

// TestPublisherSeesNoReceivers: a partner that publishes does not learn who gets it.
func TestPublisherSeesNoReceivers(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil).withCatalogue(t)
	receiver, sender := h.newPartner(t, "Receiver"), h.newPartner(t, "Sender")
	h.approvedSubscription(t, receiver.ID)
	must(h.reg.Routes.Add(t.Context(), registry.SystemActor(), partners.NewRoute{
		FromPartnerID: sender.ID, ToPartnerID: receiver.ID, EventType: "nl.example.student.enrolled",
	}))(t)
	h.engine.Changed()
	for _, tc := range []struct {
		from string
		sees bool
	}{{sender.ID, false}, {"", true}} {
		c := h.publisher(t, tc.from)
		where := c.publish(t, sampleEvent("p-1")).want(t, 202).header.Get("Location")
		shown := string(c.get(t, where).want(t, 200).body)
		if !strings.Contains(shown, `"status":"pending"`) || strings.Contains(shown, receiver.ID) != tc.sees {
			t.Errorf("from %q: %s", tc.from, shown)
		}
	}
}

// A subscription at an endpoint that is not set up to be sent to tells so beside its status, as the pages do, in a list and alone.
func TestSubscriptionThatCannotSendOverTheAPI(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil).withCatalogue(t)
	school := h.newPartner(t, "School").ID
	consumer, works := h.consumer(t, school), h.approvedSubscription(t, school)
	var stuck store.Subscription
	noError(t, h.db.Write(t.Context(), func(tx *store.Tx) error {
		e := store.Endpoint{PartnerID: school, Name: "Queues", Kind: store.EndpointAMQP, Status: store.EndpointActive}
		if err := tx.InsertEndpoint(t.Context(), &e); err != nil {
			return err
		}
		stuck = store.Subscription{PartnerID: school, EndpointID: e.ID, Purpose: "To see more.", Status: store.SubscriptionApproved, Types: []string{"nl.example.student.left"}}
		return tx.InsertSubscription(t.Context(), &stuck)
	}))
	why := map[string]string{works.ID: "", stuck.ID: "party"}
	var list struct {
		Subscriptions []webpartners.SubscriptionAnswer
	}
	consumer.get(t, "/events/v1/subscriptions").want(t, http.StatusOK).decode(t, &list)
	if len(list.Subscriptions) != len(why) {
		t.Fatalf("%d subscriptions", len(list.Subscriptions))
	}
	for id := range why {
		var one webpartners.SubscriptionAnswer
		consumer.get(t, "/events/v1/subscriptions/"+id).want(t, http.StatusOK).decode(t, &one)
		list.Subscriptions = append(list.Subscriptions, one)
	}
	for _, s := range list.Subscriptions {
		if want := why[s.ID]; s.Status != store.SubscriptionApproved || (s.CannotSend == "") != (want == "") || !strings.Contains(s.CannotSend, want) {
			t.Errorf("%s is %s and cannot send: %q, want %q", s.ID, s.Status, s.CannotSend, want)
		}
	}
}
