package web

import (
	"go/ast"
	"go/parser"
	"go/token"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"schakel/delivery/amqp"
	"schakel/delivery/event"
	"schakel/delivery/outbound"
	"schakel/delivery/outbox"
	"schakel/delivery/webhook"
	"schakel/registry"
	"schakel/store"
	"schakel/store/storetest"
	webdeliveries "schakel/web/deliveries"
	"schakel/web/site"
)

func TestDeliveryPageShowsTheWholeStory(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	d := w.rejected(w.first)
	page := shows(t, w.admin.get("/admin/deliveries/"+d.ID), http.StatusOK,
		"In error queue: Rejected by the receiver", "have the receiver mended", "Attempt 1: answered 400 Bad Request", "It took 1 ms.",
		"POST https://roc.example.nl/events", "Content-Type: application/cloudevents+json", "Server: <nginx>", "<script>alert(1)</script>",
		"Partner of first@example.nl", "Hook of first@example.nl", "Enrolments", `"student": "42"`, "<b>bold</b>", d.IdempotencyKey, "Discard this delivery", "Resend")
	lacks(t, page, "very-secret", "<script>alert", "<nginx>", "<b>bold")
	wantWords(t, page, "Authorization: [redacted]", "Set-Cookie: [redacted]")
}

func TestDeliveryPageSaysHowItIs(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	none := store.Attempt{ErrorKind: outbound.KindTimeout, Error: "roc.example.nl: timeout", DurationUS: 30_000_000}
	retrying := w.attempt(w.deliver(w.event(event.DataNone, ""), w.first), store.DeliveryRetrying, webhook.ReasonUnreachable, none)
	shows(t, w.admin.get("/admin/deliveries/"+retrying.ID), http.StatusOK, "Retrying: No answer from the receiver", "Resend", "Next attempt:", "in 1 min 30 s",
		"No answer in time", "Nothing came back.", "The event has no data.")
	done := w.attempt(w.deliver(w.event(event.DataText, "hello"), w.other), store.DeliveryDelivered, "", store.Attempt{StatusCode: 202})
	page := shows(t, w.admin.get("/admin/deliveries/"+done.ID), http.StatusOK, "Delivered", "it answered 202", "Resend", "hello")
	lacks(t, page, "Discard this delivery")
	pending := w.deliver(w.event(event.DataNone, ""), w.other)
	shows(t, w.admin.get("/admin/deliveries/"+pending.ID), http.StatusOK, "Pending", "No attempt was made yet.", "Next attempt:")
	w.subscriptionIs(w.other, store.SubscriptionPaused)
	lacks(t, shows(t, w.admin.get("/admin/deliveries/"+pending.ID), http.StatusOK, "The subscription is paused. It follows when the subscription is resumed."), "Next attempt:")
	w.subscriptionIs(w.other, store.SubscriptionEnded)
	lacks(t, shows(t, w.admin.get("/admin/deliveries/"+pending.ID), http.StatusOK, "nothing is sent to it"), "Next attempt:")
}

func TestDeliveryPageShowsItsKin(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	e := w.event(event.DataJSON, `[]`)
	mine, theirs := w.deliver(e, w.first), w.deliver(e, w.other)
	shows(t, w.admin.get("/admin/deliveries/"+mine.ID), http.StatusOK, "Other deliveries of this event", "Hook of other@example.nl")
	page := shows(t, w.first.browser.get("/partner/deliveries/"+mine.ID), http.StatusOK, "Hook of first@example.nl")
	lacks(t, page, theirs.ID, "other@example.nl", "Other deliveries", "Discard", "Chain Office", "cli_test", "/admin/")
}

// Rules: EDU-N11.
func TestOneDeliveryIsResentAndDiscarded(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	d := w.rejected(w.first)
	here := "/admin/deliveries/" + d.ID
	wantRedirect(t, w.admin.post(here+"/resend", url.Values{"back": {"/admin/errors?show=held"}}), "/admin/errors?show=held")
	w.wantState(d.ID, store.DeliveryPending)
	wantRedirect(t, w.admin.post(here+"/resend", url.Values{"back": {"https://evil.example"}}), here)
	shows(t, w.admin.get(here), http.StatusOK, "This delivery cannot be resent", "Ada Admin resent a delivery")
	wantRedirect(t, w.admin.post(here+"/discard", url.Values{"reason": {"x"}}), here)
	shows(t, w.admin.get(here), http.StatusOK, "Only a delivery in the error queue or the dead-letter queue can be discarded.")

	d = w.dead(w.other)
	here = "/admin/deliveries/" + d.ID
	shows(t, w.admin.post(here+"/discard", url.Values{"reason": {" "}}), http.StatusUnprocessableEntity, "There is a problem", "Say why")
	wantRedirect(t, w.admin.post(here+"/discard", url.Values{"reason": {"A test."}}), here)
	shows(t, w.admin.get(here), http.StatusOK, "The delivery is discarded.", "Discarded: it is not sent any more", "Reason: A test.")
}

func TestWaitingDeliveryIsTriedNow(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	d := w.failed(w.first, store.DeliveryRetrying, webhook.ReasonServerError)
	wantRedirect(t, w.first.browser.post("/partner/deliveries/"+d.ID+"/resend", url.Values{"back": {"/partner/deliveries"}}), "/partner/deliveries")
	if due := w.delivery(d.ID).DueAt; due.After(w.clock.Now()) {
		t.Errorf("the next try is due at %v", due)
	}
}

// Rules: EDU-07.
func TestPartnerReadsNoEventThatWasHeldBack(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	got := w.attempt(w.deliver(w.event(event.DataJSON, `"arrived"`), w.first), store.DeliveryDelivered, "", store.Attempt{StatusCode: 200})
	held := w.deliver(w.event(event.DataJSON, `"withheld"`), w.first)
	path := "/partner/deliveries/"
	shows(t, w.first.browser.get(path+held.ID), http.StatusOK, `"withheld"`)
	w.subscriptionIs(w.first, store.SubscriptionSuspended)
	lacks(t, shows(t, w.first.browser.get(path+held.ID), http.StatusOK, "The event has not arrived"), "withheld", "urn:x:records", held.ID+"/data")
	wantStatus(t, w.first.browser.get(path+held.ID+"/data"), http.StatusNotFound)
	shows(t, w.first.browser.get(path+got.ID), http.StatusOK, `"arrived"`)
	if body := text(w.first.browser.get(path + got.ID + "/data")); body != `"arrived"` {
		t.Errorf("downloaded %q", body)
	}
}

// A business message to another party was held at each health party once.
//
// Rules: AMQP-109, EDU-07.
func TestPartnerReadsNoMessageToOthers(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	held := w.attempt(w.deliver(w.event(event.DataJSON, `"to others"`), w.first), store.DeliveryHeld, amqp.ReasonParty, store.Attempt{Error: "to somebody else"})
	path := "/partner/deliveries/" + held.ID
	lacks(t, shows(t, w.first.browser.get(path), http.StatusOK, "from or to another party"), "to others", held.ID+"/data")
	wantStatus(t, w.first.browser.get(path+"/data"), http.StatusNotFound)
	wantStatus(t, w.first.browser.get(path+"/object"), http.StatusNotFound)
	shows(t, w.admin.get("/admin/deliveries/"+held.ID), http.StatusOK, "to others")
}

func TestWhoMaySeeWhatMoves(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	d := w.dead(w.first)
	for _, path := range []string{
		"/admin/errors", "/admin/dead-letters", "/admin/deliveries", "/admin/deliveries/" + d.ID, "/admin/dead-letters/all", "/admin/errors/all",
		"/admin/deliveries/all", "/admin/jobs", "/admin/jobs/x", "/admin/events", "/admin/events/" + d.EventID, "/admin/events/" + d.EventID + "/data", "/admin/audit",
	} {
		wantStatus(t, w.first.browser.get(path), http.StatusForbidden)
		wantRedirect(t, w.browser().get(path), "/login?next="+url.QueryEscape(path))
	}
	for _, path := range []string{
		"/admin/errors", "/admin/errors/all", "/admin/deliveries/" + d.ID + "/resend", "/admin/deliveries/" + d.ID + "/discard", "/admin/jobs/x/cancel",
	} {
		wantStatus(t, w.first.browser.post(path, url.Values{"id": {d.ID}, "action": {"resend"}, "reason": {"x"}}), http.StatusForbidden)
		wantRedirect(t, w.browser().post(path, url.Values{"id": {d.ID}, "action": {"resend"}}), site.LoginEnded)
	}
	for _, path := range []string{"/partner/deliveries/" + d.ID, "/partner/deliveries/" + d.ID + "/data", "/partner/deliveries/dlv_x", "/partner/jobs/x"} {
		wantStatus(t, w.other.browser.get(path), http.StatusNotFound)
		wantStatus(t, w.admin.get(path), http.StatusForbidden)
		wantRedirect(t, w.browser().get(path), "/login?next="+url.QueryEscape(path))
	}
	wantStatus(t, w.other.browser.post("/partner/deliveries/"+d.ID+"/resend", url.Values{"back": {"/"}}), http.StatusNotFound)
	wantStatus(t, w.other.browser.post("/partner/deliveries/"+d.ID+"/discard", url.Values{"reason": {"x"}}), http.StatusNotFound)
	wantStatus(t, w.admin.get("/admin/deliveries/dlv_x"), http.StatusNotFound)
	wantStatus(t, w.admin.get("/admin/events/evt_x"), http.StatusNotFound)
	w.wantState(d.ID, store.DeliveryDead)
}

func TestManyAttemptsAreCut(t *testing.T) {
	t.Parallel()
	attempts := make([]store.Attempt, webdeliveries.MaxShownAttempts+3)
	for i := range attempts {
		attempts[i] = store.Attempt{Number: int64(i + 1), StartedAt: store.At(time.Unix(int64(i), 0)), StatusCode: 500}
	}
	attempts[len(attempts)-1].Number-- // as after a crash
	views, earlier := webdeliveries.AttemptViews(t.Context(), attempts, site.AdministratorArea())
	if len(views) != webdeliveries.MaxShownAttempts || earlier != 3 || views[0].At.Unix() != int64(len(attempts)-1) {
		t.Fatalf("%d attempts, %d earlier, the first at %v", len(views), earlier, views[0].At)
	}
	seen := map[int]bool{}
	for _, v := range views {
		if seen[v.Number] {
			t.Errorf("two attempts share the place %d", v.Number)
		}
		seen[v.Number] = true
	}
	if views, earlier := webdeliveries.AttemptViews(t.Context(), nil, site.AdministratorArea()); len(views) != 0 || earlier != 0 {
		t.Error("no attempts are some")
	}
}

func TestAddressesAndHeadersAreShownSafely(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"https://x.nl/a?b=c": "https://x.nl/a?b=c", "https://u:hush@x.nl/": "https://u:xxxxx@x.nl/", "::": "::",
	} {
		if got := webdeliveries.SafeURL(raw); got != want {
			t.Errorf("%s is shown as %s", raw, got)
		}
	}
	for stored, want := range map[string]string{
		"": "", "[]": "(the headers as stored cannot be read)",
		`{"B":["2","3"],"A":["1"],"cookie":["hush"]}`: "A: 1\nB: 2\nB: 3\ncookie: [redacted]\n",
	} {
		if got := webdeliveries.HeaderLines(t.Context(), stored); got != want {
			t.Errorf("%s is shown as %q", stored, got)
		}
	}
}

// constants reads the string constants of a file whose names start with prefix.
func constants(t *testing.T, file, prefix string) map[string]string {
	t.Helper()
	parsed := must(parser.ParseFile(token.NewFileSet(), file, nil, 0))(t)
	found := map[string]string{}
	ast.Inspect(parsed, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != len(spec.Names) {
			return true
		}
		for i, name := range spec.Names {
			literal, ok := spec.Values[i].(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING || !strings.HasPrefix(name.Name, prefix) {
				continue
			}
			found[name.Name] = must(strconv.Unquote(literal.Value))(t)
		}
		return true
	})
	if len(found) == 0 {
		t.Fatalf("%s has no constants %s…", file, prefix)
	}
	return found
}

func TestEveryReasonHasWords(t *testing.T) {
	t.Parallel()
	words := map[string]site.ReasonWords{}
	for _, list := range []map[string]site.ReasonWords{site.HeldWords(), site.AnswerWords(), site.FailureWords()} {
		for code, w := range list {
			if _, twice := words[code]; twice {
				t.Errorf("%s has words twice", code)
			}
			words[code] = w
		}
	}
	for _, file := range []string{"../delivery/webhook/verdict.go", "../store/delivery.go"} {
		for name, code := range constants(t, file, "Reason") {
			if w := words[code]; w.Label == "" || w.Remedy == "" || w != site.ReasonOf(code) {
				t.Errorf("%s: %s has no words", file, name)
			}
		}
	}
}

func TestEveryKindOfFailureHasWords(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"../delivery/outbound/errors.go", "../delivery/webhook/webhook.go"} {
		for name, kind := range constants(t, file, "Kind") {
			if words := site.FailureKind(t.Context(), kind); words == site.Capital(strings.ReplaceAll(kind, "-", " ")) && kind != "token" {
				t.Errorf("%s: %s has no words", file, name)
			}
		}
	}
}

func TestUnknownReasonIsToldAsNamed(t *testing.T) {
	t.Parallel()
	w := site.ReasonOf("broker-refused")
	if w.Label.String() != "Broker refused" || w.Remedy == "" || site.ReasonOf("").Label.String() != "" {
		t.Errorf("got %+v", w)
	}
}

// queueWorld is a portal with two partners and deliveries to them. The engine is
// not started, so that what is queued stays where a test can see it.
type queueWorld struct {
	*portalHarness
	t            testing.TB
	engine       *outbox.Engine
	first, other queueParty
	admin        *browser
}

// queueParty is a partner with an endpoint, a subscription and a browser.
type queueParty struct {
	id, email, endpoint, subscription string
	browser                           *browser
}

const queueType = "nl.example.student.enrolled"

func newQueueWorld(t *testing.T, change ...func(*site.PortalConfig)) *queueWorld {
	t.Helper()
	return newQueueWorldOn(t, storetest.SQLite, change...)
}

func newQueueWorldOn(t testing.TB, open storetest.Open, change ...func(*site.PortalConfig)) *queueWorld {
	t.Helper()
	w := &queueWorld{portalHarness: newPortalHarnessOn(t, open, change...), t: t}
	w.engine = w.cfg.Portal.Engine.(*outbox.Engine)
	w.admin = w.browser().login(t, testEmail)
	w.first, w.other = w.party("first@example.nl"), w.party("other@example.nl")
	return w
}

func (w *queueWorld) write(fn func(tx *store.Tx) error) {
	w.t.Helper()
	noError(w.t, w.db.Write(w.t.Context(), fn))
}

func (w *queueWorld) party(email string) queueParty {
	w.t.Helper()
	account := w.partner(w.t, email)
	p := queueParty{id: account.PartnerID, email: email, browser: w.browser()}
	p.browser.login(w.t, email)
	w.write(func(tx *store.Tx) error {
		ep := store.Endpoint{
			PartnerID: p.id, Name: "Hook of " + email, Kind: store.EndpointWebhook, Status: store.EndpointActive,
			URL: "https://roc.example.nl/events", MaxConcurrency: 4, TimeoutMS: 1000,
		}
		if err := tx.InsertEndpoint(w.t.Context(), &ep); err != nil {
			return err
		}
		sub := store.Subscription{PartnerID: p.id, EndpointID: ep.ID, Name: "Enrolments", Status: store.SubscriptionApproved, Types: []string{queueType}}
		err := tx.InsertSubscription(w.t.Context(), &sub)
		p.endpoint, p.subscription = ep.ID, sub.ID
		return err
	})
	return p
}

// event stores an event of the own organisation with these data.
func (w *queueWorld) event(kind event.DataKind, data string) store.Event {
	w.t.Helper()
	own := must(w.db.OwnPartner(w.t.Context()))(w.t)
	e := store.Event{
		PartnerID: own.ID, ClientID: "cli_test", CEID: "ce-" + uuid.NewString(), CESource: "urn:x:records", CEType: queueType,
		DataKind: int64(kind), Data: []byte(data),
	}
	e.Attributes = []byte(`{"specversion":"1.0","id":"` + e.CEID + `","source":"urn:x:records","type":"` + queueType + `","subject":"<b>bold</b>"}`)
	w.write(func(tx *store.Tx) error {
		e.ID, e.AcceptedAt = tx.NewID("evt"), tx.Now
		_, err := tx.InsertEvents(w.t.Context(), []store.Event{e})
		return err
	})
	return e
}

// deliver makes a delivery of an event to a partner that is waiting to be sent.
func (w *queueWorld) deliver(e store.Event, p queueParty) store.Delivery {
	w.t.Helper()
	return w.deliverUntil(e, p, store.Time{})
}

// deliverUntil is deliver for an event that expires.
func (w *queueWorld) deliverUntil(e store.Event, p queueParty, expires store.Time) store.Delivery {
	w.t.Helper()
	var d store.Delivery
	w.write(func(tx *store.Tx) error {
		d = store.Delivery{
			ID: tx.NewID("dlv"), EventID: e.ID, SubscriptionID: p.subscription, EndpointID: p.endpoint, PartnerID: p.id, EventType: e.CEType,
			Status: store.DeliveryPending, IdempotencyKey: uuid.NewString(), KeyExpiresAt: store.At(tx.Now.Add(time.Hour)), DueAt: tx.Now, ExpiresAt: expires,
		}
		return tx.InsertDeliveries(w.t.Context(), []store.Delivery{d})
	})
	return d
}

// attempt tries the delivery with this outcome; others of the endpoint must not be due.
func (w *queueWorld) attempt(d store.Delivery, status, reason string, a store.Attempt) store.Delivery {
	w.t.Helper()
	ctx := w.t.Context()
	w.write(func(tx *store.Tx) error {
		claimed, err := tx.Claim(ctx, d.EndpointID, "node", 10, store.At(tx.Now.Add(time.Minute)))
		if err != nil {
			return err
		}
		for _, c := range claimed {
			if c.ID == d.ID {
				a.DeliveryID, a.Number, a.StartedAt = c.ID, c.Attempts+1, tx.Now
				due := store.Time{}
				if status == store.DeliveryRetrying {
					due = store.At(tx.Now.Add(90500 * time.Millisecond))
				}
				return tx.Complete(ctx, []store.Outcome{{Attempt: a, Lease: store.LeaseOf(&c.Delivery), Delivery: store.Delivery{
					ID: c.ID, EndpointID: c.EndpointID, Status: status, Reason: reason, DueAt: due, LastStatus: a.StatusCode,
				}}})
			}
		}
		w.t.Fatal("the delivery was not due")
		return nil
	})
	return w.delivery(d.ID)
}

// failed makes a delivery to a partner that ended with an answer of 400.
func (w *queueWorld) failed(p queueParty, status, reason string) store.Delivery {
	w.t.Helper()
	return w.attempt(w.deliver(w.event(event.DataJSON, `{"student":"42"}`), p), status, reason, store.Attempt{
		URL: "https://roc.example.nl/events", RequestHeaders: `{"Authorization":["Bearer very-secret"],"Content-Type":["application/cloudevents+json"]}`,
		StatusCode: 400, ResponseHeaders: `{"Set-Cookie":["sid=very-secret"],"Server":["<nginx>"]}`, ResponseBody: []byte(`<script>alert(1)</script>`),
		DurationUS: 1500,
	})
}

func (w *queueWorld) rejected(p queueParty) store.Delivery {
	w.t.Helper()
	return w.failed(p, store.DeliveryHeld, webhook.ReasonRejected)
}

func (w *queueWorld) dead(p queueParty) store.Delivery {
	w.t.Helper()
	return w.failed(p, store.DeliveryDead, webhook.ReasonAttempts)
}

func (w *queueWorld) delivery(id string) store.Delivery {
	w.t.Helper()
	return must(w.db.Delivery(w.t.Context(), id))(w.t)
}

// subscriptionIs changes the state of a partner's subscription.
func (w *queueWorld) subscriptionIs(p queueParty, status string) {
	w.t.Helper()
	w.write(func(tx *store.Tx) error {
		sub, err := tx.Subscription(w.t.Context(), p.subscription)
		if err != nil {
			return err
		}
		sub.Status = status
		return tx.UpdateSubscription(w.t.Context(), &sub)
	})
}

// wantState fails unless the delivery is in this state now.
func (w *queueWorld) wantState(id, status string) {
	w.t.Helper()
	if got := w.delivery(id).Status; got != status {
		w.t.Errorf("the delivery is %s, want %s", got, status)
	}
}

// audited are the sentences about an object, newest first.
func (w *queueWorld) audited(kind, id string) []string {
	w.t.Helper()
	rows, _, err := w.reg.Audit.List(w.t.Context(), registry.SystemActor().Scope(), store.AuditFilter{ObjectKind: kind, ObjectID: id})
	noError(w.t, err)
	var said []string
	for _, row := range rows {
		said = append(said, site.AuditSentence(w.t.Context(), row))
	}
	return said
}

// shows gets a page and wants these words in it, as a reader sees them.
func shows(t *testing.T, answer *http.Response, status int, words ...string) string {
	t.Helper()
	if answer.StatusCode != status {
		t.Fatalf("status %d, want %d: %s", answer.StatusCode, status, text(answer))
	}
	page := text(answer)
	plain := readerText(page)
	for _, word := range words {
		if !strings.Contains(plain, word) {
			t.Errorf("the page does not say %q", word)
		}
	}
	return page
}

// lacks fails when a page holds one of these texts.
func lacks(t testing.TB, page string, texts ...string) {
	t.Helper()
	for _, s := range texts {
		if strings.Contains(page, s) {
			t.Errorf("the page holds %q", s)
		}
	}
}

// readerText is the text of a page without its tags.
func readerText(page string) string {
	plain := html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(page, " "))
	return strings.Join(strings.Fields(plain), " ")
}

// rows counts the deliveries that a list shows.
func rows(page string) int { return strings.Count(page, `class="utrecht-table__row" role="row"`) - 1 }
