package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"schakel/delivery/event"
	"schakel/delivery/outbox"
	"schakel/registry/identity"
	"schakel/store"
	"schakel/templates/i18n"
	webevents "schakel/web/events"
	"schakel/web/site"
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

// A key used for something else is refused, or by the settings quarantined: 202, and
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
	found := decoded[outbox.Receipt](t, answer.want(t, http.StatusAccepted))
	if repeated := again().want(t, http.StatusAccepted); found.Quarantined == "" || !bytes.Equal(repeated.body, answer.body) || h.eventCount(t) != 2 {
		t.Fatalf("%s, then %s; %d events", answer.body, repeated.body, h.eventCount(t))
	}
	here := answer.header.Get("Location")
	shown := decoded[webevents.QuarantineAnswer](t, sender.get(t, here).want(t, http.StatusOK))
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
	partnerWriter := h.newClient(t, h.newPartner(t, "Writer").ID, identity.NewClient{Scopes: []string{site.ScopeRegistryWrite}})
	for _, path := range []string{"/release", "/discard"} {
		partnerWriter.postJSON(t, here+path, `{"reason":"x"}`).problem(t, http.StatusNotFound, "not-found")
		sender.postJSON(t, here+path, `{"reason":"x"}`).problem(t, http.StatusForbidden, "insufficient-scope")
	}
	receipt := decoded[outbox.Receipt](t, boss.postJSON(t, here+"/release", "").want(t, http.StatusOK))
	if len(receipt.Events) != 1 || receipt.Events[0].ID != "4" || h.eventCount(t) != 3 {
		t.Errorf("released %+v; %d events", receipt, h.eventCount(t))
	}
	boss.postJSON(t, here+"/release", "").problem(t, http.StatusConflict, "conflict")
	answer, _ = h.reuse(t, sender, "5", "6")
	here = answer.header.Get("Location")
	boss.postJSON(t, here+"/discard", `{"reason":" "}`).problem(t, http.StatusBadRequest, "invalid")
	boss.postJSON(t, here+"/discard", `{"reason":"`+strings.Repeat("x", site.MaxReasonBytes+1)+`"}`).problem(t, http.StatusBadRequest, "invalid")
	boss.postJSON(t, here+"/discard", `{"reason":"a mistake"}`).want(t, http.StatusOK).decode(t, &shown)
	if shown.Status != "discarded" || shown.Reason != "a mistake" || h.eventCount(t) != 4 {
		t.Errorf("discarded %+v; %d events", shown, h.eventCount(t))
	}
}

// A release lets nothing in that intake would refuse today: what the client may publish and whether it is revoked count
// again.
// Rules: CE-10, IDEM-11.
func TestReleaseOfWhatIsNotAllowed(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil).withCatalogue(t)
	sender, boss := h.publisher(t, h.newPartner(t, "Sender").ID), h.writer(t)
	h.set(t, "idempotency.on_mismatch", "quarantine")
	answer, _ := h.reuse(t, sender, "1", "2")
	release := answer.header.Get("Location") + "/release"
	change := func(fn func(c *store.Client)) {
		t.Helper()
		row := must(h.db.Client(t.Context(), sender.id))(t)
		fn(&row)
		noError(t, h.db.Write(t.Context(), func(tx *store.Tx) error { return tx.UpdateClient(t.Context(), &row) }))
	}
	refused := func(word string) {
		t.Helper()
		p := boss.postJSON(t, release, "").problem(t, http.StatusConflict, "conflict")
		if !strings.Contains(string(p.Detail), word) || strings.Contains(string(p.Detail), "..") || h.eventCount(t) != 1 {
			t.Errorf("%q, want %q; %d events", p.Detail, word, h.eventCount(t))
		}
	}
	change(func(c *store.Client) { c.PublishTypes = store.Strings{"nl.example.other"} })
	refused("may not publish events of type nl.example.student.")
	change(func(c *store.Client) {
		c.PublishTypes, c.PublishSources = store.Strings{"nl.example.student.*"}, store.Strings{"urn:other"}
	})
	refused("may not publish events from source")
	change(func(c *store.Client) { c.PublishSources, c.Scopes = store.Strings{"urn:nld:oin:*"}, nil })
	refused("scope events.publish")
	change(func(c *store.Client) {
		c.Scopes, c.Status = store.Strings{site.ScopeEventsPublish}, store.ClientRevoked
	})
	refused("revoked")
	change(func(c *store.Client) { c.Status = store.ClientActive })
	boss.postJSON(t, release, "").want(t, http.StatusOK)
	if h.eventCount(t) != 2 {
		t.Errorf("%d events", h.eventCount(t))
	}
}

// While the engine has no room, a release in the portal says to come back, and changes nothing.
func TestReleaseWhileBusy(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	client := store.Client{PartnerID: w.first.id, Name: "sis", AuthMethod: "client_secret_basic", Status: store.ClientActive}
	q := store.Quarantine{PartnerID: w.first.id, IdempotencyKey: strings.Trim(freshKey(), `"`), Fingerprint: []byte{1}, FirstAnswer: []byte("{}"), ReleaseKey: strings.Trim(freshKey(), `"`)}
	w.write(func(tx *store.Tx) error {
		if err := tx.InsertClient(t.Context(), &client); err != nil {
			return err
		}
		q.ClientID = client.ID
		return tx.InsertQuarantine(t.Context(), &q, []store.QuarantinedEvent{{
			Attributes: []byte(`{"specversion":"1.0","id":"1","source":"` + quarantineSource + `","type":"` + queueType + `"}`),
		}})
	})
	gone, leave := context.WithCancel(t.Context())
	leave()
	for range 100_000 { // the engine is not started, so nothing leaves
		if _, err := w.engine.Accept(gone, outbox.Submission{}); errors.Is(err, outbox.ErrBusy) {
			break
		}
	}
	answer := w.admin.post(webevents.QuarantinePath+"/"+q.ID+"/release", url.Values{})
	wantStatus(t, answer, http.StatusServiceUnavailable)
	if answer.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	wantWords(t, text(answer), "Nothing was released", "again in a moment")
	if found, err := w.db.Quarantine(t.Context(), q.ID); err != nil || found.Status != store.QuarantineOpen {
		t.Errorf("%+v, %v", found, err)
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
		return webevents.QuarantinePath + "/" + q.ID
	}
	wantWords(t, text(w.admin.get(webevents.QuarantinePath)), "Nothing is in quarantine")
	here := keep()
	wantWords(t, text(w.admin.get(webevents.QuarantinePath+"?state=open")), here, "cli_gone", "Waiting")
	wantWords(t, text(w.admin.get(here)), "first-id", "second-id", "used before", "Release", "Discard")
	w.first.browser.get(here)
	wantStatus(t, w.first.browser.get(here), http.StatusForbidden)
	wantStatus(t, w.first.browser.post(here+"/release", url.Values{}), http.StatusForbidden)
	wantStatus(t, w.admin.get(webevents.QuarantinePath+"/qua_none"), http.StatusNotFound)
	wantStatus(t, w.admin.post(here+"/discard", url.Values{"reason": {""}}), http.StatusUnprocessableEntity)
	wantRedirect(t, w.admin.post(here+"/discard", url.Values{"reason": {"sent by mistake"}}), here)
	page := text(w.admin.get(here))
	wantWords(t, page, "The request is discarded", "sent by mistake", "Ada Admin")
	lacks(t, page, here+"/release")
	wantRedirect(t, w.admin.post(here+"/release", url.Values{}), here)
	wantWords(t, text(w.admin.get(here)), "released or discarded already")
}

// Of a large request the page shows the first events, and says that there are more: who releases it releases all.
func TestQuarantineOfManyEvents(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	var first outbox.Receipt
	var events []store.QuarantinedEvent
	for n := range webevents.MaxShownQuarantined + 3 {
		first.Events = append(first.Events, outbox.Accepted{EventID: fmt.Sprint("evt_", n), ID: fmt.Sprint("first-", n)})
		events = append(events, store.QuarantinedEvent{
			Attributes: fmt.Appendf(nil, `{"specversion":"1.0","id":"second-%d","source":"%s","type":"%s"}`, n, quarantineSource, queueType), DataKind: int64(event.DataJSON), Data: []byte(`{}`),
		})
	}
	answer := must(json.Marshal(first))(t)
	q := store.Quarantine{
		PartnerID: w.first.id, ClientID: "cli_gone", IdempotencyKey: strings.Trim(freshKey(), `"`), Fingerprint: []byte{1},
		FirstAnswer: answer, ReleaseKey: strings.Trim(freshKey(), `"`),
	}
	w.write(func(tx *store.Tx) error { return tx.InsertQuarantine(t.Context(), &q, events) })
	page := text(w.admin.get(webevents.QuarantinePath + "/" + q.ID))
	wantWords(t, page, "first-19", "and 3 more", "second-19", "These are the first 20 of its 23 events")
	lacks(t, page, "second-20")
}

// The page of an event shows the data that is stored apart, to those who may have it, and
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
	wantWords(t, text(w.admin.get("/admin/events/"+e.ID)), o.ID, i18n.Bytes(t.Context(), 5), "abababab", "Left out as a repeat", "/admin/subscriptions/"+w.other.subscription)
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
