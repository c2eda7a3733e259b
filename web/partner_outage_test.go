package web

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"schakel/delivery/event"
	"schakel/delivery/webhook"
	"schakel/store"
	"schakel/templates/i18n"
)

// A partner reads on its overview and on the page of the endpoint how much waits, since when, why, and when the next attempt is;
// a subscription to a stopped endpoint does not say that events are sent.
func TestPartnerSeesItsOutage(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		stop      func(ep *store.Endpoint)
		why, next string
		since     bool
	}{
		{"paused", func(ep *store.Endpoint) { ep.Status, ep.StatusReason = store.EndpointPaused, "Maintenance." }, "Paused by your organisation", "when you resume it", true},
		{"paused by an administrator", func(ep *store.Endpoint) { ep.Status, ep.PausedBy = store.EndpointPaused, "Ada" }, "Paused by Ada, an administrator", "when an administrator resumes it", true},
		{"suspended", func(ep *store.Endpoint) { ep.Status = store.EndpointSuspended }, "Suspended", "when an administrator resumes it", true},
		{"outside its window", func(ep *store.Endpoint) { ep.Windows = "unreadable" }, "Its delivery window cannot be read", "when you set the window again", false},
		{"circuit open", func(ep *store.Endpoint) {
			ep.Circuit, ep.CircuitFailures = store.CircuitOpen, 10
			ep.CircuitOpenedAt, ep.CircuitProbeAt = ep.UpdatedAt, store.At(ep.UpdatedAt.Add(time.Hour))
		}, "Temporarily stopped: it failed 10 times in a row", "", true},
		{"retry after", func(ep *store.Endpoint) { ep.WaitUntil = store.At(ep.UpdatedAt.Add(time.Hour)) }, "asked for no requests", "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newQueueWorld(t)
			mine, other := w.first.browser, w.other.browser
			made := w.clock.Now()
			w.deliver(w.event(event.DataNone, ""), w.first)
			w.deliver(w.event(event.DataNone, ""), w.first)
			lacks(t, text(mine.get("/partner")), "stopped or late")
			w.clock.Advance(time.Minute)
			stopped := w.clock.Now()
			w.stop(w.first, tt.stop)
			next := tt.next
			if next == "" {
				next = i18n.Time(t.Context(), stopped.Add(time.Hour))
			}
			home, _, _ := strings.Cut(shows(t, mine.get("/partner"), http.StatusOK, "stopped or late"), "Recent failures")
			wantWords(t, home, "/partner/endpoints/"+w.first.endpoint, tt.why, next, ">2<", i18n.Time(t.Context(), made))
			page := shows(t, mine.get("/partner/endpoints/"+w.first.endpoint), http.StatusOK, "Pending deliveries", "The oldest waits since", i18n.Time(t.Context(), made), tt.why, next)
			if tt.since {
				wantWords(t, home, i18n.Time(t.Context(), stopped))
				wantWords(t, page, "Stopped since", i18n.Time(t.Context(), stopped))
			}
			lacks(t, shows(t, mine.get("/partner/subscriptions/"+w.first.subscription), http.StatusOK, "endpoint is stopped", tt.why, next), "are sent to your endpoint")
			lacks(t, text(other.get("/partner")), "stopped or late")
			shows(t, other.get("/partner/subscriptions/"+w.other.subscription), http.StatusOK, "are sent to your endpoint")
		})
	}
}

// An endpoint that was made outside its window has been stopped since it was made, and not since its window closed before.
func TestStoppedSinceItWasMade(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	made := must(w.db.Endpoint(t.Context(), w.first.endpoint))(t).CreatedAt.UTC()
	day := made.AddDate(0, 0, 3).Weekday().String()[:3]
	w.stop(w.first, func(ep *store.Endpoint) {
		ep.Windows = `{"timeZone":"UTC","open":[{"days":["` + strings.ToLower(day) + `"],"from":"10:00","to":"11:00"}]}`
	})
	page := shows(t, w.first.browser.get("/partner/endpoints/"+w.first.endpoint), http.StatusOK, "Outside its delivery window", "Stopped since")
	since := match(t, `(?s)Stopped since.*?datetime="[^"]+"`, page)
	if want := made.Format("2006-01-02T15:04"); !strings.Contains(since, `datetime="`+want) {
		t.Errorf("stopped since %s, want %s", since, want)
	}
}

// An endpoint that is sent to is listed once deliveries wait there for long, with the time of the next attempt.
func TestPartnerSeesWhatIsLate(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	w.attempt(w.deliver(w.event(event.DataNone, ""), w.first), store.DeliveryRetrying, webhook.ReasonUnreachable, store.Attempt{})
	lacks(t, text(w.first.browser.get("/partner")), "stopped or late")
	w.clock.Advance(2 * time.Minute)
	shows(t, w.first.browser.get("/partner"), http.StatusOK, "stopped or late", "not stopped; deliveries wait")
}

// Whoever mended a receiver need not wait for the next probe: from the page of the endpoint or of its issue one delivery goes at once.
func TestProbeFromThePortal(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	endpoint := "/endpoints/" + w.first.endpoint
	lacks(t, text(w.first.browser.get("/partner"+endpoint)), "Try one delivery now")
	d := w.deliver(w.event(event.DataNone, ""), w.first)
	w.attempt(d, store.DeliveryRetrying, webhook.ReasonUnreachable, store.Attempt{})
	issue := "/issues/" + w.issueOf(d, "connect").ID
	for _, base := range []struct {
		browser *browser
		path    string
	}{{w.first.browser, "/partner" + endpoint}, {w.first.browser, "/partner" + issue}, {w.admin, "/admin" + endpoint}, {w.admin, "/admin" + issue}} {
		w.stop(w.first, func(ep *store.Endpoint) {
			ep.Circuit, ep.CircuitFailures = store.CircuitOpen, 10
			ep.CircuitOpenedAt, ep.CircuitProbeAt = ep.UpdatedAt, store.At(w.clock.Now().Add(time.Hour))
		})
		shows(t, base.browser.get(base.path), http.StatusOK, "Try one delivery now")
		w.clock.Advance(time.Second)
		answer := base.browser.post(base.path+"/probe", nil)
		back := answer.Header.Get("Location")
		if answer.StatusCode != http.StatusSeeOther || !strings.HasPrefix(back, base.path+"?tried=") {
			t.Errorf("%s: %d to %s", base.path, answer.StatusCode, back)
		}
		wantWords(t, text(base.browser.get(back)), "being sent to the endpoint", "Look again", "every 2s", "/deliveries/"+d.ID)
		lacks(t, text(base.browser.get(base.path)), "being sent")
		w.attempt(d, store.DeliveryRetrying, webhook.ReasonUnreachable, store.Attempt{StatusCode: 503})
		page := text(base.browser.get(back))
		wantWords(t, page, "failed again", "Answered 503")
		lacks(t, page, "Look again", "every 2s")
		ep, err := w.db.Endpoint(t.Context(), w.first.endpoint)
		if err != nil || ep.CircuitProbeAt.After(w.clock.Now()) || ep.Circuit != store.CircuitOpen {
			t.Errorf("%s: probe at %v, %v", base.path, ep.CircuitProbeAt, err)
		}
		lacks(t, text(base.browser.get(base.path)), "Try one delivery now")
	}
}

// An endpoint whose subscriptions are paused tells so to its partner and to administrators, and announces no attempt.
func TestEndpointOfPausedSubscriptions(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	endpoint := "/endpoints/" + w.first.endpoint
	pages := map[string]*browser{"/partner" + endpoint: w.first.browser, "/admin" + endpoint: w.admin}
	for _, tt := range []struct{ status, why string }{
		{store.SubscriptionPaused, "Its subscriptions are paused: nothing is attempted"},
		{store.SubscriptionSuspended, "Its subscriptions or its partner are suspended or paused: nothing is attempted"},
	} {
		w.subscriptionIs(w.first, tt.status)
		for path, reader := range pages {
			shows(t, reader.get(path), http.StatusOK, tt.why)
		}
	}
	lacks(t, text(w.first.browser.get("/partner")), "stopped or late") // nothing waits

	w.subscriptionIs(w.first, store.SubscriptionApproved)
	w.deliver(w.event(event.DataNone, ""), w.first)
	for path, reader := range pages {
		lacks(t, text(reader.get(path)), "nothing is attempted")
	}
	w.subscriptionIs(w.first, store.SubscriptionPaused)
	for path, reader := range pages {
		shows(t, reader.get(path), http.StatusOK, "Its subscriptions are paused: nothing is attempted")
	}
	next := match(t, `(?s)Next attempt</dt>.*?</dd>`, text(w.first.browser.get("/partner"+endpoint)))
	wantWords(t, next, "when a subscription is resumed")
	shows(t, w.first.browser.get("/partner"), http.StatusOK, "stopped or late", "Its subscriptions are paused")

	w.write(func(tx *store.Tx) error { // another subscription that may be sent to, for which nothing waits
		return tx.InsertSubscription(t.Context(), &store.Subscription{PartnerID: w.first.id, EndpointID: w.first.endpoint, Name: "Others", Status: store.SubscriptionApproved, Types: []string{"nl.other"}})
	})
	for path, reader := range pages {
		shows(t, reader.get(path), http.StatusOK, "What waits is for subscriptions that are paused or suspended")
	}
}

// Attempts that failed are told of after their deliveries arrived, and an endpoint with an issue is not called healthy.
func TestPartnerSeesWhatFailedBefore(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	mine := w.first.browser
	home := shows(t, mine.get("/partner"), http.StatusOK, "No delivery is failing now")
	lacks(t, home, "attempts failed", "Nothing has failed")
	wantWords(t, match(t, `(?s)/partner/endpoints/`+w.first.endpoint+`.*?</time>`, text(mine.get("/partner/endpoints"))), "Healthy")
	d := w.deliver(w.event(event.DataNone, ""), w.first)
	for _, status := range []string{store.DeliveryRetrying, store.DeliveryRetrying, store.DeliveryDelivered} {
		code := int64(503)
		if status == store.DeliveryDelivered {
			code = 204
		}
		w.attempt(d, status, "", store.Attempt{StatusCode: code})
		w.clock.Advance(2 * time.Minute)
	}
	noError(t, w.db.FlushTraffic(t.Context()))
	shows(t, mine.get("/partner"), http.StatusOK, "No delivery is failing now. In the last 24 hours 2 attempts failed; their deliveries were retried")

	d = w.deliver(w.event(event.DataNone, ""), w.first)
	w.attempt(d, store.DeliveryRetrying, webhook.ReasonUnreachable, store.Attempt{})
	w.issueOf(d, "connect")
	row := match(t, `(?s)/partner/endpoints/`+w.first.endpoint+`.*?</time>`, text(mine.get("/partner/endpoints")))
	wantWords(t, row, "1 unresolved issue", `/partner/issues?state=unresolved&amp;endpoint=`+w.first.endpoint)
	lacks(t, row, "Healthy")
}
