package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"schakel/registry"
	"schakel/registry/mail"
	"schakel/store"
	"schakel/web/site"
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
	wantPage(t, b.post(path, url.Values{"password": {"short"}}), http.StatusUnprocessableEntity, `href="#password"`)
	wantRedirect(t, b.post(path, url.Values{"password": {testPassword}}), "/partner")
	wantWords(t, text(b.get("/partner")), "waits for approval", "confirmed, and you are logged in")
	wantStatus(t, h.browser().get(path), http.StatusNotFound)

	partner := must(h.db.PartnerByOIN(t.Context(), "00000003123456780000"))(t)
	wantRedirect(t, b.get("/partner/endpoints/new"), "/partner/endpoints")
	noError(t, h.reg.Partners.Approve(t.Context(), h.admin, partner.ID))
	wantWords(t, text(b.get("/partner")), "Next steps", "Add an endpoint")
	noError(t, h.reg.Partners.Suspend(t.Context(), h.admin, partner.ID, "Your certificate has expired."))
	wantWords(t, text(b.get("/partner")), "suspended", "Your certificate has expired.")
}

// Who registers in Norwegian gets mails and pages in Norwegian from then on, also in another browser.
func TestRegistrationKeepsItsLanguage(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t)
	b := h.browser()
	b.header.Set("Accept-Language", "nb")
	wantRedirect(t, b.post("/register", registration()), "/register/sent")
	mail := h.lastMail(t, "pat@roc.example.nl")
	wantWords(t, mail, "registrer")
	b = h.browser()
	b.header.Set("Accept-Language", "en")
	wantRedirect(t, b.post(match(t, `/register/confirm/\w+`, mail), url.Values{"password": {testPassword}}), "/partner")
	wantWords(t, text(b.get("/partner")), `<html lang="nb"`)
	partner := must(h.db.PartnerByOIN(t.Context(), "00000003123456780000"))(t)
	noError(t, h.reg.Partners.Approve(t.Context(), h.admin, partner.ID))
	wantWords(t, h.lastMail(t, "pat@roc.example.nl"), "godkjent")
}

func TestRegistrationRejected(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t)
	b := h.browser()
	wantRedirect(t, b.post("/register", registration()), "/register/sent")
	path := match(t, `/register/confirm/\w+`, h.lastMail(t, "pat@roc.example.nl"))
	wantRedirect(t, b.post(path, url.Values{"password": {testPassword}}), "/partner")
	partner := must(h.db.PartnerByOIN(t.Context(), "00000003123456780000"))(t)
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
		lacks(t, page, "<script>")
	}
}

func TestRegistrationTellsStrangersNothing(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t)
	h.partner(t, "known@example.nl")
	wantRedirect(t, h.browser().post("/register", registration("email", "known@example.nl")), "/register/sent")
	wantRedirect(t, h.browser().post("/register", registration("email", "fresh@example.nl")), "/register/sent")
	lacks(t, h.lastMail(t, "known@example.nl"), "/register/confirm/")
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
	lacks(t, page, `href="http`, `href="//`, `href="javascript`)
	wantStatus(t, b.get("/mailbox/mal_none"), http.StatusNotFound)

	// The database holds the text of a mail sealed; the page shows it.
	wantRedirect(t, b.post("/login/password", url.Values{"email": {testEmail}}), "/login")
	sealed := must(h.db.RecentMails(ctx))(t)[0]
	stored := must(h.db.Mail(ctx, sealed.ID))(t)
	lacks(t, stored.Body, "/account/")
	wantWords(t, text(b.get("/mailbox/"+sealed.ID)), `href="/account/password-reset/`)
}

func TestMailboxOnlyInADemonstration(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t)
	app := must(New(func() Config {
		cfg := h.cfg
		portal := *cfg.Portal
		portal.Mailbox = false
		cfg.Portal = &portal
		return cfg
	}()))(t)
	h.app = app
	wantStatus(t, h.browser().get("/mailbox"), http.StatusNotFound)
	lacks(t, text(h.browser().get("/register/sent")), "/mailbox")
}

// A Norwegian practice registers in the browser with its organisasjonsnummer and HER-id, without an OIN, and is approved; every page
// names it by its number.
func TestRegistrationWithoutOIN(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t)
	b := h.browser()
	wantWords(t, text(b.get("/register")), "Organisasjonsnummer", "a Norwegian party in health")
	form := registration("oin", "", "kvk", "", "name", "Legekontoret Brua", "orgNumber", "312 345 677", "herId", "8094866")
	wantPage(t, b.post("/register", form), http.StatusUnprocessableEntity, `href="#orgNumber"`, "its check digit does not fit", "312 345 677")
	form.Set("orgNumber", "312 345 676")
	wantRedirect(t, b.post("/register", form), "/register/sent")
	path := match(t, `/register/confirm/\w+`, h.lastMail(t, "pat@roc.example.nl"))
	wantRedirect(t, b.post(path, url.Values{"password": {testPassword}}), "/partner")
	partner := must(h.db.PartnerByOrgNumber(t.Context(), "312345676"))(t)
	organisation := text(b.get("/partner/organisation"))
	wantWords(t, organisation, "Organisasjonsnummer", "312345676", "8094866")
	lacks(t, organisation, "OIN")
	admin := h.browser().login(t, testEmail)
	wantWords(t, text(admin.get("/admin/partners?q=312345676")), "Legekontoret Brua", "312345676")
	wantWords(t, text(admin.get("/admin/partners/"+partner.ID)), "Organisasjonsnummer", "312345676", "8094866")
	noError(t, h.reg.Partners.Approve(t.Context(), h.admin, partner.ID))
	wantWords(t, text(b.get("/partner")), "Next steps", "Add an endpoint")
}

// Where there is no mail server an administrator reads the mail of a registration and hands its link over, or confirms the
// registration. Both stand in the audit trail, the link does not, and nobody else sees it.
func TestOnboardingWithoutMailServer(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t, func(c *site.PortalConfig) { c.Mailbox = false }) // as everywhere but in the demonstration
	register := func(name, oin, email string) string {
		t.Helper()
		wantStatus(t, w.browser().post("/register", url.Values{
			"name": {name}, "oin": {oin}, "contactName": {"Nora"}, "email": {email}, "phone": {"+31 30 123 45 67"},
			"endpointKinds": {"webhook"}, "terms": {"on"}, "termsVersion": {w.reg.Partners.TermsVersion()},
		}), http.StatusSeeOther)
		p := must(w.db.PartnerByOIN(t.Context(), oin))(t)
		return p.ID
	}
	mailTo := func(email string) string {
		t.Helper()
		mails := w.mails(t, store.Page{})
		for _, m := range mails {
			if m.Recipient == email {
				return "/admin/mails/" + m.ID
			}
		}
		t.Fatalf("no mail to %s", email)
		return ""
	}
	password := url.Values{"password": {testPassword}}

	register("School Noord", "00000001003214345000", "nora@example.nl")
	mail := mailTo("nora@example.nl")
	wantWords(t, text(w.admin.get("/admin/mails")), mail, "There is no mail server")
	shows(t, w.browser().get("/register/sent"), http.StatusOK, "This Schakel sends no mail.")
	lacks(t, shows(t, w.admin.get(mail), http.StatusOK, "This mail was not sent", "nora@example.nl"), "/register/confirm/")
	wantStatus(t, w.first.browser.get(mail), http.StatusForbidden)
	wantStatus(t, w.first.browser.post(mail+"/text", nil), http.StatusForbidden)
	wantRedirect(t, w.browser().get(mail), "/login?next="+url.QueryEscape(mail))
	link := match(t, `/register/confirm/\w+`, shows(t, w.admin.post(mail+"/text", nil), http.StatusOK, "Hand such a link to nora@example.nl alone"))
	wantStatus(t, w.browser().post(link, password), http.StatusSeeOther)
	w.browser().login(t, "nora@example.nl")

	id := register("School Zuid", "00000003123456780000", "zoe@example.nl")
	lost := match(t, `/register/confirm/\w+`, w.lastMail(t, "zoe@example.nl"))
	page := "/admin/partners/" + id
	shows(t, w.admin.get(page), http.StatusOK, "Confirm in place of the contact person", "How you know that this is the organisation")
	wantStatus(t, w.admin.post(page+"/approve", nil), http.StatusConflict)
	wantStatus(t, w.admin.post(page+"/confirm", url.Values{"reason": {""}}), http.StatusUnprocessableEntity)
	wantStatus(t, w.first.browser.post(page+"/confirm", url.Values{"reason": {"I say so"}}), http.StatusForbidden)
	wantStatus(t, w.admin.post(page+"/confirm", url.Values{"reason": {"I called them"}}), http.StatusSeeOther)
	wantStatus(t, w.admin.post(page+"/confirm", url.Values{"reason": {"I called them"}}), http.StatusConflict)
	if answer := w.browser().get(lost); answer.StatusCode == http.StatusOK {
		t.Error("the first link still works")
	}
	wantStatus(t, w.admin.post(page+"/approve", nil), http.StatusSeeOther)
	lacks(t, shows(t, w.admin.get(page), http.StatusOK, "The registration is approved. No mail was sent, since there is no mail server. Tell the partner."), "told by mail")
	wantStatus(t, w.admin.post("/admin/accounts", url.Values{"name": {"Bea"}, "email": {"bea@example.nl"}, "role": {"administrator"}}), http.StatusSeeOther)
	lacks(t, shows(t, w.admin.get("/admin/accounts"), http.StatusOK, "Bea is invited. No mail was sent", "Read the link under Mails"), "on its way")
	mails := w.mails(t, store.Page{})
	for _, m := range mails {
		if m.Recipient == "zoe@example.nl" && strings.Contains(m.Body, "/account/invitation/") {
			mail = "/admin/mails/" + m.ID
		}
	}
	link = match(t, `/account/invitation/\w+`, text(w.admin.post(mail+"/text", nil)))
	wantStatus(t, w.browser().post(link, password), http.StatusSeeOther)
	w.browser().login(t, "zoe@example.nl")

	audits, _, err := w.db.Audits(t.Context(), store.AuditFilter{})
	noError(t, err)
	read, vouched := 0, 0
	for _, a := range audits {
		switch a.Action {
		case registry.ActionMailRead:
			read++
			if a.PartnerID == "" {
				t.Errorf("no partner learns that its mail was read: %+v", a)
			}
		case registry.ActionPartnerVouched:
			vouched++
			if !strings.Contains(a.Detail, "I called them") || a.ActorName != "Ada Admin" {
				t.Errorf("audit entry %+v", a)
			}
		}
		lacks(t, a.Detail+a.ObjectName, idOf(link))
	}
	if read != 2 || vouched != 1 {
		t.Errorf("%d mails read and %d registrations confirmed in the audit trail", read, vouched)
	}
	lacks(t, w.log.String(), idOf(link), idOf(lost))
}

// The text of a mail that was sent, or that a mail server is about to get, is its recipient's alone.
func TestTextOfSentMailsIsNotShown(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	noError(t, w.reg.Mails.PasswordLink(t.Context(), w.accounts, w.first.email))
	mails := w.mails(t, store.Page{Number: 1, Size: 1})
	page := "/admin/mails/" + mails[0].ID
	set := func(status, failure string) {
		t.Helper()
		w.write(func(tx *store.Tx) error {
			mails[0].Status, mails[0].Error = status, failure
			return tx.UpdateMail(t.Context(), &mails[0])
		})
	}
	set(store.MailSent, "")
	if text(w.admin.get(page)); strings.Contains(text(w.admin.get(page)), "Show the text") {
		t.Error("the text of a sent mail is offered")
	}
	wantRedirect(t, w.admin.post(page+"/text", nil), page)
	set(store.MailFailed, "550 no such user")
	shows(t, w.admin.get(page), http.StatusOK, "550 no such user", "Show the text")
	shows(t, w.admin.post(page+"/text", nil), http.StatusOK, "/account/password-reset/")
	served := mail.Mails{}
	if served.Unsent(store.Mail{Status: store.MailSent}) || !served.Unsent(store.Mail{Status: store.MailPending}) {
		t.Error("without a mail server what is pending is unsent, and what was sent is not")
	}
}
