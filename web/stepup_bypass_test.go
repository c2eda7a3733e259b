package web

import (
	"crypto/rand"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"testing"
	"time"

	"schakel/registry"
	"schakel/registry/identity"
	"schakel/store"
)

// A password alone gets nobody past the second factor: changing it asks for the factor, and proves nothing itself.
func TestPasswordIsNoProofBesideFactor(t *testing.T) {
	t.Parallel()
	d := newPortalHarness(t)
	pat, _ := d.at(t, "pat@example.nl")
	secret, _ := d.addApp(t, pat)
	d.change(t, "access.proof_age", "1m")
	d.clock.Advance(62 * time.Second)
	client := url.Values{"name": {"Evil"}, "authMethod": {"private_key_jwt"}}
	wantPage(t, pat.post("/partner/clients", client), http.StatusForbidden, "Confirm that it is you")
	change := url.Values{"current": {testPassword}, "password": {"another good one"}}
	page := wantPage(t, pat.post("/account/password", change), http.StatusForbidden, "Confirm that it is you")
	wantPage(t, pat.post("/partner/clients", client), http.StatusForbidden, "Confirm that it is you")

	proof := url.Values{"proof-form": {regexp.MustCompile(`name="proof-form" value="([^"]+)"`).FindStringSubmatch(page)[1]}, "proof-code": {codeAt(t, secret, d.clock.Now())}}
	wantRedirect(t, pat.post("/account/password", proof), "/account")
	d.clock.Advance(62 * time.Second)
	wantPage(t, pat.post("/partner/clients", client), http.StatusForbidden, "Confirm that it is you")
	wantPage(t, pat.post("/account/sessions/end", nil), http.StatusForbidden, "Confirm that it is you")
}

// A login at a provider that does not say when it asked proves nothing; a round trip for the proof does, so that nobody is locked out.
func TestOIDCWithoutAuthTime(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	o := portalAt(t, p, nil, func(c *registry.Config) { c.Profile.ProofAge = 10 * time.Minute })
	p.change = func(c map[string]any) { c["realm_access"] = map[string]any{"roles": "schakel-admin"} }
	b := o.browser()
	wantRedirect(t, b.get(atProvider(t, p, b, "")), "/admin")
	invite := url.Values{"name": {"Nora Nieuw"}, "email": {"nora@example.nl"}, "role": {store.RoleAdministrator}}
	page := html.UnescapeString(wantPage(t, b.post("/admin/accounts", invite), http.StatusForbidden, "Log in with Chain"))
	wantRedirect(t, b.get(viaProvider(t, p, b, match(t, `/login/oidc\?[^"]*for=prove[^"]*`, page))), "/login/proved")
	wantRedirect(t, b.post("/admin/accounts", invite), "/admin/accounts")
	wantRedirect(t, b.post("/account/sessions/end", nil), "/account") // the new session knows its provider, where a proof is given
	o.clock.Advance(11 * time.Minute)
	wantPage(t, b.post("/admin/accounts", invite), http.StatusForbidden, "Log in with Chain")
}

// With the first factor the sessions that a password alone began end, but for the one in which it is added.
func TestFirstFactorEndsOtherSessions(t *testing.T) {
	t.Parallel()
	d := newPortalHarness(t)
	here, there := d.browser().login(t, testEmail), d.browser().login(t, testEmail)
	wantStatus(t, there.get("/account"), http.StatusOK)
	d.addApp(t, here)
	wantRedirect(t, there.get("/account"), "/login?next=%2Faccount")
	wantStatus(t, here.get("/account"), http.StatusOK)
}

// Nobody of a partner that ended logs in with a password or goes on in a session.
func TestPeopleOfEndedPartner(t *testing.T) {
	t.Parallel()
	d := newPortalHarness(t)
	const email = "pat@example.nl"
	pat, account := d.at(t, email)
	_, link, err := d.accounts.PasswordLink(t.Context(), email)
	noError(t, err)
	noError(t, d.reg.Partners.End(t.Context(), registry.SystemActor(), account.PartnerID, "Contract is over."))
	wantRedirect(t, pat.get("/partner"), "/login?next=%2Fpartner")
	wantPage(t, d.browser().post("/login", url.Values{"email": {email}, "password": {testPassword}}), http.StatusForbidden, "takes part here no more")
	wantStatus(t, d.browser().post("/login", url.Values{"email": {email}, "password": {"wrong"}}), http.StatusUnauthorized)
	wantPage(t, d.browser().post(registry.LinkReset.Path(link), url.Values{"password": {"another good one"}}), http.StatusForbidden, "takes part here no more")
}

// A browser is known after a password was chosen by a link or changed in it, and a weak new password is no failed try of the old one.
func TestBrowserIsKnownAfterLink(t *testing.T) {
	t.Parallel()
	d := newPortalHarness(t)
	d.partner(t, "pat@example.nl")
	_, link, err := d.accounts.PasswordLink(t.Context(), "pat@example.nl")
	noError(t, err)
	b := d.browser()
	wantRedirect(t, b.post(registry.LinkReset.Path(link), url.Values{"password": {"another good one"}}), "/partner")
	known := func(password string) {
		t.Helper()
		again := d.browser()
		again.cookies["schakel-device"] = b.cookies["schakel-device"]
		for range 150 {
			_, _ = d.accounts.Authenticate(t.Context(), identity.Login{Email: "pat@example.nl", Password: "wrong", Addr: rand.Text()})
		}
		wantRedirect(t, again.post("/login", url.Values{"email": {"pat@example.nl"}, "password": {password}}), "/partner")
	}
	known("another good one")
	for range 20 {
		wantStatus(t, b.post("/account/password", url.Values{"current": {"another good one"}, "password": {"short"}}), http.StatusUnprocessableEntity)
		d.clock.Advance(time.Minute)
	}
	wantRedirect(t, b.post("/account/password", url.Values{"current": {"another good one"}, "password": {"the newest good one"}}), "/account")
	known("the newest good one")
}
