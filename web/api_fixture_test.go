package web

import (
	"strings"
	"testing"

	"schakel/registry"
	"schakel/registry/contracts"
	"schakel/registry/identity"
	"schakel/registry/partners"
	"schakel/store"
	"schakel/web/site"
)

// sampleContract defines the event types of these tests.
const sampleContract = `asyncapi: 3.1.0
info:
  title: Example of student events
  version: 1.0.0
channels:
  students:
    address: students
    messages:
      enrolled:
        name: nl.example.student.enrolled
        title: A student was enrolled
        payload: {type: [object, "null"], properties: {studentId: {type: string}}}
      left:
        name: nl.example.student.left
        payload: {type: [object, "null"]}
operations:
  send:
    action: send
    channel: {$ref: '#/channels/students'}
`

// withCatalogue publishes the sample contract.
func (h *apiHarness) withCatalogue(t testing.TB) *apiHarness {
	t.Helper()
	ctx, actor := t.Context(), registry.SystemActor()
	_, err := h.reg.Contracts.Create(ctx, actor, contracts.ContractInput{
		ID: "student-events", Kind: "asyncapi", Title: "Student events", Visibility: store.VisibilityPartners,
	})
	noError(t, err)
	_, err = h.reg.Contracts.Upload(ctx, actor, "student-events", contracts.Upload{Content: []byte(sampleContract)})
	noError(t, err)
	_, err = publishDraft(ctx, h.reg, actor, "student-events", "1.0.0", "")
	noError(t, err)
	return h
}

// newEndpoint makes a webhook of a partner.
func (h *apiHarness) newEndpoint(t testing.TB, partnerID string) store.Endpoint {
	t.Helper()
	e, err := h.reg.Endpoints.Create(t.Context(), registry.SystemActor(), partnerID, partners.EndpointInput{
		Name: "Endpoint " + partnerID, Kind: store.EndpointWebhook, URL: "https://" + strings.ToLower(partnerID[4:]) + ".example.nl/events", TokenAuthMethod: registry.TokenAuthNone,
	})
	noError(t, err)
	return e
}

// approvedSubscription subscribes a partner to the enrolled type.
func (h *apiHarness) approvedSubscription(t testing.TB, partnerID string) store.Subscription {
	t.Helper()
	ctx, actor := t.Context(), registry.SystemActor()
	endpoint := h.newEndpoint(t, partnerID)
	s, err := h.reg.Subscriptions.Request(ctx, actor, partners.SubscriptionRequest{
		EndpointID: endpoint.ID, Types: []string{"nl.example.student.enrolled"}, Purpose: "To know who is enrolled.",
	})
	noError(t, err)
	noError(t, h.reg.Subscriptions.Approve(ctx, actor, s.ID))
	h.engine.Changed()
	return s
}

// sampleEvent is a valid event; extra members go in front.
func sampleEvent(id string, extra ...string) string {
	return `{` + strings.Join(append(extra, ""), ",") + `"specversion":"1.0","id":"` + id + `","source":"urn:nld:oin:00000001823288444000:sis",` +
		`"type":"nl.example.student.enrolled","datacontenttype":"application/json","data":{"studentId":"1234"}}`
}

// eventCount counts the events that are stored.
func (h *apiHarness) eventCount(t testing.TB) int {
	t.Helper()
	_, total, err := h.db.Events(t.Context(), store.EventFilter{})
	noError(t, err)
	return total
}

// clientWithScope makes a client of the own organisation with one scope.
func (h *apiHarness) clientWithScope(t testing.TB, scope string) *apiClient {
	t.Helper()
	in := identity.NewClient{Scopes: []string{scope}}
	if scope == site.ScopeEventsPublish {
		in.PublishTypes, in.PublishSources = []string{"nl.example.student.*"}, []string{"*"}
	}
	return h.newClient(t, "", in)
}

func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// registryWrite is a client that may write contracts.
func registryWrite() identity.NewClient {
	return identity.NewClient{Scopes: []string{site.ScopeRegistryWrite, site.ScopeRegistryRead}}
}
