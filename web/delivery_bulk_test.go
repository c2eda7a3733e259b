package web

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"schakel/delivery/webhook"
	"schakel/store"
	"schakel/web/site"
)

func TestTickedRowsAreResent(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	one, two, left := w.dead(w.first), w.dead(w.other), w.dead(w.other)
	w.subscriptionIs(w.other, store.SubscriptionSuspended)
	back := "/admin/dead-letters?kind=attempts-exhausted"
	answer := w.admin.post("/admin/dead-letters", url.Values{"action": {"resend"}, "id": {one.ID, two.ID, "dlv_unknown"}, "back": {back}})
	wantRedirect(t, answer, back)
	shows(t, w.admin.get(back), http.StatusOK, "1 delivery waits to be sent again.", "With 2 others it could not be done")
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
	page := shows(t, w.admin.post("/admin/errors", form), http.StatusOK, "Discard 2 deliveries", "Why are they discarded?")
	if strings.Contains(page, "There is a problem") {
		t.Error("the question is shown as an error")
	}
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
	shows(t, w.first.browser.get("/partner/deliveries"), http.StatusOK, "1 delivery waits to be sent again. With 1 other it could not be done")
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

	answer := w.admin.post("/admin/dead-letters/all", form)
	wantStatus(t, answer, http.StatusSeeOther)
	job := answer.Header.Get("Location")
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
		j, err := w.db.ResendJob(ctx, idOf(job))
		noError(w.t, err)
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
	page := shows(t, w.admin.get("/admin/errors/all"), http.StatusOK, "1 delivery matches", "Refused by the other side")
	form := hiddenOf(t, page, "/admin/errors/all")
	form.Set("action", "discard")
	shows(t, w.admin.post("/admin/errors/all", form), http.StatusUnprocessableEntity, "Say why", "1 delivery matches")
	form.Set("reason", "Replaced by hand.")
	answer := w.admin.post("/admin/errors/all", form)
	wantStatus(t, answer, http.StatusSeeOther)
	shows(t, w.admin.get(answer.Header.Get("Location")), http.StatusOK, "Discard 1 delivery", "Replaced by hand.", "Rejected by the receiver")
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
	answer := w.first.browser.post("/partner/deliveries/all", form)
	wantStatus(t, answer, http.StatusSeeOther)
	job := answer.Header.Get("Location")
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
