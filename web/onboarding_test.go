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
		p, err := w.db.PartnerByOIN(t.Context(), oin)
		noError(t, err)
		return p.ID
	}
	mailTo := func(email string) string {
		t.Helper()
		mails, _, err := w.db.Mails(t.Context(), store.Page{})
		noError(t, err)
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
	if page := shows(t, w.admin.get(mail), http.StatusOK, "This mail was not sent", "nora@example.nl"); strings.Contains(page, "/register/confirm/") {
		t.Error("the link is shown without being asked for")
	}
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
	wantStatus(t, w.admin.post("/admin/accounts", url.Values{"name": {"Bea"}, "email": {"bea@example.nl"}}), http.StatusSeeOther)
	lacks(t, shows(t, w.admin.get("/admin/accounts"), http.StatusOK, "Bea is invited. No mail was sent", "Read the link under Mails"), "on its way")
	mails, _, err := w.db.Mails(t.Context(), store.Page{})
	noError(t, err)
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
		case registry.ActionPartnerVouched:
			vouched++
			if !strings.Contains(a.Detail, "I called them") || a.ActorName != "Ada Admin" {
				t.Errorf("audit entry %+v", a)
			}
		}
		if strings.Contains(a.Detail+a.ObjectName, idOf(link)) {
			t.Error("the link stands in the audit trail")
		}
	}
	if read != 2 || vouched != 1 {
		t.Errorf("%d mails read and %d registrations confirmed in the audit trail", read, vouched)
	}
	if strings.Contains(w.log.String(), idOf(link)) || strings.Contains(w.log.String(), idOf(lost)) {
		t.Error("a link stands in the log")
	}
}

// The text of a mail that was sent, or that a mail server is about to get, is its recipient's alone.
func TestTextOfSentMailsIsNotShown(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	noError(t, w.reg.Mails.PasswordLink(t.Context(), w.accounts, w.first.email))
	mails, _, err := w.db.Mails(t.Context(), store.Page{Number: 1, Size: 1})
	noError(t, err)
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
