package web

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"schakel/delivery/event"
	"schakel/delivery/webhook"
	"schakel/store"
	"schakel/web/site"
)

// What became of an event that expired stands on its page, in the list of its reason, and in the API; nobody can resend it.
//
// Rules: CE-24.
func TestExpiredEventIsShown(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	ctx := t.Context()
	e := w.event(event.DataJSON, `{}`)
	expires := store.At(w.clock.Now().Add(time.Minute))
	late := w.attempt(w.deliverUntil(e, w.other, expires), store.DeliveryDead, webhook.ReasonAttempts, store.Attempt{StatusCode: 500})
	d := w.deliverUntil(e, w.first, expires)
	shows(t, w.admin.get("/admin/deliveries/"+d.ID), http.StatusOK, "Pending", "Event expires")
	w.clock.Advance(2 * time.Minute)
	w.write(func(tx *store.Tx) error { _, err := tx.ExpireEvents(ctx, 10); return err })
	shows(t, w.admin.get("/admin/deliveries/"+d.ID), http.StatusOK, "Discarded: Event has expired", "expirytime", "Event expires")
	shows(t, w.first.browser.get("/partner/deliveries/"+d.ID), http.StatusOK, "Event has expired")
	shows(t, w.admin.get("/admin/deliveries?status=discarded&reason=event-expired"), http.StatusOK, "1 delivery", "Event has expired")
	here := "/admin/deliveries/" + late.ID
	wantRedirect(t, w.admin.post(here+"/resend", url.Values{}), here)
	shows(t, w.admin.get(here), http.StatusOK, "its event has expired")
	w.wantState(late.ID, store.DeliveryDead)
}

func TestExpiredEventInTheAPI(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil).withCatalogue(t)
	partner := h.newPartner(t, "School")
	c, publisher := h.consumer(t, partner.ID), h.publisher(t, "")
	storySubscribe(t, h, c, partner)
	publisher.publish(t, sampleEvent("1", `"expirytime":"2001-02-03T04:05:06Z"`)).want(t, http.StatusAccepted)
	noError(t, h.db.Write(t.Context(), func(tx *store.Tx) error { _, err := tx.ExpireEvents(t.Context(), 10); return err }))
	var list struct{ Deliveries []site.DeliveryAnswer }
	c.get(t, "/events/v1/deliveries?status=discarded&reason=event-expired").want(t, http.StatusOK).decode(t, &list)
	if len(list.Deliveries) != 1 || list.Deliveries[0].Reason != store.ReasonEventExpired || list.Deliveries[0].ExpiresAt.Year() != 2001 {
		t.Fatalf("deliveries %+v", list)
	}
	c.do(t, http.MethodPost, "/events/v1/deliveries/"+list.Deliveries[0].DeliveryID+"/resend", "").problem(t, http.StatusConflict, "event-expired")
}
