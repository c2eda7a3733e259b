package web

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"schakel/registry"
	"schakel/registry/identity"
	"schakel/registry/identity/token"
	"schakel/store"
	"schakel/web/site"
)

// portalAt makes the portal with login at a provider.
func portalAt(t *testing.T, p *provider, change func(*site.OIDCConfig), conf ...func(*registry.Config)) *adminHarness {
	t.Helper()
	o := &adminHarness{}
	cfg := site.OIDCConfig{
		ID: "chain", Issuer: p.server.URL, ClientID: "schakel", ClientSecret: "s3cret", Label: "Chain", HTTP: p.server.Client(),
		Administrators: []site.ClaimRule{{Claim: "realm_access.roles", Value: "schakel-admin"}},
		Partner:        site.PartnerRule{Claim: "urn:etoegang:1.9:KvKnr", By: "kvk"},
	}
	if change != nil {
		change(&cfg)
	}
	o.harness = newHarness(t, func(c *Config) {
		o.open(t, c, conf)
		c.OIDC = []site.OIDCConfig{cfg}
	})
	p.now = o.clock.Now
	o.own = must(o.reg.Partners.EnsureOwn(t.Context(), "Chain Office", "00000001003214345000"))(t)
	o.administrator(t)
	return o
}

// school makes an approved partner with a KvK number.
func (o *adminHarness) school(t *testing.T, kvk string) store.Partner {
	t.Helper()
	p := store.Partner{Name: "School " + kvk, KVK: kvk, Status: store.PartnerApproved}
	noError(t, o.db.Write(t.Context(), func(tx *store.Tx) error { return tx.InsertPartner(t.Context(), &p) }))
	return p
}

// The provider says at each login whose user somebody is: administrator, of one partner, of another, or of none.
func TestOIDCRolesAndPartners(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	o := portalAt(t, p, nil)
	one, other := o.school(t, "11111111"), o.school(t, "22222222")
	admin := map[string]any{"roles": []string{"x", "schakel-admin"}}
	b := o.browser()
	var before *browser
	for _, step := range []struct {
		name, kvk string
		roles     map[string]any
		to        string // page after the login; empty when it is refused
		partner   string
	}{
		{"user of a partner", "11111111", nil, "/partner", one.ID},
		{"the same again", "0106:11111111", nil, "/partner", one.ID},
		{"user of another", "22222222", nil, "/partner", other.ID},
		{"lost", "", nil, "", other.ID},
		{"unknown partner", "33333333", nil, "", other.ID},
		{"restored", "11111111", nil, "/partner", one.ID},
		{"administrator", "11111111", admin, "/admin", ""},
		{"no administrator any more", "", map[string]any{"roles": []string{"x"}}, "", ""},
	} {
		p.change = func(c map[string]any) {
			delete(c, "urn:etoegang:1.9:KvKnr")
			if step.kvk != "" {
				c["urn:etoegang:1.9:KvKnr"] = step.kvk
			}
			c["realm_access"] = step.roles
		}
		before, b = b, o.browser()
		answer := b.get(atProvider(t, p, b, ""))
		if step.to == "" {
			wantPage(t, answer, http.StatusForbidden, "There is no account for you here")
		} else {
			wantRedirect(t, answer, step.to)
			wantStatus(t, b.get("/account"), http.StatusOK)
		}
		account := must(o.db.AccountByIdentity(t.Context(), p.server.URL, "subject-1"))(t)
		if account.PartnerID != step.partner {
			t.Errorf("%s: account of %q", step.name, account.PartnerID)
		}
		if alive := before.get("/account").StatusCode == http.StatusOK; alive != (step.name == "the same again") {
			t.Errorf("%s: whether the session of before lives on: %v", step.name, alive)
		}
	}
	// A provider may be limited to some partners.
	limited := newProvider(t)
	l := portalAt(t, limited, func(cfg *site.OIDCConfig) { cfg.Partner.Only = []string{"44444444"} })
	l.school(t, "11111111")
	limited.change = func(c map[string]any) { c["urn:etoegang:1.9:KvKnr"] = "11111111" }
	b = l.browser()
	wantStatus(t, b.get(atProvider(t, limited, b, "")), http.StatusForbidden)
}

// A session is confirmed at the provider, unseen, when it is a quarter old; it goes on for an hour without, and ends with the claim.
func TestOIDCRenewal(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	o := portalAt(t, p, nil)
	o.school(t, "11111111")
	p.change = func(c map[string]any) { c["urn:etoegang:1.9:KvKnr"] = "11111111" }
	b := o.browser()
	wantRedirect(t, b.get(atProvider(t, p, b, "")), "/partner")
	b.header.Set("Sec-Fetch-Dest", "document")
	wantStatus(t, b.get("/partner"), http.StatusOK)

	o.clock.Advance(identity.ProviderFresh)
	to := redirected(t, b.get("/partner/clients?x=1"))
	wantRedirect(t, b.get(viaProvider(t, p, b, to)), "/partner/clients?x=1")
	if p.asked.Get("prompt") != "none" {
		t.Errorf("asked with %v", p.asked)
	}
	wantStatus(t, b.get("/partner"), http.StatusOK)

	p.silent = "login_required"
	for range 3 {
		o.clock.Advance(identity.ProviderFresh)
		wantRedirect(t, b.get(viaProvider(t, p, b, redirected(t, b.get("/partner")))), "/partner")
		wantStatus(t, b.get("/partner"), http.StatusOK)
	}
	o.clock.Advance(identity.ProviderFresh)
	wantRedirect(t, b.get("/partner"), "/login?next=%2Fpartner")

	p.silent = ""
	wantRedirect(t, b.get(atProvider(t, p, b, "")), "/partner")
	o.clock.Advance(identity.ProviderFresh)
	to = redirected(t, b.get("/partner"))
	p.change = nil // the claim is lost
	wantStatus(t, b.get(viaProvider(t, p, b, to)), http.StatusForbidden)
	wantStatus(t, b.get("/account"), http.StatusSeeOther)
}

// Claims that the ID token lacks come from the userinfo endpoint, of the same person alone; what is signed goes before.
func TestOIDCUserinfo(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		info   map[string]any
		status int
	}{
		"the rest":      {map[string]any{"sub": "subject-1", "realm_access": map[string]any{"roles": []string{"schakel-admin"}}, "email": "eve@example.nl"}, 303},
		"somebody else": {map[string]any{"sub": "subject-2", "realm_access": map[string]any{"roles": []string{"schakel-admin"}}}, 403},
		"nothing":       {map[string]any{"sub": "subject-1"}, 403},
	} {
		p := newProvider(t)
		p.info = test.info
		o := portalAt(t, p, nil)
		b := o.browser()
		wantStatus(t, b.get(atProvider(t, p, b, "")), test.status)
		if test.status == http.StatusSeeOther {
			if account := must(o.db.AccountByIdentity(t.Context(), p.server.URL, "subject-1"))(t); account.Email != "ada@example.nl" {
				t.Errorf("%s: the address is %s", name, account.Email)
			}
		}
	}
}

// Who logs out here is sent on to log out at the provider, with the ID token as a hint.
func TestOIDCLogout(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	o := portalAt(t, p, nil)
	p.change = func(c map[string]any) { c["realm_access"] = map[string]any{"roles": "schakel-admin"} }
	b := o.browser()
	wantRedirect(t, b.get(atProvider(t, p, b, "")), "/admin")
	wantRedirect(t, b.post("/logout", nil), "/logout/provider")
	wantStatus(t, b.get("/account"), http.StatusSeeOther)
	answer := b.get("/logout/provider")
	to := must(url.Parse(strings.TrimPrefix(answer.Header.Get("Refresh"), "0; url=")))(t)
	q := to.Query()
	if !strings.HasPrefix(to.String(), p.server.URL+"/end?") || q.Get("x") != "1" || q.Get("client_id") != "schakel" || strings.Count(q.Get("id_token_hint"), ".") != 2 ||
		q.Get("post_logout_redirect_uri") != "http://schakel.example.nl/login" {
		t.Errorf("sent to %s", to)
	}
	wantPage(t, answer, http.StatusOK, "Log out at Chain", html.EscapeString(to.String()))
	wantRedirect(t, b.get("/logout/provider"), "/login")
}

// A provider ends sessions with a logout token that is right, once.
func TestOIDCBackChannelLogout(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	o := portalAt(t, p, nil)
	login := func(sid string) *browser {
		p.change = func(c map[string]any) {
			c["realm_access"] = map[string]any{"roles": "schakel-admin"}
			c["sid"] = sid
		}
		b := o.browser()
		wantRedirect(t, b.get(atProvider(t, p, b, "")), "/admin")
		p.change = nil
		return b
	}
	token := func(change func(map[string]any)) url.Values {
		return url.Values{"logout_token": {p.signed(func(c map[string]any) {
			c["jti"], c["events"], c["sid"] = "1", map[string]any{"http://schemas.openid.net/event/backchannel-logout": map[string]any{}}, "a"
			delete(c, "email")
			change(c)
		})}}
	}
	a, b := login("a"), login("b")
	alive := func(b *browser) bool { return b.get("/account").StatusCode == http.StatusOK }
	server := o.browser()
	server.header = http.Header{}
	p.kind = "logout+jwt"
	for name, wrong := range map[string]func(map[string]any){
		"other issuer":   func(c map[string]any) { c["iss"] = "https://evil.example" },
		"other audience": func(c map[string]any) { c["aud"] = "other" },
		"old":            func(c map[string]any) { c["iat"] = o.clock.Now().Add(-time.Hour).Unix() },
		"no time":        func(c map[string]any) { delete(c, "iat") },
		"expired":        func(c map[string]any) { c["exp"] = o.clock.Now().Add(-time.Minute).Unix() },
		"no id":          func(c map[string]any) { delete(c, "jti") },
		"nonce":          func(c map[string]any) { c["nonce"] = "x" },
		"no event":       func(c map[string]any) { c["events"] = map[string]any{} },
		"names nobody":   func(c map[string]any) { delete(c, "sid"); delete(c, "sub") },
	} {
		if answer := server.post("/login/oidc/logout", token(wrong)); answer.StatusCode != http.StatusBadRequest || !alive(a) {
			t.Errorf("%s: status %d", name, answer.StatusCode)
		}
	}
	same := func(map[string]any) {}
	p.kind = "JWT"
	wantStatus(t, server.post("/login/oidc/logout", token(same)), http.StatusBadRequest) // another token of the provider
	p.kind = "logout+jwt"
	wantStatus(t, server.post("/login/oidc/logout", token(same)), http.StatusOK)
	if alive(a) || !alive(b) {
		t.Error("it ended another session than the one it named")
	}
	wantStatus(t, server.post("/login/oidc/logout", token(same)), http.StatusBadRequest) // once
	unnamed := login("")
	wantStatus(t, server.post("/login/oidc/logout", token(func(c map[string]any) { c["jti"], c["sid"] = "3", "unknown" })), http.StatusOK)
	if alive(unnamed) || !alive(b) {
		t.Error("it names a session, and the one of the same person that has no name lives on, or another has ended")
	}
	// Who sends tokens that no key signed does not make us ask the provider for each.
	p.signWith = must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	asked := p.keysAsked.Load()
	for range 20 {
		wantStatus(t, server.post("/login/oidc/logout", token(same)), http.StatusBadRequest)
	}
	if n := p.keysAsked.Load() - asked; n > 1 {
		t.Errorf("the provider was asked for its keys %d times", n)
	}
	p.signWith = nil
	c := login("c")
	wantStatus(t, server.post("/login/oidc/logout", token(func(c map[string]any) { c["jti"] = "2"; delete(c, "sid") })), http.StatusOK)
	if alive(b) || alive(c) {
		t.Error("it names the person, who is logged in still")
	}
	entries, _, err := o.db.Audits(t.Context(), store.AuditFilter{Action: registry.ActionProviderLogout})
	if err != nil || len(entries) != 4 {
		t.Errorf("%d entries in the audit trail, %v", len(entries), err)
	}
}

// Who has no password proves at the provider who it is before a change of who may log in; the form is kept meanwhile.
func TestOIDCStepUp(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	o := portalAt(t, p, nil, func(c *registry.Config) { c.Profile.ProofAge = 10 * time.Minute })
	loggedIn := o.clock.Now()
	p.change = func(c map[string]any) {
		c["realm_access"], c["auth_time"] = map[string]any{"roles": "schakel-admin"}, loggedIn.Unix()
	}
	b := o.browser()
	wantRedirect(t, b.get(atProvider(t, p, b, "")), "/admin")
	o.clock.Advance(11 * time.Minute)
	invite := url.Values{"name": {"Nora Nieuw"}, "email": {"nora@example.nl"}, "role": {store.RoleAdministrator}}
	page := html.UnescapeString(wantPage(t, b.post("/admin/accounts", invite), http.StatusForbidden, "Log in with Chain"))
	link := match(t, `/login/oidc\?[^"]*for=prove[^"]*`, page)

	wantStatus(t, b.get(viaProvider(t, p, b, link)), http.StatusForbidden) // the provider did not ask
	if p.asked.Get("prompt") != "login" || p.asked.Get("max_age") != "0" {
		t.Errorf("asked with %v", p.asked)
	}
	wantPage(t, b.post("/admin/accounts", invite), http.StatusForbidden, "Log in with Chain")
	loggedIn = o.clock.Now()
	wantRedirect(t, b.get(viaProvider(t, p, b, link)), "/login/proved")
	page = html.UnescapeString(wantPage(t, b.get("/login/proved"), http.StatusOK, "Complete the change"))
	sealed := strings.TrimSuffix(strings.SplitN(page, `name="proof-form" value="`, 2)[1], "")
	sealed = sealed[:strings.Index(sealed, `"`)]
	wantRedirect(t, b.post("/admin/accounts", url.Values{"proof-form": {sealed}}), "/admin/accounts")
	if _, err := o.db.AccountByEmail(t.Context(), "nora@example.nl"); err != nil {
		t.Errorf("what was typed is gone: %v", err)
	}
	wantRedirect(t, b.get("/login/proved"), "/admin")
}

// With passwords off nobody logs in with one but the break-glass account, which everybody hears of; whom the provider knows by a
// verified address keeps the account.
func TestLocalAccountsOff(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	o := portalAt(t, p, nil, func(c *registry.Config) { c.LocalAccounts, c.BreakGlass = registry.LocalOff, "Admin@example.nl" })
	told := 0
	o.accounts.OnBreakGlass(func(context.Context, store.Account) { told++ })
	school := o.school(t, "11111111")
	staff := store.Account{
		Email: "ada@example.nl", Name: "Ada", Role: store.RoleManager, PartnerID: school.ID, Status: store.AccountActive,
		PasswordHash: must(o.accounts.NewHash(t.Context(), testPassword, "password"))(t),
	}
	noError(t, o.db.Write(t.Context(), func(tx *store.Tx) error { return tx.InsertAccount(t.Context(), &staff) }))

	b := o.browser()
	wantWords(t, text(b.get("/login")), "in an emergency", "Log in with Chain")
	wantPage(t, b.post("/login", url.Values{"email": {staff.Email}, "password": {testPassword}}), http.StatusForbidden, "You log in elsewhere")
	wantPage(t, b.post("/login", url.Values{"email": {staff.Email}, "password": {"wrong"}}), http.StatusUnauthorized, "wrong")
	b.post("/login/password", url.Values{"email": {staff.Email}})
	mails := func() (to []string) {
		for _, m := range must2(o.db.Mails(t.Context(), store.Page{Number: 1, Size: 10}))(t) {
			to = append(to, m.Recipient+": "+m.Subject)
		}
		return to
	}
	if got := mails(); len(got) != 0 {
		t.Errorf("a link to choose a password is mailed: %q", got)
	}

	p.change = func(c map[string]any) { c["urn:etoegang:1.9:KvKnr"], c["email_verified"] = "11111111", false }
	wantStatus(t, b.get(atProvider(t, p, b, "")), http.StatusForbidden) // anyone can say so
	p.change = func(c map[string]any) { c["urn:etoegang:1.9:KvKnr"] = "11111111" }
	wantRedirect(t, b.get(atProvider(t, p, b, "")), "/partner")
	if now := must(o.db.Account(t.Context(), staff.ID))(t); now.PasswordHash != "" {
		t.Error("the account has a password still")
	}

	uses := func() (n int) {
		for _, mail := range mails() {
			if strings.HasPrefix(mail, testEmail+": The break-glass account") {
				n++
			}
		}
		return n
	}
	emergency := o.browser().login(t, testEmail)
	wantWords(t, text(emergency.get("/admin/audit")), "used the break-glass account")
	if uses() != 1 || told != 1 {
		t.Errorf("mails %q, told %d times", mails(), told)
	}
	o.clock.Advance(time.Hour)
	_, link, err := o.accounts.PasswordLink(t.Context(), testEmail)
	noError(t, err)
	wantStatus(t, o.browser().post(registry.LinkReset.Path(link), url.Values{"password": {"another long password"}}), http.StatusSeeOther)
	if used := must2(o.db.Audits(t.Context(), store.AuditFilter{Action: registry.ActionBreakGlass}))(t); len(used) != 2 || told != 2 {
		t.Errorf("by a link: %d entries, told %d times", len(used), told)
	}
}

func TestClaimTexts(t *testing.T) {
	t.Parallel()
	claims := map[string]any{}
	noError(t, json.Unmarshal([]byte(`{"realm_access": {"roles": ["a", "b"]}, "urn:etoegang:1.9:KvKnr": "1", "n": 7, "yes": true,
		"organization": {"noord": {}, "zuid": {}}, "resource_access": {"schakel": {"roles": ["c"]}}}`), &claims))
	for name, want := range map[string]string{
		"realm_access.roles": "a b", "urn:etoegang:1.9:KvKnr": "1", "n": "7", "yes": "true", "organization": "noord zuid",
		"resource_access.schakel.roles": "c", "realm_access.x": "", "n.x": "", "": "",
	} {
		if got := strings.Join(token.ClaimTexts(claims, name), " "); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
