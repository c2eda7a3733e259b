package web

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"schakel/delivery/event"
	"schakel/delivery/webhook"
	"schakel/store"
	"schakel/store/storetest"
	"schakel/templates/i18n"
	webdeliveries "schakel/web/deliveries"
	"schakel/web/site"
)

// stops has an endpoint not be sent to, for a reason that pages tell in these words.
func stops() map[string]func(ep *store.Endpoint) {
	return map[string]func(ep *store.Endpoint){
		"is paused":                   func(ep *store.Endpoint) { ep.Status = store.EndpointPaused },
		"is suspended":                func(ep *store.Endpoint) { ep.Status = store.EndpointSuspended },
		"outside its delivery window": func(ep *store.Endpoint) { ep.Windows = "unreadable" },
		"circuit open": func(ep *store.Endpoint) {
			ep.Circuit, ep.CircuitFailures = store.CircuitOpen, 10
			ep.CircuitOpenedAt, ep.CircuitProbeAt = ep.UpdatedAt, store.At(ep.UpdatedAt.Add(time.Hour))
		},
		"asked for no requests until": func(ep *store.Endpoint) { ep.WaitUntil = store.At(ep.UpdatedAt.Add(time.Hour)) },
	}
}

func (w *queueWorld) stop(p queueParty, how func(ep *store.Endpoint)) {
	w.t.Helper()
	ctx := w.t.Context()
	w.write(func(tx *store.Tx) error {
		ep, err := tx.Endpoint(ctx, p.endpoint)
		if err != nil {
			return err
		}
		ep.UpdatedAt = tx.Now
		how(&ep)
		if err := tx.UpdateEndpoint(ctx, &ep); err != nil {
			return err
		}
		if !ep.WaitUntil.IsZero() {
			return tx.ExtendWait(ctx, ep.ID, ep.WaitUntil)
		}
		return tx.SaveCircuit(ctx, &ep)
	})
}

// Whoever resends one delivery, ticked ones or all, or replays, to an endpoint that is not sent to is warned before, and after.
//
// Rules: EDU-N11.
func TestEveryWayToResendWarns(t *testing.T) {
	t.Parallel()
	for warning, how := range stops() {
		t.Run(warning, func(t *testing.T) {
			t.Parallel()
			w := newQueueWorld(t)
			one, ticked, third := w.dead(w.first), w.dead(w.first), w.dead(w.first)
			healthy := w.dead(w.other)
			w.event(event.DataJSON, `{"n":"never delivered"}`)
			w.clock.Advance(time.Minute) // what changes at the moment of the count is not counted
			lacks(t, shows(t, w.admin.get("/admin/dead-letters"), http.StatusOK, "4 deliveries"), warning)
			w.stop(w.first, how)

			here := "/admin/deliveries/" + one.ID
			shows(t, w.admin.get(here), http.StatusOK, "Resend", warning)
			shows(t, w.first.browser.get("/partner/deliveries/"+one.ID), http.StatusOK, "Resend", warning)
			shows(t, w.admin.get("/admin/dead-letters"), http.StatusOK, warning)
			lacks(t, shows(t, w.admin.get("/admin/deliveries/"+healthy.ID), http.StatusOK, "Resend"), warning)
			shows(t, w.admin.get("/admin/dead-letters/all"), http.StatusOK, warning)
			shows(t, w.admin.get("/admin/replays?endpoint="+w.first.endpoint), http.StatusOK, "to replay", warning)

			wantRedirect(t, w.admin.post(here+"/resend", url.Values{"back": {"/admin/dead-letters"}}), "/admin/dead-letters")
			shows(t, w.admin.get("/admin/dead-letters?eventType=nl.none"), http.StatusOK, "The delivery waits to be resent.", warning) // in the message alone: no row is shown
			wantRedirect(t, w.admin.post("/admin/dead-letters", url.Values{"id": {ticked.ID, healthy.ID}, "action": {"resend"}}), "/admin/dead-letters")
			shows(t, w.admin.get("/admin/dead-letters?eventType=nl.none"), http.StatusOK, "2 deliveries wait to be resent.", warning)
			wantRedirect(t, w.admin.post("/admin/deliveries/"+third.ID+"/resend", url.Values{}), "/admin/deliveries/"+third.ID)

			w.attempt(w.deliver(w.event(event.DataNone, ""), w.other), store.DeliveryDead, webhook.ReasonAttempts, store.Attempt{StatusCode: 500})
			last := w.dead(w.other)
			wantRedirect(t, w.admin.post("/admin/deliveries/"+last.ID+"/resend", url.Values{"back": {"/admin/dead-letters"}}), "/admin/dead-letters")
			lacks(t, shows(t, w.admin.get("/admin/dead-letters?eventType=nl.none"), http.StatusOK, "The delivery waits to be resent."), warning)
		})
	}
}

// A list of what waits warns of endpoints that are not sent to as the queues do; and after a resend a page says so once.
//
// Rules: EDU-N11.
func TestAWarningStandsOnce(t *testing.T) {
	t.Parallel()
	for warning, how := range stops() {
		t.Run(warning, func(t *testing.T) {
			t.Parallel()
			w := newQueueWorld(t)
			d, e := w.dead(w.first), w.dead(w.first)
			w.deliver(w.event(event.DataNone, ""), w.first)
			w.attempt(w.deliver(w.event(event.DataNone, ""), w.first), store.DeliveryRetrying, webhook.ReasonUnreachable, store.Attempt{})
			lacks(t, shows(t, w.admin.get("/admin/deliveries?status=pending"), http.StatusOK), warning)
			w.stop(w.first, how)
			for _, list := range []string{"/admin/deliveries?status=pending", "/admin/deliveries?status=retrying", "/admin/deliveries"} {
				if n := strings.Count(shows(t, w.admin.get(list), http.StatusOK, warning), warning); n != 1 {
					t.Errorf("%s: %d warnings", list, n)
				}
			}
			once := func(id, back string) {
				t.Helper()
				wantRedirect(t, w.admin.post("/admin/deliveries/"+id+"/resend", url.Values{"back": {back}}), back)
				page := shows(t, w.admin.get(back), http.StatusOK, "The delivery waits to be resent.")
				if n := strings.Count(page, warning); n > 1 {
					t.Errorf("%s says %d times why it waits", back, n)
				}
			}
			once(d.ID, "/admin/deliveries")
			once(e.ID, "/admin/deliveries/"+e.ID)
		})
	}
}

// A row says by what its event goes out once more: a resend of the same delivery, or a replay of the stored event.
func TestRowsTellResendsFromReplays(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	d := w.dead(w.first)
	w.event(event.DataJSON, `{"n":"never delivered"}`)
	w.clock.Advance(time.Minute)
	page := shows(t, w.admin.get("/admin/dead-letters/all"), http.StatusOK, "1 delivery")
	resend := redirected(t, w.admin.post("/admin/dead-letters/all", func() url.Values {
		v := hiddenOf(t, page, "/admin/dead-letters/all")
		v.Set("action", "resend")
		return v
	}()))
	w.runJob(resend)
	page = shows(t, w.admin.get("/admin/replays?endpoint="+w.first.endpoint), http.StatusOK, "to replay")
	replay := redirected(t, w.admin.post("/admin/replays", hiddenOf(t, page, "/admin/replays")))
	w.runJob(replay)
	lacks(t, shows(t, w.admin.get("/admin/deliveries?job="+idOf(resend)), http.StatusOK, "1 delivery", "resent"), "replayed", "offered again")
	lacks(t, shows(t, w.admin.get("/admin/deliveries?job="+idOf(replay)), http.StatusOK, "1 delivery", "replayed"), "resent", "offered again")
	lacks(t, shows(t, w.admin.get("/admin/deliveries/"+d.ID), http.StatusOK, "Resent by job", "Accepted", idOf(resend)), "Replayed by job", "Offered again")
	rows, _, err := w.db.Deliveries(t.Context(), store.DeliveryFilter{ReplayOf: idOf(replay)})
	noError(t, err)
	lacks(t, shows(t, w.admin.get("/admin/deliveries/"+rows[0].ID), http.StatusOK, "Replayed by job", idOf(replay)), "Resent by job", "Offered again")
}

// Rules: EDU-18, EDU-N11
func TestAdministratorReplaysWhatAnEndpointNeverGot(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	w.event(event.DataJSON, `{"n":1}`)
	e := w.event(event.DataJSON, `{"n":2}`)
	w.deliver(e, w.first)
	w.clock.Advance(time.Minute)
	shows(t, w.admin.get("/admin/endpoints/"+w.first.endpoint), http.StatusOK, "Replay what it never got")
	page := shows(t, w.admin.get("/admin/replays?endpoint="+w.first.endpoint), http.StatusOK,
		"1 event to replay", "what was never received", "Hook of first@example.nl", "Enrolments", queueType, "Partner of first@example.nl", "Replay 1 event")
	job := redirected(t, w.admin.post("/admin/replays", hiddenOf(t, page, "/admin/replays")))
	shows(t, w.admin.get(job), http.StatusOK, "Replay of 1 event", "Running", "0 of 1 event handled", "For each subscription", "Stop this job")
	w.runJob(job)
	shows(t, w.admin.get(job), http.StatusOK, "Done", "1 of 1 event handled")
	list := shows(t, w.admin.get("/admin/deliveries?job="+idOf(job)), http.StatusOK, "1 delivery", "replayed")
	_, id, _ := strings.Cut(list, `href="/admin/deliveries/dlv_`)
	id, _, _ = strings.Cut(id, `"`)
	shows(t, w.admin.get("/admin/deliveries/dlv_"+id), http.StatusOK, "Replayed by job", idOf(job))
	shows(t, w.admin.get("/admin/replays?endpoint="+w.first.endpoint), http.StatusOK, "0 events to replay", "No stored event is to be replayed")
	if said := w.audited("job", idOf(job)); len(said) != 1 || said[0] != "Ada Admin started a job to replay 1 event." {
		t.Errorf("audited %q", said)
	}
	shows(t, w.admin.get("/admin/jobs"), http.StatusOK, "Replay of 1 event", "Resend or replay…")
}

func TestPartnerReplaysItsOwnSinceItsApproval(t *testing.T) { // guarantees G2, G3, G7
	t.Parallel()
	w := newQueueWorld(t)
	w.event(event.DataJSON, `{"n":"before"}`)
	w.clock.Advance(time.Minute)
	w.write(func(tx *store.Tx) error {
		s, err := tx.Subscription(t.Context(), w.first.subscription)
		if err != nil {
			return err
		}
		s.DecidedAt = tx.Now
		return tx.UpdateSubscription(t.Context(), &s)
	})
	w.clock.Advance(time.Minute)
	w.event(event.DataJSON, `{"n":"after"}`)
	w.clock.Advance(time.Minute)
	mine := w.first.browser
	shows(t, mine.get("/partner/subscriptions/"+w.first.subscription), http.StatusOK, "Replay everything that it never got")
	shows(t, mine.get("/partner/endpoints/"+w.first.endpoint), http.StatusOK, "Replay everything that this endpoint never got")
	page := shows(t, mine.get("/partner/replays?subscription="+w.first.subscription), http.StatusOK, "1 event to replay", "before your subscription was approved")
	job := mine.post("/partner/replays", hiddenOf(t, page, "/partner/replays")).Header.Get("Location")
	shows(t, mine.get(job), http.StatusOK, "Replay of 1 event")
	wantStatus(t, w.other.browser.get(job), http.StatusNotFound)
	wantStatus(t, w.other.browser.post(job+"/cancel", url.Values{"x": {""}}), http.StatusNotFound)
	shows(t, w.admin.get("/admin/jobs/"+idOf(job)), http.StatusOK, "Replay of 1 event")
	for _, address := range []string{
		"/partner/replays?subscription=" + w.other.subscription, "/partner/replays?endpoint=" + w.other.endpoint, "/partner/replays?subscription=sub_none",
	} {
		lacks(t, shows(t, mine.get(address), http.StatusUnprocessableEntity, "There is a problem"), "other@example.nl")
	}
	// A partner that another is named for gets its own.
	shows(t, mine.get("/partner/replays?partner="+w.other.id), http.StatusOK, "Hook of first@example.nl")
	wantStatus(t, mine.get("/admin/replays?endpoint="+w.first.endpoint), http.StatusForbidden)
	wantStatus(t, w.browser().get("/partner/jobs/new"), http.StatusSeeOther)
}

func TestReplayFormTellsWhatIsWrong(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	shows(t, w.admin.get("/admin/jobs/new"), http.StatusOK, "Everything that failed since a moment", "Stored events once more")
	here := "/admin/replays?endpoint=" + w.first.endpoint
	for query, want := range map[string]string{
		"/admin/replays":         "Choose a partner, or an endpoint.",
		here + "&from=yesterday": "Write the day as year-month-day",
		here + "&from=2026-05-02T10:00&until=2026-05-02T09:00": "The end is before the beginning.",
		here + "&mode=some":                           "Choose which events.",
		here + "&type=nl.other":                       "No approved subscription is selected",
		here + "&events=" + strings.Repeat("x+", 101): "At most 100 ids",
		"/admin/replays?subscription=sub_none":        "There is no such subscription.",
	} {
		shows(t, w.admin.get(query), http.StatusUnprocessableEntity, "There is a problem", want)
	}
	w.subscriptionIs(w.first, store.SubscriptionSuspended)
	shows(t, w.admin.get("/admin/replays?subscription="+w.first.subscription), http.StatusUnprocessableEntity, "is not approved now")
	shows(t, w.admin.post("/admin/replays", url.Values{"endpoint": {w.first.endpoint}, "mode": {"all"}}), http.StatusUnprocessableEntity, "No approved subscription")
}

// What to resend or replay since a moment is one step away from the partner, the endpoint and the issue, and names them.
func TestAgainIsOneStepAway(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	_, issue := w.fails(w.first, "http-503")
	partner := must(w.db.Partner(t.Context(), w.first.id))(t).Name
	ofEndpoint, hook := "/admin/jobs/new?endpoint="+w.first.endpoint, "Hook of first@example.nl"
	for page, want := range map[string]string{
		"/admin/partners/" + w.first.id: "/admin/jobs/new?partner=" + w.first.id, "/admin/endpoints/" + w.first.endpoint: ofEndpoint, "/admin/issues/" + issue.ID: ofEndpoint,
	} {
		wantWords(t, shows(t, w.admin.get(page), http.StatusOK, "Resend or replay since a moment"), want)
	}
	for _, page := range []string{"", "/endpoints/" + w.first.endpoint, "/issues/" + issue.ID} {
		wantWords(t, shows(t, w.first.browser.get("/partner"+page), http.StatusOK, "Resend or replay since a moment"), "/partner/jobs/new")
	}
	shows(t, w.admin.get("/admin/jobs/new?partner="+w.first.id), http.StatusOK, "Resend or replay for "+partner)
	page := shows(t, w.admin.get(ofEndpoint), http.StatusOK, "Resend or replay for endpoint "+hook+" of "+partner)
	if n := strings.Count(page, `value="`+w.first.id+`" selected`); n != 2 {
		t.Errorf("the partner is chosen in %d of both forms", n)
	}
	shows(t, w.first.browser.get("/partner/jobs/new?endpoint="+w.first.endpoint), http.StatusOK, "Resend or replay for "+hook)
	lacks(t, shows(t, w.first.browser.get("/partner/jobs/new?endpoint="+w.other.endpoint), http.StatusOK), "Hook of other")
	shows(t, w.admin.get("/admin/replays?endpoint="+w.first.endpoint), http.StatusOK, "Partner "+partner)
	to := w.admin.get("/admin/jobs/failed?since=day&failed-partner=" + w.first.id + "&failed-endpoint=" + w.first.endpoint).Header.Get("Location")
	wantWords(t, to, "partner="+w.first.id, "endpoint="+w.first.endpoint)
}

func TestEverythingThatFailedSince(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	w.dead(w.first)
	w.clock.Advance(2 * time.Hour) // their sessions ended meanwhile
	w.admin.login(t, testEmail)
	w.first.browser.login(t, w.first.email)
	w.failed(w.first, store.DeliveryDead, webhook.ReasonGone)
	w.rejected(w.other)
	w.clock.Advance(time.Second)
	for query, want := range map[string]string{
		"since=hour": "2 deliveries match",
		"since=hour&failed-endpoint=" + w.other.endpoint: "1 delivery matches",
		"since=day": "3 deliveries match",
		"since=own&moment=" + w.clock.Now().Add(-time.Hour).Format("2006-01-02T15:04"): "2 deliveries match",
	} {
		answer := w.admin.get("/admin/jobs/failed?" + query)
		wantStatus(t, answer, http.StatusSeeOther)
		shows(t, w.admin.get(answer.Header.Get("Location")), http.StatusOK, want, "For each endpoint", "Enrolments")
	}
	answer := w.first.browser.get("/partner/jobs/failed?since=hour")
	page := shows(t, w.first.browser.get(answer.Header.Get("Location")), http.StatusOK, "1 delivery matches", "Hook of first@example.nl")
	lacks(t, page, "other@example.nl", w.other.endpoint)
	form := hiddenOf(t, page, "/partner/deliveries/all")
	job := w.first.browser.post("/partner/deliveries/all", form).Header.Get("Location")
	shows(t, w.first.browser.get(job), http.StatusOK, "Resend 1 delivery")
	for query, want := range map[string]string{
		"": "Choose since when.", "since=ever": "Choose since when.", "since=own": "Fill in since when.", "since=own&moment=noon": "Write the day",
	} {
		shows(t, w.admin.get("/admin/jobs/failed?"+query), http.StatusUnprocessableEntity, "There is a problem", want)
	}
}

// Whoever resends to an endpoint that is stopped is warned before, and after as long as deliveries wait there.
func TestResendToAStoppedEndpointWarns(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	w.dead(w.first)
	w.clock.Advance(time.Second) // what changes at the moment of the count is not counted
	for _, c := range []struct{ warning string }{
		{"is paused"},
		{"is suspended"},
		{"outside its delivery window"},
	} {
		w.write(func(tx *store.Tx) error {
			ep, err := tx.Endpoint(context.Background(), w.first.endpoint)
			if err != nil {
				return err
			}
			switch c.warning {
			case "is paused":
				ep.Status = store.EndpointPaused
			case "is suspended":
				ep.Status = store.EndpointSuspended
			default:
				ep.Status, ep.Windows = store.EndpointActive, "unreadable"
			}
			return tx.UpdateEndpoint(context.Background(), &ep)
		})
		shows(t, w.admin.get("/admin/dead-letters/all"), http.StatusOK, c.warning)
		shows(t, w.first.browser.get("/partner/deliveries/all"), http.StatusOK, c.warning)
	}
}

// A job counts what became of each of its deliveries, as it happens.
func TestJobTellsTheOutcomeOfEachDelivery(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	ctx := t.Context()
	var job store.ResendJob
	for range 3 {
		w.dead(w.first)
	}
	w.dead(w.other)
	w.write(func(tx *store.Tx) error {
		job = store.ResendJob{PartnerID: w.first.id, Action: "resend", Filter: `{}`, Total: 3, CreatedBy: "Pat"}
		if err := tx.InsertResendJob(ctx, &job); err != nil {
			return err
		}
		ids, err := tx.DeliveryIDs(ctx, store.DeliveryFilter{PartnerID: w.first.id, Statuses: []string{store.DeliveryDead}}, 10)
		for _, id := range ids {
			if _, err := tx.Resend(ctx, id, "key-"+id, store.At(tx.Now.Add(time.Hour))); err != nil {
				return err
			}
			if err := tx.MarkResent(ctx, store.Delivery{ID: id}, job.ID); err != nil {
				return err
			}
		}
		return err
	})
	rows, _, err := w.db.Deliveries(ctx, store.DeliveryFilter{ReplayOf: job.ID})
	noError(t, err)
	if len(rows) != 3 {
		t.Fatalf("%d deliveries of the job, want 3", len(rows))
	}
	outcome := func(want store.JobOutcome) {
		t.Helper()
		got := must(w.db.JobOutcome(ctx, job.ID))(t)
		if got != want {
			t.Errorf("outcome %+v, want %+v", got, want)
		}
	}
	outcome(store.JobOutcome{Pending: 3})
	w.write(func(tx *store.Tx) error {
		claimed, err := tx.Claim(ctx, w.first.endpoint, "node", 2, store.At(tx.Now.Add(time.Minute)))
		if err != nil {
			return err
		}
		var outcomes []store.Outcome
		for i, c := range claimed {
			status, reason := store.DeliveryDelivered, ""
			if i == 1 {
				status, reason = store.DeliveryDead, webhook.ReasonAttempts
			}
			outcomes = append(outcomes, store.Outcome{
				Attempt: store.Attempt{DeliveryID: c.ID, Number: c.Attempts + 1, StartedAt: tx.Now, StatusCode: 202}, Lease: store.LeaseOf(&c.Delivery),
				Delivery: store.Delivery{ID: c.ID, Status: status, Reason: reason, LastStatus: 202},
			})
		}
		return tx.Complete(ctx, outcomes)
	})
	outcome(store.JobOutcome{Delivered: 1, Failed: 1, Pending: 1})
	shows(t, w.first.browser.get("/partner/jobs/"+job.ID), http.StatusOK, "Delivered", "Failed again", "Pending")
	shows(t, w.first.browser.get("/partner/deliveries?"+url.Values{"job": {job.ID}}.Encode()), http.StatusOK, "3 deliveries")
}

// The outcomes of a job add up to what it was asked for, also when a later job took over some of its deliveries.
func TestJobOutcomesAddUp(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	ctx := t.Context()
	var jobs [3]store.ResendJob
	var ids []string
	for range 6 {
		ids = append(ids, w.dead(w.first).ID)
	}
	w.write(func(tx *store.Tx) error {
		for i, partner := range []string{w.first.id, w.first.id, ""} {
			jobs[i] = store.ResendJob{PartnerID: partner, Action: "resend", Filter: `{}`, Total: 9, CreatedBy: "Pat"}
			if err := tx.InsertResendJob(ctx, &jobs[i]); err != nil {
				return err
			}
		}
		jobs[0].Status, jobs[0].Done, jobs[0].Refused = store.JobDone, 7, 1
		if err := tx.UpdateResendJob(ctx, &jobs[0]); err != nil {
			return err
		}
		for job, of := range [][]string{ids, ids[:2], ids[2:5]} { // two go to the second job, three to that of an administrator
			for _, id := range of {
				d, err := tx.Delivery(ctx, id)
				if err == nil {
					err = tx.MarkResent(ctx, d, jobs[job].ID)
				}
				if err != nil {
					return err
				}
			}
		}
		return nil
	})
	at := i18n.Time(ctx, jobs[1].CreatedAt.Time)
	mine := shows(t, w.first.browser.get("/partner/jobs/"+jobs[0].ID), http.StatusOK,
		"Failed again 1", "In another job 2, in the job of "+at, "In another job 3", "No longer stored 1", "Could not be done 1", "Left as it was 1")
	wantWords(t, mine, "/partner/jobs/"+jobs[1].ID)
	lacks(t, mine, jobs[2].ID)
	wantWords(t, shows(t, w.admin.get("/admin/jobs/"+jobs[0].ID), http.StatusOK, "In another job 3, in the job of "+at), "/admin/jobs/"+jobs[2].ID)
	shows(t, w.first.browser.get("/partner/jobs"), http.StatusOK, "1 failed again, 5 in another job, 1 no longer stored, 1 could not be done, 1 left as it was")
	shows(t, w.first.browser.get("/partner/jobs/"+jobs[1].ID), http.StatusOK, "Failed again 2", "Still to come 9")
}

// Rules: EDU-18, EDU-N11, IDEM-13
func TestMachinesReplayTheirOwn(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		h := newAPIHarnessOn(t, db, clock, nil).withCatalogue(t)
		publisher := h.publisher(t, "")
		publisher.publish(t, sampleEvent("before")).want(t, 202)
		clock.Advance(time.Minute)
		school, other := h.newPartner(t, "School"), h.newPartner(t, "Other")
		sub, theirs := h.approvedSubscription(t, school.ID), h.approvedSubscription(t, other.ID)
		publisher.publish(t, sampleEvent("got")).want(t, 202)
		clock.Advance(time.Minute)
		consumer := h.consumer(t, school.ID)

		body := fmt.Sprintf(`{"action":"replay","mode":"missing","subscriptionIds":[%q]}`, sub.ID)
		preview := consumer.postJSON(t, "/events/v1/resend-previews", body).want(t, http.StatusOK)
		if preview.member(t, "total") != 0.0 || preview.member(t, "limited") != true {
			t.Errorf("preview %s: what was accepted before the approval is not the partner's to ask for", preview.body)
		}
		list := decoded[struct{ Deliveries []site.DeliveryAnswer }](t, consumer.get(t, "/events/v1/deliveries").want(t, 200))
		h.kill(t, list.Deliveries[0])
		all := consumer.postJSON(t, "/events/v1/resend-previews", `{"action":"replay","mode":"all","eventTypes":["nl.example.student.enrolled"],"from":"2020-01-01T00:00:00Z"}`).want(t, 200)
		if text := string(all.body); all.member(t, "total") != 1.0 || !strings.Contains(text, sub.ID) || !strings.Contains(text, sub.EndpointID) || strings.Contains(text, theirs.ID) {
			t.Errorf("preview %s", text)
		}
		job := consumer.postJSON(t, "/events/v1/resends", body).want(t, http.StatusAccepted)
		id := job.member(t, "resendId").(string)
		shown := consumer.get(t, job.header.Get("Location")).want(t, 200)
		if shown.member(t, "mode") != "missing" || !strings.Contains(string(shown.body), `"parts":[{"subscriptionId":"`+sub.ID) {
			t.Errorf("job %s", shown.body)
		}
		listed := consumer.get(t, "/events/v1/resends?page=1&perPage=1").want(t, 200)
		if listed.header.Get("Total-Count") != "1" || !strings.Contains(string(listed.body), id) {
			t.Errorf("list %s", listed.body)
		}
		stranger := h.consumer(t, other.ID)
		if list := stranger.get(t, "/events/v1/resends").want(t, 200); strings.Contains(string(list.body), id) {
			t.Errorf("another partner sees %s", list.body)
		}
		stranger.get(t, "/events/v1/resends/"+id).problem(t, 404, "not-found")
		stranger.do(t, http.MethodDelete, "/events/v1/resends/"+id, "").problem(t, 404, "not-found")
		consumer.do(t, http.MethodDelete, "/events/v1/resends/"+id, "").want(t, 204)
		if consumer.get(t, "/events/v1/resends/"+id).want(t, 200).member(t, "status") == "running" {
			t.Error("it is not stopped")
		}
		consumer.get(t, "/events/v1/resends?status=lost").problem(t, 400, "invalid")
		consumer.get(t, "/events/v1/deliveries?replayOf=rsd_none").want(t, 200).decode(t, &list)
		if len(list.Deliveries) != 0 {
			t.Errorf("by no replay came %+v", list)
		}
	}, storetest.WithClock(clock))
}

func TestReplayRequestsThatAreRefused(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil).withCatalogue(t)
	school, other := h.newPartner(t, "School"), h.newPartner(t, "Other")
	sub, theirs := h.approvedSubscription(t, school.ID), h.approvedSubscription(t, other.ID)
	consumer := h.consumer(t, school.ID)
	for body, pointer := range map[string]string{
		`{"action":"replay"}`:                                                              "/mode",
		`{"action":"replay","mode":"some"}`:                                                "/mode",
		`{"action":"discard"}`:                                                             "/action",
		`{"action":"replay","mode":"all","status":["dead"]}`:                               "/status",
		`{"mode":"all"}`:                                                                   "/mode",
		`{"subject":"x"}`:                                                                  "/subject",
		`{"action":"replay","mode":"all","eventIds":[]}`:                                   "/eventIds",
		`{"action":"replay","mode":"all","eventIds":[""]}`:                                 "/eventIds",
		`{"action":"replay","mode":"all","from":"soon"}`:                                   "/from",
		`{"action":"replay","mode":"all","until":"soon"}`:                                  "/until",
		`{"action":"replay","mode":"all","eventTypes":["nl.none"]}`:                        "/subscriptionIds",
		fmt.Sprintf(`{"action":"replay","mode":"all","subscriptionIds":[%q]}`, theirs.ID):  "/subscriptionIds",
		fmt.Sprintf(`{"action":"replay","mode":"all","endpointId":%q}`, theirs.EndpointID): "/subscriptionIds",
		`{"action":"replay","mode":"all","subscriptionIds":["sub_none"]}`:                  "/subscriptionIds",
		`{"deliveryIds":["` + strings.Repeat(`x","`, webdeliveries.MaxResendIDs) + `x"]}`:  "/deliveryIds",
	} {
		for _, path := range []string{"/events/v1/resends", "/events/v1/resend-previews"} {
			if p := consumer.postJSON(t, path, body).problem(t, 400, "invalid"); len(p.Errors) != 1 || p.Errors[0].Pointer != pointer {
				t.Errorf("%.80s: errors %+v, want one at %s", body, p.Errors, pointer)
			}
		}
	}
	consumer.do(t, http.MethodPatch, "/events/v1/subscriptions/"+sub.ID, `{"status":"paused"}`, "Content-Type", "application/merge-patch+json").want(t, 200)
	consumer.postJSON(t, "/events/v1/resends", fmt.Sprintf(`{"action":"replay","mode":"all","subscriptionIds":[%q]}`, sub.ID)).problem(t, 409, "subscription-stopped")
}
