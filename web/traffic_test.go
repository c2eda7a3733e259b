package web

import (
	"net/http"
	"strings"
	"testing"

	"schakel/store"
)

// The charts show what was counted at an endpoint, and a partner sees its own alone (guarantee G7).
func TestTrafficPages(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	staff := o.browser().login(t, "pat@noord.example")
	mine, own := o.endpoint(t, o.partner.ID), o.endpoint(t, o.own.ID)
	wantPage(t, o.admin.get("/admin/traffic"), http.StatusOK, "There was no traffic and nothing waited in the last 24 hours.")
	err := o.db.Write(t.Context(), func(tx *store.Tx) error {
		row := store.Traffic{EndpointID: mine.ID, At: o.db.Now(), Made: 1203, Delivered: 1201, Failed: 2, Latency: store.Latencies{3: 1201}}
		return tx.AddTraffic(t.Context(), []store.Traffic{row, {At: o.db.Now(), Accepted: 977}})
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, period := range []string{"", "?period=1h", "?period=24h", "?period=7d", "?period=30d"} {
		wantPage(t, o.admin.get("/admin/traffic"+period), http.StatusOK, "Events accepted", "977", "1,201", "<svg", "95% arrived within", "99.8%", "Traffic in numbers")
	}
	page := wantPage(t, o.admin.get("/admin/traffic?endpoint="+mine.ID), http.StatusOK, "New deliveries", "1,203")
	if strings.Contains(page, "977") {
		t.Error("the events of all stand on the page of an endpoint")
	}
	wantPage(t, o.admin.get("/admin/traffic?partner="+o.own.ID), http.StatusOK, "There was no traffic")
	wantStatus(t, o.admin.get("/admin/traffic?endpoint=end_none"), http.StatusNotFound)
	wantPage(t, staff.get("/partner/traffic"), http.StatusOK, "1,203")
	wantStatus(t, staff.get("/partner/traffic?endpoint="+own.ID), http.StatusNotFound)
	wantPage(t, staff.get("/partner/endpoints/"+mine.ID), http.StatusOK, "Last 24 hours", "All charts of this endpoint")
}
