package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"schakel/store"
)

func TestPartnerHome(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t).withCatalogue(t)
	b, _ := h.at(t, "pat@example.nl")
	wantWords(t, text(b.get("/partner")), "Next steps", "Nothing has failed", `href="/partner/endpoints/new"`)
	endpoint := newEndpoint(t, b)
	answer := b.post(endpoint+"/test", nil)
	id := idOf(answer.Header.Get("Location"))
	ctx := t.Context()
	noError(t, h.db.Write(ctx, func(tx *store.Tx) error {
		row, err := tx.Delivery(ctx, id)
		if err != nil {
			return err
		}
		row.ID, row.Status, row.Detail = "dlv_dead", store.DeliveryDead, "The endpoint answered 500.\nSecond line."
		return tx.InsertDeliveries(ctx, []store.Delivery{row})
	}))
	wantWords(t, text(b.get("/partner")), "1 endpoint", "/partner/deliveries/dlv_dead", "Dead letters", "sent a test event to endpoint Records")
	wantWords(t, text(b.get("/partner/audit")), "added endpoint Records at roc.example.nl")
	wantWords(t, text(b.get("/partner/audit?until=2001-01-01")), "Nothing was changed in this period")
}

func TestContactPerson(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t)
	b, pat := h.at(t, "pat@example.nl")
	good := func(pairs ...string) url.Values {
		return changed(url.Values{"contactName": {"Kim"}, "email": {"kim@example.nl"}, "phone": {""}}, pairs...)
	}
	for _, test := range []struct{ field, value string }{{"contactName", ""}, {"email", "kim"}, {"phone", "mobile"}} {
		answer := b.post("/partner/organisation", good(test.field, test.value))
		if page := text(answer); answer.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(page, `href="#`+test.field+`"`) {
			t.Errorf("%s=%q: status %d", test.field, test.value, answer.StatusCode)
		}
	}
	wantRedirect(t, b.post("/partner/organisation", good()), "/partner/organisation")
	wantWords(t, text(b.get("/partner/organisation")), `value="kim@example.nl"`, "contact person is saved")
	row, err := h.db.Partner(t.Context(), pat.PartnerID)
	noError(t, err)
	if row.ContactEmail != "kim@example.nl" || row.Status != store.PartnerApproved {
		t.Errorf("partner %+v", row)
	}
}

// TestPartnerPagesOfAnother walks every page and action of a partner with the ids
// of another (guarantee G7).
func TestPartnerPagesOfAnother(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t).withCatalogue(t)
	owner, _ := h.at(t, "owner@example.nl")
	endpoint := newEndpoint(t, owner)
	subscription := newSubscription(t, owner, endpoint)
	_, client := newClient(t, owner, clientForm())
	thief, _ := h.at(t, "thief@example.nl")
	ids := map[string]string{"endpoints": idOf(endpoint), "subscriptions": idOf(subscription), "clients": idOf(client)}
	walked := 0
	for _, route := range h.app.Echo.Routes() {
		rest, ok := strings.CutPrefix(route.Path, "/partner/")
		noun, _, _ := strings.Cut(rest, "/")
		if id := ids[noun]; ok && id != "" && strings.Contains(rest, ":id") {
			walked++
			path := strings.Replace(route.Path, ":id", id, 1)
			answer := thief.do(route.Method, path, "reason=Not+mine&name=x")
			if answer.StatusCode != http.StatusNotFound {
				t.Errorf("%s %s: status %d", route.Method, route.Path, answer.StatusCode)
			}
			visitor := h.browser().do(route.Method, path, "")
			if to := visitor.Header.Get("Location"); visitor.StatusCode != http.StatusSeeOther || !strings.HasPrefix(to, "/login") {
				t.Errorf("%s %s as a visitor: status %d to %q", route.Method, route.Path, visitor.StatusCode, to)
			}
		}
	}
	if walked < 15 {
		t.Errorf("only %d routes were walked", walked)
	}
	for _, path := range []string{"/partner/endpoints", "/partner/subscriptions", "/partner/clients", "/partner", "/partner/audit"} {
		page := text(thief.get(path))
		for _, secret := range []string{ids["endpoints"], ids["subscriptions"], ids["clients"], "roc.example.nl", "Enrolments"} {
			if strings.Contains(page, secret) {
				t.Errorf("%s shows %s of another partner", path, secret)
			}
		}
	}
}

// TestSuspendedPartnerOnlyLooks posts every form of a partner that is suspended.
func TestSuspendedPartnerOnlyLooks(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t).withCatalogue(t)
	b, pat := h.at(t, "pat@example.nl")
	endpoint := newEndpoint(t, b)
	subscription := newSubscription(t, b, endpoint)
	_, client := newClient(t, b, clientForm())
	noError(t, h.reg.Partners.Suspend(t.Context(), h.admin, pat.PartnerID, "Certificate expired."))
	reason := url.Values{"reason": {"Because."}}
	for path, form := range map[string]url.Values{
		"/partner/endpoints": endpointForm(), endpoint: endpointForm("name", "Changed"), endpoint + "/pause": reason, endpoint + "/end": reason, endpoint + "/test": nil,
		"/partner/clients": clientForm(), client: clientForm("name", "Changed"), client + "/secret": nil, client + "/revoke": reason,
		subscription + "/end":        reason,
		"/partner/subscriptions/new": {"types": {"nl.example.student.left"}, "endpoint": {idOf(endpoint)}, "purpose": {"Our records."}},
	} {
		answer := b.post(path, form)
		if answer.StatusCode != http.StatusSeeOther {
			t.Errorf("POST %s: status %d", path, answer.StatusCode)
		}
	}
	for _, path := range []string{endpoint, client, subscription, "/partner/endpoints"} {
		page := text(b.get(path))
		wantWords(t, page, "suspended")
		if strings.Contains(page, "schakel-danger") || strings.Contains(page, "Changed") {
			t.Errorf("%s still acts", path)
		}
	}
	e, err := h.db.Endpoint(t.Context(), idOf(endpoint))
	noError(t, err)
	if e.Status != store.EndpointActive || e.Name != "Records" {
		t.Errorf("the endpoint changed: %s %s", e.Name, e.Status)
	}
}
