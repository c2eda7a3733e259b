package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"schakel/delivery/event"
	"schakel/delivery/window"
	"schakel/store"
	"schakel/store/storetest"
	"schakel/web/site"
)

// Whoever resends what a paused or suspended subscription holds is told before that it cannot be, and after why it was not.
func TestResendToAStoppedSubscriptionWarns(t *testing.T) {
	t.Parallel()
	for status, warning := range map[string]string{
		store.SubscriptionPaused: "cannot be resent until it is resumed", store.SubscriptionSuspended: "or its partner is suspended: its deliveries cannot be resent",
	} {
		t.Run(status, func(t *testing.T) {
			t.Parallel()
			w := newQueueWorld(t)
			d := w.dead(w.first)
			w.clock.Advance(time.Second)
			lacks(t, shows(t, w.admin.get("/admin/dead-letters/all"), http.StatusOK), warning)
			w.subscriptionIs(w.first, status)
			for _, page := range []string{"/admin/dead-letters", "/admin/dead-letters/all", "/admin/deliveries/" + d.ID} {
				shows(t, w.admin.get(page), http.StatusOK, warning)
			}
			for _, page := range []string{"/partner/deliveries?status=dead", "/partner/deliveries/all?status=dead", "/partner/deliveries/" + d.ID} {
				shows(t, w.first.browser.get(page), http.StatusOK, warning)
			}
			page := text(w.admin.get("/admin/dead-letters/all"))
			form := hiddenOf(t, page, "/admin/dead-letters/all")
			form.Set("action", "resend")
			job := redirected(t, w.admin.post("/admin/dead-letters/all", form))
			w.runJob(job)
			shows(t, w.admin.get(job), http.StatusOK, "Could not be resent", "This delivery cannot be resent while its subscription", d.ID)
			shows(t, w.admin.get("/admin/jobs"), http.StatusOK, "1 could not be done", "1 of 1", "Ada Admin")
			wantRedirect(t, w.admin.post("/admin/deliveries/"+d.ID+"/resend", url.Values{}), "/admin/deliveries/"+d.ID)
			shows(t, w.admin.get("/admin/deliveries/"+d.ID), http.StatusOK, "cannot be resent while its subscription")
		})
	}
}

// A person chooses a canary and a rate, sees the canary, and stops the job or has it go on.
func TestAResendWithCanaryAndRate(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	first := w.dead(w.first)
	w.dead(w.first)
	w.clock.Advance(time.Second)
	page := shows(t, w.admin.get("/admin/dead-letters/all"), http.StatusOK, "Resend one delivery to each endpoint first", "Most deliveries at a time")
	form := func(rate, per string) url.Values {
		v := hiddenOf(t, page, "/admin/dead-letters/all")
		v.Set("action", "resend")
		v.Set("canary", "on")
		v.Set("rate", rate)
		v.Set("per", per)
		return v
	}
	for _, wrong := range []string{"0", "-1", "many", "1001", "60001"} {
		shows(t, w.admin.post("/admin/dead-letters/all", form(wrong, "second")), http.StatusUnprocessableEntity, "There is a problem", "Fill in a whole number")
	}
	job := redirected(t, w.admin.post("/admin/dead-letters/all", form("5", "second")))
	stored := must(w.db.ResendJob(t.Context(), idOf(job)))(t)
	if !stored.Canary || stored.Rate != 300 || stored.Stage != store.StageChoosing {
		t.Fatalf("job %+v", stored)
	}
	shows(t, w.admin.get(job), http.StatusOK, "5 a second", "It waits until the first delivery to each endpoint is delivered.")
	w.write(func(tx *store.Tx) error {
		if err := tx.InsertCanary(t.Context(), store.ResendCanary{JobID: stored.ID, EndpointID: w.first.endpoint, DeliveryID: first.ID, Outcome: store.CanaryFailed}); err != nil {
			return err
		}
		stored.Status, stored.Stage, stored.StoppedFor = store.JobStopped, store.StageCanary, "outbox.canary-failed\x1f"+`[{"s":"Hook of first"}]`
		return tx.UpdateResendJob(t.Context(), &stored)
	})
	shows(t, w.admin.get(job), http.StatusOK, "The first delivery to endpoint Hook of first was not delivered", "Resend the rest", "Stop this job", first.ID)
	shows(t, w.admin.get("/admin/jobs"), http.StatusOK, "Stopped")
	wantStatus(t, w.first.browser.post("/partner/jobs/"+stored.ID+"/continue", url.Values{"x": {""}}), http.StatusNotFound)
	wantRedirect(t, w.admin.post(job+"/continue", url.Values{"x": {""}}), job)
	shows(t, w.admin.get(job), http.StatusOK, "The job goes on with the rest.", "Running")
	if said := w.audited("job", stored.ID); len(said) != 2 || !strings.Contains(fmt.Sprint(said), "Ada Admin had a stopped job resend the rest") {
		t.Errorf("audited %q", said)
	}
	wantRedirect(t, w.admin.post(job+"/cancel", url.Values{"x": {""}}), job)
	lacks(t, shows(t, w.admin.get(job), http.StatusOK, "Cancelled"), "Resend the rest")
}

// A machine does the same over the API.
func TestMachinesResendWithCare(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	h := newAPIHarnessOn(t, storetest.SQLite(t, storetest.WithClock(clock)), clock, nil).withCatalogue(t)
	school, other := h.newPartner(t, "School"), h.newPartner(t, "Other")
	sub := h.approvedSubscription(t, school.ID)
	h.publisher(t, "").publish(t, sampleEvent("one")).want(t, 202)
	consumer, stranger := h.consumer(t, school.ID), h.consumer(t, other.ID)
	list := decoded[struct{ Deliveries []site.DeliveryAnswer }](t, consumer.get(t, "/events/v1/deliveries").want(t, 200))
	h.kill(t, list.Deliveries[0])
	clock.Advance(time.Minute)
	for body, pointer := range map[string]string{
		`{"rate":{"deliveries":0,"per":"second"}}`:                                "/rate/deliveries",
		`{"rate":{"deliveries":1001,"per":"second"}}`:                             "/rate/deliveries",
		`{"rate":{"deliveries":5,"per":"hour"}}`:                                  "/rate/per",
		`{"action":"replay","mode":"all","canary":true}`:                          "/canary",
		`{"action":"replay","mode":"all","rate":{"deliveries":5,"per":"minute"}}`: "/rate",
	} {
		if p := consumer.postJSON(t, "/events/v1/resends", body).problem(t, 400, "invalid"); len(p.Errors) != 1 || !strings.HasPrefix(p.Errors[0].Pointer, pointer[:5]) {
			t.Errorf("%s: %+v", body, p.Errors)
		}
	}
	job := consumer.postJSON(t, "/events/v1/resends", `{"canary":true,"rate":{"deliveries":90,"per":"minute"}}`).want(t, http.StatusAccepted)
	if text := string(job.body); !strings.Contains(text, `"canary":true`) || !strings.Contains(text, `"rate":{"deliveries":90,"per":"minute"}`) {
		t.Errorf("job %s", text)
	}
	id := job.member(t, "resendId").(string)
	noError(t, h.db.Write(context.Background(), func(tx *store.Tx) error {
		j, err := tx.ResendJob(t.Context(), id)
		if err != nil {
			return err
		}
		j.Status, j.StoppedFor, j.Refused, j.Refusals = store.JobStopped, "outbox.canary-failed\x1f"+`[{"s":"Hook"}]`, 1, `{"gone":1}`
		if err := tx.UpdateResendJob(t.Context(), &j); err != nil {
			return err
		}
		if err := tx.InsertRefusal(t.Context(), store.ResendRefusal{JobID: id, DeliveryID: "dlv_1", Reason: "gone"}); err != nil {
			return err
		}
		canary := store.ResendCanary{JobID: id, EndpointID: sub.EndpointID, DeliveryID: list.Deliveries[0].DeliveryID, Outcome: store.CanaryFailed}
		chosen, err := tx.ResendCanaries(t.Context(), id)
		if err != nil || len(chosen) > 0 { // the engine runs, and may have been here
			return errors.Join(err, tx.UpdateCanary(t.Context(), canary))
		}
		return tx.InsertCanary(t.Context(), canary)
	}))
	shown := string(consumer.get(t, "/events/v1/resends/"+id).want(t, 200).body)
	for _, want := range []string{`"status":"stopped"`, "The first delivery to endpoint Hook", `"outcome":"failed"`, `"refusals":{"gone":1}`} {
		if !strings.Contains(shown, want) {
			t.Errorf("job %s lacks %s", shown, want)
		}
	}
	if refused := string(consumer.get(t, "/events/v1/resends/"+id+"/refusals").want(t, 200).body); !strings.Contains(refused, `"deliveryId":"dlv_1","reason":"gone","detail":"This delivery`) {
		t.Errorf("refusals %s", refused)
	}
	consumer.get(t, "/events/v1/resends?status=stopped").want(t, 200)
	stranger.get(t, "/events/v1/resends/"+id+"/refusals").problem(t, 404, "not-found")
	stranger.postJSON(t, "/events/v1/resends/"+id+"/continue", "").problem(t, 404, "not-found")
	consumer.do(t, http.MethodPost, "/events/v1/resends/"+id+"/continue", "").want(t, 204)
	if status := consumer.get(t, "/events/v1/resends/"+id).want(t, 200).member(t, "status"); status == "stopped" {
		t.Errorf("status %v after it was continued", status)
	}
	consumer.do(t, http.MethodPatch, "/events/v1/subscriptions/"+sub.ID, `{"status":"paused"}`, "Content-Type", "application/json").want(t, 200)
	preview := ""
	for range 500 { // what the engine changes at the moment of the count is not counted
		clock.Advance(time.Minute)
		preview = string(consumer.postJSON(t, "/events/v1/resend-previews", `{"status":["held","dead","pending","retrying","delivered"]}`).want(t, 200).body)
		if strings.Contains(preview, `"stoppedSubscriptions":[{"subscriptionId":"`+sub.ID+`","reason":"subscription-paused"}]`) {
			return
		}
	}
	t.Errorf("preview %s", preview)
}

// What is held because a subscription is paused is no failure; each failure tells its cause, and each tile counts what it links to.
func TestPausedIsNoFailure(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	w.rejected(w.first)
	w.dead(w.first)
	paused := w.failed(w.first, store.DeliveryHeld, store.ReasonSubscriptionPaused)
	page := shows(t, w.first.browser.get("/partner"), http.StatusOK, "Recent failures", "go out when the subscription or endpoint is resumed")
	_, failures, _ := strings.Cut(page, `id="failures"`)
	failures, _, _ = strings.Cut(failures, "</table>")
	if strings.Contains(failures, paused.ID) || strings.Count(failures, "/partner/deliveries/dlv_") != 2 {
		t.Errorf("failures: %s", failures)
	}
	for href, want := range map[string]int{"/partner/deliveries?status=held&show=stopped": 1, "/partner/deliveries?status=held&show=rejected": 1, "/partner/deliveries?status=dead": 1} {
		if !strings.Contains(page, strings.ReplaceAll(href, "&", "&amp;")) {
			t.Errorf("no tile leads to %s", href)
		}
		if got := rowsListed(t, w.first.browser, href); got != want {
			t.Errorf("%s lists %d, want %d", href, got, want)
		}
	}
}

// An endpoint outside its delivery window with something pending needs no attention; one that is behind after it opened does.
func TestAttentionRespectsDeliveryWindows(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	w.deliver(w.event(event.DataNone, ""), w.first)
	opens := w.clock.Now().UTC().Add(2 * time.Hour).Truncate(time.Minute)
	w.stop(w.first, func(ep *store.Endpoint) {
		week, err := window.ParseLines("UTC", fmt.Sprintf("mon-sun %s-%s", opens.Format("15:04"), opens.Add(time.Hour).Format("15:04")))
		noError(t, err)
		ep.Windows = week.String()
	})
	attention := func(want bool) {
		t.Helper()
		w.admin.login(t, testEmail)
		if got := strings.Contains(text(w.admin.get("/admin")), "/admin/endpoints/"+w.first.endpoint); got != want {
			t.Errorf("at %s listed: %v, want %v", w.clock.Now(), got, want)
		}
		if got := strings.Contains(text(w.browser().login(t, w.first.email).get("/partner")), "Endpoints that are stopped or late"); got != want {
			t.Errorf("at %s listed for the partner: %v, want %v", w.clock.Now(), got, want)
		}
	}
	w.clock.Advance(10 * time.Minute)
	attention(false)
	w.clock.Advance(opens.Sub(w.clock.Now()) + 30*time.Second)
	attention(false) // it has a minute, as any other
	w.clock.Advance(time.Minute)
	attention(true)
}

// A resend and a replay read moments in the time zone in which the form was filled in.
func TestResendMomentsHaveAZone(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	answer := w.admin.get("/admin/jobs/failed?since=own&moment=2026-06-01T10:00&zone=Europe%2FAmsterdam")
	if got := answer.Header.Get("Location"); !strings.Contains(got, "from=2026-06-01T08%3A00") {
		t.Errorf("leads to %q", got)
	}
	wantWords(t, text(w.admin.get("/admin/replays?endpoint="+w.first.endpoint+"&from=2026-01-01T10:00&zone=Europe%2FAmsterdam")), "zone=Europe%2FAmsterdam")
}
