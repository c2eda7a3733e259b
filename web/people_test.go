package web

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"schakel/registry"
	"schakel/store"
)

// lastLink is the path of the newest link to choose a password that an address was mailed.
func (w *queueWorld) lastLink(email string) string {
	w.t.Helper()
	mails, _, err := w.db.Mails(w.t.Context(), store.Page{Number: 1, Size: 50})
	noError(w.t, err)
	for _, m := range mails {
		if m.Recipient != email {
			continue
		}
		body := must(w.reg.Mails.Get(w.t.Context(), registry.SystemActor(), m.ID))(w.t).Body
		if _, link, ok := strings.Cut(body, "/account/invitation/"); ok {
			token, _, _ := strings.Cut(link, "\n")
			return "/account/invitation/" + strings.TrimSpace(token)
		}
	}
	w.t.Fatalf("%s got no invitation", email)
	return ""
}

// TestManagersInviteTheirColleagues: a manager invites, and the link works once and for seven days; it can be sent again, and withdrawn; the role is
// changed and the account removed; all of it is audited and mailed, and nobody else's people can be touched.
func TestManagersInviteTheirColleagues(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	manager, email := w.first.browser, "ida@first.example"
	wantPage(t, manager.get("/partner/people"), http.StatusOK, "Pat", "Manager", "Invite colleague", "/docs/roles")
	for field, form := range map[string]url.Values{
		"name": {"email": {email}, "role": {store.RoleReader}}, "email": {"name": {"Ida"}, "email": {"ida"}, "role": {store.RoleReader}},
		"role": {"name": {"Ida"}, "email": {email}}, "#role": {"name": {"Ida"}, "email": {email}, "role": {store.RoleAdministrator}},
	} {
		wantPage(t, manager.post("/partner/people", form), http.StatusUnprocessableEntity, `href="#`+strings.TrimPrefix(field, "#")+`"`)
	}
	invitation := url.Values{"name": {"Ida"}, "email": {email}, "role": {store.RoleReader}, "partner": {w.other.id}} // the field does not count here
	wantRedirect(t, manager.post("/partner/people", invitation), "/partner/people")
	trail := text(w.admin.get("/admin/audit?q=Ida"))
	wantWords(t, trail, "Pat invited Ida with the role of reader")
	lacks(t, trail, "Someone asked for a link")
	ida := w.account(email)
	if ida.PartnerID != w.first.id || ida.Role != store.RoleReader || ida.Status != store.AccountInvited {
		t.Fatalf("invited: %+v", ida)
	}
	page := "/partner/people/" + ida.ID
	first := w.lastLink(email)
	newest := must2(w.db.Mails(t.Context(), store.Page{Number: 1, Size: 50}))(t)
	at := slices.IndexFunc(newest, func(m store.Mail) bool { return m.Recipient == email })
	wantWords(t, must(w.reg.Mails.Get(t.Context(), registry.SystemActor(), newest[at].ID))(t).Body, "Pat", "invited you to the portal of", "with the role of reader")
	wantPage(t, manager.get("/partner/people"), http.StatusOK, "Ida is invited", "Ida", "Reader", "link works until")
	w.clock.Advance(7*24*time.Hour + time.Minute)
	manager = w.browser().login(t, w.first.email)
	wantPage(t, manager.get("/partner/people"), http.StatusOK, "the link has expired", "Send invitation again")
	wantStatus(t, w.browser().get(first), http.StatusNotFound)
	wantRedirect(t, manager.post(page+"/link", nil), "/partner/people")
	trail = text(w.browser().login(t, testEmail).get("/admin/audit"))
	wantWords(t, trail, "Pat had a link to choose a password mailed to Ida")
	lacks(t, trail, "Someone asked for a link")
	second := w.lastLink(email)
	if second == first {
		t.Fatal("the same link came again")
	}
	wantRedirect(t, manager.post(page+"/removal", nil), "/partner/people")
	wantPage(t, manager.get("/partner/people"), http.StatusOK, "Ida is removed")
	wantStatus(t, w.browser().get(second), http.StatusNotFound)

	wantRedirect(t, manager.post("/partner/people", invitation), "/partner/people") // the address is free again
	ida = w.account(email)
	page = "/partner/people/" + ida.ID
	b := w.browser()
	wantStatus(t, b.post(w.lastLink(email), url.Values{"password": {testPassword}, "password2": {testPassword}}), http.StatusSeeOther)
	b = w.browser().login(t, email)
	wantPage(t, b.get("/partner/people"), http.StatusOK, "Ida")
	wantStatus(t, b.post("/partner/people", invitation), http.StatusForbidden)
	wantPage(t, manager.get(page), http.StatusOK, "Change role", "Remove account", "Reads everything")
	wantStatus(t, manager.post(page+"/role", url.Values{"role": {"root"}}), http.StatusUnprocessableEntity)
	wantStatus(t, manager.post(page+"/role", url.Values{"role": {store.RoleReader}}), http.StatusConflict)
	wantRedirect(t, manager.post(page+"/role", url.Values{"role": {store.RoleIntegrator}}), "/partner/people")
	wantStatus(t, b.get("/partner"), http.StatusSeeOther) // the session ended
	b = w.browser().login(t, email)
	wantStatus(t, b.get("/partner/endpoints/new"), http.StatusOK)

	// The last manager stays; two can change places, and then the first is the last.
	own := "/partner/people/" + w.account(w.first.email).ID
	wantPage(t, manager.post(own+"/role", url.Values{"role": {store.RoleReader}}), http.StatusConflict, "last manager")
	wantRedirect(t, manager.post(own+"/removal", nil), "/partner/people")
	wantPage(t, manager.get("/partner/people"), http.StatusOK, "You cannot remove your own account.")
	wantRedirect(t, w.admin.in2(t).post("/admin/accounts/"+w.account(w.first.email).ID+"/removal", nil), "/admin/partners/"+w.first.id)
	if w.account(w.first.email).ID == "" {
		t.Fatal("an administrator removed the last manager")
	}

	stranger := w.browser().login(t, w.other.email)
	for _, path := range []string{"/role", "/removal", "/block", "/link"} {
		wantStatus(t, stranger.post(page+path, url.Values{"role": {store.RoleReader}}), http.StatusNotFound)
	}
	wantStatus(t, stranger.get(page), http.StatusNotFound)
	wantStatus(t, manager.post("/partner/people/"+w.account(testEmail).ID+"/removal", nil), http.StatusNotFound)

	wantRedirect(t, manager.post(page+"/removal", nil), "/partner/people")
	wantStatus(t, b.get("/partner"), http.StatusSeeOther)
	wantStatus(t, w.browser().post("/login", url.Values{"email": {email}, "password": {testPassword}}), http.StatusUnauthorized)
	wantPage(t, manager.get("/partner/audit"), http.StatusOK, "Pat invited Ida with the role of reader", "Pat had a link to choose a password mailed to Ida",
		"Pat withdrew the invitation of Ida", "Pat gave Ida the role of integrator in place of reader", "Pat removed the account of Ida")
	told := map[string]int{}
	mails, _, err := w.db.Mails(t.Context(), store.Page{Number: 1, Size: 100})
	noError(t, err)
	for _, m := range mails {
		if strings.Contains(must(w.reg.Mails.Get(t.Context(), registry.SystemActor(), m.ID))(t).Body, "Changed by Pat") {
			told[m.Recipient]++
		}
	}
	if told[testEmail] < 4 || told[w.first.email] < 4 || told[w.other.email] > 0 || told[email] != 2 {
		t.Errorf("told of changes: %v", told)
	}
}

// in2 logs the administrator in again, where the clock went on.
func (b *browser) in2(t *testing.T) *browser {
	t.Helper()
	return b.h.browser().login(t, testEmail)
}

// TestRolesOfTheOrganisation: administrators give their colleagues roles, the last administrator stays one, and administrators invite for a partner too.
func TestRolesOfTheOrganisation(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	wantRedirect(t, w.admin.post("/admin/accounts", url.Values{"name": {"Otto"}, "email": {"otto@example.nl"}, "role": {store.RoleOperator}}), "/admin/accounts")
	otto := w.account("otto@example.nl")
	if otto.Role != store.RoleOperator || otto.PartnerID != "" {
		t.Fatalf("invited: %+v", otto)
	}
	me := "/admin/accounts/" + w.account(testEmail).ID
	wantPage(t, w.admin.post(me+"/role", url.Values{"role": {store.RoleAuditor}}), http.StatusConflict, "last administrator")
	wantRedirect(t, w.admin.post("/admin/accounts/"+otto.ID+"/role", url.Values{"role": {store.RoleAdministrator}}), "/admin/accounts")
	wantPage(t, w.admin.post(me+"/role", url.Values{"role": {store.RoleAuditor}}), http.StatusConflict, "last administrator") // Otto cannot log in yet
	wantStatus(t, w.browser().post(w.lastLink("otto@example.nl"), url.Values{"password": {testPassword}, "password2": {testPassword}}), http.StatusSeeOther)
	wantRedirect(t, w.admin.post(me+"/role", url.Values{"role": {store.RoleAuditor}}), "/admin/accounts")
	auditor := w.browser().login(t, testEmail)
	wantPage(t, auditor.get("/admin"), http.StatusOK, "Auditor")
	wantStatus(t, auditor.post(me+"/role", url.Values{"role": {store.RoleAdministrator}}), http.StatusForbidden)
	lacks(t, wantPage(t, auditor.get("/admin/accounts"), http.StatusOK, "Otto"), "Invite colleague", "/admin/accounts/"+otto.ID)

	admin := w.browser().login(t, "otto@example.nl")
	people := "/admin/accounts?partner=" + w.first.id
	wantPage(t, admin.get("/admin/partners/"+w.first.id), http.StatusOK, `href="`+people+`"`)
	wantPage(t, admin.get(people), http.StatusOK, "Pat", "Integrator", `name="partner" value="`+w.first.id+`"`)
	wantRedirect(t, admin.post("/admin/accounts", url.Values{"name": {"Mia"}, "email": {"mia@first.example"}, "role": {store.RoleManager}, "partner": {w.first.id}}), people)
	if mia := w.account("mia@first.example"); mia.PartnerID != w.first.id || mia.Role != store.RoleManager {
		t.Errorf("invited: %+v", mia)
	}
	wantStatus(t, admin.post("/admin/accounts", url.Values{"name": {"X"}, "email": {"x@first.example"}, "role": {store.RoleManager}, "partner": {"ptn_none"}}), http.StatusNotFound)
	wantStatus(t, admin.post("/admin/accounts", url.Values{"name": {"X"}, "email": {"x@first.example"}, "role": {store.RoleManager}}), http.StatusUnprocessableEntity)
}
