package web

import (
	"fmt"
	"net/http"
	"testing"

	"schakel/registry"
	"schakel/store"
)

func TestSubscriptionFiltersAreRefused(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil).withCatalogue(t)
	partner := h.newPartner(t, "School")
	c, endpoint := h.consumer(t, partner.ID), h.newEndpoint(t, partner.ID)
	sub := h.approvedSubscription(t, partner.ID)
	for _, tt := range []struct{ member, pointer string }{
		{`"filters":{"exact":{}}`, "/filters"},
		{`"filters":"subject"`, "/filters"},
		{`"filters":[{"sql":"type = 'a'"}]`, "/filters/0/sql"},
		{`"filters":[{"exact":{"type":"a"}},{"any":[{"prefix":{"data":"x"}}]}]`, "/filters/1/any/0/prefix"},
		{`"filters":[{"exact":{"subject":""}}]`, "/filters/0/exact/subject"},
		{`"filters":[{"exact":{"type":"a","type":"b"}}]`, "/filters/0/exact"},
		{`"orderBy":"data"`, "/orderBy"},
		{`"orderBy":"Partition-Key"`, "/orderBy"},
		{`"orderBy":5`, "/orderBy"},
	} {
		body := fmt.Sprintf(`{"endpointId":%q,"types":["nl.example.student.left"],"purpose":"our records",%s}`, endpoint.ID, tt.member)
		for _, answer := range []apiAnswer{
			c.postJSON(t, "/events/v1/subscriptions", body), patch(t, c, sub.ID, "{"+tt.member+"}"),
		} {
			p := answer.problem(t, http.StatusBadRequest, registry.CodeInvalid)
			if len(p.Errors) != 1 || p.Errors[0].Pointer != tt.pointer || p.Errors[0].Detail == "" {
				t.Errorf("%s: %+v, want an error at %s", tt.member, p.Errors, tt.pointer)
			}
		}
	}
	for _, body := range []string{`{}`, `{"status":"paused","filters":[]}`, `{"reason":"why","orderBy":null}`} {
		patch(t, c, sub.ID, body).problem(t, http.StatusBadRequest, "invalid")
	}
	if row, err := h.db.Subscription(t.Context(), sub.ID); err != nil || row.Filters != "" || row.OrderBy != "" || row.Status != store.SubscriptionApproved {
		t.Errorf("changed to %+v (%v)", row, err)
	}
}

func patch(t *testing.T, c *apiClient, id, body string) apiAnswer {
	t.Helper()
	return c.do(t, http.MethodPatch, "/events/v1/subscriptions/"+id, body, "Content-Type", "application/merge-patch+json")
}

// selectionAnswer holds the filters and the order in an answer.
type selectionAnswer struct {
	ID      string           `json:"id"`
	Status  string           `json:"status"`
	Filters []map[string]any `json:"filters"`
	OrderBy string           `json:"orderBy"`
}

// Rules: EDU-N08, CE-80, OPEN-11.
func TestSubscriptionFiltersDecideWhatIsDelivered(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil).withCatalogue(t)
	partner := h.newPartner(t, "School")
	c, publisher, endpoint := h.consumer(t, partner.ID), h.publisher(t, ""), h.newEndpoint(t, partner.ID)
	var made, now selectionAnswer
	c.postJSON(t, "/events/v1/subscriptions", fmt.Sprintf(`{"endpointId":%q,"types":["nl.example.student.enrolled"],"purpose":"our records",
		"filters":[{"not":{"prefix":{"id":"no-"}}}],"orderBy":"subject"}`, endpoint.ID)).want(t, http.StatusCreated).decode(t, &made)
	if made.Status != store.SubscriptionRequested || len(made.Filters) != 1 || made.OrderBy != "subject" {
		t.Fatalf("made %+v", made)
	}
	noError(t, h.reg.Subscriptions.Approve(t.Context(), registry.SystemActor(), made.ID))
	h.engine.Changed()
	delivered := func() string {
		return c.get(t, "/events/v1/deliveries?subscriptionId="+made.ID).want(t, http.StatusOK).header.Get("Total-Count")
	}
	publisher.publish(t, sampleEvent("yes-1")).want(t, http.StatusAccepted)
	publisher.publish(t, sampleEvent("no-1")).want(t, http.StatusAccepted)
	if got := delivered(); got != "1" {
		t.Errorf("%s deliveries, want 1", got)
	}
	patch(t, c, made.ID, `{"filters":null}`).want(t, http.StatusOK).decode(t, &now)
	if now.Status != store.SubscriptionApproved || now.Filters == nil || len(now.Filters) != 0 || now.OrderBy != "subject" {
		t.Errorf("without filters %+v", now)
	}
	publisher.publish(t, sampleEvent("no-2")).want(t, http.StatusAccepted)
	if got := delivered(); got != "2" {
		t.Errorf("%s deliveries, want 2", got)
	}
	patch(t, c, made.ID, `{"orderBy":null,"filters":[{"exact":{"id":"<&>"}}]}`).want(t, http.StatusOK)
	now = selectionAnswer{}
	c.get(t, "/events/v1/subscriptions/"+made.ID).want(t, http.StatusOK).decode(t, &now)
	if len(now.Filters) != 1 || now.Filters[0]["exact"].(map[string]any)["id"] != "<&>" || now.OrderBy != "" {
		t.Errorf("with other filters %+v", now)
	}
	publisher.publish(t, sampleEvent("yes-3")).want(t, http.StatusAccepted)
	if got := delivered(); got != "2" {
		t.Errorf("%s deliveries, want 2", got)
	}
}
