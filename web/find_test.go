package web

import (
	"errors"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"schakel/delivery/event"
	"schakel/delivery/outbox"
	"schakel/store"
)

// correlated is a dead letter of a partner, whose event has a correlation, with its issue. The event went out as an AMQP message, which
// an AppRec answered.
func (w *queueWorld) correlated(p queueParty) (store.Delivery, store.Issue) {
	w.t.Helper()
	ctx := w.t.Context()
	own := must(w.db.OwnPartner(ctx))(w.t)
	ev := must(event.ParseJSON([]byte(`{"specversion":"1.0","id":"ce-1","source":"urn:x","type":"`+queueType+`","subject":"pupil/42",
		"correlationid":"order 7/2026","data":{}}`), event.Limits{}))(w.t)
	d := store.Delivery{
		SubscriptionID: p.subscription, EndpointID: p.endpoint, PartnerID: p.id, EventType: queueType, Status: store.DeliveryDead, Reason: "gone", Cause: "http-410",
		Detail: "It failed.",
	}
	w.write(func(tx *store.Tx) error {
		row := outbox.Row(tx, &ev, own.ID, "cli_test")
		_, err := tx.InsertEvents(ctx, []store.Event{row})
		d.ID, d.EventID, d.KeyExpiresAt = tx.NewID("dlv"), row.ID, tx.Now
		out := store.AMQPMessage{
			Direction: store.AMQPOut, Kind: store.AMQPBusiness, Status: store.AMQPAcknowledged, MessageID: "mid-1", MsgID: "msg-1", CorrelationID: "cor-1",
			ConversationID: "con-1", EventID: row.ID, DeliveryID: d.ID,
		}
		err = errors.Join(err, tx.InsertDeliveries(ctx, []store.Delivery{d}), tx.InsertAMQPMessage(ctx, &out))
		answer := store.AMQPMessage{
			Direction: store.AMQPIn, Kind: store.AMQPAppRec, Status: store.AMQPMatched, MessageID: "mid-2", MsgID: "msg-2", ReferenceID: out.ID, Queue: "ack",
		}
		return errors.Join(err, tx.InsertAMQPMessage(ctx, &answer), tx.RecordIssues(ctx, []store.Outcome{{Delivery: d}}))
	})
	_, pool := w.db.Pools()
	if _, err := pool.ExecContext(ctx, `UPDATE delivery SET cause = ? WHERE id = ?`, d.Cause, d.ID); err != nil {
		w.t.Fatal(err)
	}
	found, _, err := w.db.Issues(ctx, store.IssueFilter{EndpointID: p.endpoint, Cause: d.Cause})
	noError(w.t, err)
	return d, found[0]
}

// Any id finds deliveries in each of their lists, and the issues of those: of a partner its own alone (guarantee G7).
func TestListsFindByAnyID(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	d, issue := w.correlated(w.first)
	w.fails(w.first, "http-503")
	w.fails(w.other, "http-410")
	byID := []string{d.ID, d.EventID, "ce-1", "order 7/2026", "mid-1", "msg-1", "cor-1", "con-1", "mid-2", "msg-2"}
	none := []string{"order 7", "msg-3", "evt_01KKNTQ2CN9JSEQSG3008TDXRA", "' OR 1=1 --"}
	finds := func(b *browser, path string, want bool) {
		t.Helper()
		page := shows(t, b.get(path), http.StatusOK)
		if got := rows(page) == 1; got != want {
			t.Errorf("%s has %d rows, want one: %v", path, rows(page), want)
		}
		if want != strings.Contains(page, d.EndpointID) && strings.Contains(path, "/issues") && !strings.Contains(page, issue.ID) == want {
			t.Errorf("%s lists another issue", path)
		}
	}
	for _, list := range []string{"/deliveries?", "/deliveries/live?", "/issues?"} {
		name := "event"
		if list == "/issues?" {
			name = "id"
		}
		for _, id := range byID {
			query := list + url.Values{name: {id}}.Encode()
			finds(w.admin, "/admin"+query, true)
			finds(w.first.browser, "/partner"+query, true)
			finds(w.other.browser, "/partner"+query, false)
		}
		for _, id := range none {
			finds(w.admin, "/admin"+list+url.Values{name: {id}}.Encode(), false)
		}
		finds(w.admin, "/admin"+list+"subject=pupil/42", true)
		finds(w.other.browser, "/partner"+list+"subject=pupil/42", false)
	}
	for _, id := range []string{issue.ID, issue.EndpointID} {
		query := "/issues?state=unresolved&cause=http-410&id=" + id
		finds(w.admin, "/admin"+query, true)
		finds(w.other.browser, "/partner"+query, false)
	}
	lines := func(path string) int { return strings.Count(text(w.admin.get(path)), "\n") - 1 }
	for path, want := range map[string]int{
		"/admin/deliveries/export?event=msg-1": 1, "/admin/deliveries/export?event=msg-3": 0,
		"/admin/issues/export?id=msg-1": 1, "/admin/issues/export?id=msg-3": 0, "/admin/issues/export?subject=pupil/42": 1,
	} {
		if got := lines(path); got != want {
			t.Errorf("%s has %d lines, want %d", path, got, want)
		}
	}
	shows(t, w.admin.get("/admin/dead-letters/all?event=order+7/2026"), http.StatusOK, "1 delivery")
	finds(w.admin, "/admin/events?event=order+7/2026", true)
	finds(w.admin, "/admin/events?event=msg-2", true)
}

// What very many events share is listed in parts, each of which leads to the next and does not claim to be all.
func TestListsOfWhatManyEventsShare(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	first, _ := w.correlated(w.first)
	shared := must(w.db.Event(t.Context(), first.EventID))(t)
	w.write(func(tx *store.Tx) error {
		events, deliveries := make([]store.Event, store.PartBound), make([]store.Delivery, store.PartBound)
		for i := range events {
			events[i], deliveries[i] = shared, first
			events[i].ID, deliveries[i].ID = tx.NewID("evt"), tx.NewID("dlv")
			events[i].CEID, deliveries[i].EventID = events[i].ID, events[i].ID
		}
		_, err := tx.InsertEvents(t.Context(), events)
		return errors.Join(err, tx.InsertDeliveries(t.Context(), deliveries))
	})
	lists := map[string]*browser{"/admin/deliveries": w.admin, "/partner/deliveries": w.first.browser, "/admin/dead-letters": w.admin, "/admin/events": w.admin}
	for path, b := range lists {
		for _, shared := range []string{"event=order+7/2026", "subject=pupil/42"} {
			page := wantPage(t, b.get(path+"?page=80&"+shared), http.StatusOK, "More than 2,000 ", "Only the newest 2,000 events with this id or subject are listed.")
			older := html.UnescapeString(match(t, regexp.QuoteMeta(path)+`[^"]*before=evt_[^"]*`, page))
			if page := wantPage(t, b.get(older), http.StatusOK); rows(page) != 1 || strings.Contains(page, "Only the newest") {
				t.Errorf("%s has %d rows", older, rows(page))
			}
			if path != "/admin/events" && path != "/admin/dead-letters" { // a part in which nothing matches leads on too
				lacks(t, wantPage(t, b.get(path+"?status=pending&"+shared), http.StatusOK, "before=evt_"), "1 delivery", "More than 0")
			}
		}
	}
}

// The APIs take any id too, of what is the caller's own (guarantee G7). An event that was published over HTTP is found by its correlationid.
//
// Rules: CE-24.
func TestAPIFindsByAnyID(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil).withCatalogue(t)
	north, south := h.newPartner(t, "North"), h.newPartner(t, "South")
	for _, p := range []store.Partner{north, south} {
		h.approvedSubscription(t, p.ID)
	}
	publisher, consumer, decider := h.publisher(t, ""), h.consumer(t, north.ID), h.writer(t)
	publisher.publish(t, sampleEvent("ce-1", `"correlationid":"order-7"`, `"subject":"pupil/42"`)).want(t, http.StatusAccepted)
	publisher.publish(t, sampleEvent("ce-2")).want(t, http.StatusAccepted)
	ours, _, err := h.db.Events(t.Context(), store.EventFilter{CEID: "order-7", Page: store.Page{Number: 1, Size: 10}})
	noError(t, err)
	if len(ours) != 1 || ours[0].CEID != "ce-1" {
		t.Fatalf("events %+v", ours)
	}
	mine := must(h.db.DeliveriesOf(t.Context(), ours[0].ID))(t)
	i := slices.IndexFunc(mine, func(d store.Delivery) bool { return d.PartnerID == north.ID })
	own, theirs := mine[i], mine[1-i]
	_, pool := h.db.Pools()
	for _, d := range mine {
		d.Cause = "http-410"
		noError(t, h.db.Write(t.Context(), func(tx *store.Tx) error { return tx.RecordIssues(t.Context(), []store.Outcome{{Delivery: d}}) }))
		_, err := pool.ExecContext(t.Context(), `UPDATE delivery SET cause = 'http-410' WHERE id = ?`, d.ID)
		noError(t, err)
	}
	total := func(c *apiClient, list string, query url.Values) string {
		t.Helper()
		return c.get(t, "/events/v1/"+list+"?"+query.Encode()).want(t, http.StatusOK).header.Get("Total-Count")
	}
	for _, tt := range []struct {
		query     url.Values
		want, all string // of the partner, and of who decides about the issues of everybody
	}{
		{url.Values{"id": {"order-7"}}, "1", "2"},
		{url.Values{"id": {"ce-1"}}, "1", "2"},
		{url.Values{"id": {ours[0].ID}}, "1", "2"},
		{url.Values{"id": {own.ID}}, "1", "1"},
		{url.Values{"id": {theirs.ID}}, "0", "1"},
		{url.Values{"id": {"order-8"}}, "0", "0"},
		{url.Values{"subject": {"pupil/42"}}, "1", "2"},
		{url.Values{"subject": {"pupil"}}, "0", "0"},
		{url.Values{"id": {"order-7"}, "subject": {"pupil"}}, "0", "0"},
	} {
		for _, list := range []string{"deliveries", "issues"} {
			if got := total(consumer, list, tt.query); got != tt.want {
				t.Errorf("%s %v: %s, want %s", list, tt.query, got, tt.want)
			}
		}
		if got := total(decider, "issues", tt.query); got != tt.all {
			t.Errorf("issues of all %v: %s, want %s", tt.query, got, tt.all)
		}
	}
	for eventID, want := range map[string]string{ours[0].ID: "1", "evt_01KKNTQ2CN9JSEQSG3008TDXRA": "0"} {
		for _, id := range []string{ours[0].ID, own.ID, "ce-1"} {
			if got := total(consumer, "deliveries", url.Values{"id": {id}, "eventId": {eventID}}); got != want {
				t.Errorf("%s and %s: %s, want %s", id, eventID, got, want)
			}
		}
	}
}
