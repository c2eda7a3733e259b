package web

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

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

// Lists draw the last 24 hours of each row, and pages for administrators chart an endpoint and a partner beside the period before.
func TestTrafficInListsAndPanels(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	staff := o.browser().login(t, "pat@noord.example")
	mine := o.endpoint(t, o.partner.ID)
	for _, page := range []string{"/admin/endpoints", "/admin/partners"} {
		wantPage(t, o.admin.get(page), http.StatusOK, "Last 24 h", "No traffic")
	}
	now, yesterday := o.db.Now(), o.db.Now().Add(-24*time.Hour)
	err := o.db.Write(t.Context(), func(tx *store.Tx) error {
		failed := store.Outcome{Delivery: store.Delivery{ID: "del_1", EndpointID: mine.ID, PartnerID: o.partner.ID, Cause: "http-503"}}
		return errors.Join(tx.AddTraffic(t.Context(), []store.Traffic{
			{EndpointID: mine.ID, At: now, Made: 1203, Delivered: 1201, Failed: 2, Latency: store.Latencies{3: 1201}},
			{EndpointID: mine.ID, At: yesterday, Made: 100, Delivered: 60, Failed: 40, Latency: store.Latencies{6: 60}},
		}), tx.RecordIssues(t.Context(), []store.Outcome{failed}))
	})
	if err != nil {
		t.Fatal(err)
	}
	const spark = `aria-label="Last 24 hours: 1,201 delivered, 2 failed attempts"`
	for _, page := range []string{"/admin/endpoints", "/admin/partners", "/admin/issues", "/admin/partners/" + o.partner.ID} {
		wantPage(t, o.admin.get(page), http.StatusOK, spark, "schakel-spark__failed")
	}
	for _, page := range []string{"/partner/endpoints", "/partner/issues"} {
		wantPage(t, staff.get(page), http.StatusOK, spark)
	}
	for _, panel := range []struct {
		b          *browser
		page, more string
	}{
		{o.admin, "/admin/endpoints/" + mine.ID, "/admin/traffic?endpoint=" + mine.ID},
		{o.admin, "/admin/partners/" + o.partner.ID, "/admin/traffic?partner=" + o.partner.ID},
		{staff, "/partner/endpoints/" + mine.ID, "/partner/traffic?endpoint=" + mine.ID},
	} {
		wantPage(t, panel.b.get(panel.page), http.StatusOK, "Last 24 hours", panel.more, "99.8% (period before: 60%)", "(period before: 750 ms)", "chart-traffic")
	}
}
