package web

import (
	"html"
	"net/http"
	"regexp"
	"testing"
	"time"

	"schakel/delivery/event"
	"schakel/delivery/webhook"
	"schakel/store"
	webadmin "schakel/web/admin"
)

// The counts of the overview equal the lists that they link to: rows of the last minutes, without those that were made
// before and changed since.
func TestOverviewCountsWhatItLeadsTo(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	old := w.deliver(w.event(event.DataNone, ""), w.first)
	w.deliver(w.event(event.DataNone, ""), w.first)
	w.clock.Advance(webadmin.OverviewPeriod + time.Minute)
	w.attempt(old, store.DeliveryDelivered, webhook.ReasonDelivered, store.Attempt{StatusCode: 200})
	w.deliver(w.event(event.DataNone, ""), w.first)
	w.attempt(w.deliver(w.event(event.DataNone, ""), w.first), store.DeliveryDelivered, webhook.ReasonDelivered, store.Attempt{StatusCode: 200})
	page := text(w.admin.get("/admin"))
	links := regexp.MustCompile(`href="(/admin/deliveries\?[^"]*made=[^"]*)"`).FindAllStringSubmatch(page, -1)
	want := []int{2, 1, 1, 0}
	if len(links) != len(want) {
		t.Fatalf("%d links in %s", len(links), page)
	}
	for i, link := range links {
		list := shows(t, w.admin.get(html.UnescapeString(link[1])), http.StatusOK, "Made from")
		if got := max(0, rows(list)); got != want[i] {
			t.Errorf("%s: %d rows, want %d", link[1], got, want[i])
		}
	}
}
