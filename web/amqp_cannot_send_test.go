package web

import (
	"net/url"
	"testing"

	"schakel/registry/partners"
	"schakel/store"
)

// An endpoint whose party can be sent nothing is green nowhere: lists, its page, its subscriptions and their approval say why, and lead to where
// that is mended.
func TestEndpointThatCanSendNothing(t *testing.T) {
	t.Parallel()
	w := newAMQPWorld(t).filled(t)
	w.withCatalogue(t)
	// A partner asks for a process by a subscription: the page of its party leads to that form with its endpoint chosen.
	page := text(w.staff.get("/partner/amqp/parties/" + w.party))
	ask := "/partner/subscriptions/new?endpoint=" + w.endpoint
	wantWords(t, page, "No process is agreed yet", "Ask for a subscription", `href="`+ask+`"`)
	wantWords(t, text(w.staff.get(ask)), `value="`+w.endpoint+`" selected`)
	lacks(t, text(w.admin.get("/admin/amqp/parties/"+w.party)), ask)
	sub := redirected(t, w.staff.post("/partner/subscriptions/new", url.Values{"types": {enrolledType}, "endpoint": {w.endpoint}, "purpose": {"To keep our records up to date."}}))
	party, id := "/amqp/parties/"+w.party, idOf(sub)
	pages := []string{"/endpoints", "/endpoints/" + w.endpoint, "/subscriptions/" + id, "/subscriptions"}
	everywhere := func(why string) {
		t.Helper()
		for _, path := range pages {
			wantWords(t, text(w.staff.get("/partner"+path)), "Cannot send yet", why, "/partner"+party)
			wantWords(t, text(w.admin.get("/admin"+path)), "Cannot send yet", why, "/admin"+party)
		}
	}
	everywhere("no process")
	wantWords(t, text(w.admin.get("/admin/partners/"+w.owner)), "Cannot send yet")
	wantWords(t, text(w.staff.get("/partner")), "Cannot send yet")
	page = text(w.staff.get("/partner" + party))
	wantWords(t, page, "sees that a process is missing", `href="/partner/subscriptions?endpoint=`+w.endpoint)
	lacks(t, page, ask)
	approved := redirected(t, w.admin.post("/admin/subscriptions/"+id+"/approve", nil))
	page = text(w.admin.get(approved))
	wantWords(t, page, "Cannot send yet", "approved")
	lacks(t, page, "from now on")
	everywhere("no process")
	lacks(t, text(w.staff.get(sub)), "are sent to your endpoint")

	wantStatus(t, w.admin.post("/admin"+party+"/processes", url.Values{"ownPartyId": {w.own}, "name": {"E-contact"}, "subject": {"DIALOG_INNBYGGER_EKONTAKT"}, "mode": {"async"}, "sends": {leftType}}), 303)
	// Something can be sent now, but not what this subscription is to.
	for _, path := range []string{"/subscriptions/" + id, "/subscriptions"} {
		wantWords(t, text(w.staff.get("/partner"+path)), "Cannot send yet", enrolledType)
	}
	wantStatus(t, w.admin.post("/admin"+party+"/processes", url.Values{"ownPartyId": {w.own}, "name": {"E-contact 2"}, "subject": {"DIALOG_INNBYGGER_TEST"}, "mode": {"async"}, "sends": {enrolledType}}), 303)
	everywhere("certificate")
	theirs, _ := testCertificate(t, "legekontor", w.clock.Now().AddDate(1, 0, 0))
	ours, key := testCertificate(t, "clinic", w.clock.Now().AddDate(1, 0, 0))
	wantStatus(t, w.staff.post("/partner"+party+"/certificates", url.Values{"certificates": {theirs}}), 303)
	wantWords(t, text(w.staff.get("/partner/endpoints/"+w.endpoint)), "Cannot send yet", "Chain clinic") // ours to mend
	wantWords(t, text(w.admin.get("/admin/endpoints/"+w.endpoint)), "Cannot send yet", "/admin/amqp/parties/"+w.own)
	wantStatus(t, w.admin.post("/admin/amqp/parties/"+w.own+"/certificates", url.Values{"certificates": {ours}, "privateKeys": {key}}), 303)
	for _, path := range pages {
		lacks(t, text(w.staff.get("/partner"+path)), "Cannot send yet")
		lacks(t, text(w.admin.get("/admin"+path)), "Cannot send yet")
	}
	wantWords(t, text(w.staff.get(sub)), "are sent to your endpoint")

	w.clock.Advance(1)
	wantStatus(t, w.staff.post("/partner"+party+"/edit", w.partyForm("enabled", "")), 303)
	everywhere("switched off")
	e := must(w.reg.Endpoints.Create(t.Context(), w.portalHarness.admin, w.owner, partners.EndpointInput{Name: "No party", Kind: store.EndpointAMQP}))(t)
	wantWords(t, text(w.staff.get("/partner/endpoints/"+e.ID)), "Cannot send yet", "/partner/amqp/parties/new?endpoint="+e.ID)
}
