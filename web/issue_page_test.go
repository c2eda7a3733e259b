package web

import (
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"schakel/delivery/event"
	"schakel/delivery/webhook"
	"schakel/store"
	"schakel/store/needs"
	"schakel/templates/i18n"
)

// hook points the endpoint of a partner at a server, with an access token.
func (w *queueWorld) hook(p queueParty, address string) {
	w.t.Helper()
	w.write(func(tx *store.Tx) error {
		ep, err := tx.Endpoint(w.t.Context(), p.endpoint)
		noError(w.t, err)
		ep.TokenAuthMethod, ep.TokenURL, ep.URL = "client_secret_basic", "https://roc.example.nl/token", address
		return tx.UpdateEndpoint(w.t.Context(), &ep)
	})
}

// The request of an issue is shown, and its command sends it, as it leaves: with the data encrypted where the subscription asks for that.
func TestIssueRequestIsEncrypted(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	d := w.attempt(w.deliver(w.event(event.DataJSON, `{"student":"Noor Jansen"}`), w.first), store.DeliveryDead, "attempts-exhausted", store.Attempt{
		URL: "https://roc.example.nl/events", RequestHeaders: `{"Content-Type":["application/cloudevents+json"]}`, StatusCode: 503,
	})
	_, public := recipientKey(t)
	here := "/partner/subscriptions/" + w.first.subscription
	wantRedirect(t, w.first.browser.post(here+"/encryption", url.Values{"encryption": {public}}), here)
	page := wantPage(t, w.admin.get("/admin/issues/"+w.issueOf(d, "http-503").ID), http.StatusOK, "application/jose", "sample-curl")
	lacks(t, page, "Noor Jansen")
	wantPage(t, w.first.browser.get("/partner/deliveries/"+d.ID), http.StatusOK, "Noor Jansen", "Encrypted (JWE) with the keys that were filled in")
}

var commandOnPage = regexp.MustCompile(`(?s)id="sample-curl">(.*?)</code>`)

// The page of an issue shows the failure and advice, to a partner its own alone (guarantee G7), without secrets; its command sends the
// same request when it is run as printed.
func TestIssuePage(t *testing.T) {
	t.Parallel()
	needs.Program(t, "curl")
	w := newQueueWorld(t)
	var got struct{ token, key, kind, body string }
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got.token, got.key, got.kind, got.body = r.Header.Get("Authorization"), r.Header.Get("Idempotency-Key"), r.Header.Get("Content-Type"), string(body)
	}))
	t.Cleanup(receiver.Close)
	w.hook(w.first, receiver.URL)
	d := w.attempt(w.deliver(w.event(event.DataJSON, `{"name":"d'Artagnan"}`), w.first), store.DeliveryDead, "attempts-exhausted", store.Attempt{
		URL: receiver.URL, RequestHeaders: `{"Authorization":["Bearer very-secret"],"Content-Type":["application/cloudevents+json"],"Idempotency-Key":["\"k-1\""]}`,
		StatusCode: 503, ResponseHeaders: `{"Set-Cookie":["sid=very-secret"]}`, ResponseBody: []byte(`<b>busy</b>`),
	})
	issue := w.issueOf(d, "http-503")
	for _, at := range []struct {
		b    *browser
		base string
		says string
	}{{w.admin, "/admin", "Mail the contact with the request below"}, {w.first.browser, "/partner", "Your receiver fails"}} {
		page := shows(t, at.b.get(at.base+"/issues/"+issue.ID), http.StatusOK, "Answered 503", at.says, "First seen", queueType, "First failure", "<b>busy</b>", "d'Artagnan")
		lacks(t, page, "very-secret", "<b>busy")
		command := html.UnescapeString(commandOnPage.FindStringSubmatch(page)[1])
		run := exec.CommandContext(t.Context(), "sh", "-c", "TOKEN=my-token\n"+command)
		if out, err := run.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s\n%s", err, command, out)
		}
		e := must(w.db.Event(t.Context(), d.EventID))(t)
		if got.token != "Bearer my-token" || got.key != `"k-1"` || got.kind != "application/cloudevents+json" || !strings.Contains(got.body, `"data":{"name":"d'Artagnan"}`) || !strings.Contains(got.body, e.CEID) {
			t.Errorf("received %+v", got)
		}
		shows(t, at.b.get(at.base+"/deliveries/"+d.ID), http.StatusOK, "Answered 503 (Open)")
		wantWords(t, text(at.b.get(at.base+"/endpoints/"+w.first.endpoint)), at.base+"/issues?state=unresolved&amp;endpoint="+w.first.endpoint, "Its issue, 1 unresolved")
		wantWords(t, text(at.b.get(at.base+"/issues")), at.base+"/issues/"+issue.ID)
	}
	for _, path := range []string{"", "/mail"} {
		shows(t, w.other.browser.get("/partner/issues/"+issue.ID+path), http.StatusNotFound)
	}
	for _, step := range []string{"/acknowledge", "/resolve", "/reopen", "/pause", "/resume", "/mail"} {
		form := url.Values{"reason": {"because"}, "subject": {"S"}, "body": {"B"}}
		shows(t, w.other.browser.post("/partner/issues/"+issue.ID+step, form), http.StatusNotFound)
	}
}

// issueOf records that a delivery failed for a cause, and gives the issue.
func (w *queueWorld) issueOf(d store.Delivery, cause string) store.Issue {
	w.t.Helper()
	_, pool := w.db.Pools()
	if _, err := pool.ExecContext(w.t.Context(), `UPDATE delivery SET cause = ? WHERE id = ?`, cause, d.ID); err != nil {
		w.t.Fatal(err)
	}
	o := store.Outcome{Delivery: store.Delivery{ID: d.ID, PartnerID: d.PartnerID, EndpointID: d.EndpointID, Cause: cause, Detail: "It failed."}}
	w.write(func(tx *store.Tx) error { return tx.RecordIssues(w.t.Context(), []store.Outcome{o}) })
	found, _, err := w.db.Issues(w.t.Context(), store.IssueFilter{EndpointID: d.EndpointID, Cause: cause})
	noError(w.t, err)
	return found[0]
}

// The page of an issue counts its deliveries by state, each with what comes next, and does not promise that all are tried again.
func TestIssueStanding(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	page := func(issue store.Issue, words ...string) {
		t.Helper()
		for _, shown := range []string{shows(t, w.first.browser.get("/partner/issues/"+issue.ID), http.StatusOK, words...), shows(t, w.admin.get("/admin/issues/"+issue.ID), http.StatusOK, words...)} {
			lacks(t, shown, "It is tried again by itself")
		}
	}
	d, issue := w.fails(w.first, "http-503")
	w.fails(w.first, "http-503")
	again := store.Delivery{ID: d.ID, PartnerID: w.first.id, EndpointID: w.first.endpoint, Cause: "http-503"}
	again.Detail = string(i18n.M("verdict.and", i18n.M("verdict.answered-only", 503), i18n.Message("verdict.again")))
	w.write(func(tx *store.Tx) error { return tx.RecordIssues(t.Context(), []store.Outcome{{Delivery: again}}) })
	page(issue, "The receiver answered 503.", "Dead letters: 2. They are not tried any more.")
	retried := w.deliver(w.event(event.DataNone, ""), w.first)
	w.attempt(retried, store.DeliveryRetrying, webhook.ReasonServerError, store.Attempt{StatusCode: 503})
	w.issueOf(retried, "http-503")
	page(issue, "Dead letters: 2.", "Retrying: 1. They are tried again by themselves.")
	w.stop(w.first, func(ep *store.Endpoint) { ep.Status = store.EndpointSuspended })
	page(issue, "Dead letters: 2.", "Retrying: 1, but they wait. Suspended. Next attempt: when an administrator resumes it.")
	done := w.issueOf(w.deliver(w.event(event.DataNone, ""), w.first), "dns")
	page(done, "No delivery waits because of this issue now.")
}

// Each count of an issue equals what its link lists, and "resend all" counts the dead and held together.
func TestIssueCounts(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	w.fails(w.first, "http-503")
	w.fails(w.first, "dns")
	held := w.failed(w.first, store.DeliveryHeld, store.ReasonRejected)
	issue := w.issueOf(held, "http-503")
	w.clock.Advance(time.Second)
	tile := regexp.MustCompile(`(?s)schakel-tile__label">\s*<a[^>]*href="([^"]*)">[^<]*</a>.*?schakel-tile__value">(.*?)</p>`)
	number := regexp.MustCompile(`\d+`)
	for base, b := range map[string]*browser{"/admin": w.admin, "/partner": w.first.browser} {
		page := shows(t, b.get(base+"/issues/"+issue.ID), http.StatusOK)
		tiles := tile.FindAllStringSubmatch(page, -1)
		if len(tiles) != 2 {
			t.Fatalf("%s: %d counts with a link, want those of dead and held", base, len(tiles))
		}
		for _, one := range tiles {
			list := shows(t, b.get(html.UnescapeString(one[1])), http.StatusOK)
			if n := number.FindString(markup.ReplaceAllString(one[2], "")); n != "1" || rows(list) != 1 {
				t.Errorf("%s counts %q and lists %d", one[1], n, rows(list))
			}
		}
		shows(t, b.get(base+"/deliveries/all?endpoint="+issue.EndpointID+"&cause=http-503"), http.StatusOK, "2 deliveries")
		wantWords(t, page, base+"/deliveries/all?")
	}
}

// What a person does with an issue is done, stands in its history and in the audit trail.
func TestIssueActs(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	_, issue := w.fails(w.first, "http-503")
	here := "/admin/issues/" + issue.ID
	post := func(b *browser, path string, form url.Values) {
		t.Helper()
		wantRedirect(t, b.post(path, form), strings.Join(strings.Split(path, "/")[:4], "/"))
	}
	post(w.first.browser, "/partner/issues/"+issue.ID+"/resolve", nil)
	post(w.admin, here+"/reopen", nil)
	post(w.admin, here+"/acknowledge", nil)
	shows(t, w.admin.post(here+"/reopen", nil), http.StatusConflict)
	shows(t, w.admin.post(here+"/pause", url.Values{"reason": {""}}), http.StatusUnprocessableEntity, "Pause endpoint")
	post(w.admin, here+"/pause", url.Values{"reason": {"They mend it."}})
	status := func() string { return must(w.db.Endpoint(t.Context(), issue.EndpointID))(t).Status }
	if status() != store.EndpointPaused {
		t.Errorf("the endpoint is %s", status())
	}
	// What an administrator paused its partner cannot resume.
	post(w.first.browser, "/partner/issues/"+issue.ID+"/resume", nil)
	if status() != store.EndpointPaused {
		t.Errorf("a partner resumed it: %s", status())
	}
	post(w.admin, here+"/resume", nil)
	if status() != store.EndpointActive {
		t.Errorf("the endpoint is %s", status())
	}
	page := shows(t, w.admin.get(here), http.StatusOK, "acknowledged it", "reopened it", "resolved it", "First failure", "Times reopened")
	if at := strings.Index(page, "acknowledged it"); at > strings.Index(page, "First failure") {
		t.Error("the history is not newest first")
	}
	log, n, err := w.db.Audits(t.Context(), store.AuditFilter{ObjectKind: "issue", ObjectID: issue.ID})
	if err != nil || n != 3 {
		t.Errorf("%d entries: %v, %v", n, log, err)
	}
}

// A person writes to the people concerned: the mail is composed in the language of the recipient, edited, queued once, and noted.
func TestIssueMail(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	_, issue := w.fails(w.first, "http-503")
	w.write(func(tx *store.Tx) error {
		p, err := tx.Partner(t.Context(), w.first.id)
		noError(t, err)
		p.ContactEmail = w.first.email
		noError(t, tx.UpdatePartner(t.Context(), &p))
		a, err := tx.AccountByEmail(t.Context(), w.first.email)
		noError(t, err)
		a.Language = "nl"
		return tx.UpdateAccount(t.Context(), &a)
	})
	here := "/admin/issues/" + issue.ID
	shows(t, w.admin.get(here+"/mail"), http.StatusOK, w.first.email, "Goedendag", "Antwoord 503", "/partner/issues/"+issue.ID, "1 aflevering")
	d := w.attempt(w.deliver(w.event(event.DataJSON, `{"student":"Noor Jansen"}`), w.first), store.DeliveryDead, "attempts-exhausted", store.Attempt{
		URL: "https://roc:very-secret@roc.example.nl/events", RequestHeaders: `{"Authorization":["Bearer very-secret"],"Idempotency-Key":["\"k-7\""]}`,
		StatusCode: 503, ResponseHeaders: `{"Retry-After":["120"],"Set-Cookie":["sid=very-secret"]}`, ResponseBody: []byte(`Noor Jansen is not known`),
	})
	w.issueOf(d, "http-503")
	lacks(t, shows(t, w.admin.get(here+"/mail"), http.StatusOK, "@roc.example.nl/events", "k-7", queueType, "Retry-After: 120", "503 Service Unavailable", "worden niet gemaild"), "very-secret", "Noor Jansen")
	shows(t, w.admin.post(here+"/mail", url.Values{"subject": {""}, "body": {"Text"}}), http.StatusUnprocessableEntity, "Give a subject")
	wantRedirect(t, w.admin.post(here+"/mail", url.Values{"subject": {"Over 503\r\nBcc: x@evil.example"}, "body": {"Beste,\r\nHet is stuk."}}), here)
	mails := w.mails(t, store.Page{Number: 1, Size: 10})
	if len(mails) != 1 || mails[0].Recipient != w.first.email || mails[0].Subject != "Over 503 Bcc: x@evil.example" || mails[0].Body != "Beste,\nHet is stuk.\n" {
		t.Fatalf("%+v", mails)
	}
	shows(t, w.admin.get(here), http.StatusOK, "mailed the contact")

	page := shows(t, w.first.browser.get("/partner/issues/"+issue.ID+"/mail"), http.StatusOK, "beheerders")
	admins, err := w.db.Accounts(t.Context(), "")
	noError(t, err)
	for _, a := range admins {
		if a.Role == store.RoleAdministrator {
			lacks(t, page, a.Email)
		}
	}
	wantRedirect(t, w.first.browser.post("/partner/issues/"+issue.ID+"/mail", url.Values{"subject": {"Help"}, "body": {"Help"}}), "/partner/issues/"+issue.ID)
}
