package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"schakel/delivery/event"
	"schakel/delivery/webhook"
	"schakel/store"
)

func TestQueuesShowWhatTheyAreAbout(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	rejected, dead := w.rejected(w.first), w.dead(w.other)
	for path, want := range map[string]struct {
		words        []string
		rows         int
		shown, other string
	}{
		"/admin/errors":       {[]string{"Error queue", "Rejected by the receiver (400)", "1 delivery"}, 1, rejected.ID, dead.ID},
		"/admin/dead-letters": {[]string{"Dead letters", "Tried as often as allowed (400)", "All 1 that match"}, 1, dead.ID, rejected.ID},
	} {
		page := shows(t, w.admin.get(path), http.StatusOK, want.words...)
		lacks(t, page, want.other)
		if rows(page) != want.rows {
			t.Errorf("%s shows %d rows, want %d", path, rows(page), want.rows)
		}
	}
	page := shows(t, w.admin.get("/admin/deliveries"), http.StatusOK, "Partner of first@example.nl", "Hook of other@example.nl", "2 deliveries")
	if rows(page) != 2 {
		t.Errorf("all deliveries: %d rows", rows(page))
	}
}

func TestFiltersOfDeadLetters(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	dead := w.dead(w.first)
	w.failed(w.other, store.DeliveryDead, webhook.ReasonGone)
	ce, err := w.db.Event(t.Context(), dead.EventID)
	noError(t, err)
	today := w.clock.Now().UTC().Format("2006-01-02")
	tomorrow := w.clock.Now().UTC().AddDate(0, 0, 1).Format("2006-01-02")
	for name, tt := range map[string]struct {
		query string
		want  int
	}{
		"none":            {"", 2},
		"partner":         {"partner=" + w.first.id, 1},
		"endpoint":        {"endpoint=" + w.first.endpoint, 1},
		"subscription":    {"subscription=" + w.first.subscription, 1},
		"type":            {"type=" + queueType, 2},
		"another type":    {"type=nl.example.other", 0},
		"kind of error":   {"kind=gone", 1},
		"CloudEvent id":   {"event=" + ce.CEID, 1},
		"our event id":    {"event=" + dead.EventID, 1},
		"today":           {"from=" + today + "&until=" + today, 2},
		"from tomorrow":   {"from=" + tomorrow, 0},
		"until yesterday": {"until=2020-01-01", 0},
		"status is fixed": {"status=held", 2},
		"an injection":    {"partner=" + url.QueryEscape("' OR 1=1 --"), 0},
	} {
		page := shows(t, w.admin.get("/admin/dead-letters?"+tt.query), http.StatusOK)
		if got := max(0, rows(page)); got != tt.want {
			t.Errorf("%s: %d rows, want %d", name, got, tt.want)
		}
	}
}

func TestErrorQueueCanShowWhatWaitsForAnEndpoint(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	rejected := w.rejected(w.first)
	waits := w.failed(w.other, store.DeliveryHeld, store.ReasonEndpointSuspended)
	lacks(t, shows(t, w.admin.get("/admin/errors"), http.StatusOK), waits.ID)
	lacks(t, shows(t, w.admin.get("/admin/errors?show=stopped"), http.StatusOK, "Endpoint is suspended"), rejected.ID)
	w.stop(w.first, func(ep *store.Endpoint) { ep.Status = store.EndpointPaused })
	pending := w.deliver(w.event(event.DataNone, ""), w.first)
	lacks(t, shows(t, w.admin.get("/admin/errors"), http.StatusOK), pending.ID)
	page := shows(t, w.admin.get("/admin/errors?show=stopped"), http.StatusOK, "2 deliveries", "All held ones that match")
	if lacks(t, page, rejected.ID); rows(page) != 2 || !strings.Contains(page, pending.ID) || !strings.Contains(page, waits.ID) {
		t.Errorf("what waits for a stopped endpoint: %d rows", rows(page))
	}
	w.clock.Advance(time.Second)
	shows(t, w.admin.get("/admin/errors/all?show=stopped"), http.StatusOK, "1 delivery matches")
	if page := shows(t, w.admin.get("/admin/errors?show=held"), http.StatusOK); rows(page) != 2 {
		t.Errorf("everything held: %d rows", rows(page))
	}
}

func TestWrongFilterShowsNoList(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	w.dead(w.first)
	for query, want := range map[string]string{
		"/admin/dead-letters?from=yesterday":                   "Changed from: Write the day",
		"/admin/dead-letters?until=2026-02-30":                 "Changed until: Write the day",
		"/admin/dead-letters?from=2026-02-02&until=2026-02-01": "The last day is before the first",
		"/admin/deliveries?status=lost":                        "Choose a state from the list",
		"/admin/errors?show=everything":                        "Choose from the list what to show",
		"/admin/events?from=0001-01-01":                        "Accepted from: Write the day",
		"/admin/audit?until=x":                                 "Until: Write the day",
	} {
		page := shows(t, w.admin.get(query), http.StatusUnprocessableEntity, want)
		lacks(t, page, `role="table"`)
	}
}

func TestEmptyListsSayWhatToDo(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	shows(t, w.admin.get("/admin/errors"), http.StatusOK, "refused nothing", "See all deliveries")
	shows(t, w.admin.get("/admin/dead-letters"), http.StatusOK, "Nothing has stopped being tried")
	shows(t, w.admin.get("/admin/deliveries"), http.StatusOK, "Nothing was sent yet")
	shows(t, w.admin.get("/admin/dead-letters?kind=gone"), http.StatusOK, "Nothing matches this filter", "Clear the filter")
	shows(t, w.admin.get("/admin/events"), http.StatusOK, "No event was accepted yet")
	shows(t, w.admin.get("/admin/jobs"), http.StatusOK, "No job was started yet")
	shows(t, w.first.browser.get("/partner/deliveries"), http.StatusOK, "Nothing was sent to you yet")
}

func TestListsArePaged(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	e := w.event(event.DataNone, "")
	for range 3 {
		w.deliver(e, w.first)
	}
	page := shows(t, w.admin.get("/admin/deliveries?perPage=2&status=pending"), http.StatusOK, "1 to 2 of 3", "Next")
	if rows(page) != 2 {
		t.Errorf("%d rows on the first page", rows(page))
	}
	page = shows(t, w.admin.get("/admin/deliveries?perPage=2&status=pending&page=2"), http.StatusOK, "3 to 3 of 3")
	if rows(page) != 1 {
		t.Errorf("%d rows on the second page", rows(page))
	}
}

func TestPartnerSeesItsOwnDeliveriesOnly(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	mine, theirs := w.dead(w.first), w.dead(w.other)
	for _, path := range []string{
		"/partner/deliveries", "/partner/deliveries?partner=" + w.other.id, "/partner/deliveries?status=dead",
		"/partner/deliveries?endpoint=" + w.first.endpoint, "/partner/deliveries?type=" + queueType,
	} {
		page := shows(t, w.first.browser.get(path), http.StatusOK, "1 delivery")
		lacks(t, page, theirs.ID, "other@example.nl", "Discard…", "/admin/")
		if rows(page) != 1 {
			t.Errorf("%s: %d rows", path, rows(page))
		}
	}
	lacks(t, shows(t, w.first.browser.get("/partner/deliveries?endpoint="+w.other.endpoint), http.StatusOK), mine.ID, theirs.ID, "Hook of other")
}
