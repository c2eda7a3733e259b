package web

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"schakel/registry"
	"schakel/registry/identity"
	"schakel/registry/mandate"
	"schakel/registry/partners"
	"schakel/store"
	"schakel/store/storetest"
	"schakel/web/api"
	"schakel/web/site"
)

// An intermediary publishes for a school, and receives what is for a school, with its mandate alone; the register is a fake OSR.
//
// Rules: SEC-14, CE-10.
func TestIntermediaryNeedsMandate(t *testing.T) {
	t.Parallel()
	const sender, receiver, schoolA, schoolB = "00000003272448340204", "00000003111111110000", "00000001823288444000", "0000000700000BB00000"
	var down atomic.Bool
	mandated := map[string]bool{sender + schoolA: true, receiver + schoolA: true}
	osr := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch q := r.URL.Query(); {
		case down.Load():
			w.WriteHeader(http.StatusServiceUnavailable)
		case !mandated[q.Get("supplier_oin")+q.Get("school_oin")]:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer osr.Close()
	clock := storetest.NewClock()
	h := newAPIHarnessOn(t, storetest.SQLite(t, storetest.WithClock(clock)), clock, func(cfg *api.Config) {
		cfg.Registry.Mandates = mandate.New(mandate.Config{
			Source: mandate.OSR{Base: osr.URL, HTTP: osr.Client()}, Services: []mandate.Service{{Types: []string{"nl.example.student.enrolled"}, Name: "urn:transfer"}},
			Fresh: time.Hour, Attribute: "recipient", DB: cfg.DB, Now: clock.Now, Log: slog.New(slog.DiscardHandler),
		})
	}).withCatalogue(t)
	partner := func(name, oin string) store.Partner {
		p := store.Partner{Name: name, OIN: oin, Status: store.PartnerApproved}
		noError(t, h.db.Write(t.Context(), func(tx *store.Tx) error { return tx.InsertPartner(t.Context(), &p) }))
		return p
	}
	from, to, itself := partner("Sender", sender), partner("Receiver", receiver), partner("School B", schoolB)
	for _, p := range []store.Partner{to, itself} {
		h.approvedSubscription(t, p.ID)
	}
	for _, p := range []store.Partner{to, itself} { // events of one partner go to another by a route alone
		_, err := h.reg.Routes.Add(t.Context(), registry.SystemActor(), partners.NewRoute{FromPartnerID: from.ID, ToPartnerID: p.ID, EventType: "nl.example.student.enrolled"})
		noError(t, err)
	}
	c := h.newClient(t, from.ID, identity.NewClient{
		Scopes: []string{site.ScopeEventsPublish}, PublishTypes: []string{"nl.example.student.enrolled"}, PublishSources: []string{"urn:nld:oin:*"}, SourceReason: "An intermediary.",
	})
	subscribers := func(answer apiAnswer) []string {
		answer.want(t, http.StatusAccepted)
		rows, _, err := h.db.Events(t.Context(), store.EventFilter{})
		noError(t, err)
		return must(h.db.Event(t.Context(), rows[0].ID))(t).Audience.Partners()
	}
	if got := subscribers(c.publish(t, sampleEvent("1"))); got != nil {
		t.Errorf("an event for nobody in particular is limited to %v", got)
	}
	if got := subscribers(c.publish(t, sampleEvent("2", `"recipient":"urn:nld:oin:`+schoolA+`"`))); !slices.Equal(got, []string{to.ID}) {
		t.Errorf("for school A: %v", got)
	}
	if got := subscribers(c.publish(t, sampleEvent("3", `"recipient":"`+schoolB+`"`))); !slices.Equal(got, []string{itself.ID}) {
		t.Errorf("for school B, whose intermediary has no mandate: %v", got)
	}
	body := `{"specversion":"1.0","id":"4","source":"urn:nld:oin:` + schoolB + `:sis","type":"nl.example.student.enrolled","data":{}}`
	p := c.publish(t, body).problem(t, http.StatusForbidden, "not-granted")
	if len(p.Errors) != 1 || p.Errors[0].Code != "mandate-missing" || p.Errors[0].Attribute != "source" {
		t.Errorf("%+v", p.Errors)
	}
	down.Store(true)
	clock.Advance(2 * time.Hour)
	c.token = c.newToken(t, "")
	if again := c.publish(t, sampleEvent("5")); again.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	} else {
		again.problem(t, http.StatusServiceUnavailable, "mandate-unknown")
	}
}
