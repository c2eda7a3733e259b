package web

import (
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"schakel/registry"
	"schakel/registry/partners"
	"schakel/registry/profile"
	"schakel/store"
	"schakel/store/needs"
	"schakel/store/storetest"
)

// challenged answers challenges as the hosts of endpoints would; an empty text is 404.
type challenged struct {
	text atomic.Pointer[string]
	last atomic.Pointer[string] // the address that was asked for
}

// Do implements registry.Doer.
func (c *challenged) Do(r *http.Request) (*http.Response, error) {
	at := r.URL.String()
	c.last.Store(&at)
	answer := &http.Response{StatusCode: http.StatusNotFound, Body: http.NoBody}
	if text := c.text.Load(); text != nil {
		answer.StatusCode, answer.Body = http.StatusOK, io.NopCloser(strings.NewReader(*text+"\n"))
	}
	return answer, nil
}

// moving is a portal in which changed destinations wait.
type moving struct {
	*adminHarness
	hosts    challenged
	endpoint store.Endpoint
	browser  *browser
}

func newMoving(t *testing.T, open storetest.Open, mode string) *moving {
	t.Helper()
	m := &moving{}
	m.adminHarness = newAdminHarnessOn(t, open, func(cfg *registry.Config) {
		cfg.Profile.NewDestination, cfg.ChallengeHTTP = mode, &m.hosts
	})
	m.endpoint = m.adminHarness.endpoint(t, m.partner.ID)
	m.browser = m.adminHarness.browser().login(t, m.staff.Email)
	return m
}

// form is the form of the endpoint with another address.
func (m *moving) form(to string) url.Values {
	return url.Values{
		"name": {"Main webhook"}, "url": {to}, "tokenUrl": {"https://id.noord.example/token"}, "tokenClientId": {"schakel"}, "tokenSecret": {"another-secret"},
		"tokenAuthMethod": {"client_secret_basic"}, "contentMode": {"structured"}, "maxConcurrency": {"8"}, "timeoutSeconds": {"20"},
	}
}

func (m *moving) now(t *testing.T) store.Endpoint {
	t.Helper()
	return must(m.db.Endpoint(t.Context(), m.endpoint.ID))(t)
}

func (m *moving) move(t *testing.T) store.EndpointMove {
	t.Helper()
	return must(m.db.EndpointMove(t.Context(), m.endpoint.ID))(t)
}

const newAddress = "https://new.noord.example/in"

// With proof, events go to the old destination until the new host answers the challenge; the rest of the change counts at once.
func TestNewDestinationIsProved(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]storetest.Open{"sqlite": storetest.SQLite, "postgres": storetest.Postgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "postgres" {
				needs.Full(t, "PostgreSQL")
			}
			m := newMoving(t, open, registry.DestinationProof)
			ctx, here := t.Context(), "/partner/endpoints/"+m.endpoint.ID
			wantRedirect(t, m.browser.post(here, m.form(newAddress)), here+"/move")
			if e := m.now(t); e.URL != m.endpoint.URL || e.TokenSecret != m.endpoint.TokenSecret || e.MaxConcurrency != 8 {
				t.Errorf("the endpoint sends to %s, %d at once", e.URL, e.MaxConcurrency)
			}
			move := m.move(t)
			page := wantPage(t, m.browser.get(here+"/move"), http.StatusOK, m.endpoint.URL, newAddress, "https://new.noord.example:443/.well-known/schakel-challenge/"+move.Challenge, "Withdraw the change", "Ask for the challenge now")
			lacks(t, page, "another-secret")
			wantPage(t, m.browser.get(here), http.StatusOK, "waits for proof", m.endpoint.URL)
			wantPage(t, m.admin.get("/admin/endpoints/"+m.endpoint.ID), http.StatusOK, "waits for proof")

			noError(t, m.reg.Endpoints.ProveDue(ctx))
			if got := m.hosts.last.Load(); got == nil || !strings.HasSuffix(*got, move.Challenge) {
				t.Fatal("the challenge was not asked for")
			}
			failed := wantPage(t, m.browser.get(here+"/move"), http.StatusOK, "answered 404 and not 200")
			if strings.Index(failed, "answered 404 and not 200") > strings.Index(failed, "Prove that you control the new host") {
				t.Error("the outcome of the last request stands below what has to be done")
			}
			lacks(t, wantPage(t, m.admin.get("/admin/endpoints/"+m.endpoint.ID+"/move"), http.StatusOK, "What the partner has to do"), "Prove that you control")
			wrong := "something else"
			m.hosts.text.Store(&wrong)
			noError(t, m.reg.Endpoints.ProveDue(ctx)) // not due yet: nobody asked
			wantPage(t, m.browser.get(here+"/move"), http.StatusOK, "answered 404")
			wantRedirect(t, m.browser.post(here+"/move/try", url.Values{"move": {move.ID}}), here+"/move")
			wantPage(t, m.browser.get(here+"/move"), http.StatusOK, "another text than the challenge")
			wantRedirect(t, m.admin.post("/admin/endpoints/"+m.endpoint.ID+"/move/approve", url.Values{"move": {move.ID}}), "/admin/endpoints/"+m.endpoint.ID+"/move")
			if m.now(t).URL != m.endpoint.URL {
				t.Fatal("approved in place of a proof")
			}
			m.hosts.text.Store(&move.Challenge)
			m.clock.Advance(6 * time.Minute)
			noError(t, m.reg.Endpoints.ProveDue(ctx))
			e, done := m.now(t), m.move(t)
			if e.URL != newAddress || done.Status != store.MoveDone || done.TokenSecret != "" || must(m.reg.Endpoints.TokenSecret(e))(t) != "another-secret" {
				t.Errorf("after the proof it sends to %s: %+v", e.URL, done)
			}
			lacks(t, wantPage(t, m.browser.get(here+"/move"), http.StatusOK, "The new host answered the challenge."), "Waits until")

			// A path of a host that is proved counts at once; another host waits, can be withdrawn, and expires.
			form := m.form("https://new.noord.example/other")
			if to := redirected(t, m.browser.post(here, form)); !strings.HasPrefix(to, here+"/setup?delivery=") || m.now(t).URL != "https://new.noord.example/other" {
				t.Error("another path of the same host waits")
			}
			m.hosts.text.Store(nil)
			for range 2 { // the second takes the place of the first
				wantRedirect(t, m.browser.post(here, m.form("https://third.example/in")), here+"/move")
			}
			wantRedirect(t, m.browser.post(here+"/move/withdraw", url.Values{"move": {m.move(t).ID}}), here+"/move")
			if s := m.move(t).Status; s != store.MoveWithdrawn {
				t.Errorf("withdrawn: %s", s)
			}
			wantRedirect(t, m.browser.post(here, m.form("https://third.example/in")), here+"/move")
			m.clock.Advance(partners.MoveAge + time.Second)
			noError(t, m.reg.Endpoints.ProveDue(ctx))
			if s := m.move(t); s.Status != store.MoveExpired || s.TokenSecret != "" || m.now(t).URL != "https://new.noord.example/other" {
				t.Errorf("after its time: %+v", s)
			}
		})
	}
}

// With approval, somebody of the organisation decides; a partner does not, and what changed meanwhile is not applied.
func TestNewDestinationIsApproved(t *testing.T) {
	t.Parallel()
	m := newMoving(t, storetest.SQLite, registry.DestinationApproval)
	ctx, here, admin := t.Context(), "/partner/endpoints/"+m.endpoint.ID, "/admin/endpoints/"+m.endpoint.ID+"/move"
	wantRedirect(t, m.browser.post(here, m.form(newAddress)), here+"/move")
	wantPage(t, m.admin.get("/admin/endpoints"), http.StatusOK, "waits for approval", `href="`+admin+`"`)
	wantWords(t, match(t, `(?s)href="/admin/endpoints">[^<]+</a>\s*</p>\s*<p class="schakel-tile__value">.*?</li>`, text(m.admin.get("/admin"))), "New destinations", ">1<")
	page := wantPage(t, m.admin.get(admin), http.StatusOK, newAddress, "Approve the new destination")
	lacks(t, page, ".well-known")
	id := url.Values{"move": {m.move(t).ID}}
	wantStatus(t, m.browser.post(admin+"/approve", id), http.StatusForbidden)
	mails, _, err := m.db.Mails(ctx, store.Page{Number: 1, Size: 50})
	noError(t, err)
	told := map[string]bool{}
	for _, one := range mails {
		told[one.Recipient] = told[one.Recipient] || strings.Contains(one.Subject, "once it is approved")
	}
	if !told[testEmail] || !told[m.staff.Email] {
		t.Errorf("told of the change: %v", told)
	}
	const decide = "You decide about this. Approve or decline it on this page:"
	for _, one := range mails {
		body := must(m.reg.Mails.Get(ctx, registry.SystemActor(), one.ID))(t).Body
		if mine := one.Recipient == testEmail; strings.Contains(one.Subject, "once it is approved") && (strings.Contains(body, decide) != mine || mine && !strings.Contains(body, admin)) {
			t.Errorf("%s was mailed %s", one.Recipient, body)
		}
	}
	wantPage(t, m.browser.get(here+"/edit"), http.StatusOK, "Another address waits until it is approved")
	lacks(t, text(m.browser.get("/partner/endpoints/new?kind=webhook")), "Another address waits")
	wantPage(t, m.admin.post(admin+"/decline", id), http.StatusUnprocessableEntity, `href="#decline-reason"`)
	declined := url.Values{"move": id["move"], "reason": {"we do not know that host"}}
	wantRedirect(t, m.admin.post(admin+"/decline", declined), admin)
	page = wantPage(t, m.browser.get(here+"/move"), http.StatusOK, "we do not know that host", m.endpoint.URL)
	lacks(t, page, "Waits until")
	wantPage(t, m.browser.get(here), http.StatusOK, "was declined", "we do not know that host", `href="`+here+`/move"`)
	wantPage(t, m.admin.get("/admin/endpoints/"+m.endpoint.ID), http.StatusOK, "was declined")

	updates := func() int {
		entries, _, err := m.db.Audits(ctx, store.AuditFilter{Action: registry.ActionEndpointUpdated, ObjectID: m.endpoint.ID})
		noError(t, err)
		return len(entries)
	}
	was := updates()
	wantRedirect(t, m.browser.post(here, m.form(newAddress)), here+"/move")
	if updates() != was {
		t.Error("the audit trail has a change of an endpoint that is as it was")
	}
	wantRedirect(t, m.admin.post(admin+"/approve", id), admin) // of the one before
	if m.now(t).URL != m.endpoint.URL {
		t.Fatal("the approval of one change counts for another")
	}
	if to := redirected(t, m.admin.post(admin+"/approve", url.Values{"move": {m.move(t).ID}})); !strings.HasPrefix(to, "/admin/deliveries/") || m.now(t).URL != newAddress {
		t.Errorf("approved, and it sends to %s", m.now(t).URL)
	}
	lacks(t, text(m.browser.get(here)), "was declined")

	// Another name at the same token endpoint can be another tenant of the same host.
	renamed := m.form(newAddress)
	renamed.Set("tokenClientId", "tenant-of-somebody-else")
	renamed.Set("timeoutSeconds", "25")
	wantRedirect(t, m.browser.post(here, renamed), here+"/move")
	if e := m.now(t); e.TokenClientID != "schakel" {
		t.Errorf("it sends as %s", e.TokenClientID)
	}
	wantPage(t, m.admin.get(admin), http.StatusOK, "tenant-of-somebody-else")
	entries, _, err := m.db.Audits(ctx, store.AuditFilter{Action: registry.ActionEndpointUpdated, ObjectID: m.endpoint.ID})
	if err != nil || len(entries) == 0 || !strings.Contains(entries[0].Detail, `"fields":["timeoutMs"]`) || !strings.Contains(entries[0].Detail, `"after":{"timeoutMs":25000}`) {
		t.Errorf("the audit trail does not tell which fields changed: %+v, %v", entries, err)
	}

	wantRedirect(t, m.browser.post(here, m.form("https://third.example/in")), here+"/move")
	waiting := m.move(t)
	_, err = m.reg.Endpoints.Update(ctx, registry.SystemActor(), m.endpoint.ID, partners.EndpointInput{
		Name: "Main webhook", URL: "https://fourth.example/in", TokenURL: "https://id.noord.example/token", TokenClientID: "schakel", TokenSecret: "x", TokenAuthMethod: "client_secret_basic",
	})
	noError(t, err)
	wantRedirect(t, m.admin.post(admin+"/approve", url.Values{"move": {waiting.ID}}), admin)
	if s := m.move(t); s.Status != store.MoveStale || m.now(t).URL != "https://fourth.example/in" {
		t.Errorf("after another change: %+v", s)
	}

	// Where approvals need two people, so does this one, whoever of the organisation asks for it.
	m.set(t, "access.two_people_approvals", registry.PolicyOn)
	wantRedirect(t, m.browser.post(here, m.form(newAddress)), here+"/move")
	wantPage(t, m.admin.get(admin), http.StatusOK, "Approve the new destination", "takes effect once a second person confirms it")
	at := redirected(t, m.admin.post(admin+"/approve", url.Values{"move": {m.move(t).ID}}))
	wantPage(t, m.admin.get(at), http.StatusOK, "this waits for a second person")
	second := m.colleague(t, store.RoleApprover, "")
	page = wantPage(t, second.get(admin), http.StatusOK, "waits here for a second person", "approved the new destination, which now waits for a second person", "Decline the new destination")
	lacks(t, page, "/move/approve")
	wantPage(t, m.browser.get(here+"/move"), http.StatusOK, "approved the new destination, which now waits for a second person")
	wantPage(t, m.browser.get(here), http.StatusOK, "is approved and waits for a second person")
	wantRedirect(t, second.post(at+"/confirm", nil), at)
	if m.now(t).URL != newAddress {
		t.Errorf("confirmed, and it sends to %s", m.now(t).URL)
	}
	wantRedirect(t, m.browser.post(here, m.form("https://third.example/in")), here+"/move")
	noError(t, m.reg.Endpoints.End(ctx, registry.SystemActor(), m.endpoint.ID, "over"))
	if s := m.move(t); s.Status != store.MoveWithdrawn || s.TokenSecret != "" {
		t.Errorf("after the end of the endpoint: %+v", s)
	}
}

// told counts the mails to an address whose text has these words.
func (m *moving) told(t *testing.T, email string, words ...string) (n int) {
	t.Helper()
	mails, _, err := m.db.Mails(t.Context(), store.Page{Number: 1, Size: 100})
	noError(t, err)
	for _, one := range mails {
		if one.Recipient != email {
			continue
		}
		body, all := one.Subject+"\n"+must(m.reg.Mails.Get(t.Context(), registry.SystemActor(), one.ID))(t).Body, true
		for _, word := range words {
			all = all && strings.Contains(body, word)
		}
		if all {
			n++
		}
	}
	return n
}

// A destination that differs only in what is not told, the parameters of an address, is mailed, waits, and is approved as another one.
func TestParametersOfDestination(t *testing.T) {
	t.Parallel()
	m := newMoving(t, storetest.SQLite, registry.DestinationAtOnce)
	here, admin := "/partner/endpoints/"+m.endpoint.ID, "/admin/endpoints/"+m.endpoint.ID+"/move"
	everybody := func(want int, words ...string) {
		t.Helper()
		for _, email := range []string{testEmail, m.staff.Email} {
			if n := m.told(t, email, words...); n != want {
				t.Errorf("%s got %d mails with %q, not %d", email, n, words, want)
			}
		}
	}
	asked := m.form(m.endpoint.URL + "?account=somebody-else")
	asked.Del("tokenSecret")
	wantStatus(t, m.browser.post(here, asked), http.StatusSeeOther)
	everybody(1, "was changed", "Parameters of the address: replaced")
	everybody(0, "somebody-else")

	m.set(t, "sending.new_destination", registry.DestinationApproval)
	m.set(t, "access.two_people_approvals", registry.PolicyOn)
	asked.Set("url", m.endpoint.URL+"?account=a-third")
	asked.Set("tokenUrl", "https://id.noord.example/token?tenant=a-third")
	wantRedirect(t, m.browser.post(here, asked), here+"/move")
	everybody(1, "once it is approved", "Parameters of the address: replaced", "Parameters of the token endpoint: replaced")
	everybody(0, "a-third")
	wantPage(t, m.admin.get(admin), http.StatusOK, "this differs: Parameters of the address.", "this differs: Parameters of the token endpoint.")
	wantPage(t, m.browser.get(here+"/move"), http.StatusOK, "this differs: Parameters of the address.")
	at := redirected(t, m.admin.post(admin+"/approve", url.Values{"move": {m.move(t).ID}}))
	shown := wantPage(t, m.admin.get(at), http.StatusOK, "Parameters of the address: replaced", "Parameters of the token endpoint: replaced")
	lacks(t, shown, "sends to another address")
}

// What proves us at a destination waits for approval as the destination does: a certificate, the method, the scope and the secret.
func TestProofAtDestinationIsApproved(t *testing.T) {
	t.Parallel()
	m := newMoving(t, storetest.SQLite, registry.DestinationApproval)
	ctx, here, admin := t.Context(), "/partner/endpoints/"+m.endpoint.ID, "/admin/endpoints/"+m.endpoint.ID+"/move"
	plain := m.form(m.endpoint.URL)
	plain.Del("tokenSecret")
	first, key := testCertificate(t, "First", m.clock.Now().AddDate(1, 0, 0))
	second, _ := testCertificate(t, "Second", m.clock.Now().AddDate(2, 0, 0))
	must(m.reg.Endpoints.Update(ctx, registry.SystemActor(), m.endpoint.ID, partners.EndpointInput{ // the system does not wait
		Name: "Main webhook", URL: m.endpoint.URL, TokenURL: m.endpoint.TokenURL, TokenClientID: "schakel", TokenAuthMethod: "client_secret_basic", Certificate: first, CertificateKey: key,
	}))(t)
	before := m.now(t)
	for _, test := range []struct {
		what, shown string
		fields      []string
	}{
		{"a certificate", "CN=Second", []string{"certificate", second, "certificateKey", key}},
		{"the scope", "everything", []string{"tokenScope", "everything"}},
		{"the method", "client_secret_post", []string{"tokenAuthMethod", "client_secret_post"}},
		{"the secret", "Besides what the two lists below show, this differs: Client secret.", []string{"tokenSecret", "of-another-client"}},
	} {
		wantRedirect(t, m.browser.post(here, changed(maps.Clone(plain), test.fields...)), here+"/move")
		if e := m.now(t); e.Certificates != before.Certificates || e.TokenScope != before.TokenScope || e.TokenAuthMethod != before.TokenAuthMethod || e.TokenSecret != before.TokenSecret {
			t.Errorf("%s does not wait", test.what)
		}
		wantPage(t, m.admin.get(admin), http.StatusOK, "Approve the new destination", test.shown)
	}
	if to := redirected(t, m.browser.post(here, changed(maps.Clone(plain), "tokenSecret", "not-to-be-seen"))); to == here+"/move" {
		t.Error("the secret that it has waits")
	}
	before = m.now(t)
	list := must(partners.Certificates(before))(t)
	removal := "/certificates/" + list[0].ID + "/removal"
	at := redirected(t, m.browser.post(here+removal, nil))
	wantPage(t, m.browser.get(at), http.StatusOK, "An administrator of the organisation removes")
	if m.now(t).Certificates != before.Certificates {
		t.Fatal("a partner removed the certificate")
	}
	wantRedirect(t, m.browser.post(here, changed(maps.Clone(plain), "certificate", second, "certificateKey", key)), here+"/move")
	wantStatus(t, m.admin.post(admin+"/approve", url.Values{"move": {m.move(t).ID}}), http.StatusSeeOther)
	if list = must(partners.Certificates(m.now(t)))(t); len(list) != 2 || list[0].Subject != "CN=Second" {
		t.Errorf("approved: %d certificates", len(list))
	}
	_, err := m.reg.Endpoints.RemoveCertificate(ctx, m.adminActor(t), m.endpoint.ID, list[1].ID)
	noError(t, err)
}

// adminActor is the administrator of the harness.
func (m *moving) adminActor(t *testing.T) registry.Actor {
	t.Helper()
	return registry.AccountActor(must(m.db.AccountByEmail(t.Context(), testEmail))(t))
}

// set changes a setting.
func (m *moving) set(t *testing.T, key, value string) {
	t.Helper()
	state := must(m.reg.Profile.Load(t.Context()))(t)
	values := state.Values()
	values[key] = value
	_, _, err := m.reg.Profile.Save(t.Context(), registry.SystemActor(), profile.ProfileChange{Version: state.Version, Values: values})
	noError(t, err)
}
