package web

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"schakel/registry"
	registryamqp "schakel/registry/amqp"
	"schakel/registry/partners"
	"schakel/store"
)

// TestAMQPDestinationIsHeld: by setting, a partner changes neither where messages of a party go nor who can read them. An administrator does; the rest
// of the party stays the partner's.
func TestAMQPDestinationIsHeld(t *testing.T) {
	t.Parallel()
	const sentence = "An administrator of the organisation changes where messages go"
	w := newAMQPWorld(t).filled(t)
	page := "/partner/amqp/parties/" + w.party
	stored := func() store.AMQPParty { t.Helper(); return must(w.db.AMQPParty(t.Context(), w.party))(t) }
	first, _ := testCertificate(t, "First", w.clock.Now().AddDate(1, 0, 0))
	second, _ := testCertificate(t, "Second", w.clock.Now().AddDate(2, 0, 0))
	other := must(w.reg.AMQP.CreateBroker(t.Context(), w.portalHarness.admin, registryamqp.BrokerInput{
		Name: "Elsewhere", Dialect: store.AMQPRabbitMQ4, URL: "amqps://elsewhere.example", SASL: store.AMQPAnonymous, Enabled: true,
	}))(t)
	before := stored()
	for _, mode := range []string{registry.DestinationApproval, registry.DestinationProof} {
		w.change(t, "sending.new_destination", mode)
		for field, value := range map[string]string{
			"asyncQueue": "mine_async", "syncQueue": "mine_sync", "errorQueue": "mine_error", "herId": "201", "brokerId": other.ID,
		} {
			wantRefused(t, w.staff.post(page+"/edit", w.partyForm(field, value)), sentence, `href="#`+field+`"`)
			if now := stored(); now != before {
				t.Errorf("%s, %s: the partner changed it to %+v", mode, field, now)
			}
		}
		form := wantPage(t, w.staff.get(page+"/edit"), http.StatusOK, sentence, "200_async", "Exchange")
		for _, field := range []string{"asyncQueue", "syncQueue", "errorQueue", "herId", "brokerId"} {
			lacks(t, form, `name="`+field+`"`)
		}
	}
	wantStatus(t, w.staff.post(page+"/edit", url.Values{"kind": {"health"}, "name": {"Legekontor Nord"}, "answerWait": {"6h"}, "apprecVersion": {"1.0"}, "enabled": {"on"}}), http.StatusSeeOther)
	if now := stored(); now.Name != "Legekontor Nord" || now.ApprecVersion != "1.0" || now.AsyncQueue != before.AsyncQueue || now.HerID != before.HerID || now.BrokerID != before.BrokerID || !now.Enabled {
		t.Errorf("what leads nowhere was not changed, or more was: %+v", now)
	}

	// The first certificates of a party redirect nothing.
	wantStatus(t, w.staff.post(page+"/certificates", url.Values{"certificates": {first}}), http.StatusSeeOther)
	kept := must(w.db.AMQPCertificates(t.Context(), w.party))(t)
	wantRefused(t, w.staff.post(page+"/certificates", url.Values{"certificates": {second}}), sentence)
	wantStatus(t, w.staff.post(page+"/certificates/"+kept[0].ID+"/removal", nil), http.StatusSeeOther) // to the page, which tells the refusal
	shown := wantPage(t, w.staff.get(page), http.StatusOK, sentence)
	lacks(t, shown, "/removal")
	lacks(t, shown, `name="certificates"`)
	if now := must(w.db.AMQPCertificates(t.Context(), w.party))(t); len(now) != len(kept) {
		t.Errorf("%d certificates became %d", len(kept), len(now))
	}

	admin := strings.Replace(page, "/partner/", "/admin/", 1)
	wantStatus(t, w.admin.post(admin+"/edit", w.partyForm("asyncQueue", "new_async")), http.StatusSeeOther)
	wantStatus(t, w.admin.post(admin+"/certificates", url.Values{"certificates": {second}}), http.StatusSeeOther)
	if now := stored(); now.AsyncQueue != "new_async" {
		t.Errorf("an administrator changed nothing: %+v", now)
	}
	w.change(t, "sending.new_destination", registry.DestinationAtOnce)
	w.clock.Advance(time.Second)
	wantStatus(t, w.staff.post(page+"/edit", w.partyForm("asyncQueue", "mine_async")), http.StatusSeeOther)
	wantPage(t, w.staff.get(page+"/edit"), http.StatusOK, `name="asyncQueue"`)
}

// TestFirstAMQPDestinationIsHeld: what a subscription at a queue sends is approved with the queue. Once it is, a partner does not choose the first queue
// of an endpoint, nor the first certificates of a party, that nobody approved.
func TestFirstAMQPDestinationIsHeld(t *testing.T) {
	t.Parallel()
	const sentence = "An administrator of the organisation changes where messages go"
	w := newAMQPWorld(t).filled(t)
	w.withCatalogue(t)
	w.change(t, "sending.new_destination", registry.DestinationApproval)
	ask := func(endpoint string) string {
		t.Helper()
		return "/admin/subscriptions/" + idOf(redirected(t, w.staff.post("/partner/subscriptions/new", url.Values{"types": {enrolledType}, "endpoint": {endpoint}, "purpose": {"To keep our records up to date."}})))
	}
	endpoint := func(name string) string {
		t.Helper()
		return must(w.reg.Endpoints.Create(t.Context(), w.portalHarness.admin, w.owner, partners.EndpointInput{Name: name, Kind: store.EndpointAMQP}))(t).ID
	}
	none := func(endpoint string) {
		t.Helper()
		if _, err := w.db.AMQPPartyByEndpoint(t.Context(), endpoint); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("a party was added: %v", err)
		}
	}
	later := endpoint("Later")
	sub := ask(later)
	wantPage(t, w.admin.get(sub), http.StatusOK, "No party is filled in")
	wantStatus(t, w.admin.post(sub+"/approve", nil), http.StatusSeeOther)
	party := w.partyForm("endpoint", later, "herId", "300", "asyncQueue", "mine_async")
	wantPage(t, w.staff.post("/partner/amqp/parties", party), http.StatusConflict, sentence)
	none(later)
	wantStatus(t, w.admin.post(sub+"/suspend", url.Values{"reason": {"we look at it again"}}), http.StatusSeeOther)
	wantPage(t, w.staff.post("/partner/amqp/parties", party), http.StatusConflict, sentence)
	none(later)
	wantStatus(t, w.admin.post("/admin/amqp/parties", party), http.StatusSeeOther)

	// Before the approval the queue is the partner's to choose, and the page of the approval shows it.
	sooner := endpoint("Sooner")
	sub = ask(sooner)
	page := text(w.admin.get(sub))
	seen := match(t, `name="seen" value="([^"]+)"`, page)
	wantStatus(t, w.staff.post("/partner/amqp/parties", w.partyForm("endpoint", sooner, "herId", "400", "asyncQueue", "sooner_async")), http.StatusSeeOther)
	wantPage(t, w.admin.get(sub), http.StatusOK, "Exchange", "400", "sooner_async")
	wantStatus(t, w.admin.post(sub+"/approve", url.Values{"seen": {strings.Split(seen, `"`)[3]}}), http.StatusConflict) // it showed no party

	// The first certificates too.
	sub = ask(w.endpoint)
	wantStatus(t, w.admin.post(sub+"/approve", nil), http.StatusSeeOther)
	first, _ := testCertificate(t, "First", w.clock.Now().AddDate(1, 0, 0))
	wantRefused(t, w.staff.post("/partner/amqp/parties/"+w.party+"/certificates", url.Values{"certificates": {first}}), sentence)
	lacks(t, wantPage(t, w.staff.get("/partner/amqp/parties/"+w.party), http.StatusOK, sentence), `name="certificates"`)
	wantStatus(t, w.admin.post("/admin/amqp/parties/"+w.party+"/certificates", url.Values{"certificates": {first}}), http.StatusSeeOther)
}
