package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"schakel/store"
)

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
