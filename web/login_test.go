package web

import (
	"bytes"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"
	"schakel/delivery/outbox"
	"schakel/registry"
	"schakel/registry/services"
	"schakel/store"
	"schakel/web/site"
)

func TestSetupStory(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	token := must(h.accounts.SetupLink(t.Context()))(t)
	b := h.browser()
	path := registry.LinkSetup.Path(token)
	wantStatus(t, b.get("/setup/guess"), http.StatusNotFound)
	wantStatus(t, b.get(path), http.StatusOK)

	page := wantPage(t, b.post(path, url.Values{"name": {"Ada"}, "email": {"<b>"}, "password": {"short"}}), http.StatusUnprocessableEntity)
	wantWords(t, page, `href="#email"`, `href="#password"`, "&lt;b&gt;", "Error: Create")
	lacks(t, page, "short")

	wantRedirect(t, b.post(path, url.Values{"name": {"Ada"}, "email": {"ada@example.nl"}, "password": {testPassword}}), "/admin")
	page = text(b.get("/account"))
	if !strings.Contains(page, "Your account is made") || !strings.Contains(page, "ada@example.nl") {
		t.Errorf("not logged in after setup: %s", page)
	}
	lacks(t, text(b.get("/account")), "Your account is made")
	wantStatus(t, h.browser().get(path), http.StatusNotFound)
}

// Where passwords are off there is no link with which an administrator chooses one, and with a break-glass account it makes that one alone.
func TestSetupWithoutPasswords(t *testing.T) {
	t.Parallel()
	for _, emergency := range []string{"", "Ada@example.nl"} {
		h := newHarness(t, func(cfg *Config) {
			must(services.New(registry.Config{
				DB: cfg.Sessions.(*store.DB), Now: cfg.Now, Log: cfg.Log, BaseURL: cfg.BaseURL.String(), Organisation: "Chain Office",
				Vault: must(registry.VaultFromKey(bytes.Repeat([]byte{7}, 32)))(t), CheckURL: func(string) error { return nil }, LocalAccounts: registry.LocalOff, BreakGlass: emergency,
			}, cfg.Accounts))(t)
		})
		token := must(h.accounts.SetupLink(t.Context()))(t)
		if (token == "") != (emergency == "") {
			t.Errorf("break-glass account %q: link %q", emergency, token)
		}
		if token == "" {
			continue
		}
		b, path := h.browser(), registry.LinkSetup.Path(token)
		form := url.Values{"name": {"Bob"}, "email": {"bob@example.nl"}, "password": {testPassword}}
		wantWords(t, wantPage(t, b.post(path, form), http.StatusUnprocessableEntity), `href="#email"`, "Only Ada@example.nl logs in with a password here")
		form.Set("email", "ada@example.nl")
		wantRedirect(t, b.post(path, form), "/admin")
	}
}

// TestSetupChoosesSettings: the first administrator starts strictly, unless it chooses otherwise, and reads what that means.
//
// Rules: EDU-21, IDEM-03, SEC-02.
func TestSetupChoosesSettings(t *testing.T) {
	t.Parallel()
	for start, want := range map[string]int{"": 0, "strict": 0, "lenient": 3} {
		var reg *services.Services
		h := newHarness(t, func(cfg *Config) {
			vault := must(registry.VaultFromKey(bytes.Repeat([]byte{7}, 32)))(t)
			reg = must(services.New(registry.Config{
				DB: cfg.Sessions.(*store.DB), Now: cfg.Now, Log: cfg.Log, BaseURL: cfg.BaseURL.String(), Organisation: "Chain Office",
				Vault: vault, CheckURL: func(string) error { return nil },
			}, cfg.Accounts))(t)
			engine := outbox.New(outbox.Config{DB: cfg.Sessions.(*store.DB), Now: cfg.Now, Log: cfg.Log})
			cfg.Portal = &site.PortalConfig{DB: cfg.Sessions.(*store.DB), Engine: engine, Registry: reg, DocumentBytes: 100_000}
		})
		token := must(h.accounts.SetupLink(t.Context()))(t)
		b, path := h.browser(), registry.LinkSetup.Path(token)
		wantWords(t, text(b.get(path)), "Lenient", "Idempotency-Key on other changes", "Versions of OpenAPI and AsyncAPI", "private_key_jwt alone")
		form := url.Values{"name": {"Ada"}, "email": {"ada@example.nl"}, "password": {testPassword}, "start": {"loose"}}
		wantStatus(t, b.post(path, form), http.StatusUnprocessableEntity)
		form.Set("start", start)
		wantRedirect(t, b.post(path, form), "/admin")
		state := must(reg.Profile.Load(t.Context()))(t)
		if got := state.Relaxations(); len(got) != want {
			t.Errorf("start %q relaxes %+v", start, got)
		}
	}
}

// TestCommonPasswordsAreRefused: a password that guessers try first makes no account, however long it is.
func TestCommonPasswordsAreRefused(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	path := registry.LinkSetup.Path(must(h.accounts.SetupLink(t.Context()))(t))
	for _, password := range []string{"Welkom123456", "Welkom123456789", "W3lk0m!W3lk0m!W3lk0m!"} {
		page := wantPage(t, h.browser().post(path, url.Values{"name": {"Ada"}, "email": {"ada@example.nl"}, "password": {password}}), 422, `href="#password"`)
		lacks(t, page, password)
		if len(password) > 12 {
			wantWords(t, page, "Guessers try this password early")
		}
	}
}

func TestLoginScenarios(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	h.administrator(t)
	h.partner(t, "pat@example.nl")
	tests := []struct {
		name, email, password, next string
		status                      int
		location                    string
	}{
		{"administrator", testEmail, testPassword, "", 303, "/admin"},
		{"partner", "pat@example.nl", testPassword, "", 303, "/partner"},
		{"other case and spaces", " ADMIN@example.nl ", testPassword, "", 303, "/admin"},
		{"back to where it was", testEmail, testPassword, "/contracts?q=x", 303, "/contracts?q=x"},
		{"not to another site", testEmail, testPassword, "https://evil.example", 303, "/admin"},
		{"not to another site, two slashes", testEmail, testPassword, "//evil.example", 303, "/admin"},
		{"not to another site, backslash", testEmail, testPassword, `/\evil.example`, 303, "/admin"},
		{"wrong password", testEmail, "wrong wrong wrong", "", 401, ""},
		{"no such account", "nobody@example.nl", testPassword, "", 401, ""},
		{"nothing", "", "", "", 401, ""},
	}
	var refusals []string
	for _, tt := range tests {
		form := url.Values{"email": {tt.email}, "password": {tt.password}, "next": {tt.next}}
		answer := h.browser().post("/login", form)
		if answer.StatusCode != tt.status || answer.Header.Get("Location") != tt.location {
			t.Errorf("%s: %d to %q, want %d to %q", tt.name, answer.StatusCode, answer.Header.Get("Location"), tt.status, tt.location)
		}
		if tt.status == 401 {
			refusals = append(refusals, strings.ReplaceAll(text(answer), `value="`+tt.email+`"`, ""))
		}
	}
	if refusals[0] != refusals[1] {
		t.Error("the answer tells which accounts exist")
	}
}

// TestOthersAreNotLockedOut replays an attack: 47 wrong passwords from changing addresses, then 47 from one. The owner can log in from
// elsewhere, and somebody else at the address of the attacker; in a browser that it knows the owner can even there.
func TestOthersAreNotLockedOut(t *testing.T) {
	t.Parallel()
	h := newHarness(t, func(c *Config) {
		c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("192.0.2.1/32")}
	})
	h.administrator(t)
	h.partner(t, "pat@example.nl")
	from := func(b *browser, addr, email, password string) *http.Response {
		b.header.Set("X-Forwarded-For", addr)
		return b.post("/login", url.Values{"email": {email}, "password": {password}})
	}
	known := h.browser()
	wantRedirect(t, from(known, "198.51.100.1", testEmail, testPassword), "/admin")
	wantRedirect(t, known.post("/logout", nil), "/login")
	for i := range 47 {
		from(h.browser(), fmt.Sprintf("203.0.113.%d", i), testEmail, "wrong wrong wrong")
	}
	wantRedirect(t, from(h.browser(), "198.51.100.2", testEmail, testPassword), "/admin")
	var last *http.Response
	for range 47 {
		last = from(h.browser(), "203.0.113.99", testEmail, "wrong wrong wrong")
	}
	wantStatus(t, last, http.StatusTooManyRequests)
	wantRedirect(t, from(h.browser(), "203.0.113.99", "pat@example.nl", testPassword), "/partner")
	wantRedirect(t, from(known, "203.0.113.99", testEmail, testPassword), "/admin")
}

func TestLoginThrottled(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	h.administrator(t)
	b := h.browser()
	form := url.Values{"email": {testEmail}, "password": {"wrong wrong wrong"}}
	var answer *http.Response
	for range 8 {
		answer = b.post("/login", form)
	}
	wantStatus(t, answer, http.StatusTooManyRequests)
	if answer.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	form.Set("password", testPassword)
	wantStatus(t, b.post("/login", form), http.StatusTooManyRequests)
	h.clock.Advance(time.Minute)
	wantRedirect(t, b.post("/login", form), "/admin")
}

func TestSessionCookie(t *testing.T) {
	t.Parallel()
	for scheme, want := range map[string]http.Cookie{
		"http":  {Name: "schakel", Secure: false},
		"https": {Name: "__Host-schakel", Secure: true},
	} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, func(c *Config) { c.BaseURL.Scheme = scheme })
			h.administrator(t)
			answer := h.browser().post("/login", url.Values{"email": {testEmail}, "password": {testPassword}})
			cookies := answer.Cookies()
			at := slices.IndexFunc(cookies, func(c *http.Cookie) bool { return c.Name == want.Name })
			if at < 0 {
				t.Fatalf("cookies %v", cookies)
			}
			c := cookies[at]
			if c.Name != want.Name || c.Secure != want.Secure || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" {
				t.Errorf("cookie %v", c)
			}
			if hsts := answer.Header.Get("Strict-Transport-Security"); (hsts != "") != want.Secure {
				t.Errorf("Strict-Transport-Security %q", hsts)
			}
			if _, _, found, err := h.db.SessionFind(t.Context(), []byte(c.Value)); found || err != nil {
				t.Errorf("the database knows the token itself (%v)", err)
			}
			if _, _, found, err := h.db.SessionFind(t.Context(), site.HashOf(c.Value)); !found || err != nil {
				t.Errorf("no session under the hash (%v)", err)
			}
		})
	}
}

// A password made of names that guessers know is refused: of the organisation, of the own partner, and of the program.
func TestPasswordsOfKnownNames(t *testing.T) {
	t.Parallel()
	d := newPortalHarness(t)
	pat, _ := d.at(t, "pat@example.nl") // of Partner of pat@example.nl
	for password, b := range map[string]*browser{
		"Chain.Office.2026!!": pat, "Partner@Partner#26": pat, "Schakel/Schakel/26": pat, "Chain-Office-Schakel": d.browser().login(t, testEmail),
	} {
		answer := b.post("/account/password", url.Values{"current": {testPassword}, "password": {password}})
		wantPage(t, answer, http.StatusUnprocessableEntity, "not made of your name, e-mail address or organisation")
	}
}

// Over https each cookie is one that no other host can set: its name begins with __Host-.
func TestCookiesOverHTTPS(t *testing.T) {
	t.Parallel()
	d := newPortalHarness(t)
	d.cfg.BaseURL = &url.URL{Scheme: "https", Host: d.cfg.BaseURL.Host}
	d.app = must(New(d.cfg))(t)
	b := d.browser()
	answers := []*http.Response{
		b.post("/language", url.Values{"language": {"nl"}, "back": {"/login"}}),
		b.post("/register", step("organisation", "name", "Basisschool Zuid", "by", "brin", "brin", "12AB")),
	}
	seen := 0
	for _, answer := range answers {
		for _, c := range answer.Cookies() {
			seen++
			if !strings.HasPrefix(c.Name, "__Host-") || !c.Secure || !c.HttpOnly || c.Path != "/" || c.Domain != "" {
				t.Errorf("cookie %v", c)
			}
		}
	}
	if seen < 2 {
		t.Errorf("%d cookies, want one of the language and one of the registration", seen)
	}
	wantPage(t, b.get("/login"), http.StatusOK, `lang="nl"`)
	wantPage(t, b.get("/register?step=organisation"), http.StatusOK, "Basisschool Zuid")
}

func TestVisitorGetsNoSession(t *testing.T) {
	t.Parallel()
	b := newHarness(t, nil).browser()
	b.get("/login")
	if len(b.cookies) != 0 {
		t.Errorf("a visitor who only looks gets cookies %v", b.cookies)
	}
}

func TestSessionEnds(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		do   func(t *testing.T, h *harness, b *browser)
		want int
	}{
		{"stays", func(*testing.T, *harness, *browser) {}, 200},
		{"stays while used", func(_ *testing.T, h *harness, b *browser) {
			for range 11 {
				h.clock.Advance(time.Hour)
				b.get("/account")
			}
		}, 200},
		{"idle", func(_ *testing.T, h *harness, _ *browser) { h.clock.Advance(2 * time.Hour) }, 303},
		{"lifetime", func(_ *testing.T, h *harness, b *browser) {
			for range 12 {
				h.clock.Advance(time.Hour)
				b.get("/account")
			}
		}, 303},
		{"logout", func(_ *testing.T, _ *harness, b *browser) { b.post("/logout", nil) }, 303},
		{"blocked", func(t *testing.T, h *harness, _ *browser) {
			h.change(t, func(a *store.Account) { a.Status = store.AccountBlocked })
		}, 303},
		{"ended elsewhere", func(t *testing.T, h *harness, _ *browser) {
			h.change(t, func(a *store.Account) { a.SessionEpoch++ })
		}, 303},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, nil)
			h.administrator(t)
			b := h.browser().login(t, testEmail)
			tt.do(t, h, b)
			wantStatus(t, b.get("/account"), tt.want)
		})
	}
}

// change alters the administrator behind the back of the sessions.
func (h *harness) change(t *testing.T, how func(*store.Account)) {
	t.Helper()
	ctx := t.Context()
	err := h.db.Write(ctx, func(tx *store.Tx) error {
		account, err := tx.AccountByEmail(ctx, testEmail)
		if err != nil {
			return err
		}
		how(&account)
		return tx.UpdateAccount(ctx, &account)
	})
	noError(t, err)
}

func TestLoginRenewsToken(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	h.administrator(t)
	b := h.browser().login(t, testEmail)
	planted := b.cookies["schakel"]
	if planted == "" {
		t.Fatal("no session before the login")
	}
	b.login(t, testEmail)
	if b.cookies["schakel"] == planted {
		t.Error("the token from before the login is still in use")
	}
	victim := h.browser()
	victim.cookies["schakel"] = planted
	wantStatus(t, victim.get("/account"), http.StatusSeeOther)
}

func TestAccountPages(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	h.administrator(t)
	here, there := h.browser(), h.browser()
	here.login(t, testEmail)
	there.login(t, testEmail)

	wantStatus(t, here.post("/account/password", url.Values{"current": {"wrong"}, "password": {"another good one"}}), 422)
	wantStatus(t, here.post("/account/password", url.Values{"current": {testPassword}, "password": {"short"}}), 422)
	wantRedirect(t, here.post("/account/password", url.Values{"current": {testPassword}, "password": {"another good one"}}), "/account")
	wantStatus(t, here.get("/account"), http.StatusOK)
	wantRedirect(t, there.get("/account"), "/login?next=%2Faccount")

	wantRedirect(t, there.post("/login", url.Values{"email": {testEmail}, "password": {"another good one"}}), "/admin")
	wantRedirect(t, there.post("/account/sessions/end", nil), "/account")
	wantStatus(t, there.get("/account"), http.StatusOK)
	wantStatus(t, here.get("/account"), http.StatusSeeOther)
}

func TestPasswordLinks(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	h.administrator(t)
	_, token, err := h.accounts.PasswordLink(t.Context(), testEmail)
	noError(t, err)
	b := h.browser()
	path := registry.LinkReset.Path(token)
	wantStatus(t, b.get("/account/invitation/"+token), http.StatusNotFound)
	wantWords(t, text(b.get(path)), testEmail)
	wantStatus(t, b.post(path, url.Values{"password": {"short"}}), http.StatusUnprocessableEntity)
	wantRedirect(t, b.post(path, url.Values{"password": {"another good one"}}), "/admin")
	wantStatus(t, b.get("/account"), http.StatusOK)
	wantStatus(t, b.post(path, url.Values{"password": {"a third good one"}}), http.StatusNotFound)
}

// enter answers those who may enter a route.
func enter(c echo.Context) error { return c.String(http.StatusOK, "in") }

func TestWhoMayEnter(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	h.administrator(t)
	h.partner(t, "pat@example.nl")
	h.app.Pages("/test", registry.ReadOrganisation).GET("/admin", enter)
	h.app.Pages("/test", registry.ReadPartner).GET("/partner", enter)
	h.app.Pages("/test", registry.OwnAccount).GET("/account", enter)
	visitor, admin, partner := h.browser(), h.browser(), h.browser()
	admin.login(t, testEmail)
	partner.login(t, "pat@example.nl")
	for _, tt := range []struct {
		path                    string
		visitor, admin, partner int
	}{
		{"/test/admin", 303, 200, 403},
		{"/test/partner", 303, 403, 200},
		{"/test/account", 303, 200, 200},
		{"/test/none", 404, 404, 404},
	} {
		for who, b := range map[string]*browser{"visitor": visitor, "admin": admin, "partner": partner} {
			want := map[string]int{"visitor": tt.visitor, "admin": tt.admin, "partner": tt.partner}[who]
			if got := b.get(tt.path).StatusCode; got != want {
				t.Errorf("%s as %s: %d, want %d", tt.path, who, got, want)
			}
		}
	}
	wantWords(t, text(admin.get("/test/none")), "Ada Admin")
	visitor.header.Set("HX-Request", "true")
	if got := visitor.get("/test/account"); got.StatusCode != 401 || got.Header.Get("HX-Redirect") != "/login" {
		t.Errorf("part of a page: %d, HX-Redirect %q", got.StatusCode, got.Header.Get("HX-Redirect"))
	}
}

// TestVisitorsLeaveNothingBehind keeps strangers from filling the database with sessions.
func TestVisitorsLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	h.app.Pages("/test", registry.OwnAccount).POST("/form", enter)
	b := h.browser()
	wantRedirect(t, b.post("/test/form", nil), site.LoginEnded)
	wantWords(t, text(b.get(site.LoginEnded)), "Your session had ended")
	b.get("/login?next=/account")
	if len(b.cookies) > 0 {
		t.Errorf("cookies %v", b.cookies)
	}
}

func TestForgottenPassword(t *testing.T) {
	t.Parallel()
	d := newPortalHarness(t)
	b := d.browser()
	wantStatus(t, b.get("/login/password"), http.StatusOK)
	if answer := b.post("/login/password", url.Values{"email": {"nobody"}}); !strings.Contains(text(answer), "Fill in an e-mail address") {
		t.Error("what is no address was taken")
	}
	wantRedirect(t, b.post("/login/password", url.Values{"email": {"stranger@example.nl"}}), "/login")
	if _, total, err := d.db.Mails(t.Context(), store.Page{}); err != nil || total != 0 {
		t.Errorf("%d mails to a stranger (%v)", total, err)
	}
	// While an attack on the account goes on its owner waits in this browser, and is let in by the link.
	for range 106 {
		d.clock.Advance(16 * time.Minute)
		wantStatus(t, d.browser().post("/login", url.Values{"email": {testEmail}, "password": {"wrong wrong wrong"}}), http.StatusUnauthorized)
	}
	shows(t, b.post("/login", url.Values{"email": {testEmail}, "password": {testPassword}}), http.StatusTooManyRequests, "a link for a new password lets you in at once")
	wantRedirect(t, b.post("/login/password", url.Values{"email": {" " + strings.ToUpper(testEmail)}}), "/login")
	link := match(t, `/account/password-reset/\S+`, d.lastMail(t, testEmail))
	wantStatus(t, b.post(link, url.Values{"password": {"another long password"}}), http.StatusSeeOther)
	wantStatus(t, b.get("/admin"), http.StatusOK)
	if answer := d.browser().get(link); answer.StatusCode == http.StatusOK {
		t.Error("the link works twice")
	}
}

func TestForgottenPasswordCannotBeUsedToSendManyMails(t *testing.T) {
	t.Parallel()
	d := newPortalHarness(t)
	last := 0
	for range 30 {
		last = d.browser().post("/login/password", url.Values{"email": {testEmail}}).StatusCode
	}
	if last != http.StatusTooManyRequests {
		t.Errorf("the thirtieth request was answered %d", last)
	}
	if _, total, err := d.db.Mails(t.Context(), store.Page{}); err != nil || total > 5 {
		t.Errorf("%d mails to one account (%v)", total, err)
	}
}

// TestOwnLanguage: who is logged in chooses the language and the time zone of pages, or follows the browser again.
func TestOwnLanguage(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	h.administrator(t)
	b := h.browser().login(t, testEmail)
	wantWords(t, text(b.get("/account")), "Language and time", `<option value="nb">Norsk bokmål</option>`, `<option value="Europe/Oslo">`)
	save := func(language, zone string) *http.Response {
		return b.post("/account/language", url.Values{"language": {language}, "timeZone": {zone}})
	}
	wantPage(t, save("xx", ""), http.StatusUnprocessableEntity, `href="#language"`, "Choose one of the languages of the list.")
	wantPage(t, save("", "Europe/Nowhere"), http.StatusUnprocessableEntity, `href="#timeZone"`)
	wantPage(t, save("", "Local"), http.StatusUnprocessableEntity, `href="#timeZone"`)

	wantRedirect(t, save("nb", "Europe/Oslo"), "/account")
	page := text(b.get("/account"))
	wantWords(t, page, "Konto siden", `<option value="nb" selected>`, `<option value="Europe/Oslo" selected>`)
	wantWords(t, text(h.browser().login(t, testEmail).get("/account")), "Konto siden")

	wantRedirect(t, save("", ""), "/account")
	b.header.Set("Accept-Language", "nl")
	wantWords(t, text(b.get("/account")), "Account sinds")
	// Mails to who follows the browser are in the language of the last login.
	b.login(t, testEmail)
	if got := must(h.db.AccountByEmail(t.Context(), testEmail))(t); got.Language != "" || got.LastLanguage != "nl" {
		t.Errorf("after a login on Dutch pages: %q, %q", got.Language, got.LastLanguage)
	}
}
