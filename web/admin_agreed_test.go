package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"schakel/registry/identity"
	"schakel/store"
)

// An administrator acts for the own organisation on the pages that partners have.
func TestOwnOrganisation(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	answer := o.admin.post("/admin/own/clients", url.Values{
		"name": {"Student system"}, "authMethod": {"client_secret_basic"}, "scopes": {identity.ScopeEventsPublish},
		"publishTypes": {"nl.example.student.*"}, "publishSources": {"urn:nld:oin:00000001003214345000:*"},
	})
	if answer.StatusCode >= 400 {
		t.Fatalf("status %d: %s", answer.StatusCode, text(answer))
	}
	clients, err := o.db.Clients(t.Context(), o.own.ID)
	noError(t, err)
	if len(clients) != 1 || !clients[0].Scopes.Contains(identity.ScopeEventsPublish) || clients[0].Waiting() {
		t.Fatalf("own clients: %+v", clients)
	}
	wantText(t, o.page(t, "/admin/clients"), "Student system", "/admin/own/clients/"+clients[0].ID)
	wantText(t, o.page(t, "/admin/clients/"+clients[0].ID), "Change it")
	s := o.subscription(t, o.endpoint(t, o.partner.ID).ID)
	wantText(t, o.page(t, "/admin/subscriptions/"+s.ID), "urn:nld:oin:00000001003214345000:*", "(own organisation)")
}

func TestRoutesBetweenPartners(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	other := o.harness.partner(t, "bob@zuid.example").PartnerID
	good := url.Values{"from": {o.partner.ID}, "to": {other}, "eventType": {officeType}}
	for field, wrong := range map[string]url.Values{
		"from":      {"from": {""}, "to": good["to"], "eventType": good["eventType"]},
		"to":        {"from": good["from"], "to": {o.own.ID}, "eventType": good["eventType"]},
		"eventType": {"from": good["from"], "to": good["to"], "eventType": {""}},
	} {
		answer := o.admin.post("/admin/routes", wrong)
		wantStatus(t, answer, http.StatusUnprocessableEntity)
		wantText(t, text(answer), `href="#`+field+`"`)
	}
	wantRedirect(t, o.admin.post("/admin/routes", good), "/admin/routes")
	again := o.admin.post("/admin/routes", good)
	wantStatus(t, again, http.StatusConflict)
	wantText(t, text(again), "This route is there already.")
	routes, err := o.db.Routes(t.Context())
	noError(t, err)
	if len(routes) != 1 {
		t.Fatalf("%d routes", len(routes))
	}
	wantText(t, o.page(t, "/admin/routes"), "Ada Admin", routes[0].ID+"/removal")
	wantRedirect(t, o.admin.post("/admin/routes/"+routes[0].ID+"/removal", url.Values{}), "/admin/routes")
	wantText(t, o.page(t, "/admin/routes"), "No route is open")
}

func TestAdministrators(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	for field, form := range map[string]url.Values{
		"name":  {"name": {""}, "email": {"eva@example.nl"}},
		"email": {"name": {"Eva"}, "email": {"eva"}},
	} {
		answer := o.admin.post("/admin/accounts", form)
		wantStatus(t, answer, http.StatusUnprocessableEntity)
		wantText(t, text(answer), `href="#`+field+`"`)
	}
	taken := o.admin.post("/admin/accounts", url.Values{"name": {"Pat"}, "email": {"PAT@noord.example"}})
	wantStatus(t, taken, http.StatusUnprocessableEntity)
	wantRedirect(t, o.admin.post("/admin/accounts", url.Values{"name": {"Eva"}, "email": {"eva@example.nl"}}), "/admin/accounts")
	eva, err := o.db.AccountByEmail(t.Context(), "eva@example.nl")
	noError(t, err)
	if eva.Role != store.RoleAdministrator || eva.Status != store.AccountInvited {
		t.Fatalf("invited as %s, %s", eva.Role, eva.Status)
	}
	page := o.page(t, "/admin/mails")
	wantText(t, page, "eva@example.nl")
	if strings.Contains(page, "/account/invitation/") {
		t.Error("the list of mails shows the link")
	}
	wantText(t, o.page(t, "/admin/audit"), "Ada Admin invited Eva as an administrator")
}

func TestBlockingPeople(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	partner := o.asPartner(t)
	wantStatus(t, partner.get("/partner"), http.StatusOK)
	base := "/admin/accounts/" + o.staff.ID
	wantRedirect(t, o.admin.post(base+"/block", url.Values{}), "/admin/partners/"+o.partner.ID)
	wantStatus(t, partner.get("/partner"), http.StatusSeeOther)
	refused := o.browser().post("/login", url.Values{"email": {o.staff.Email}, "password": {testPassword}})
	if refused.StatusCode == http.StatusSeeOther {
		t.Error("who is blocked can log in")
	}
	wantRedirect(t, o.admin.post(base+"/unblock", url.Values{}), "/admin/partners/"+o.partner.ID)
	o.asPartner(t)
	wantRedirect(t, o.admin.post(base+"/link", url.Values{}), "/admin/partners/"+o.partner.ID)

	me, err := o.db.AccountByEmail(t.Context(), testEmail)
	noError(t, err)
	wantRedirect(t, o.admin.post("/admin/accounts/"+me.ID+"/block", url.Values{}), "/admin/accounts")
	wantText(t, o.page(t, "/admin/accounts"), "You cannot block your own account.")
}
