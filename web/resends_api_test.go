package web

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"schakel/store"
	"schakel/store/storetest"
	webdeliveries "schakel/web/deliveries"
	"schakel/web/site"
)

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
		var list struct{ Deliveries []site.DeliveryAnswer }
		consumer.get(t, "/events/v1/deliveries").want(t, 200).decode(t, &list)
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
