package web

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"schakel/registry"
	"schakel/registry/partners"
	"schakel/store"
)

// step fills in a step of the registration with pairs of name and value.
func step(name string, pairs ...string) url.Values {
	return changed(url.Values{"step": {name}, "termsVersion": {"1"}}, pairs...)
}

// A registration goes step by step; each is kept, shows where it is, and refuses what is wrong in it.
func TestRegistrationByStep(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t)
	b := h.browser()
	wantWords(t, text(b.get("/register")), `value="oin" checked`, `name="brin"`, `aria-current="step"`, "Confirm e-mail", "Approval")
	organisation := []string{"name", "Basisschool De Regenboog", "by", "brin", "brin", "12 ab", "oin", "left over", "kvk", "1"}
	wantPage(t, b.post("/register", step("organisation", "name", "Basisschool", "by", "brin", "brin", "1AB2")), http.StatusUnprocessableEntity, `href="#brin"`, "two digits and two letters")
	wantRedirect(t, b.post("/register", step("organisation", organisation...)), "/register?step=contact")
	page := text(b.get("/register"))
	wantWords(t, page, `name="contactName"`, `href="/register?step=organisation"`, "is kept in this browser", `name="brin" value="12 ab"`)
	wantWords(t, text(b.get("/register?step=check")), `name="contactName"`) // not before the contact person is right
	wantWords(t, text(b.get("/register?step=organisation")), `value="brin" checked`, `value="12 ab"`)

	contact := append([]string{"contactName", "Eva", "email", "eva@regenboog.example"}, organisation...)
	wantPage(t, b.post("/register", step("contact", append([]string{"contactName", "Eva", "email", "nobody"}, organisation...)...)), http.StatusUnprocessableEntity, `href="#email"`, `value="nobody"`)
	wantRedirect(t, b.post("/register", step("contact", contact...)), "/register?step=check")
	wantWords(t, text(b.get("/register")), "Basisschool De Regenboog", "12 ab", "eva@regenboog.example", `name="terms"`)
	lacks(t, text(b.get("/register")), ">left over<")
	wantPage(t, b.post("/register", step("check", contact...)), http.StatusUnprocessableEntity, `href="#terms"`)
	wantRedirect(t, b.post("/register", step("check", append(contact, "terms", "on", "endpointKinds", "pull")...)), "/register/sent")
	wantWords(t, text(b.get("/register/sent")), "Confirm e-mail", `aria-current="step"`)
	lacks(t, text(b.get("/register")), "Regenboog") // nothing is kept once it is sent

	partner := must(h.db.PartnerByBRIN(t.Context(), "12AB"))(t)
	if partner.OIN != "" || partner.KVK != "" || partner.BRIN != "12AB" {
		t.Errorf("registered %+v", partner)
	}
	path := match(t, `/register/confirm/\w+`, h.lastMail(t, "eva@regenboog.example"))
	wantWords(t, h.lastMail(t, "eva@regenboog.example"), "BRIN 12AB")
	wantRedirect(t, b.post(path, url.Values{"password": {testPassword}}), "/partner")
	wantWords(t, text(b.get("/partner")), "waits for approval", `schakel-steps__step--current`)
	admin := h.browser().login(t, testEmail)
	wantWords(t, text(admin.get("/admin/partners?q=12ab")), "Basisschool De Regenboog", "12AB")
	noError(t, h.reg.Partners.Reject(t.Context(), h.admin, partner.ID, "Not of this chain."))
	wantWords(t, text(b.get("/partner")), `schakel-steps__step--failed`)
}

// What is kept of a registration is seen by its browser alone. A link by mail takes it to another, from which on the first one, and the
// link, open it no more; it expires, and its text lies sealed.
func TestRegistrationIsResumed(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t)
	b, stranger := h.browser(), h.browser()
	wantRedirect(t, b.get("/register/saved"), "/register")
	wantRedirect(t, b.post("/register", step("organisation", "name", "ROC Geheim", "by", "kvk", "kvk", "123", "do", "later")), "/register/saved") // also what is not right
	wantWords(t, text(b.get("/register/saved")), "Saved", `action="/register/link"`)
	wantWords(t, text(b.get("/register")), "ROC Geheim", `value="123"`)
	lacks(t, text(stranger.get("/register")), "ROC Geheim")
	stranger.cookies["schakel-registration"] = "guess"
	lacks(t, text(stranger.get("/register")), "ROC Geheim")
	wantRedirect(t, stranger.post("/register/link", url.Values{"email": {"thief@example.nl"}}), "/register")

	wantPage(t, b.post("/register/link", url.Values{"email": {"nobody"}}), http.StatusUnprocessableEntity, `href="#email"`, `value="nobody"`)
	wantRedirect(t, b.post("/register/link", url.Values{"email": {"Pat@roc.example.nl"}}), "/register/saved")
	mail := h.lastMail(t, "pat@roc.example.nl")
	lacks(t, mail, "ROC Geheim")
	link := match(t, `/register/resume/\w+`, mail)
	b.cookies[languageCookieName] = "nl"
	wantRedirect(t, b.post("/register/link", url.Values{"email": {"dirk@roc.example.nl"}}), "/register/saved")
	wantWords(t, h.lastMail(t, "dirk@roc.example.nl"), "organisatie") // in the language of the pages, as the confirmation is
	delete(b.cookies, languageCookieName)
	wantRedirect(t, b.post("/register/link", url.Values{"email": {"Pat@roc.example.nl"}}), "/register/saved")
	link = match(t, `/register/resume/\w+`, h.lastMail(t, "pat@roc.example.nl"))
	other := h.browser()
	wantWords(t, text(other.get(link)), "Go on with the registration")
	lacks(t, text(other.get(link)), "ROC Geheim") // who looks at it does not open it
	wantRedirect(t, other.post(link, nil), "/register")
	wantWords(t, text(other.get("/register")), "ROC Geheim")
	lacks(t, text(b.get("/register")), "ROC Geheim")
	wantPage(t, b.get(link), http.StatusNotFound, "has been used")
	wantPage(t, b.post(link, nil), http.StatusNotFound, "has been used")

	row := must(h.db.RegistrationDraft(t.Context(), hashOf(other.cookies["schakel-registration"]), store.At(h.clock.Now())))(t)
	lacks(t, row.Sealed, "Geheim", "pat@")
	wantRedirect(t, other.post("/register/forget", nil), "/register")
	lacks(t, text(other.get("/register")), "ROC Geheim")

	wantRedirect(t, b.post("/register", step("organisation", "name", "ROC Geheim", "do", "later")), "/register/saved")
	h.clock.Advance(registry.DraftLifetime + time.Minute)
	lacks(t, text(b.get("/register")), "ROC Geheim")
	wantPage(t, b.post("/register", step("organisation", "name", strings.Repeat("long ", 3000), "do", "later")), http.StatusUnprocessableEntity, "too long to be kept")
}

// Drafts of one address are counted, so that nobody fills the database with them.
func TestRegistrationDraftsAreThrottled(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t)
	for range 60 {
		wantRedirect(t, h.browser().post("/register", step("organisation", "name", "ROC", "do", "later")), "/register/saved")
	}
	wantStatus(t, h.browser().post("/register", step("organisation", "name", "ROC", "do", "later")), http.StatusTooManyRequests)
}

// Each number is validated; the one that was chosen must be there, and belongs to one organisation.
func TestRegistrationByEachNumber(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t)
	for _, test := range []struct {
		by, field, value, wrong string
	}{
		{"oin", "oin", "", "20 digits"},
		{"oin", "oin", "00000001003214346000", "its check digit does not fit"},
		{"kvk", "kvk", "", "8 digits"},
		{"kvk", "kvk", "1234567", "8 digits"},
		{"brin", "brin", "", "4 characters"},
		{"brin", "brin", "AB12", "two digits and two letters"},
		{"brin", "brin", "12AB0", "two digits and two letters"},
		{"health", "orgNumber", "", "9 digits"},
		{"health", "orgNumber", "312345677", "its check digit does not fit"},
		{"health", "herId", "", "HER-id"},
		{"health", "herId", "012", "at most 8 digits"},
		{"pigeon", "by", "", "Choose the number"},
	} {
		form := step("organisation", "name", "ROC", "by", test.by, "orgNumber", "312345676", "herId", "8094866", test.field, test.value)
		if test.by == "pigeon" {
			form.Set("by", "pigeon")
		}
		wantPage(t, h.browser().post("/register", form), http.StatusUnprocessableEntity, `href="#`+test.field+`"`, test.wrong)
	}
	for _, test := range []struct{ by, field, number string }{
		{"kvk", "kvk", "12345678"}, {"brin", "brin", "12AB00"}, {"health", "orgNumber", "312345676"},
	} {
		for n, email := range []string{"first@" + test.by + ".example", "second@" + test.by + ".example"} {
			form := registration("oin", "", "kvk", "", "by", test.by, "herId", "8094866", test.field, test.number, "email", email, "name", "Of "+test.by)
			wantRedirect(t, h.browser().post("/register", form), "/register/sent")
			if mail := h.lastMail(t, email); strings.Contains(mail, "/register/confirm/") != (n == 0) {
				t.Errorf("%s: registration %d of one number got %s", test.by, n+1, mail)
			}
		}
	}
	known := must(h.db.PartnerByKVK(t.Context(), "12345678", ""))(t)
	if partners.Numbers(known) != "KvK 12345678" || partners.Number(known) != "12345678" {
		t.Errorf("known by %q", partners.Numbers(known))
	}
}

func hashOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}
