package web

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base32"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"schakel/registry"
	"schakel/registry/profile"
	"schakel/store"
)

// change changes settings; pairs are keys and values.
func (d *portalHarness) change(t testing.TB, pairs ...string) {
	t.Helper()
	state := must(d.reg.Profile.Load(t.Context()))(t)
	values := state.Values()
	for i := 0; i < len(pairs); i += 2 {
		values[pairs[i]] = pairs[i+1]
	}
	_, _, err := d.reg.Profile.Save(t.Context(), registry.SystemActor(), profile.ProfileChange{Version: state.Version, Values: values})
	noError(t, err)
	d.clock.Advance(3 * time.Second) // until every node works by it
}

// codeAt is the code of an authenticator app with this secret, computed as RFC 6238 says and not by the code under test.
func codeAt(t testing.TB, secret string, now time.Time) string {
	t.Helper()
	key := must(base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(strings.ReplaceAll(secret, " ", "")))(t)
	mac := hmac.New(sha1.New, key)
	var step [8]byte
	binary.BigEndian.PutUint64(step[:], uint64(now.Unix()/30))
	mac.Write(step[:])
	sum := mac.Sum(nil)
	n := binary.BigEndian.Uint32(sum[sum[19]&15:]) & 0x7fffffff
	return fmt.Sprintf("%06d", n%1000000)
}

// addApp adds an authenticator app in a browser that is logged in, and gives its secret and the recovery codes.
func (d *portalHarness) addApp(t testing.TB, b *browser) (secret string, codes []string) {
	t.Helper()
	page := wantPage(t, b.get("/account/factors/app"), http.StatusOK, "<svg", "otpauth://totp/")
	secret = regexp.MustCompile(`id="secret">([A-Z2-7 ]+)<`).FindStringSubmatch(page)[1]
	wantPage(t, b.post("/account/factors/app", url.Values{"name": {"Phone"}, "code": {"000000"}}), 422, `href="#code"`)
	wantRedirect(t, b.post("/account/factors/app", url.Values{"name": {"Phone"}, "code": {codeAt(t, secret, d.clock.Now())}}), "/account/factors/codes")
	page = wantPage(t, b.get("/account/factors/codes"), http.StatusOK, "only now")
	codes = strings.Fields(regexp.MustCompile(`id="codes">([^<]+)<`).FindStringSubmatch(page)[1])
	if len(codes) != 10 {
		t.Fatalf("%d recovery codes", len(codes))
	}
	wantRedirect(t, b.get("/account/factors/codes"), "/account/factors") // shown once
	d.clock.Advance(time.Minute)                                         // to a code that was not used
	return secret, codes
}

// password gives the right password and ends at the page of the second factor.
func (d *portalHarness) password(t testing.TB, b *browser, email string) *browser {
	t.Helper()
	wantRedirect(t, b.post("/login", url.Values{"email": {email}, "password": {testPassword}}), "/login/factor")
	wantRedirect(t, b.get("/account"), "/login?next=%2Faccount")
	return b
}

// TestAdministratorMustEnrol: where the settings want a second factor, an administrator gets one before anything else, and no page lets
// it by; by default they do.
func TestAdministratorMustEnrol(t *testing.T) {
	t.Parallel()
	if p := profile.DefaultProfile(); p.AdministratorFactor != registry.PolicyRequire {
		t.Errorf("by default administrators: %s", p.AdministratorFactor)
	}
	d := newPortalHarness(t).withCatalogue(t)
	d.change(t, "access.administrator_factor", "require")
	b := d.browser()
	wantRedirect(t, b.post("/login", url.Values{"email": {testEmail}, "password": {testPassword}}), "/admin")
	for _, path := range []string{"/admin", "/account", "/admin/settings", "/admin/accounts"} {
		wantRedirect(t, b.get(path), "/account/factors")
	}
	wantRedirect(t, b.post("/admin/accounts", url.Values{"name": {"Eve"}, "email": {"eve@example.nl"}, "role": {"administrator"}}), "/account/factors")
	if _, err := d.db.AccountByEmail(t.Context(), "eve@example.nl"); err == nil {
		t.Error("an administrator without a second factor invited somebody")
	}
	wantPage(t, b.get("/account/factors"), http.StatusOK, "Your account needs a second factor")
	secret, _ := d.addApp(t, b)
	wantStatus(t, b.get("/admin"), http.StatusOK)
	list := wantPage(t, b.get("/account/factors"), http.StatusOK, "Phone")
	removal := match(t, `/account/factors/fac_\w+/removal`, list)
	wantPage(t, b.post(removal, nil), http.StatusConflict, "Add another one before you remove this one")

	again := d.password(t, d.browser(), testEmail)
	wantRedirect(t, again.post("/login/factor", url.Values{"code": {codeAt(t, secret, d.clock.Now())}}), "/admin")
	wantStatus(t, again.get("/admin"), http.StatusOK)
	d.change(t, "access.administrator_factor", "optional")
	wantRedirect(t, b.post(removal, nil), "/account/factors")
	wantRedirect(t, d.browser().post("/login", url.Values{"email": {testEmail}, "password": {testPassword}}), "/admin")
	wantWords(t, d.lastMail(t, testEmail), "A second factor was removed: Phone")
}

// TestCodesOfAnApp: a code works once, and soon after it is shown alone; a recovery code works once too; every use and failure is
// audited, and who guesses has to wait.
func TestCodesOfAnApp(t *testing.T) {
	t.Parallel()
	d := newPortalHarness(t)
	secret, codes := d.addApp(t, d.browser().login(t, testEmail))
	answer := func(b *browser, code string) *http.Response {
		return b.post("/login/factor", url.Values{"code": {code}})
	}
	code := codeAt(t, secret, d.clock.Now())
	first := d.password(t, d.browser(), testEmail)
	wantRedirect(t, answer(first, code[:3]+" "+code[3:]), "/admin")
	second := d.password(t, d.browser(), testEmail)
	wantPage(t, answer(second, code), http.StatusUnauthorized, "used already")
	wantStatus(t, answer(second, codeAt(t, secret, d.clock.Now().Add(-5*time.Minute))), http.StatusUnauthorized)
	wantStatus(t, answer(second, ""), http.StatusUnauthorized)
	wantRedirect(t, answer(second, strings.ToUpper(codes[0])), "/admin")
	wantWords(t, d.lastMail(t, testEmail), "A recovery code was used")
	third := d.password(t, d.browser(), testEmail)
	wantStatus(t, answer(third, codes[0]), http.StatusUnauthorized)
	wantPage(t, second.get("/account/factors"), http.StatusOK, "9 recovery codes left")

	d.partner(t, "pat@example.nl") // whose account does not matter
	var last *http.Response
	for range 8 {
		last = answer(third, "123456")
	}
	wantStatus(t, last, http.StatusTooManyRequests)
	wantStatus(t, answer(third, codes[1]), http.StatusTooManyRequests)
	d.clock.Advance(9 * time.Minute)
	wantRedirect(t, answer(third, codes[1]), "/admin")
	d.clock.Advance(time.Hour)
	late := d.password(t, d.browser(), testEmail)
	d.clock.Advance(11 * time.Minute)
	wantRedirect(t, answer(late, codes[2]), "/login?ended=1")

	var told []string
	rows, _, err := d.db.Audits(t.Context(), store.AuditFilter{})
	noError(t, err)
	for _, r := range rows {
		told = append(told, r.Action)
	}
	for _, want := range []string{registry.ActionFactorAdded, registry.ActionFactorFailed, registry.ActionRecoveryCodeUsed} {
		wantWords(t, strings.Join(told, " "), want)
	}
	wantPage(t, second.get("/admin/audit"), http.StatusOK, "failed at the second factor from")
}

// TestPasswordResetKeepsSecondFactor: a link that sets another password, which may be a short one now, does not log in by itself.
func TestPasswordResetKeepsSecondFactor(t *testing.T) {
	t.Parallel()
	d := newPortalHarness(t)
	secret, _ := d.addApp(t, d.browser().login(t, testEmail))
	_, token, err := d.accounts.PasswordLink(t.Context(), testEmail)
	noError(t, err)
	b, path := d.browser(), registry.LinkReset.Path(token)
	wantStatus(t, b.post(path, url.Values{"password": {"welkom12"}}), http.StatusUnprocessableEntity)
	wantRedirect(t, b.post(path, url.Values{"password": {"vR4#kd92"}}), "/login/factor")
	wantRedirect(t, b.get("/admin"), "/login?next=%2Fadmin")
	wantRedirect(t, b.post("/login/factor", url.Values{"code": {codeAt(t, secret, d.clock.Now())}}), "/admin")
	removal := match(t, `/account/factors/fac_\w+/removal`, text(b.get("/account/factors")))
	wantStatus(t, b.post(removal, nil), http.StatusConflict) // the password is too short to stand alone
}

// TestFactorsAreReset: who lost a factor is helped by an administrator, and told; its sessions end, and the next login has to enrol again
// where the settings say so. Nobody resets its own, and a partner resets nobody's.
func TestFactorsAreReset(t *testing.T) {
	t.Parallel()
	d := newPortalHarness(t)
	partner, _ := d.at(t, "pat@example.nl")
	d.addApp(t, partner)
	account := must(d.db.AccountByEmail(t.Context(), "pat@example.nl"))(t)
	admin := d.browser().login(t, testEmail)
	path := "/admin/accounts/" + account.ID + "/reset-factors"
	wantWords(t, text(admin.get("/admin/accounts/"+account.ID)), path)
	proof := url.Values{"reason": {"called back at the number of the registration"}}
	wantStatus(t, partner.post(path, proof), http.StatusForbidden)
	wantPage(t, admin.post(path, nil), http.StatusUnprocessableEntity, `href="#reset-reason"`)
	wantRedirect(t, admin.post(path, proof), "/admin/partners/"+account.PartnerID)
	wantWords(t, text(admin.get("/admin/audit?action=account.factors-reset")), "reset the second factors of Pat", "called back at the number of the registration")
	wantWords(t, d.lastMail(t, account.Email), "The access of Pat was changed", "may log in with a second factor → may log in")
	wantRedirect(t, partner.get("/account"), "/login?next=%2Faccount")
	d.change(t, "access.partner_factor", "require")
	b := d.browser()
	b.post("/login", url.Values{"email": {account.Email}, "password": {testPassword}})
	wantRedirect(t, b.get("/partner"), "/account/factors")
	own := must(d.db.AccountByEmail(t.Context(), testEmail))(t)
	admin.post("/admin/accounts/"+own.ID+"/reset-factors", proof)
	wantWords(t, text(admin.get("/admin/accounts")), "on the page of your account")
}

// authenticator is a passkey in software, for the router; a browser's own is in server/e2e.
type authenticator struct {
	key   *ecdsa.PrivateKey
	id    []byte
	count uint32
}

var b64 = base64.RawURLEncoding

// answer signs a challenge for an origin; kind is create or get.
func (a *authenticator) answer(t testing.TB, kind, challenge, origin string) string {
	t.Helper()
	host := must(url.Parse(origin))(t).Hostname()
	party := sha256.Sum256([]byte(host))
	a.count++
	auth := append(party[:], 1)
	auth = binary.BigEndian.AppendUint32(auth, a.count)
	client := must(json.Marshal(map[string]any{"type": "webauthn." + kind, "challenge": challenge, "origin": origin}))(t)
	out := map[string]string{"id": b64.EncodeToString(a.id), "clientData": b64.EncodeToString(client)}
	if kind == "create" {
		auth[32] |= 1 << 6
		auth = append(auth, make([]byte, 16)...)
		auth = binary.BigEndian.AppendUint16(auth, uint16(len(a.id)))
		auth = append(auth, a.id...)
		out["publicKey"] = b64.EncodeToString(must(x509.MarshalPKIXPublicKey(&a.key.PublicKey))(t))
	} else {
		hash := sha256.Sum256(client)
		sum := sha256.Sum256(append(auth[:len(auth):len(auth)], hash[:]...))
		out["signature"] = b64.EncodeToString(must(ecdsa.SignASN1(rand.Reader, a.key, sum[:]))(t))
	}
	out["authData"] = b64.EncodeToString(auth)
	return string(must(json.Marshal(out))(t))
}

// challenge reads the challenge of a page that asks for a passkey.
func challengeOf(t testing.TB, page string) string {
	t.Helper()
	return strings.Split(match(t, `"challenge":"[\w-]+"`, html.UnescapeString(page)), `"`)[3]
}

// TestPasskeys: a passkey is made and used; one for another site, with another key, for a challenge that was used, or that was copied,
// is refused.
func TestPasskeys(t *testing.T) {
	t.Parallel()
	const origin = "http://schakel.example.nl"
	d := newPortalHarness(t)
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	a := &authenticator{key: key, id: []byte("credential of the test")}
	b := d.browser().login(t, testEmail)
	add := func(origin string) *http.Response {
		page := text(b.get("/account/factors/passkey"))
		return b.post("/account/factors/passkey", url.Values{"name": {"Key"}, "passkey": {a.answer(t, "create", challengeOf(t, page), origin)}})
	}
	wantPage(t, add("http://evil.example.nl"), 422, "The browser gave no passkey that fits")
	wantStatus(t, b.post("/account/factors/passkey", url.Values{"name": {"Key"}, "passkey": {""}}), 422)
	wantRedirect(t, add(origin), "/account/factors/codes")
	wantPage(t, add(origin), 422, "in use already")

	login := func(origin string, change func(challenge string) string) *http.Response {
		b := d.password(t, d.browser(), testEmail)
		challenge := challengeOf(t, text(b.get("/login/factor")))
		if change != nil {
			challenge = change(challenge)
		}
		return b.post("/login/factor", url.Values{"passkey": {a.answer(t, "get", challenge, origin)}})
	}
	wantRedirect(t, login(origin, nil), "/admin")
	wantStatus(t, login("http://evil.example.nl", nil), http.StatusUnauthorized)
	used := ""
	wantRedirect(t, login(origin, func(c string) string { used = c; return c }), "/admin")
	wantStatus(t, login(origin, func(string) string { return used }), http.StatusUnauthorized)
	a.count = 0
	wantStatus(t, login(origin, nil), http.StatusUnauthorized) // a copy that knows an older count
	a.count = 100
	a.key = must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	wantStatus(t, login(origin, nil), http.StatusUnauthorized)
	a.key = key
	wantRedirect(t, login(origin, nil), "/admin")
}
