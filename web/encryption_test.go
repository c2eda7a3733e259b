package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"schakel/delivery/event"
	"schakel/delivery/outbox"
	"schakel/registry"
	"schakel/store"
)

// TestDataOfPartnerIsErased: an administrator who proved who it is erases what a partner sent that ended, after reading what that makes
// unreadable; from then on pages, files and lists say that it was erased, and what others sent is there.
func TestDataOfPartnerIsErased(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	w.change(t, "data.encryption", "on", "access.proof_age", "10m")
	sent := w.event(event.DataJSON, `{"student":"the own organisation sent it"}`)
	e := store.Event{
		PartnerID: w.other.id, ClientID: "cli_other", CEID: "theirs", CESource: "urn:x:theirs", CEType: queueType, DataKind: int64(event.DataJSON),
		Attributes: []byte(`{"specversion":"1.0","id":"theirs","source":"urn:x:theirs","type":"` + queueType + `"}`), Data: []byte(`{"student":"Noor Jansen"}`),
	}
	w.write(func(tx *store.Tx) error {
		e.ID, e.AcceptedAt = tx.NewID("evt"), tx.Now
		_, err := tx.InsertEvents(t.Context(), []store.Event{e})
		return err
	})
	d := w.attempt(w.deliver(e, w.first), store.DeliveryDead, "attempts-exhausted", store.Attempt{
		URL: "https://roc.example.nl/events", RequestHeaders: `{"Content-Type":["application/cloudevents+json"]}`, StatusCode: 500, ResponseBody: []byte("no place for Noor Jansen"),
		DataKeys: must(w.db.Event(t.Context(), e.ID))(t).DataKeys,
	})
	here, page := "/admin/partners/"+w.other.id, "/admin/deliveries/"+d.ID
	issue := w.issueOf(d, "http-500")
	wantPage(t, w.admin.get(page), http.StatusOK, "Noor Jansen", "no place for")
	wantPage(t, w.admin.get("/admin/issues/"+issue.ID), http.StatusOK, "Noor Jansen")
	lacks(t, text(w.admin.get(here)), here+"/erase-data")
	erase := func(b *browser) *http.Response {
		return b.post(here+"/erase-data", url.Values{"reason": {"Contract is over."}})
	}
	if got := w.admin.post(here+"/erase-data", url.Values{"reason": {"Contract is over."}}); got.StatusCode != http.StatusConflict {
		t.Errorf("a partner that takes part: %d", got.StatusCode)
	}
	wantRedirect(t, w.admin.post(here+"/end", url.Values{"reason": {"Contract is over."}}), here)
	wantPage(t, w.admin.get(here), http.StatusOK, "What becomes unreadable: the data of its events (1)", "Deliveries of its events that have not ended (1) become dead letters", here+"/erase-data")
	wantStatus(t, w.admin.post(here+"/erase-data", nil), http.StatusUnprocessableEntity)

	wantStatus(t, erase(w.first.browser), http.StatusForbidden)
	w.clock.Advance(11 * time.Minute)
	wantPage(t, erase(w.admin), http.StatusForbidden, "Confirm that it is you")
	wantPage(t, w.admin.get(page), http.StatusOK, "Noor Jansen")
	w.admin.login(t, testEmail)
	wantRedirect(t, erase(w.admin), here)
	wantStatus(t, erase(w.admin), http.StatusConflict)

	lacks(t, text(w.admin.get(here)), here+"/erase-data", "nothing to erase")
	wantPage(t, w.admin.get(here), http.StatusOK, "Erased on ", " by Ada Admin. The key was destroyed")
	wantPage(t, w.admin.get("/admin/audit?action="+registry.ActionDataErased), http.StatusOK, "erased the data that")
	for _, path := range []string{page, "/admin/events/" + e.ID, "/partner/deliveries/" + d.ID, "/admin/issues/" + issue.ID} {
		b := w.admin
		if strings.HasPrefix(path, "/partner") {
			b = w.first.browser
		}
		shown := wantPage(t, b.get(path), http.StatusOK, "The data was erased")
		lacks(t, shown, "Noor Jansen")
	}
	wantPage(t, w.admin.get("/admin/events/"+e.ID+"/data"), http.StatusGone, "The data was erased")
	wantPage(t, w.admin.get("/admin/events/"+sent.ID), http.StatusOK, "the own organisation sent it")
	wantPage(t, w.admin.post(page+"/resend", nil), http.StatusSeeOther)
	wantPage(t, w.admin.get(page), http.StatusOK, "the data of its event was erased")
	if state := w.delivery(d.ID).Status; state != store.DeliveryDead {
		t.Errorf("after a resend it is %s", state)
	}
}

// TestErasedObject: large data that was erased answers with a problem of its own, to everybody who might have it.
func TestErasedObject(t *testing.T) {
	t.Parallel()
	w := newLargeWorld(t)
	w.set(t, "data.encryption", "on")
	body, _ := largeEvent("1", 100_000)
	w.publisher.publish(t, body).want(t, http.StatusAccepted)
	address, _ := w.address(t)
	from := must(w.db.OwnPartner(t.Context()))(t).ID
	noError(t, w.db.Write(t.Context(), func(tx *store.Tx) error {
		_, err := tx.EraseDataKeys(t.Context(), from)
		return err
	}))
	noError(t, w.db.ForgetDataKeys(t.Context(), from))
	w.consumer.get(t, address).problem(t, http.StatusGone, "data-erased")
	w.publisher.get(t, address).problem(t, http.StatusGone, "data-erased")
	w.stranger.get(t, address).problem(t, http.StatusNotFound, "not-found")
	if rows := must(w.db.DeliveriesOf(t.Context(), must(w.db.RecentEvents(t.Context(), []store.EventOrigin{{Types: []string{queueType}}}, 1))(t)[0].ID))(t); len(rows) != 1 {
		t.Errorf("deliveries %+v", rows)
	}
}

// TestEndedIsErasedBySetting: what a partner that ended has sent is erased when nothing of it is left to deliver, and not before.
func TestEndedIsErasedBySetting(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	w.change(t, "data.encryption", "on")
	e := store.Event{PartnerID: w.other.id, ClientID: "cli_other", CEID: "theirs", CESource: "urn:x:theirs", CEType: queueType, DataKind: int64(event.DataJSON), Attributes: []byte(`{}`), Data: []byte(`{"student":"Noor Jansen"}`)}
	w.write(func(tx *store.Tx) error {
		e.ID, e.AcceptedAt = tx.NewID("evt"), tx.Now
		_, err := tx.InsertEvents(t.Context(), []store.Event{e})
		return err
	})
	d := w.attempt(w.deliver(e, w.first), store.DeliveryDead, "attempts-exhausted", store.Attempt{StatusCode: 500})
	erased := func(want int) {
		t.Helper()
		if n := must(w.reg.Partners.EraseEnded(t.Context()))(t); n != want {
			t.Errorf("%d were erased, want %d", n, want)
		}
	}
	erased(0) // it takes part
	noError(t, w.reg.Partners.End(t.Context(), registry.SystemActor(), w.other.id, "Contract is over."))
	erased(0) // a dead letter waits for a person
	noError(t, w.engine.Discard(t.Context(), outbox.Actor{Kind: "system", Name: "Schakel"}, d.ID, "Nobody wants it."))
	erased(1)
	erased(0)
	if got := must(w.db.Event(t.Context(), e.ID))(t); got.Unread == nil {
		t.Errorf("still there: %s", got.Data)
	}
}

// The page of a partner that ended names what of its data stays readable, also without a key to destroy, and does not promise endpoints.
func TestPagesOfAnEndedPartner(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	b, who := w.at(t, "zuid@example.nl")
	here := "/admin/partners/" + who.PartnerID
	wantRedirect(t, w.admin.post(here+"/end", url.Values{"reason": {"Contract is over."}}), here)
	page := wantPage(t, w.admin.get(here), http.StatusOK, "There is nothing to erase", "None: this partner has ended.")
	lacks(t, page, "no endpoints yet", "no clients yet", "for a subscription yet", "stay readable")
	wantRedirect(t, b.get("/partner/endpoints"), "/login?next=%2Fpartner%2Fendpoints") // its people log in no more
	e := store.Event{PartnerID: who.PartnerID, AcceptedAt: store.At(w.clock.Now()), CEID: "plain", CESource: "urn:x:plain", CEType: queueType, DataKind: int64(event.DataJSON), Attributes: []byte(`{}`), Data: []byte(`{}`)}
	noError(t, w.db.Write(t.Context(), func(tx *store.Tx) error {
		_, err := tx.InsertEvents(t.Context(), []store.Event{e})
		return err
	}))
	wantPage(t, w.admin.get(here), http.StatusOK, "There is nothing to erase", "Events that were stored unencrypted, before the setting was on (1), stay readable")
}
