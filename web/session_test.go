package web

import (
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"schakel/registry"
	"schakel/store"
)

// Administrators end the sessions of one person, or of everybody, and the audit trail says so; partners end nobody's. A logout clears what the
// browser keeps of the pages.
func TestAdministratorsEndSessions(t *testing.T) {
	t.Parallel()
	d := newPortalHarness(t)
	partner, pat := d.at(t, "pat@example.nl")
	other, _ := d.at(t, "kim@example.nl")
	admin := d.browser().login(t, testEmail)
	path := "/admin/accounts/" + pat.ID + "/end-sessions"
	wantWords(t, text(admin.get("/admin/accounts/"+pat.ID)), path)
	wantStatus(t, partner.post("/admin/accounts/sessions/end", nil), http.StatusForbidden)
	wantStatus(t, other.post("/partner/people/"+pat.ID+"/end-sessions", nil), http.StatusNotFound)
	wantStatus(t, admin.post(path, nil), http.StatusSeeOther)
	wantRedirect(t, partner.get("/partner"), "/login?next=%2Fpartner")
	wantStatus(t, other.get("/partner"), http.StatusOK)
	wantWords(t, text(admin.get("/admin/accounts")), "/admin/accounts/sessions/end")
	wantRedirect(t, admin.post("/admin/accounts/sessions/end", nil), "/login")
	wantRedirect(t, other.get("/partner"), "/login?next=%2Fpartner")
	wantRedirect(t, admin.get("/admin"), "/login?next=%2Fadmin")
	wantWords(t, text(admin.login(t, testEmail).get("/admin/audit?action="+registry.ActionAllSessionsEnded)), "ended the sessions of everybody")
	if answer := admin.post("/logout", nil); answer.Header.Get("Clear-Site-Data") != `"cache", "storage"` {
		t.Errorf("a logout clears %q", answer.Header.Get("Clear-Site-Data"))
	}
}

// TestSessionsAreListed: people see where they are logged in, end one of those sessions, and nobody else's.
func TestSessionsAreListed(t *testing.T) {
	t.Parallel()
	d := newPortalHarness(t)
	here, there := d.browser(), d.browser()
	here.header.Set("User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0")
	there.header.Set("User-Agent", "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 Version/18.0 Mobile/15E148 Safari/604.1")
	there.login(t, testEmail)
	d.clock.Advance(time.Minute)
	here.login(t, testEmail)
	page := wantPage(t, here.get("/account"), http.StatusOK, "Firefox on Linux (this browser)", "Safari on iPhone", "192.0.2.1", "2 sessions")
	end := match(t, `/account/sessions/ses_\w+/end`, page)

	other, _ := d.at(t, "pat@example.nl")
	wantStatus(t, other.post(end, nil), http.StatusNotFound)
	wantStatus(t, there.get("/account"), http.StatusOK)
	wantRedirect(t, here.post(end, nil), "/account")
	wantRedirect(t, there.get("/account"), "/login?next=%2Faccount")
	lacks(t, text(here.get("/account")), "iPhone")
	wantPage(t, here.get("/admin/audit?action="+registry.ActionSessionEnded), http.StatusOK, "ended a session of the account")

	here.login(t, testEmail) // in the same browser
	lacks(t, text(here.get("/account")), "2 sessions")

	there.login(t, testEmail)
	d.change(t, "access.proof_age", "10m")
	d.clock.Advance(11 * time.Minute)
	end = match(t, `/account/sessions/ses_\w+/end`, text(here.get("/account")))
	for _, path := range []string{end, "/account/sessions/end"} {
		wantPage(t, here.post(path, nil), http.StatusForbidden, "Confirm that it is you")
	}
	wantStatus(t, there.get("/account"), http.StatusOK)
}

// TestSessionLimits: how long a login lasts, used and not, follows the settings of each role.
func TestSessionLimits(t *testing.T) {
	t.Parallel()
	d := newPortalHarness(t)
	d.change(t, "access.administrator_idle", "10m", "access.administrator_login", "30m", "access.partner_idle", "1h", "access.partner_login", "24h")
	admin := d.browser().login(t, testEmail)
	partner, _ := d.at(t, "pat@example.nl")
	alive := func(b *browser, want int) { t.Helper(); wantStatus(t, b.get("/account"), want) }
	for range 3 {
		d.clock.Advance(9 * time.Minute)
		alive(admin, 200)
	}
	d.clock.Advance(9 * time.Minute)
	alive(admin, 303)
	alive(partner, 200)
	for range 24 {
		d.clock.Advance(58 * time.Minute)
		alive(partner, 200)
	}
	d.clock.Advance(58 * time.Minute)
	alive(partner, 303)
	admin = d.browser().login(t, testEmail)
	d.clock.Advance(11 * time.Minute)
	alive(admin, 303)
}

// TestSessionLimitsOfRoles: administrators and managers can have shorter limits than others of their side; what is longer changes nothing.
func TestSessionLimitsOfRoles(t *testing.T) {
	t.Parallel()
	d := newPortalHarness(t)
	partner, actor := d.at(t, "pat@example.nl")
	d.change(t, "access.administrator_idle", "30m", "access.administrator_login", "2h", "access.partner_idle", "30m", "access.partner_login", "2h",
		"access.administrator_role_idle", "10m", "access.administrator_role_login", "24h", "access.manager_idle", "40m", "access.manager_login", "45m")
	admin, auditor := d.browser().login(t, testEmail), d.colleague(t, store.RoleAuditor, "")
	partner.login(t, "pat@example.nl")
	reader := d.colleague(t, store.RoleReader, actor.PartnerID)
	alive := func(b *browser, want int) { t.Helper(); wantStatus(t, b.get("/account"), want) }
	d.clock.Advance(11 * time.Minute)
	alive(admin, 303)
	alive(auditor, 200)
	alive(partner, 200)
	alive(reader, 200)
	d.clock.Advance(25 * time.Minute)
	alive(partner, 200)
	d.clock.Advance(4 * time.Minute)
	alive(auditor, 200)
	alive(reader, 200)
	d.clock.Advance(6 * time.Minute)
	alive(partner, 303)
	alive(reader, 200)
	d.change(t, "access.manager_idle", "0", "access.manager_login", "0s")
	partner.login(t, "pat@example.nl")
	d.clock.Advance(29 * time.Minute)
	alive(partner, 200)
	d.clock.Advance(29 * time.Minute)
	alive(partner, 200)
	wantPage(t, d.browser().login(t, testEmail).get("/admin/settings"), http.StatusOK, "Unused login of who has the role of administrator ends after", "As the others")
}

// TestStolenSessionRedirectsNothing: a session alone changes neither where data goes nor who may log in, once its owner's proof is old.
// The owner proves who it is, and what was typed is handled as it was sent.
func TestStolenSessionRedirectsNothing(t *testing.T) {
	t.Parallel()
	d := newPortalHarness(t)
	d.change(t, "access.proof_age", "10m")
	b, actor := d.at(t, "pat@example.nl")
	path, _, _ := strings.Cut(redirected(t, b.post("/partner/endpoints", endpointForm())), "/setup")
	stored := func() string {
		all := must(d.reg.Endpoints.List(t.Context(), registry.ScopeOf(actor.PartnerID), actor.PartnerID))(t)
		return all[0].URL
	}
	waits := func(b *browser, path string, form url.Values) url.Values {
		t.Helper()
		page := wantPage(t, b.post(path, form), http.StatusForbidden, "Confirm that it is you")
		lacks(t, page, "hush-hush")
		return url.Values{"proof-form": {strings.Split(match(t, `name="proof-form" value="[^"]+"`, page), `"`)[3]}}
	}
	d.clock.Advance(11 * time.Minute)
	answer := waits(b, path, endpointForm("url", "https://elsewhere.example.nl/events"))
	answer.Set("proof-password", "wrong wrong wrong")
	page := wantPage(t, b.post(path, answer), http.StatusForbidden, "This is not your password")
	lacks(t, page, "elsewhere")
	if got := stored(); got != "https://roc.example.nl/events" {
		t.Fatalf("a session alone redirected data to %s", got)
	}
	copied := d.browser()
	copied.cookies = maps.Clone(b.cookies)
	other, _ := d.at(t, "eve@example.nl")
	answer.Set("proof-password", testPassword)
	wantStatus(t, other.post(path, answer), http.StatusBadRequest) // sealed for somebody else
	wantStatus(t, b.post(path+"/", answer), http.StatusNotFound)

	bad := waits(b, path, endpointForm("url", "http://typed.example.nl/", "name", "Typed name"))
	bad.Set("proof-password", testPassword)
	wantPage(t, b.post(path, bad), http.StatusUnprocessableEntity, "http://typed.example.nl/", "Typed name", `href="#url"`)
	redirected(t, b.post(path, endpointForm("url", "https://new.example.nl/events"))) // proved a moment ago
	if got := stored(); got != "https://new.example.nl/events" {
		t.Errorf("the owner's change was lost: %s", got)
	}
	wantStatus(t, b.get("/partner"), http.StatusOK)
	if to := copied.get("/partner").Header.Get("Location"); !strings.HasPrefix(to, "/login") { // copied before the owner proved who it is
		t.Errorf("a session token that was copied goes on to %q", to)
	}

	for _, to := range []string{"pat@example.nl", testEmail} {
		mail := d.lastMail(t, to)
		wantWords(t, mail, "Endpoint Records of Partner of pat@example.nl was changed", "Changed by Pat:", "Address: https://roc.example.nl/events → https://new.example.nl/events")
		lacks(t, mail, "hush-hush")
	}
	redirected(t, b.post(path, endpointForm("url", "https://new.example.nl/events?key=5", "tokenSecret", "other-secret")))
	mail := d.lastMail(t, "pat@example.nl")
	wantWords(t, mail, "Client secret: replaced")
	lacks(t, mail, "other-secret")
	lacks(t, mail, "key=5")

	admin := d.browser().login(t, testEmail)
	secret, _ := d.addApp(t, admin)
	d.clock.Advance(11 * time.Minute)
	for path, form := range map[string]url.Values{
		"/admin/accounts": {"name": {"Ann"}, "email": {"ann@example.nl"}, "role": {"administrator"}}, "/account/factors/codes": nil, "/admin/own/clients": {"name": {"X"}},
		"/admin/accounts/" + actor.ID + "/block": nil, "/admin/settings": nil, "/admin/routes": nil, "/admin/keys": nil, "/admin/amqp/brokers": nil,
	} {
		waits(admin, path, form)
	}
	invite := waits(admin, "/admin/accounts", url.Values{"name": {"Ann"}, "email": {"ann@example.nl"}, "role": {"administrator"}})
	invite.Set("proof-password", testPassword) // no longer enough
	wantStatus(t, admin.post("/admin/accounts", invite), http.StatusForbidden)
	invite.Set("proof-code", codeAt(t, secret, d.clock.Now()))
	wantRedirect(t, admin.post("/admin/accounts", invite), "/admin/accounts")
	wantWords(t, text(admin.get("/admin/accounts")), "ann@example.nl")
}
