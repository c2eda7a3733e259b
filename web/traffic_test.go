package web

import (
	"errors"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"schakel/delivery/event"
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
		wantPage(t, panel.b.get(panel.page), http.StatusOK, "Last 24 hours", panel.more, "99.8% (period before: 60%)", "(period before: about 750 ms)", "chart-traffic")
	}
}

// Machines read the counts behind the charts, of the caller's partner alone (guarantee G7); wrong periods and steps name those there are.
func TestTrafficAPI(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil)
	partner := h.newPartner(t, "Reader")
	consumer := h.consumer(t, partner.ID)
	mine, theirs := h.newEndpoint(t, partner.ID), h.newEndpoint(t, h.newPartner(t, "Other").ID)
	now := h.db.Now()
	noError(t, h.db.Write(t.Context(), func(tx *store.Tx) error {
		return tx.AddTraffic(t.Context(), []store.Traffic{
			{EndpointID: mine.ID, At: now, Made: 12, Delivered: 9, Failed: 3, Dead: 1, Pending: 2, Latency: store.Latencies{0: 9}},
			{EndpointID: mine.ID, At: now.Add(-24 * time.Hour), Made: 4, Delivered: 4, Latency: store.Latencies{0: 4}},
			{EndpointID: theirs.ID, At: now, Made: 500, Delivered: 500},
			{At: now, Pending: 2},
		})
	}))
	type counts struct {
		Created, Delivered, FailedAttempts, Dead int
		SuccessRate, LatencyP50                  *float64
	}
	for _, query := range []string{"", "?endpointId=" + mine.ID, "?step=15m&period=24h", "?step=1h"} {
		got := decoded[struct {
			Points          []struct{ Pending *int }
			Total, Previous counts
		}](t, consumer.get(t, "/events/v1/traffic"+query).want(t, http.StatusOK))
		last := got.Points[len(got.Points)-1]
		if got.Total.Delivered != 9 || got.Total.FailedAttempts != 3 || *got.Total.SuccessRate != .75 || got.Previous.Created != 4 || *got.Previous.SuccessRate != 1 ||
			last.Pending == nil || *last.Pending != 2 || got.Points[0].Pending != nil {
			t.Errorf("%s: %+v", query, got)
		}
	}
	for period, points := range map[string]int{"1h": 60, "24h": 48, "7d": 56, "30d": 60, "30d&step=24h": 30} {
		got := decoded[struct{ Points []any }](t, consumer.get(t, "/events/v1/traffic?period="+period).want(t, http.StatusOK))
		if len(got.Points) != points {
			t.Errorf("%s has %d points, want %d", period, len(got.Points), points)
		}
	}
	consumer.get(t, "/events/v1/traffic?endpointId="+theirs.ID).problem(t, http.StatusNotFound, "not-found")
	for query, wants := range map[string]string{"?period=2h": "1h, 24h, 7d or 30d", "?period=7d&step=1m": "3h, 1h or 24h"} {
		answer := consumer.get(t, "/events/v1/traffic"+query)
		answer.problem(t, http.StatusBadRequest, "invalid")
		if !strings.Contains(string(answer.body), wants) {
			t.Errorf("%s: %s", query, answer.body)
		}
	}
}

// The timeline of an endpoint shows when it was paused, when its circuit was open with the probes that failed, and its delivery
// windows; several endpoints have none.
func TestEndpointTimeline(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	staff := o.browser().login(t, "pat@noord.example")
	e := o.endpoint(t, o.partner.ID)
	change := func(fn func(tx *store.Tx) error) {
		t.Helper()
		noError(t, o.db.Write(t.Context(), fn))
		o.clock.Advance(time.Minute)
	}
	e.Windows = `{"timeZone":"Europe/Amsterdam","open":[{"days":["mon","tue","wed","thu","fri","sat","sun"],"from":"08:00","to":"18:00"}]}`
	e.Circuit = store.CircuitOpen
	change(func(tx *store.Tx) error {
		return errors.Join(tx.UpdateEndpoint(t.Context(), &e), tx.SaveCircuit(t.Context(), &e))
	})
	change(func(tx *store.Tx) error { return tx.SaveCircuit(t.Context(), &e) })
	e.Status = store.EndpointPaused
	change(func(tx *store.Tx) error { return tx.UpdateEndpoint(t.Context(), &e) })
	for path, b := range map[string]*browser{
		"/admin/endpoints/" + e.ID: o.admin, "/partner/endpoints/" + e.ID: staff,
		"/admin/traffic?period=7d&endpoint=" + e.ID: o.admin, "/partner/traffic?endpoint=" + e.ID: staff,
	} {
		wantPage(t, b.get(path), http.StatusOK, "States over time", "Circuit open", "Half open: one request, which failed", "Paused",
			"Inside a delivery window", "Outside the delivery windows", "schakel-lanes__span--error")
	}
	for _, path := range []string{"/admin/traffic", "/admin/traffic?partner=" + o.partner.ID} {
		if page := wantPage(t, o.admin.get(path), http.StatusOK); strings.Contains(page, "States over time") {
			t.Errorf("%s shows the states of one endpoint", path)
		}
	}
}

// A change that is undone at once leaves one row of one state in the table of the timeline.
func TestEndpointTimelineJoinsStates(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	e := o.endpoint(t, o.partner.ID)
	for range 3 {
		o.clock.Advance(time.Minute)
		for _, circuit := range []string{store.CircuitOpen, store.CircuitClosed} {
			e.Circuit = circuit
			noError(t, o.db.Write(t.Context(), func(tx *store.Tx) error { return tx.SaveCircuit(t.Context(), &e) }))
		}
	}
	o.clock.Advance(time.Minute)
	_, table, _ := strings.Cut(wantPage(t, o.admin.get("/admin/endpoints/"+e.ID), http.StatusOK), `id="chart-states-numbers"`)
	table, _, _ = strings.Cut(table, "</table>")
	if n := strings.Count(table, "Healthy (circuit closed)"); n != 1 {
		t.Errorf("%d rows say that the circuit is closed, want 1", n)
	}
}

// What waits at an endpoint is one number on its pages, also when it was another at the last look.
func TestWaitingIsOneNumber(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	w.deliver(w.event(event.DataJSON, `{}`), w.first)
	w.deliver(w.event(event.DataJSON, `{}`), w.first)
	for path, b := range map[string]*browser{"/admin/endpoints/" + w.first.endpoint: w.admin, "/partner/endpoints/" + w.first.endpoint: w.first.browser, "/admin/partners/" + w.first.id: w.admin,
		"/admin/traffic?period=7d&endpoint=" + w.first.endpoint: w.admin, "/admin/traffic": w.admin, "/partner/traffic?period=30d": w.first.browser} {
		page := text(b.get(path))
		lacks(t, page, "Waited at the last look", "nothing waited")
		if !strings.Contains(page, "eliveries that wait now: 2") && !regexp.MustCompile(`(?s)Waits now.{0,200}?>2<`).MatchString(page) {
			t.Errorf("%s does not say that 2 wait", path)
		}
	}
}
