package web

import (
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"schakel/delivery/event"
	"schakel/delivery/outbox"
	"schakel/delivery/webhook"
	"schakel/registry"
	"schakel/store"
	"schakel/web/site"
)

// queueWorld is a portal with two partners and deliveries to them. The engine is
// not started, so that what is queued stays where a test can see it.
type queueWorld struct {
	*portalHarness
	t            *testing.T
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
	w := &queueWorld{portalHarness: newPortalHarness(t, change...), t: t}
	w.engine = w.cfg.Portal.Engine.(*outbox.Engine)
	w.admin = w.browser()
	w.admin.login(t, testEmail)
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
	own, err := w.db.OwnPartner(w.t.Context())
	noError(w.t, err)
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
	d, err := w.db.Delivery(w.t.Context(), id)
	noError(w.t, err)
	return d
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
		said = append(said, site.AuditSentence(row))
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
func lacks(t *testing.T, page string, texts ...string) {
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
