package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"schakel/store"
)

func registration(pairs ...string) url.Values {
	return changed(url.Values{
		"name": {"ROC Noorderpoort"}, "oin": {"00000003 12345678 0000"}, "kvk": {"12345678"}, "contactName": {"Pat Partner"},
		"email": {"Pat@roc.example.nl"}, "phone": {"+31 30 123 45 67"}, "endpointKinds": {"webhook"}, "terms": {"on"}, "termsVersion": {"1"},
	}, pairs...)
}

func TestRegistrationStory(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t)
	b := h.browser()
	wantRedirect(t, b.post("/register", registration()), "/register/sent")
	wantWords(t, text(b.get("/register/sent")), "24 hours", `href="/mailbox"`)

	path := match(t, `/register/confirm/\w+`, h.lastMail(t, "pat@roc.example.nl"))
	wantWords(t, text(b.get(path)), "ROC Noorderpoort", "pat@roc.example.nl")
	answer := b.post(path, url.Values{"password": {"short"}})
	wantStatus(t, answer, http.StatusUnprocessableEntity)
	wantWords(t, text(answer), `href="#password"`)
	wantRedirect(t, b.post(path, url.Values{"password": {testPassword}}), "/partner")
	wantWords(t, text(b.get("/partner")), "waits for approval", "confirmed, and you are logged in")
	wantStatus(t, h.browser().get(path), http.StatusNotFound)

	partner, err := h.db.PartnerByOIN(t.Context(), "00000003123456780000")
	noError(t, err)
	wantRedirect(t, b.get("/partner/endpoints/new"), "/partner/endpoints")
	noError(t, h.reg.Partners.Approve(t.Context(), h.admin, partner.ID))
	wantWords(t, text(b.get("/partner")), "Next steps", "Add an endpoint")
	noError(t, h.reg.Partners.Suspend(t.Context(), h.admin, partner.ID, "Your certificate has expired."))
	wantWords(t, text(b.get("/partner")), "suspended", "Your certificate has expired.")
}

func TestRegistrationRejected(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t)
	b := h.browser()
	wantRedirect(t, b.post("/register", registration()), "/register/sent")
	path := match(t, `/register/confirm/\w+`, h.lastMail(t, "pat@roc.example.nl"))
	wantRedirect(t, b.post(path, url.Values{"password": {testPassword}}), "/partner")
	partner, err := h.db.PartnerByOIN(t.Context(), "00000003123456780000")
	noError(t, err)
	noError(t, h.reg.Partners.Reject(t.Context(), h.admin, partner.ID, "Not of this chain."))
	wantWords(t, text(b.get("/partner")), "rejected", "Not of this chain.")
	wantWords(t, text(b.get("/partner/organisation")), "Not of this chain.", "00000003123456780000")
}

func TestRegistrationRefused(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t)
	tests := []struct{ field, name, value string }{
		{"name", "name", ""},
		{"oin", "oin", "123"},
		{"oin", "oin", "000000011234567890000"},
		{"kvk", "kvk", "1234567"},
		{"kvk", "kvk", "87654321"},
		{"herId", "herId", "abc"},
		{"contactName", "contactName", ""},
		{"email", "email", "<script>"},
		{"phone", "phone", "call me"},
		{"endpointKinds", "endpointKinds", "pigeon"},
		{"terms", "terms", ""},
		{"terms", "termsVersion", "0"},
	}
	for _, test := range tests {
		answer := h.browser().post("/register", registration(test.name, test.value))
		page := text(answer)
		// More than ten registrations from one address in an hour are not the point here: a refused form does not count.
		if answer.StatusCode != http.StatusUnprocessableEntity {
			t.Errorf("%s=%q: status %d", test.name, test.value, answer.StatusCode)
		}
		if !strings.Contains(page, `href="#`+test.field+`"`) || !strings.Contains(page, `id="`+test.field+`-error"`) {
			t.Errorf("%s=%q: no error at %s", test.name, test.value, test.field)
		}
		if test.name != "name" && !strings.Contains(page, `value="ROC Noorderpoort"`) {
			t.Errorf("%s=%q: what was typed is gone", test.name, test.value)
		}
		if strings.Contains(page, "<script>") {
			t.Error("what was typed is not escaped")
		}
	}
}

func TestRegistrationTellsStrangersNothing(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t)
	h.partner(t, "known@example.nl")
	known := h.browser().post("/register", registration("email", "known@example.nl"))
	wantRedirect(t, known, "/register/sent")
	fresh := h.browser().post("/register", registration("email", "fresh@example.nl"))
	wantRedirect(t, fresh, "/register/sent")
	if strings.Contains(h.lastMail(t, "known@example.nl"), "/register/confirm/") {
		t.Error("a known address got a confirmation link")
	}
}

func TestRegistrationThrottled(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t)
	for range 10 {
		wantRedirect(t, h.browser().post("/register", registration()), "/register/sent")
	}
	answer := h.browser().post("/register", registration())
	wantStatus(t, answer, http.StatusTooManyRequests)
	if answer.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	wantWords(t, text(answer), "Many registrations", `value="ROC Noorderpoort"`)
}

func TestMailboxLinksOnlyToUs(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t)
	ctx := t.Context()
	mail := store.Mail{Recipient: "a@example.nl", Subject: "Hello", Body: "Look at http://schakel.example.nl/register/confirm/X now\n\n" +
		"or http://evil.example/ or http://schakel.example.nl@evil.example/ or javascript:alert(1) or //evil.example <b>\n"}
	noError(t, h.db.Write(ctx, func(tx *store.Tx) error { return tx.InsertMail(ctx, &mail) }))
	b := h.browser()
	wantWords(t, text(b.get("/mailbox")), `href="/mailbox/`+mail.ID+`"`)
	page := text(b.get("/mailbox/" + mail.ID))
	wantWords(t, page, `href="/register/confirm/X"`, "&lt;b&gt;")
	if strings.Contains(page, `href="http`) || strings.Contains(page, `href="//`) || strings.Contains(page, `href="javascript`) {
		t.Error("a link leads away")
	}
	wantStatus(t, b.get("/mailbox/mal_none"), http.StatusNotFound)
}

func TestMailboxOnlyInADemonstration(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t)
	app, err := New(func() Config {
		cfg := h.cfg
		portal := *cfg.Portal
		portal.Mailbox = false
		cfg.Portal = &portal
		return cfg
	}())
	noError(t, err)
	h.app = app
	wantStatus(t, h.browser().get("/mailbox"), http.StatusNotFound)
	if strings.Contains(text(h.browser().get("/register/sent")), "/mailbox") {
		t.Error("the page leads to a mailbox that is not there")
	}
}

// A Norwegian practice registers in the browser with its organisasjonsnummer and HER-id, without an OIN, and is approved; every page
// names it by its number.
func TestRegistrationWithoutOIN(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t)
	b := h.browser()
	wantWords(t, text(b.get("/register")), "Organisasjonsnummer", "A Norwegian organisation leaves it empty")
	form := registration("oin", "", "kvk", "", "name", "Legekontoret Brua", "orgNumber", "312 345 677", "herId", "8094866")
	refused := b.post("/register", form)
	wantStatus(t, refused, http.StatusUnprocessableEntity)
	wantWords(t, text(refused), `href="#orgNumber"`, "its check digit does not fit", "312 345 677")
	form.Set("orgNumber", "312 345 676")
	wantRedirect(t, b.post("/register", form), "/register/sent")
	path := match(t, `/register/confirm/\w+`, h.lastMail(t, "pat@roc.example.nl"))
	wantRedirect(t, b.post(path, url.Values{"password": {testPassword}}), "/partner")
	partner, err := h.db.PartnerByOrgNumber(t.Context(), "312345676")
	noError(t, err)
	organisation := text(b.get("/partner/organisation"))
	wantWords(t, organisation, "Organisasjonsnummer", "312345676", "8094866")
	if strings.Contains(organisation, "OIN") {
		t.Error("the page of an organisation without an OIN speaks of one")
	}
	admin := h.browser()
	admin.login(t, testEmail)
	wantWords(t, text(admin.get("/admin/partners?q=312345676")), "Legekontoret Brua", "312345676")
	wantWords(t, text(admin.get("/admin/partners/"+partner.ID)), "Organisasjonsnummer", "312345676", "8094866")
	noError(t, h.reg.Partners.Approve(t.Context(), h.admin, partner.ID))
	wantWords(t, text(b.get("/partner")), "Next steps", "Add an endpoint")
}
