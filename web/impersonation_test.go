package web

import (
	"context"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"schakel/registry"
	"schakel/registry/identity"
	"schakel/store"
	"schakel/store/needs"
)

// oinNames is a register of OINs. An empty one cannot be read.
type oinNames map[string]string

// OrganisationOf implements registry.OINRegister.
func (n oinNames) OrganisationOf(_ context.Context, oin string) (name string, known bool, err error) {
	if len(n) == 0 {
		return "", false, errors.New("register is away")
	}
	name, known = n[oin]
	return name, known, nil
}

const (
	noordOIN = "00000003123456780000"
	zuidOIN  = "00000001234567890000"
)

// registered registers an organisation in the browser, confirms its address and gives the administrator's page of it.
func (o *adminHarness) registered(t *testing.T, form url.Values) string {
	t.Helper()
	b := o.browser()
	wantRedirect(t, b.post("/register", form), "/register/sent")
	var link string
	for _, m := range must2(o.db.Mails(t.Context(), store.Page{Number: 1, Size: 5}))(t) {
		if opened, err := o.reg.Mails.Get(t.Context(), registry.SystemActor(), m.ID); err == nil && link == "" && strings.Contains(opened.Body, "/register/confirm/") {
			link = match(t, `/register/confirm/\w+`, opened.Body)
		}
	}
	wantRedirect(t, b.post(link, url.Values{"password": {testPassword}}), "/partner")
	partners, _, err := o.db.Partners(t.Context(), store.PartnerFilter{Search: form.Get("name")})
	noError(t, err)
	return "/admin/partners/" + partners[0].ID
}

func must2[T any](rows []T, _ int, err error) func(testing.TB) []T {
	return func(t testing.TB) []T { t.Helper(); noError(t, err); return rows }
}

// An organisation that registers under a name that looks like a known one, or with its mail domain, is shown to the administrator, who
// sees whom it resembles before approving; it is not refused.
func TestLookalikeNames(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	known := store.Partner{Name: "Scholengroep Noord", OIN: noordOIN, ContactEmail: "anna@noord.nl", Status: store.PartnerApproved}
	noError(t, o.db.Write(t.Context(), func(tx *store.Tx) error { return tx.InsertPartner(t.Context(), &known) }))
	number := 0
	for name, test := range map[string]struct {
		name, email string
		tells       []string
	}{
		"Cyrillic":      {"Sсhоlengroер Noord", "eve@evil.example", []string{"The name resembles Scholengroep Noord, OIN " + noordOIN + ", with mail domain noord.nl.", "The letters in brackets are Cyrillic: S[с]h[о]lengro[е][р] Noord", `href="/admin/partners/` + known.ID + `"`}},
		"legal form":    {"STICHTING Scholengroep-Noord", "eve@evil2.example", []string{"The name resembles Scholengroep Noord"}},
		"typing error":  {"Scholengroep Nord", "eve@evil3.example", []string{"The name resembles Scholengroep Noord"}},
		"own":           {"Chain 0ffice B.V.", "eve@evil4.example", []string{"The name resembles that of your own organisation, Chain Office."}},
		"mail domain":   {"Heel anders", "bob@ict.noord.nl", []string{"The contact person has the mail domain of another organisation: noord.nl of Scholengroep Noord.", "ict.noord.nl"}},
		"free mail":     {"Kleine school", "klein@gmail.com", []string{"Anyone gets a mailbox at gmail.com", "gmail.com (free mailboxes)"}},
		"nothing wrong": {"Leerlingzorg Oost", "zoe@oost.example", []string{"oost.example"}},
	} {
		number++
		form := registration("name", test.name, "email", test.email, "oin", "", "kvk", "1000000"+string(rune('0'+number)))
		page := html.UnescapeString(text(o.admin.get(o.registered(t, form))))
		wantWords(t, page, test.tells...)
		if alone := name == "nothing wrong"; alone == strings.Contains(page, "Look at this before you approve") {
			t.Errorf("%s: whether there is something to look at: %v", name, !alone)
		}
	}
	var told []string
	for _, m := range must2(o.db.Mails(t.Context(), store.Page{Number: 1, Size: 100}))(t) {
		if opened := must(o.reg.Mails.Get(t.Context(), registry.SystemActor(), m.ID))(t); m.Recipient == testEmail && strings.Contains(opened.Body, "Look at this first:") {
			told = append(told, opened.Body)
		}
	}
	if len(told) != 6 || !strings.Contains(strings.Join(told, ""), "- The name resembles Scholengroep Noord, OIN "+noordOIN) {
		t.Errorf("%d mails to the administrator tell of it: %q", len(told), told)
	}
}

// Names with characters that nobody sees are refused everywhere that people tell things apart by name.
func TestHiddenCharactersInNames(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	pat := o.browser().login(t, "pat@noord.example")
	for _, hidden := range []string{"\u202e", "\u200b", "\u200d", "\u2066", "\u3164", "\ufe0f", "\u2800"} {
		name := "Noor" + hidden + "d"
		wantPage(t, o.browser().post("/register", registration("name", name)), http.StatusUnprocessableEntity, `id="name-error"`)
		wantPage(t, o.browser().post("/register", registration("contactName", name)), http.StatusUnprocessableEntity, `id="contactName-error"`)
		wantPage(t, pat.post("/partner/clients", clientForm("name", name)), http.StatusUnprocessableEntity, `id="name-error"`)
		wantPage(t, pat.post("/partner/endpoints", url.Values{"name": {name}, "kind": {"webhook"}}), http.StatusUnprocessableEntity, `id="name-error"`)
		wantPage(t, o.admin.post("/admin/accounts", url.Values{"name": {name}, "email": {"new@example.nl"}}), http.StatusUnprocessableEntity, `id="name-error"`)
	}
}

// The register of OINs, where one is configured, tells under which name an organisation is registered.
func TestRegisterOfOINs(t *testing.T) {
	t.Parallel()
	needs.Unraced(t)
	for name, test := range map[string]struct {
		register oinNames
		tells    string
		absent   string
	}{
		"same name":  {oinNames{noordOIN: "Stichting ROC Noorderpoort"}, "Stichting ROC Noorderpoort", "Look at this"},
		"other name": {oinNames{noordOIN: "Gemeente Utrecht"}, "OIN " + noordOIN + " belongs to Gemeente Utrecht.", ""},
		"unknown":    {oinNames{zuidOIN: "Zuid"}, "does not hold OIN " + noordOIN, ""},
		"away":       {oinNames{}, "cannot be read now", ""},
	} {
		o := newAdminHarness(t, func(c *registry.Config) { c.OINRegister = test.register })
		page := html.UnescapeString(text(o.admin.get(o.registered(t, registration("oin", noordOIN)))))
		wantWords(t, page, test.tells)
		if test.absent != "" {
			lacks(t, page, test.absent)
		}
		if name == "other name" {
			wantWords(t, page, "Name in the register of OINs")
		}
	}
}

// Nobody publishes in the name of another organisation unless an administrator said why, on record.
func TestForeignOINInSources(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t, func(c *registry.Config) { c.OINRegister = oinNames{zuidOIN: "Gemeente Zuid"} })
	other := store.Partner{Name: "Scholengroep Oost", OIN: noordOIN, Status: store.PartnerApproved}
	noError(t, o.db.Write(t.Context(), func(tx *store.Tx) error { return tx.InsertPartner(t.Context(), &other) }))
	pat := o.browser().login(t, "pat@noord.example")
	_, here := newClient(t, pat, clientForm("publishSources", "urn:nld:oin:"+noordOIN+":*\nURN:NLD:oin:"+zuidOIN+":x\nurn:nld:*\nhttps://noord.example/*"))
	base := "/admin/clients/" + idOf(here)

	page := html.UnescapeString(o.page(t, base))
	wantWords(t, page, "urn:nld:oin:"+noordOIN+":* has the OIN of another organisation: Scholengroep Oost.", "/admin/partners/"+other.ID,
		"URN:NLD:oin:"+zuidOIN+":x has the OIN of another organisation: Gemeente Zuid.", "urn:nld:* takes in the OIN of every organisation.", "Say why it may")
	lacks(t, page, "https://noord.example/* has")
	client := must(o.db.Client(t.Context(), idOf(here)))(t)
	seen := identity.ClientRequestSeen(client)
	wantPage(t, o.admin.post(base+"/approve", url.Values{"seen": {seen}}), http.StatusUnprocessableEntity, "Give a reason", `id="approve-reason-error"`)
	if client = must(o.db.Client(t.Context(), client.ID))(t); len(client.PublishSources) != 0 {
		t.Fatalf("without a reason it may publish from %v", client.PublishSources)
	}
	wantRedirect(t, o.admin.post(base+"/approve", url.Values{"seen": {seen}, "reason": {"It keeps the records of Oost."}}), base)
	if client = must(o.db.Client(t.Context(), client.ID))(t); len(client.PublishSources) != 4 {
		t.Errorf("with a reason it may publish from %v", client.PublishSources)
	}
	wantWords(t, o.page(t, base), "It keeps the records of Oost.")

	// The own organisation gives no other's OIN either, and a change keeps what was granted.
	form := url.Values{
		"name": {"Student system"}, "authMethod": {"client_secret_basic"}, "scopes": {identity.ScopeEventsPublish},
		"publishTypes": {"nl.example.student.*"}, "publishSources": {"urn:nld:oin:" + noordOIN + ":sis"},
	}
	wantPage(t, o.admin.post("/admin/own/clients", form), http.StatusUnprocessableEntity, `id="sourceReason-error"`, "Scholengroep Oost")
	form.Set("sourceReason", "Office relays for Oost.")
	wantPage(t, o.admin.post("/admin/own/clients", form), http.StatusOK, "schs_")
	own := must(o.db.Clients(t.Context(), o.own.ID))(t)
	form.Del("sourceReason")
	wantRedirect(t, o.admin.post("/admin/own/clients/"+own[0].ID, form), "/admin/own/clients/"+own[0].ID)
	wantWords(t, html.UnescapeString(o.page(t, "/admin/audit")), "Office relays for Oost.", "It keeps the records of Oost.")
	form.Set("publishSources", "urn:nld:oin:*") // a relay of the whole chain
	wantRedirect(t, o.admin.post("/admin/own/clients/"+own[0].ID, form), "/admin/own/clients/"+own[0].ID)
}

// A mailbox gets so many mails, whoever causes them. What strangers cause neither keeps its owner from a link to log in nor
// mails about decisions back; administrators see what is held.
func TestMailsPerRecipient(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	victim := w.first.email
	// A fresh address for each registration, as somebody with many would have.
	for i := range 30 {
		b := w.browser()
		b.addr = fmt.Sprintf("203.0.113.%d", i)
		b.post("/register", registration("email", victim, "oin", ""))
	}
	count := func() (sent, paced, held int) {
		for _, m := range w.mails(t, store.Page{Number: 1, Size: 200}) {
			switch {
			case m.Recipient != victim:
			case m.Status == store.MailHeld:
				held++
			case m.DueAt.After(w.clock.Now()):
				paced++
			default:
				sent++
			}
		}
		return sent, paced, held
	}
	if sent, paced, held := count(); sent != 5 || paced != 3 || held != 22 {
		t.Errorf("of 30 mails %d are due, %d wait and %d are held", sent, paced, held)
	}
	wantRedirect(t, w.browser().post("/login/password", url.Values{"email": {victim}}), "/login")
	if sent, _, _ := count(); sent != 6 {
		t.Error("a link to log in waits behind what strangers caused")
	}
	page := text(w.admin.get("/admin/mails"))
	wantWords(t, page, "Held", "for its recipient gets many mails")
	var held store.Mail
	for _, m := range w.mails(t, store.Page{Number: 1, Size: 200}) {
		if m.Status == store.MailHeld {
			held = m
		}
	}
	here := "/admin/mails/" + held.ID
	wantWords(t, text(w.admin.get(here)), "Held back", "Send mail")
	wantRedirect(t, w.admin.post(here+"/release", nil), here)
	wantRedirect(t, w.admin.post(here+"/release", nil), here)
	wantWords(t, text(w.admin.get(here)), "This mail is not held back any more.")
	if now := must(w.db.Mail(t.Context(), held.ID))(t); now.Status != store.MailPending {
		t.Errorf("released, it is %s", now.Status)
	}
	wantWords(t, text(w.admin.get("/admin/audit")), "which was held back")

	// Others may ask for links to log in for ever: the newest mail that the owner got has one that works.
	for i := range 60 {
		w.clock.Advance(2 * time.Minute)
		b := w.browser()
		b.addr = fmt.Sprintf("198.51.100.%d", i)
		b.post("/login/password", url.Values{"email": {victim}})
		if i%10 == 9 {
			newest := match(t, `/account/password-reset/\w+`, w.lastMail(t, victim))
			wantPage(t, w.browser().get(newest), http.StatusOK, victim)
		}
	}
	mails := 0
	for _, m := range w.mails(t, store.Page{Number: 1, Size: 200}) {
		if m.Recipient == victim && strings.Contains(m.Body, "/account/password-reset/") {
			if mails++; m.Status != store.MailPending || m.DueAt.After(m.CreatedAt.Time) {
				t.Errorf("a mail with the link that ended the one before is %s until %v", m.Status, m.DueAt)
			}
		}
	}
	if mails < 8 || mails > 13 {
		t.Errorf("%d mails in two hours", mails)
	}
}
