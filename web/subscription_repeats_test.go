package web

import (
	"net/http"
	"testing"

	eventswebevents "schakel/web/events"
	partnerswebpartners "schakel/web/partners"
)

// A subscription asks by API to have repeats left out, and takes that back; the event
// then tells its publisher's organisation how many did not get it.
// Rules: EDU-18b, OPEN-07.
func TestLeaveOutRepeatsOverTheAPI(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil).withCatalogue(t)
	school := h.newPartner(t, "School").ID
	consumer, s := h.consumer(t, school), h.approvedSubscription(t, school)
	here := "/events/v1/subscriptions/" + s.ID
	set := func(body string) (now partnerswebpartners.SubscriptionAnswer) {
		consumer.do(t, http.MethodPatch, here, body, "Content-Type", "application/merge-patch+json").want(t, http.StatusOK).decode(t, &now)
		return now
	}
	if !set(`{"leaveOutRepeats":true}`).LeaveRepeats {
		t.Error("it was not switched on")
	}
	left := func(c *apiClient, id string) int {
		var shown eventswebevents.EventAnswer
		at := c.publish(t, sampleEvent(id)).want(t, http.StatusAccepted).header.Get("Location")
		c.get(t, at).want(t, http.StatusOK).decode(t, &shown)
		return shown.LeftOut
	}
	first, second := h.publisher(t, ""), h.publisher(t, "")
	if left(first, "1") != 0 || left(second, "1") != 1 || left(second, "2") != 0 {
		t.Error("what another client sent before was not left out, or something else was")
	}
	if set(`{"leaveOutRepeats":false}`).LeaveRepeats || left(first, "2") != 0 {
		t.Error("it was not switched off")
	}
}
