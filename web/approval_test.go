package web

import (
	"context"
	"net/http"
	"net/url"
	"testing"

	"schakel/registry"
	"schakel/registry/partners"
	"schakel/store"
)

// insertEvents stores events of a partner as accepted now.
func (o *adminHarness) insertEvents(t *testing.T, partnerID string, ids ...string) {
	t.Helper()
	noError(t, o.db.Write(t.Context(), func(tx *store.Tx) error {
		var rows []store.Event
		for _, id := range ids {
			rows = append(rows, store.Event{
				ID: tx.NewID("evt"), PartnerID: partnerID, ClientID: "cli_1", CEID: id, CESource: "urn:sis", CEType: officeType, CESubject: "s-" + id,
				Attributes: []byte(`{"specversion":"1.0","id":"` + id + `","source":"urn:sis","type":"` + officeType + `","subject":"s-` + id + `"}`),
				DataKind:   1, Data: []byte(`{"student":"` + id + `"}`), AcceptedAt: tx.Now,
			})
		}
		_, err := tx.InsertEvents(context.Background(), rows)
		return err
	}))
}

// An administrator sees what an approval would let flow, and after a decision no longer.
//
// Rules: EDU-14.
func TestApprovalPagesShowWhatWouldFlow(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	own := must(o.db.OwnPartner(t.Context()))(t)
	other := o.harness.partner(t, "sam@zuid.example")
	o.insertEvents(t, own.ID, "e-1", "e-2")
	o.insertEvents(t, other.PartnerID, "e-3", "e-4", "e-5")
	e := o.endpoint(t, o.partner.ID)
	s := o.subscription(t, e.ID)
	page := o.page(t, "/admin/subscriptions/"+s.ID)
	wantWords(t, page, "What would flow to the partner", "s-e-2", "See the event", "Kind of endpoint", "Webhook", "events.noord.example", ">2<")
	lacks(t, page, "s-e-5", "test inbox") // a partner's events need a route

	registered := o.requested(t, "Leerlingzorg Zuid", true)
	wantWords(t, o.page(t, "/admin/partners/"+registered.ID), "What it could ask for", "lets no event flow", officeType, ">2<")

	route := url.Values{"from": {other.PartnerID}, "to": {o.partner.ID}, "eventType": {officeType}, "do": {"preview"}}
	preview := wantPage(t, o.admin.post("/admin/routes", route), http.StatusOK)
	wantWords(t, preview, "What would pass along this route", "New students", "s-e-5", ">3<", "No client of the sending partner may publish")
	if routes := must(o.db.Routes(t.Context()))(t); len(routes) != 0 {
		t.Errorf("a preview opens %d routes", len(routes))
	}
	route.Set("to", "")
	wantPage(t, o.admin.post("/admin/routes", route), http.StatusUnprocessableEntity)

	noError(t, o.reg.Subscriptions.Approve(t.Context(), registry.SystemActor(), s.ID))
	lacks(t, o.page(t, "/admin/subscriptions/"+s.ID), "What would flow to the partner")
}

// What a test inbox would receive is stored here, which an administrator knows before approving it.
func TestApprovalWarnsOfTestInbox(t *testing.T) {
	t.Parallel()
	d := newPortalHarness(t).withCatalogue(t)
	_, pat := d.at(t, "pat@noord.example")
	inbox := must(d.reg.Endpoints.Create(t.Context(), pat, pat.PartnerID, partners.EndpointInput{Name: "Inbox", Kind: store.EndpointInbox}))(t)
	s := must(d.reg.Subscriptions.Request(t.Context(), pat, partners.SubscriptionRequest{
		EndpointID: inbox.ID, Types: []string{"nl.example.student.enrolled"}, Purpose: "To see what comes.",
	}))(t)
	admin := d.browser().login(t, testEmail)
	wantPage(t, admin.get("/admin/subscriptions/"+s.ID), http.StatusOK, "This endpoint is a test inbox. It stores the data of real events here for 7 days", "What would flow")
}
