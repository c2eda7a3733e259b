package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	"github.com/cloudevents/sdk-go/v2/binding"
	cehttp "github.com/cloudevents/sdk-go/v2/protocol/http"
	"schakel/registry"
	"schakel/store"
	"schakel/store/storetest"
	webdeliveries "schakel/web/deliveries"
	"schakel/web/site"
)

// TestAPIStory is the main story as machines see it, on both databases: a contract
// is published, a partner subscribes, is approved, gets a delivery that dies, and
// resends it.
func TestAPIStory(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		h := newAPIHarnessOn(t, db, clock, nil)
		writer := h.writer(t)
		storyContract(t, writer)
		partner := h.newPartner(t, "School")
		consumer, publisher := h.consumer(t, partner.ID), h.publisher(t, "")
		subscription := storySubscribe(t, h, consumer, partner)
		where := publisher.publish(t, sampleEvent("story-1")).want(t, 202).header.Get("Location")
		if shown := publisher.get(t, where).want(t, 200); !strings.Contains(string(shown.body), `"status":"pending"`) {
			t.Fatalf("event %s", shown.body)
		}
		delivery := storyDelivery(t, h, consumer, subscription)
		storyResend(t, consumer, delivery)
		storyEnd(t, consumer, publisher, subscription)
	}, storetest.WithClock(clock))
}

func storyContract(t *testing.T, writer *apiClient) {
	t.Helper()
	writer.postJSON(t, "/registry/v1/contracts", `{"id":"student-events","kind":"asyncapi","title":"Student events","visibility":"public",
		"contact":{"name":"Desk","email":"desk@example.nl"}}`).want(t, http.StatusCreated)
	writer.do(t, http.MethodPost, "/registry/v1/contracts/student-events/versions", sampleContract, "Content-Type", "application/yaml").want(t, http.StatusCreated)
	writer.publishVersion(t, "/registry/v1/contracts/student-events/versions/1.0.0", "").want(t, http.StatusOK)
	catalogue := writer.get(t, "/events/v1/event-types?q=enrol").want(t, 200)
	if catalogue.header.Get("Total-Count") != "1" {
		t.Fatalf("catalogue %s", catalogue.body)
	}
	writer.get(t, "/events/v1/event-types/nl.example.student.enrolled").want(t, 200)
	writer.get(t, "/events/v1/event-types/nl.example.nothing").problem(t, 404, "not-found")
}

func storySubscribe(t *testing.T, h *apiHarness, consumer *apiClient, partner store.Partner) string {
	t.Helper()
	endpoint := h.newEndpoint(t, partner.ID)
	body := fmt.Sprintf(`{"endpointId":%q,"types":["nl.example.student.enrolled"],"purpose":"To know who is enrolled."}`, endpoint.ID)
	made := consumer.postJSON(t, "/events/v1/subscriptions", body).want(t, http.StatusCreated)
	id := made.member(t, "id").(string)
	if made.member(t, "status") != "requested" || made.header.Get("Location") != "/events/v1/subscriptions/"+id {
		t.Fatalf("made %s", made.body)
	}
	consumer.postJSON(t, "/events/v1/subscriptions", `{"endpoint":"x"}`).problem(t, 400, "invalid")
	noError(t, h.reg.Subscriptions.Approve(t.Context(), registry.SystemActor(), id))
	h.engine.Changed()
	patch := func(status string) apiAnswer {
		return consumer.do(t, http.MethodPatch, "/events/v1/subscriptions/"+id, `{"status":"`+status+`"}`, "Content-Type", "application/merge-patch+json")
	}
	patch("paused").want(t, 200)
	patch("paused").problem(t, 409, "conflict")
	patch("ended").problem(t, 400, "invalid")
	if patch("approved").want(t, 200).member(t, "status") != "approved" {
		t.Error("it does not go on")
	}
	if list := consumer.get(t, "/events/v1/subscriptions?status=approved&page=1&perPage=1").want(t, 200); list.header.Get("Total-Count") != "1" {
		t.Errorf("list %s", list.body)
	}
	return id
}

// storyDelivery finds the delivery and makes it dead, as the engine does after the last try.
func storyDelivery(t *testing.T, h *apiHarness, consumer *apiClient, subscription string) string {
	t.Helper()
	list := decoded[struct{ Deliveries []site.DeliveryAnswer }](t, consumer.get(t, "/events/v1/deliveries?status=pending&subscriptionId="+subscription).want(t, 200))
	if len(list.Deliveries) != 1 {
		t.Fatalf("deliveries %+v", list)
	}
	id := list.Deliveries[0].DeliveryID
	consumer.do(t, http.MethodPost, "/events/v1/deliveries/"+id+"/resend", "").problem(t, 409, "not-resendable")
	h.kill(t, list.Deliveries[0])
	shown := consumer.get(t, "/events/v1/deliveries/"+id).want(t, 200)
	if shown.member(t, "status") != "dead" || strings.Contains(strings.ToLower(string(shown.body)), "idempotency") {
		t.Fatalf("delivery %s", shown.body)
	}
	return id
}

func storyResend(t *testing.T, consumer *apiClient, delivery string) {
	t.Helper()
	again := consumer.do(t, http.MethodPost, "/events/v1/deliveries/"+delivery+"/resend", "").want(t, 202)
	if again.member(t, "status") != "pending" {
		t.Errorf("resent %s", again.body)
	}
	for _, body := range []string{`{"deliveryIds":[]}`, `{"status":["lost"]}`, `{"stauts":["dead"]}`, `{"from":"yesterday"}`, `{"reason":"a","reason":"b"}`, `[]`, `{} {}`} {
		consumer.postJSON(t, "/events/v1/resends", body).want(t, 400)
	}
	job := consumer.postJSON(t, "/events/v1/resends", `{"eventType":"nl.example.student.enrolled","status":["dead"]}`).want(t, 202)
	answer := decoded[webdeliveries.ResendAnswer](t, job)
	if job.header.Get("Location") != "/events/v1/resends/"+answer.ResendID {
		t.Errorf("job %s", job.body)
	}
	consumer.get(t, "/events/v1/resends/"+answer.ResendID).want(t, 200)
	consumer.do(t, http.MethodDelete, "/events/v1/resends/"+answer.ResendID, "").want(t, 204)
	consumer.do(t, http.MethodDelete, "/events/v1/resends/"+answer.ResendID, "").want(t, 204)
}

func storyEnd(t *testing.T, consumer, publisher *apiClient, subscription string) {
	t.Helper()
	for range 2 {
		consumer.do(t, http.MethodDelete, "/events/v1/subscriptions/"+subscription, "").want(t, 204)
	}
	where := publisher.publish(t, sampleEvent("story-2")).want(t, 202).header.Get("Location")
	shown := decoded[struct{ Deliveries []json.RawMessage }](t, publisher.get(t, where).want(t, 200))
	if len(shown.Deliveries) != 0 {
		t.Errorf("G2: delivered after the end: %s", shown.Deliveries)
	}
}

// kill makes one failed attempt at a delivery, after which it is dead.
func (h *apiHarness) kill(t *testing.T, d site.DeliveryAnswer) {
	t.Helper()
	ctx := t.Context()
	noError(t, h.db.Write(ctx, func(tx *store.Tx) error {
		claimed, err := tx.Claim(ctx, d.EndpointID, "node", 1, store.At(h.clock.Now().Add(time.Minute)))
		if err != nil || len(claimed) != 1 {
			return fmt.Errorf("claim %d: %w", len(claimed), err)
		}
		row := claimed[0].Delivery
		row.Status, row.Reason, row.Detail, row.LastStatus = store.DeliveryDead, "gone", "The endpoint is gone.", 410
		attempt := store.Attempt{DeliveryID: row.ID, Number: 1, StartedAt: tx.Now, StatusCode: 410, URL: "https://secret.example.nl/x", RequestHeaders: "{}", ResponseHeaders: "{}"}
		return tx.Complete(ctx, []store.Outcome{{Attempt: attempt, Delivery: row, Lease: store.LeaseOf(&row)}})
	}))
}

// TestForeignSender publishes with the Go SDK of CloudEvents, a client that is not
// ours (EDU-15), in structured and binary mode.
//
// Rules: EDU-15, EDU-N04.
func TestForeignSender(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil).withCatalogue(t)
	c := h.publisher(t, "")
	server := httptest.NewServer(h.app.Handler())
	defer server.Close()
	for id, mode := range map[string]func(context.Context) context.Context{
		"structured": binding.WithForceStructured, "binary": binding.WithForceBinary,
	} {
		sender := must(cloudevents.NewClientHTTP(
			cehttp.WithTarget(server.URL+"/events/v1/events"), cehttp.WithHeader("Authorization", "Bearer "+c.token), cehttp.WithHeader("Idempotency-Key", freshKey())))(t)
		e := cloudevents.NewEvent()
		e.SetID(id)
		e.SetSource("urn:nld:oin:00000001823288444000:sis")
		e.SetType("nl.example.student.enrolled")
		e.SetExtension("sequence", "0001")
		noError(t, e.SetData(cloudevents.ApplicationJSON, map[string]string{"studentId": "1234"}))
		result := sender.Send(mode(t.Context()), e)
		var answer *cehttp.Result
		if !cloudevents.IsACK(result) || !cloudevents.ResultAs(result, &answer) || answer.StatusCode != http.StatusAccepted {
			t.Errorf("%s: %v", id, result)
		}
	}
	if n := h.eventCount(t); n != 2 {
		t.Errorf("%d events stored", n)
	}
}
