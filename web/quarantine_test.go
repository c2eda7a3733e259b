package web

import (
	"bytes"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"schakel/delivery/event"
	"schakel/delivery/outbox"
	"schakel/registry"
	"schakel/store"
	"schakel/templates"
)

const quarantineSource = "urn:nld:oin:00000001823288444000:systeem:sis"

// reuse sends an event, and another under its key; the answer is that to the second.
func (h *apiHarness) reuse(t *testing.T, c *apiClient, first, second string) (answer apiAnswer, again func() apiAnswer) {
	t.Helper()
	key := freshKey()
	send := func(id string) apiAnswer {
		return c.do(t, http.MethodPost, "/events/v1/events", sampleEvent(id), "Content-Type", event.MediaType, "Idempotency-Key", key)
	}
	send(first).want(t, http.StatusAccepted)
	return send(second), func() apiAnswer { return send(second) }
}

// A key used for something else is refused, or by the settings kept aside: 202, and
// the same 202 again; it is visible to its sender, and released or discarded by who decides.
// Rules: IDEM-11, IDEM-14, OPEN-17, E11.
func TestQuarantineOverTheAPI(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil).withCatalogue(t)
	sender, other, boss := h.publisher(t, h.newPartner(t, "Sender").ID), h.publisher(t, h.newPartner(t, "Other").ID), h.writer(t)
	refused, _ := h.reuse(t, sender, "1", "2")
	refused.problem(t, http.StatusUnprocessableEntity, "key-reused")
	h.set(t, "idempotency.on_mismatch", "quarantine")
	answer, again := h.reuse(t, sender, "3", "4")
	var kept outbox.Receipt
	answer.want(t, http.StatusAccepted).decode(t, &kept)
	if repeated := again().want(t, http.StatusAccepted); kept.Quarantined == "" || !bytes.Equal(repeated.body, answer.body) || h.eventCount(t) != 2 {
		t.Fatalf("%s, then %s; %d events", answer.body, repeated.body, h.eventCount(t))
	}
	here := answer.header.Get("Location")
	var shown quarantineAnswer
	sender.get(t, here).want(t, http.StatusOK).decode(t, &shown)
	if shown.Status != "open" || len(shown.Events) != 1 || shown.Events[0].ID != "4" || len(shown.FirstEvents) != 1 {
		t.Errorf("its sender sees %+v", shown)
	}
	const list = "/events/v1/quarantined-requests"
	for who, want := range map[*apiClient]string{sender: "1", other: "0", boss: "1"} {
		if got := who.get(t, list+"?status=open").want(t, http.StatusOK).header.Get("Total-Count"); got != want {
			t.Errorf("a list of %s, want %s", got, want)
		}
	}
	boss.get(t, list+"?status=lost").problem(t, http.StatusBadRequest, "invalid")
	other.get(t, here).problem(t, http.StatusNotFound, "not-found")
	partnerWriter := h.newClient(t, h.newPartner(t, "Writer").ID, registry.NewClient{Scopes: []string{scopeRegistryWrite}})
	for _, path := range []string{"/release", "/discard"} {
		partnerWriter.postJSON(t, here+path, `{"reason":"x"}`).problem(t, http.StatusNotFound, "not-found")
		sender.postJSON(t, here+path, `{"reason":"x"}`).problem(t, http.StatusForbidden, "insufficient-scope")
	}
	var receipt outbox.Receipt
	boss.postJSON(t, here+"/release", "").want(t, http.StatusOK).decode(t, &receipt)
	if len(receipt.Events) != 1 || receipt.Events[0].ID != "4" || h.eventCount(t) != 3 {
		t.Errorf("released %+v; %d events", receipt, h.eventCount(t))
	}
	boss.postJSON(t, here+"/release", "").problem(t, http.StatusConflict, "conflict")
	answer, _ = h.reuse(t, sender, "5", "6")
	here = answer.header.Get("Location")
	boss.postJSON(t, here+"/discard", `{"reason":" "}`).problem(t, http.StatusBadRequest, "invalid")
	boss.postJSON(t, here+"/discard", `{"reason":"`+strings.Repeat("x", maxReasonBytes+1)+`"}`).problem(t, http.StatusBadRequest, "invalid")
	boss.postJSON(t, here+"/discard", `{"reason":"a mistake"}`).want(t, http.StatusOK).decode(t, &shown)
	if shown.Status != "discarded" || shown.Reason != "a mistake" || h.eventCount(t) != 4 {
		t.Errorf("discarded %+v; %d events", shown, h.eventCount(t))
	}
}

// The same in the portal, for administrators alone.
func TestQuarantinePages(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	keep := func() string {
		w.t.Helper()
		q := store.Quarantine{
			PartnerID: w.first.id, ClientID: "cli_gone", IdempotencyKey: strings.Trim(freshKey(), `"`), Fingerprint: []byte{1},
			FirstAnswer: []byte(`{"events":[{"eventId":"evt_1","id":"first-id","source":"x"}]}`), ReleaseKey: strings.Trim(freshKey(), `"`),
		}
		w.write(func(tx *store.Tx) error {
			return tx.InsertQuarantine(t.Context(), &q, []store.QuarantinedEvent{{
				Attributes: []byte(`{"specversion":"1.0","id":"second-id","source":"` + quarantineSource + `","type":"` + queueType + `"}`),
				DataKind:   int64(event.DataJSON), Data: []byte(`{"student":"<b>42</b>"}`),
			}})
		})
		return quarantinePath + "/" + q.ID
	}
	wantWords(t, text(w.admin.get(quarantinePath)), "Nothing is in quarantine")
	here := keep()
	wantWords(t, text(w.admin.get(quarantinePath+"?state=open")), here, "cli_gone", "Waiting")
	wantWords(t, text(w.admin.get(here)), "first-id", "second-id", "used before", "Release", "Discard")
	w.first.browser.get(here)
	wantStatus(t, w.first.browser.get(here), http.StatusForbidden)
	wantStatus(t, w.first.browser.post(here+"/release", url.Values{}), http.StatusForbidden)
	wantStatus(t, w.admin.get(quarantinePath+"/qua_none"), http.StatusNotFound)
	wantStatus(t, w.admin.post(here+"/discard", url.Values{"reason": {""}}), http.StatusUnprocessableEntity)
	wantRedirect(t, w.admin.post(here+"/discard", url.Values{"reason": {"sent by mistake"}}), here)
	page := text(w.admin.get(here))
	wantWords(t, page, "The request is discarded", "sent by mistake", "Ada Admin")
	if strings.Contains(page, here+"/release") {
		t.Error("what was decided can be released")
	}
	wantRedirect(t, w.admin.post(here+"/release", url.Values{}), here)
	wantWords(t, text(w.admin.get(here)), "released or discarded already")
}

// The page of an event shows the data that is kept apart, to those who may have it, and
// for whom the event was left out.
// Rules: EDU-01a, EDU-18b.
func TestObjectOnPages(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	e := w.event(event.DataNone, "")
	d := w.deliver(e, w.first)
	o := store.Object{ID: w.db.NewID("obj"), ContentType: "text/html", Size: 5, Digest: bytes.Repeat([]byte{0xab}, 32)}
	noError(t, w.db.PutObject(t.Context(), o, []byte("large")))
	w.write(func(tx *store.Tx) error {
		if err := tx.LinkObject(t.Context(), o.ID, e.ID); err != nil {
			return err
		}
		return tx.InsertLeftOut(t.Context(), []store.LeftOut{{EventID: e.ID, SubscriptionID: w.other.subscription, PartnerID: w.other.id}})
	})
	wantWords(t, text(w.admin.get("/admin/events/"+e.ID)), o.ID, templates.Bytes(5), "abababab", "Left out as a repeat", "/admin/subscriptions/"+w.other.subscription)
	download := "/partner/deliveries/" + d.ID + "/object"
	wantWords(t, text(w.first.browser.get("/partner/deliveries/"+d.ID)), download, o.ID)
	for path, b := range map[string]*browser{download: w.first.browser, "/admin/events/" + e.ID + "/object": w.admin} {
		got := b.get(path)
		if got.Header.Get("Content-Type") != "application/octet-stream" || !strings.HasPrefix(got.Header.Get("Content-Disposition"), "attachment") || text(got) != "large" {
			t.Errorf("%s: %v", path, got.Header)
		}
	}
	wantStatus(t, w.other.browser.get(download), http.StatusNotFound)
	wantStatus(t, w.first.browser.get("/partner/deliveries/"+w.deliver(w.event(event.DataNone, ""), w.first).ID+"/object"), http.StatusNotFound)
}
