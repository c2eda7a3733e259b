package web

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"schakel/delivery/event"
	"schakel/registry"
	"schakel/registry/partners"
	"schakel/store"
)

// Rules: EDU-11, CE-56.
func TestEndpointWithWindowsAndBatches(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t)
	b, _ := h.at(t, "pat@example.nl")
	here := newEndpoint(t, b)
	answer := b.post(here, endpointForm("tokenSecret", "", "windows", "mon-fri 07:00-19:00\nnever", "batchEvents", "many"))
	wantStatus(t, answer, http.StatusUnprocessableEntity)
	wantWords(t, text(answer), `href="#windows"`, `href="#batchEvents"`, "mon-fri 07:00-19:00")
	answer = b.post(here, endpointForm("tokenSecret", "", "batchEvents", "100"))
	wantStatus(t, answer, http.StatusUnprocessableEntity)
	wantWords(t, text(answer), `href="#batchStated"`, "name the contract of your API that takes them")
	wantRedirect(t, b.post(here, endpointForm("tokenSecret", "", "windows", "Mon-Fri 07:00-19:00", "timeZone", "Europe/Amsterdam",
		"batchEvents", "100", "batchWaitSeconds", "2", "batchStated", "on")), here)
	wantWords(t, text(b.get(here)), "Monday to Friday 07:00 to 19:00 (Europe/Amsterdam)", "at most 100 events and 1 MiB, after at most 2 s", "no contract shows it")
	wantWords(t, text(b.get(here+"/edit")), "mon-fri 07:00-19:00", `value="100"`)
	e, err := h.db.Endpoint(t.Context(), idOf(here))
	noError(t, err)
	if e.BatchEvents != 100 || !e.BatchStated || e.BatchWaitMS != 2000 || !strings.Contains(e.Windows, `"days":["mon","tue","wed","thu","fri"]`) {
		t.Errorf("stored %+v", e)
	}
}

// Rules: EDU-18.
func TestRetryScheduleOverTheAPI(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil).withCatalogue(t)
	partner := h.newPartner(t, "School")
	c, endpoint := h.consumer(t, partner.ID), h.newEndpoint(t, partner.ID)
	type retry struct {
		Waits       []string `json:"waits"`
		MaxAttempts int      `json:"maxAttempts"`
		Deadline    string   `json:"deadline"`
	}
	type answer struct {
		ID        string `json:"id"`
		Retry     *retry `json:"retry"`
		Effective retry  `json:"effectiveRetry"`
	}
	ask := func(own string) apiAnswer {
		return c.postJSON(t, "/events/v1/subscriptions", fmt.Sprintf(`{"endpointId":%q,"types":["nl.example.student.enrolled"],"purpose":"our records","retry":%s}`, endpoint.ID, own))
	}
	for own, pointer := range map[string]string{
		`{"waits":["soon"]}`: "/retry/waits", `{"maxAttempts":1001}`: "/retry/maxAttempts", `{"deadline":"1s"}`: "/retry/deadline", `5`: "/retry", `{"pauses":[]}`: "/retry/pauses",
	} {
		refused := ask(own).problem(t, http.StatusBadRequest, "invalid")
		if len(refused.Errors) != 1 || refused.Errors[0].Pointer != pointer {
			t.Errorf("%s: %+v", own, refused.Errors)
		}
	}
	var made, now answer
	ask(`{"waits":["5s","1m"],"maxAttempts":10,"deadline":"1d"}`).want(t, http.StatusCreated).decode(t, &made)
	if made.Retry == nil || fmt.Sprint(*made.Retry) != "{[5s 1m] 10 24h}" || fmt.Sprint(made.Effective) != fmt.Sprint(*made.Retry) {
		t.Errorf("made %+v", made)
	}
	patch(t, c, made.ID, `{"retry":{"maxAttempts":3}}`).want(t, http.StatusOK).decode(t, &now)
	if now.Retry == nil || now.Retry.MaxAttempts != 3 || now.Effective.Deadline != "168h" || len(now.Effective.Waits) != 8 {
		t.Errorf("changed %+v", now)
	}
	now = answer{}
	patch(t, c, made.ID, `{"retry":null}`).want(t, http.StatusOK).decode(t, &now)
	if now.Retry != nil || now.Effective.MaxAttempts != 50 {
		t.Errorf("taken away %+v", now)
	}
}

func TestDeliveryTellsWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil).withCatalogue(t)
	partner := h.newPartner(t, "School")
	c, publisher, endpoint := h.consumer(t, partner.ID), h.publisher(t, ""), h.newEndpoint(t, partner.ID)
	sub, err := h.reg.Subscriptions.Request(t.Context(), registry.SystemActor(), partners.SubscriptionRequest{
		EndpointID: endpoint.ID, Types: []string{"nl.example.student.enrolled"}, Purpose: "our records", OrderBy: "type",
	})
	noError(t, err)
	noError(t, h.reg.Subscriptions.Approve(t.Context(), registry.SystemActor(), sub.ID))
	closed := time.Now().UTC().Add(24 * time.Hour).Format("Mon")
	noError(t, h.db.Write(t.Context(), func(tx *store.Tx) error {
		e, err := tx.Endpoint(t.Context(), endpoint.ID)
		if err != nil {
			return err
		}
		e.Windows = `{"timeZone":"UTC","open":[{"days":["` + strings.ToLower(closed) + `"],"from":"12:00","to":"13:00"}]}`
		return tx.UpdateEndpoint(t.Context(), &e)
	}))
	h.engine.Changed()
	publisher.publish(t, sampleEvent("1")).want(t, http.StatusAccepted)
	publisher.publish(t, sampleEvent("2")).want(t, http.StatusAccepted)
	var list struct{ Deliveries []struct{ DeliveryID string } }
	c.get(t, "/events/v1/deliveries").want(t, http.StatusOK).decode(t, &list)
	type wait struct {
		WaitsFor, WaitReason string
		WaitsUntil           time.Time
	}
	var first, second wait
	c.get(t, "/events/v1/deliveries/"+list.Deliveries[1].DeliveryID).want(t, http.StatusOK).decode(t, &first)
	c.get(t, "/events/v1/deliveries/"+list.Deliveries[0].DeliveryID).want(t, http.StatusOK).decode(t, &second)
	if first.WaitReason != "window" || first.WaitsUntil.Hour() != 12 || first.WaitsFor != "" {
		t.Errorf("first waits %+v", first)
	}
	if second.WaitReason != "order" || second.WaitsFor != list.Deliveries[1].DeliveryID {
		t.Errorf("second waits %+v", second)
	}
}

// Rules: EDU-11.
func TestBatchPage(t *testing.T) { // guarantee G7
	t.Parallel()
	w := newQueueWorld(t)
	one, two := w.deliver(w.event(event.DataJSON, `1`), w.first), w.deliver(w.event(event.DataJSON, `2`), w.first)
	b := store.Batch{EndpointID: one.EndpointID, IdempotencyKey: "4b2a1a0e-9c1d-4b57-9c0e-0e8b8a5b7d11", KeyExpiresAt: one.KeyExpiresAt, Members: store.Strings{one.ID, two.ID}, Size: 2048}
	w.write(func(tx *store.Tx) error { return tx.FreezeBatch(t.Context(), &b) })
	w.write(func(tx *store.Tx) error {
		return tx.InsertAttempts(t.Context(), []store.Attempt{
			{DeliveryID: one.ID, Number: 1, StartedAt: tx.Now, StatusCode: 503, URL: "https://roc.example.nl/events", BatchID: b.ID},
			{DeliveryID: two.ID, Number: 1, StartedAt: tx.Now, StatusCode: 503, BatchID: b.ID},
		})
	})
	shows(t, w.admin.get("/admin/deliveries/"+two.ID), http.StatusOK, "one of 2 in one request", "It went with others in a batch")
	page := shows(t, w.first.browser.get("/partner/batches/"+b.ID), http.StatusOK, "Batch of 2 events", "2 KiB", "answered 503", "POST https://roc.example.nl/events", "Deliveries in this batch")
	for _, d := range []store.Delivery{one, two} {
		if !strings.Contains(page, "/partner/deliveries/"+d.ID) {
			t.Errorf("the batch does not lead to %s", d.ID)
		}
	}
	wantStatus(t, w.other.browser.get("/partner/batches/"+b.ID), http.StatusNotFound)
	w.write(func(tx *store.Tx) error {
		return tx.DissolveBatch(t.Context(), b, "", store.BatchRejected, func() string { return "another" })
	})
	shows(t, w.admin.get("/admin/batches/"+b.ID), http.StatusOK, "The receiver refused this batch for what is in it")
}
