package web

import (
	"net/url"
	"strings"
	"testing"

	"schakel/registry/contracts"
	"schakel/store"
)

// The first endpoint form is that of the way to receive which the partner chose at its registration.
func TestFirstEndpointIsOfTheKindChosen(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t)
	b, who := h.at(t, "pat@example.nl")
	noError(t, h.db.Write(t.Context(), func(tx *store.Tx) error {
		p, err := tx.Partner(t.Context(), who.PartnerID)
		if err != nil {
			return err
		}
		p.EndpointKinds = store.Strings{store.EndpointAMQP}
		return tx.UpdatePartner(t.Context(), &p)
	}))
	kind := func(path string) string { return match(t, `<input[^>]*name="kind"[^>]*>`, text(b.get(path))) }
	wantWords(t, kind("/partner/endpoints/new"), `value="amqp"`)
	wantWords(t, kind("/partner/endpoints/new?kind=pull"), `value="pull"`)
	setUp(t, b.post("/partner/endpoints", url.Values{"name": {"Queues"}, "kind": {"amqp"}}))
	wantWords(t, kind("/partner/endpoints/new"), `value="webhook"`)
}

// Every link of the page of an event type that leads to the form for a subscription has the type chosen there.
func TestEventTypeIsChosenInTheRequest(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t).withCatalogue(t)
	b, _ := h.at(t, "pat@example.nl")
	newEndpoint(t, b)
	page := text(b.get("/event-types/" + enrolledType))
	parts := strings.Split(page, `href="/partner/subscriptions/new`)
	if len(parts) < 3 {
		t.Fatalf("%d links to the form", len(parts)-1)
	}
	for _, part := range parts[1:] {
		query, _, _ := strings.Cut(part, `"`)
		form := text(b.get("/partner/subscriptions/new" + query))
		wantWords(t, match(t, `<input[^>]*value="`+enrolledType+`[^"]*"[^>]*>`, form), "checked")
	}
}

// The example of a test event, and what it is held against, are of the versions that the subscription to it selected.
func TestExampleIsOfTheVersionSubscribedTo(t *testing.T) {
	t.Parallel()
	h := newRunningPortal(t)
	b, _ := h.at(t, "pat@example.nl")
	here := newInbox(t, b)
	h.subscribed(t, b, here, enrolledType, "")
	next := strings.NewReplacer("1.2.0", "2.0.0", "payload: {type: object}, examples: [{payload: {student: \"42\"}}]", "payload: {type: object, required: [pupil]}, examples: [{payload: {pupil: \"43\"}}]").Replace(deskTypes)
	must(h.reg.Contracts.Upload(t.Context(), h.admin, "student-events", contracts.Upload{Content: []byte(next), FileName: "students.yaml"}))(t)
	must(publishDraft(t.Context(), h.reg, h.admin, "student-events", "2.0.0", "it is needed"))(t)
	form := text(b.get(here + "/test?type=" + enrolledType))
	wantWords(t, form, "student-events 1.2.0")
	wantWords(t, exampleOn(t, form), `"student": "42"`)
	wantWords(t, text(b.post(here+"/test", url.Values{"type": {enrolledType}, "event": {exampleOn(t, form)}, "do": {"check"}})), "fits its contract")

	// At an endpoint without a subscription to it, it is of the newest version.
	second, _ := h.at(t, "other@example.nl")
	wantWords(t, exampleOn(t, text(second.get(newInbox(t, second)+"/test?type="+enrolledType))), `"pupil": "43"`)
}
