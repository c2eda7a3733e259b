package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"schakel/delivery/event"
	"schakel/store"
)

// What a reader has at hand finds a delivery and an event: the id of either, and the subject.
func TestSearchFindsIDsAndSubjects(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	own, err := w.db.OwnPartner(t.Context())
	noError(t, err)
	e := store.Event{PartnerID: own.ID, ClientID: "cli_test", CEID: "ce-of-pupil", CESource: "urn:x", CEType: queueType, CESubject: "pupil/42", Data: []byte("{}")}
	e.Attributes = []byte(`{"specversion":"1.0","id":"ce-of-pupil","source":"urn:x","type":"` + queueType + `","subject":"pupil/42"}`)
	w.write(func(tx *store.Tx) error {
		e.ID, e.AcceptedAt = tx.NewID("evt"), tx.Now
		_, err := tx.InsertEvents(t.Context(), []store.Event{e})
		return err
	})
	w.event(event.DataJSON, `{}`)
	d, other := w.deliver(e, w.first), w.dead(w.other)
	for _, tt := range []struct {
		at    *browser
		path  string
		value url.Values
		finds bool
	}{
		{w.admin, "/admin/deliveries", url.Values{"event": {d.ID}}, true},
		{w.admin, "/admin/deliveries", url.Values{"event": {e.ID}}, true},
		{w.admin, "/admin/deliveries", url.Values{"event": {e.CEID}}, true},
		{w.admin, "/admin/deliveries", url.Values{"subject": {"pupil/42"}}, true},
		{w.admin, "/admin/deliveries", url.Values{"subject": {"pupil/4"}}, false},
		{w.admin, "/admin/dead-letters", url.Values{"subject": {"pupil/42"}}, false},
		{w.first.browser, "/partner/deliveries", url.Values{"event": {d.ID}}, true},
		{w.first.browser, "/partner/deliveries", url.Values{"subject": {"pupil/42"}}, true},
		{w.other.browser, "/partner/deliveries", url.Values{"event": {d.ID}}, false},
		{w.other.browser, "/partner/deliveries", url.Values{"subject": {"pupil/42"}}, false},
	} {
		page := text(tt.at.get(tt.path + "?" + tt.value.Encode()))
		if found := strings.Contains(page, "/deliveries/"+d.ID+`"`); found != tt.finds || strings.Contains(page, "/deliveries/"+other.ID+`"`) {
			t.Errorf("%s?%s: found %v, want %v and no other", tt.path, tt.value.Encode(), found, tt.finds)
		}
	}
	for _, value := range []url.Values{{"event": {e.ID}}, {"subject": {"pupil/42"}}, {"event": {e.CEID}}} {
		page := text(w.admin.get("/admin/events?" + value.Encode()))
		if strings.Count(page, "/admin/events/evt_") != 1 || !strings.Contains(page, "/admin/events/"+e.ID) {
			t.Errorf("events?%s does not show the event alone", value.Encode())
		}
	}
}

// The own page tells the login before the present one, also to who came by a one-time link.
func TestLastLogin(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	token, err := h.accounts.SetupLink(t.Context())
	noError(t, err)
	b := h.browser()
	wantStatus(t, b.post("/setup/"+token, url.Values{"name": {"Ada"}, "email": {testEmail}, "password": {testPassword}, "start": {"strict"}}), http.StatusSeeOther)
	first := h.clock.Now()
	account, err := h.db.AccountByEmail(t.Context(), testEmail)
	noError(t, err)
	if !account.LastLoginAt.Equal(store.At(first).Time) || !account.PreviousLoginAt.IsZero() {
		t.Errorf("after the first link: %v, before it %v", account.LastLoginAt, account.PreviousLoginAt)
	}
	shows(t, b.get("/account"), http.StatusOK, "Login before that never")
	h.clock.Advance(3 * time.Hour)
	again := h.browser()
	again.login(t, testEmail)
	page := shows(t, again.get("/account"), http.StatusOK, "Newest login", "Login before that")
	if !strings.Contains(page, first.UTC().Format("2006-01-02T15:04")) {
		t.Error("the page does not tell the login before this one")
	}
	h.clock.Advance(time.Minute)
	again.get("/account")
	account, err = h.db.AccountByEmail(t.Context(), testEmail)
	noError(t, err)
	if want := store.At(first.Add(3 * time.Hour)); !account.LastLoginAt.Equal(want.Time) {
		t.Errorf("last login %v, want %v: using a session is no login", account.LastLoginAt, want)
	}
}
