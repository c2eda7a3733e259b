package web

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"schakel/delivery/event"
	"schakel/delivery/webhook"
	"schakel/store"
	"schakel/store/needs"
	deliverieswebdeliveries "schakel/web/deliveries"
	partnerswebpartners "schakel/web/partners"
	"schakel/web/site"
)

// A list of one state has a column for the cause alone; the others give the state with its cause.
func TestListOfOneState(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	w.dead(w.first)
	heading := regexp.MustCompile(`(?s)role="columnheader"[^>]*>\s*(State|Cause)\s*<`)
	for path, want := range map[string]string{"/admin/dead-letters": "Cause", "/admin/deliveries": "State", "/admin/deliveries?status=dead": "Cause"} {
		got := heading.FindAllStringSubmatch(text(w.admin.get(path)), -1)
		if len(got) != 1 || got[0][1] != want {
			t.Errorf("%s has the columns %q, want %s alone", path, got, want)
		}
	}
	lacks(t, text(w.admin.get("/admin/errors")), `role="columnheader"`)
}

// The menu marks the list that a filter of it is.
func TestMenuMarksTheListShown(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	d := w.dead(w.first)
	for path, marked := range map[string]string{
		"/partner/deliveries": "/partner/deliveries", "/partner/deliveries?status=dead": "/partner/deliveries?status=dead", "/partner/deliveries?status=held": "/partner/deliveries", "/partner/deliveries?status=held&show=rejected": "/partner/deliveries?status=held&amp;show=rejected",
		"/partner/deliveries?endpoint=" + w.first.endpoint + "&status=dead": "/partner/deliveries?status=dead", "/partner/deliveries?status=retrying": "/partner/deliveries",
		"/partner/deliveries/" + d.ID: "/partner/deliveries", "/partner/jobs": "/partner/deliveries",
	} {
		page := text(w.first.browser.get(path))
		if !regexp.MustCompile(`href="` + regexp.QuoteMeta(marked) + `" aria-current="page"`).MatchString(page) {
			t.Errorf("%s: the menu does not mark %s", path, marked)
		}
	}
}

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
	ce := must(w.db.Event(t.Context(), dead.EventID))(t)
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
	page := shows(t, w.admin.get("/admin/errors?show=stopped"), http.StatusOK, "2 deliveries", "All paused and suspended ones that match")
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
		"/admin/dead-letters?from=yesterday":                   "Changed from (UTC): Write the day",
		"/admin/dead-letters?until=2026-02-30":                 "Changed until (UTC): Write the day",
		"/admin/dead-letters?from=2026-02-02&until=2026-02-01": "The last day is before the first",
		"/admin/deliveries?status=lost":                        "Choose a state from the list",
		"/admin/errors?show=everything":                        "Choose from the list what to show",
		"/admin/events?from=0001-01-01":                        "Accepted from (UTC): Write the day",
		"/admin/audit?until=x":                                 "Until (UTC): Write the day",
	} {
		page := shows(t, w.admin.get(query), http.StatusUnprocessableEntity, want)
		lacks(t, page, `role="table"`)
	}
}

func TestEmptyListsSayWhatToDo(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	shows(t, w.admin.get("/admin/errors"), http.StatusOK, "No receiver rejected anything", "See all deliveries")
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

func TestTickedRowsAreResent(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	one, two, left := w.dead(w.first), w.dead(w.other), w.dead(w.other)
	w.subscriptionIs(w.other, store.SubscriptionSuspended)
	back := "/admin/dead-letters?kind=attempts-exhausted"
	wantRedirect(t, w.admin.post("/admin/dead-letters", url.Values{"action": {"resend"}, "id": {one.ID, two.ID, "dlv_unknown"}, "back": {back}}), back)
	shows(t, w.admin.get(back), http.StatusOK, "1 delivery waits to be resent.", "With 2 others it could not be done")
	w.wantState(one.ID, store.DeliveryPending)
	w.wantState(two.ID, store.DeliveryDead) // its subscription is not approved (G2)
	w.wantState(left.ID, store.DeliveryDead)
	if said := w.audited("delivery", one.ID); len(said) != 1 || said[0] != "Ada Admin resent a delivery of "+queueType+"." {
		t.Errorf("audited %q", said)
	}
}

func TestTickedRowsAreDiscardedWithAReason(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	one, two, left := w.rejected(w.first), w.rejected(w.other), w.rejected(w.other)
	form := url.Values{"action": {"discard"}, "id": {one.ID, two.ID}}
	page := shows(t, w.admin.post("/admin/errors", form), http.StatusOK, "Discard 2 deliveries", "Why is this discarded?")
	wantWords(t, page, "/admin/deliveries/"+one.ID, "/admin/deliveries/"+two.ID)
	lacks(t, page, "There is a problem")
	form.Set("asked", "on")
	shows(t, w.admin.post("/admin/errors", form), http.StatusUnprocessableEntity, "There is a problem", "Say why. The audit trail keeps it.")
	form.Set("reason", strings.Repeat("x", 1001))
	shows(t, w.admin.post("/admin/errors", form), http.StatusUnprocessableEntity, "Keep the reason shorter")
	w.wantState(one.ID, store.DeliveryHeld)
	form.Set("reason", "The student <left>.")
	wantRedirect(t, w.admin.post("/admin/errors", form), "/admin/errors")
	shows(t, w.admin.get("/admin/errors"), http.StatusOK, "2 deliveries were discarded.")
	w.wantState(one.ID, store.DeliveryDiscarded)
	w.wantState(two.ID, store.DeliveryDiscarded)
	w.wantState(left.ID, store.DeliveryHeld)
	if said := w.audited("delivery", one.ID); len(said) != 1 || !strings.Contains(said[0], "discarded a delivery of "+queueType+": “The student <left>.”") {
		t.Errorf("audited %q", said)
	}
}

func TestBulkRefusesWhatMakesNoSense(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	dead := w.dead(w.first)
	wantRedirect(t, w.admin.post("/admin/dead-letters", url.Values{"action": {"resend"}}), "/admin/dead-letters")
	shows(t, w.admin.get("/admin/dead-letters"), http.StatusOK, "No delivery was ticked")
	wantStatus(t, w.admin.post("/admin/dead-letters", url.Values{"action": {"erase"}, "id": {dead.ID}}), http.StatusBadRequest)
	many := url.Values{"action": {"resend"}}
	for i := range site.MaxTicked + 1 {
		many.Add("id", fmt.Sprint("dlv_", i))
	}
	wantStatus(t, w.admin.post("/admin/dead-letters", many), http.StatusBadRequest)
	for _, back := range []string{"https://evil.example", "//evil.example", "/admin/errors", "/admin/dead-letters/../errors"} {
		wantRedirect(t, w.admin.post("/admin/dead-letters", url.Values{"action": {"resend"}, "back": {back}}), "/admin/dead-letters")
	}
	w.wantState(dead.ID, store.DeliveryDead)
}

func TestPartnerBulkReachesItsOwnOnly(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	mine, theirs := w.dead(w.first), w.dead(w.other)
	wantRedirect(t, w.first.browser.post("/partner/deliveries", url.Values{"action": {"resend"}, "id": {mine.ID, theirs.ID}}), "/partner/deliveries")
	shows(t, w.first.browser.get("/partner/deliveries"), http.StatusOK, "1 delivery waits to be resent. With 1 other it could not be done")
	w.wantState(mine.ID, store.DeliveryPending)
	w.wantState(theirs.ID, store.DeliveryDead)
	wantStatus(t, w.first.browser.post("/partner/deliveries", url.Values{"action": {"discard"}, "id": {mine.ID}, "reason": {"x"}}), http.StatusBadRequest)
}

// hiddenOf reads the hidden fields of the first form of a page that posts to action.
func hiddenOf(t *testing.T, page, action string) url.Values {
	t.Helper()
	_, form, ok := strings.Cut(page, `action="`+action+`"`)
	if !ok {
		t.Fatalf("no form posts to %s", action)
	}
	form, _, _ = strings.Cut(form, "</form>")
	values := url.Values{}
	for _, m := range regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)"`).FindAllStringSubmatch(form, -1) {
		values.Add(m[1], m[2])
	}
	return values
}

func TestAllThatMatchAreResentAfterACount(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	one, other := w.dead(w.first), w.failed(w.other, store.DeliveryDead, webhook.ReasonGone)
	w.clock.Advance(time.Second) // what changes at the moment of the count is not counted
	shows(t, w.admin.get("/admin/dead-letters"), http.StatusOK, "All 2 that match")
	page := shows(t, w.admin.get("/admin/dead-letters/all?kind=attempts-exhausted&partner="+w.first.id), http.StatusOK,
		"1 delivery matches", "Tried as often as allowed", "Partner of first@example.nl", "Resend 1 delivery", "Discard 1 delivery")
	form := hiddenOf(t, page, "/admin/dead-letters/all")
	w.clock.Advance(time.Minute)
	late := w.dead(w.first) // after the count: not what the reader agreed to

	job := redirected(t, w.admin.post("/admin/dead-letters/all", form))
	shows(t, w.admin.get(job), http.StatusOK, "Resend 1 delivery", "Running", "0 of 1 delivery handled", "Stop this job", "Ada Admin")
	w.runJob(job)
	shows(t, w.admin.get(job), http.StatusOK, "Done", "1 of 1 delivery handled")
	shows(t, w.admin.get("/admin/jobs"), http.StatusOK, "Resend 1 delivery", "1 job")
	w.wantState(one.ID, store.DeliveryPending)
	w.wantState(other.ID, store.DeliveryDead)
	w.wantState(late.ID, store.DeliveryDead)
	if said := w.audited("job", idOf(job)); len(said) != 1 || said[0] != "Ada Admin started a job to resend 1 delivery." {
		t.Errorf("audited %q", said)
	}
}

// runJob starts the engine until a job has ended; no way out is set, so that
// what was resent stays pending.
func (w *queueWorld) runJob(job string) {
	w.t.Helper()
	ctx := w.t.Context()
	noError(w.t, w.engine.Start(ctx))
	for {
		j := must(w.db.ResendJob(ctx, idOf(job)))(w.t)
		if j.Status != store.JobRunning {
			break
		}
	}
	noError(w.t, w.engine.Stop(ctx))
}

func TestAllThatMatchInTheErrorQueueLeavesWhatWaits(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	rejected := w.rejected(w.first)
	waits := w.failed(w.other, store.DeliveryHeld, store.ReasonSubscriptionPaused)
	w.subscriptionIs(w.other, store.SubscriptionPaused)
	w.clock.Advance(time.Second)
	page := shows(t, w.admin.get("/admin/errors/all"), http.StatusOK, "1 delivery matches", "Error queue")
	form := hiddenOf(t, page, "/admin/errors/all")
	form.Set("action", "discard")
	shows(t, w.admin.post("/admin/errors/all", form), http.StatusUnprocessableEntity, "Say why", "1 delivery matches")
	form.Set("reason", "Replaced by hand.")
	answer := w.admin.post("/admin/errors/all", form)
	wantStatus(t, answer, http.StatusSeeOther)
	shows(t, w.admin.get(answer.Header.Get("Location")), http.StatusOK, "Discard 1 delivery", "Replaced by hand.", "Error queue")
	w.runJob(answer.Header.Get("Location"))
	w.wantState(rejected.ID, store.DeliveryDiscarded)
	w.wantState(waits.ID, store.DeliveryHeld)
}

func TestJobsCanBeStopped(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	dead := w.dead(w.first)
	w.clock.Advance(time.Second)
	form := hiddenOf(t, text(w.admin.get("/admin/dead-letters/all")), "/admin/dead-letters/all")
	job := w.admin.post("/admin/dead-letters/all", form).Header.Get("Location")
	wantRedirect(t, w.admin.post(job+"/cancel", url.Values{"x": {""}}), job)
	shows(t, w.admin.get(job), http.StatusOK, "The job is stopped", "Cancelled")
	lacks(t, text(w.admin.get(job)), "Stop this job")
	w.wantState(dead.ID, store.DeliveryDead)
}

func TestAllThatMatchRefusesWhatItCannotRead(t *testing.T) {
	t.Parallel()
	needs.Unraced(t)
	w := newQueueWorld(t)
	w.dead(w.first)
	counted := w.clock.Now().Format(time.RFC3339Nano)
	wantRedirect(t, w.admin.get("/admin/dead-letters/all?from=soon"), "/admin/dead-letters?from=soon")
	shows(t, w.admin.get("/admin/dead-letters/all?kind=gone"), http.StatusOK, "0 deliveries match", "nothing to do")
	for name, form := range map[string]url.Values{
		"no count":       {"action": {"resend"}},
		"no action":      {"counted": {counted}},
		"another action": {"counted": {counted}, "action": {"erase"}},
	} {
		if answer := w.admin.post("/admin/dead-letters/all", form); answer.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: status %d", name, answer.StatusCode)
		}
	}
	wantRedirect(t, w.admin.post("/admin/dead-letters/all", url.Values{"counted": {counted}, "action": {"resend"}, "from": {"soon"}}),
		"/admin/dead-letters?from=soon")
}

func TestPartnerJobCoversItsOwnOnly(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	mine, theirs := w.dead(w.first), w.dead(w.other)
	w.clock.Advance(time.Second)
	page := shows(t, w.first.browser.get("/partner/deliveries/all?partner="+w.other.id), http.StatusOK, "1 delivery matches")
	lacks(t, page, "Discard", "other@example.nl")
	form := hiddenOf(t, page, "/partner/deliveries/all")
	job := redirected(t, w.first.browser.post("/partner/deliveries/all", form))
	shows(t, w.first.browser.get(job), http.StatusOK, "Resend 1 delivery")
	wantStatus(t, w.other.browser.get(job), http.StatusNotFound)
	wantStatus(t, w.other.browser.post(job+"/cancel", url.Values{"x": {""}}), http.StatusNotFound)
	lacks(t, text(w.other.browser.get("/partner/jobs")), idOf(job))
	w.runJob(job)
	w.wantState(mine.ID, store.DeliveryPending)
	w.wantState(theirs.ID, store.DeliveryDead)
	form.Set("action", "discard")
	form.Set("reason", "x")
	wantStatus(t, w.first.browser.post("/partner/deliveries/all", form), http.StatusBadRequest)
}

// Hours that cannot be read are told wherever people look for why nothing is sent, and a form does not clear them.
func TestUnreadableHours(t *testing.T) {
	t.Parallel()
	const stored = `{"timeZone":"posixrules","open":[{"days":["mon"],"from":"07:00","to":"19:00"}]}`
	ep := store.Endpoint{Kind: store.EndpointWebhook, Status: store.EndpointActive, Windows: stored}
	now := time.Date(2026, 3, 27, 12, 0, 0, 0, time.UTC)
	if reason, _ := site.EndpointWait(ep, store.Delivery{SubscriptionID: "sub_1"}, now); reason != "window" {
		t.Errorf("a delivery waits for %q", reason)
	}
	if reason, _ := site.EndpointWait(ep, store.Delivery{}, now); reason != "" {
		t.Errorf("a test event waits for %q", reason)
	}
	for _, text := range []string{site.OpensText(t.Context(), ep, now), site.ClosedText(t.Context(), ep, now), site.WindowWords(t.Context(), ep)} {
		if !strings.Contains(text, "read") {
			t.Errorf("%q", text)
		}
	}
	if v := partnerswebpartners.SendingOf(ep); v.Windows != stored {
		t.Errorf("the form shows %q", v.Windows)
	}
	ep.Kind = store.EndpointPull
	if text := site.OpensText(t.Context(), ep, now) + site.ClosedText(t.Context(), ep, now); text != "" {
		t.Errorf("of a pull endpoint: %q", text)
	}
}

// The wait that a receiver asked for is told until it is over, and not while a probe is under way.
//
// Rules: EDU-10.
func TestRetryAfterIsTold(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 27, 12, 0, 0, 0, time.UTC)
	ep := store.Endpoint{Kind: store.EndpointWebhook, Status: store.EndpointActive, WaitUntil: store.At(now.Add(time.Hour))}
	d := store.Delivery{SubscriptionID: "sub_1", Status: store.DeliveryRetrying}
	if reason, until := site.EndpointWait(ep, d, now); reason != "retry-after" || until != ep.WaitUntil {
		t.Errorf("it waits for %q until %v", reason, until)
	}
	at := deliverieswebdeliveries.DeliveryContext{
		Delivery: d, Endpoint: ep, Partner: store.Partner{Status: store.PartnerApproved},
		Subscription: store.Subscription{Status: store.SubscriptionApproved, Sending: true},
	}
	if text := at.WaitsFor(t.Context(), now); !strings.Contains(text, "Retry-After") {
		t.Errorf("%q", text)
	}
	ep.ProbeOwner = "node_1"
	if reason, _ := site.EndpointWait(ep, d, now); reason != "" {
		t.Errorf("during the probe it waits for %q", reason)
	}
}
