package outbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"schakel/delivery/event"
	"schakel/store"
)

// Errors of what people do with deliveries; the texts may be shown.
var (
	// ErrNotResendable: the delivery is on its way or discarded, or its subscription may not be sent to.
	ErrNotResendable = refusal("outbox.not-resendable")
	// ErrEventExpired: the event's expirytime has passed.
	ErrEventExpired = refusal("outbox.event-expired")
	// ErrNotDiscardable: only a held or dead delivery can be discarded.
	ErrNotDiscardable = refusal("outbox.not-discardable")
	// ErrReasonMissing: a discard needs a reason, which the audit trail records.
	ErrReasonMissing = refusal("outbox.reason-missing")
)

// Actor identifies the caller; PartnerID limits it to deliveries of that partner, and is empty for an administrator.
type Actor struct{ Kind, ID, Name, PartnerID string }

// sees reports whether the actor may know of a partner's rows (guarantee G7).
func (a Actor) sees(partnerID string) bool { return a.PartnerID == "" || a.PartnerID == partnerID }

// audit records an action of the actor, with details.
func (a Actor) audit(ctx context.Context, tx *store.Tx, entry store.Audit, members map[string]any) error {
	b, err := json.Marshal(members)
	if err != nil {
		panic("audit detail: " + err.Error())
	}
	entry.ActorKind, entry.ActorID, entry.ActorName, entry.Detail = a.Kind, a.ID, a.Name, string(b)
	return tx.InsertAudit(ctx, entry)
}

// Resend makes a held, dead or delivered delivery due at once, as the same event with the same id, and also one that waits for
// its next attempt. Another partner's delivery is store.ErrNotFound.
func (e *Engine) Resend(ctx context.Context, actor Actor, id string) error {
	e.refresh(ctx)
	err := e.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		d, err := tx.Delivery(ctx, id)
		if err != nil {
			return err
		}
		if !actor.sees(d.PartnerID) {
			return store.ErrNotFound
		}
		done, err := e.resend(ctx, tx, d)
		if err != nil {
			return err
		}
		if !done {
			return whyNot(ctx, tx, d)
		}
		return actor.auditDelivery(ctx, tx, "delivery.resent", d, "")
	})
	if err == nil {
		store.AfterCommit(ctx, e.wakeAll)
	}
	return err
}

// resend makes a delivery due at once. It reports whether it did; one whose event has expired stays as it is.
func (e *Engine) resend(ctx context.Context, tx *store.Tx, d store.Delivery) (bool, error) {
	if d.Expired(tx.Now) {
		return false, nil
	}
	if erased, err := tx.EventErased(ctx, d.EventID); err != nil || erased {
		return false, err
	}
	if d.Status == store.DeliveryRetrying {
		return tx.TryNow(ctx, d.ID)
	}
	key, expires := d.IdempotencyKey, d.KeyExpiresAt
	if fresh := resendKey(&d, tx.Now.Time); fresh != "" {
		key, expires = fresh, e.keyExpiry(tx.Now.Time)
	}
	return tx.Resend(ctx, d.ID, key, expires)
}

// resendKey returns a new Idempotency-Key for a delivery that is resent, or "" when it keeps its own. A batch shares one key; a
// member by itself is other content (IDEM-11).
func resendKey(d *store.Delivery, now time.Time) string {
	if d.BatchID != "" || needsNewKey(*d, now) {
		return uuid.NewString()
	}
	return ""
}

// needsNewKey reports whether a resend needs a new Idempotency-Key. A receiver answers a key it has completed with the answer
// it stored, also when that was a rejection (IDEM-14, E17); so after any final answer the key is spent, and so it is when its
// time is over (IDEM-13). After 5xx, 409, 429 or no answer the same key keeps the receiver from handling the event twice.
func needsNewKey(d store.Delivery, now time.Time) bool {
	switch d.LastStatus {
	case 401, 403, 408, 409, 425, 429:
		return d.KeyExpiresAt.Before(now.Add(time.Minute))
	}
	final := d.LastStatus >= 200 && d.LastStatus < 500
	return final || d.KeyExpiresAt.Before(now.Add(time.Minute))
}

// Discard takes a held or dead delivery out of its queue for good; the reason is stored.
func (e *Engine) Discard(ctx context.Context, actor Actor, id, reason string) error {
	reason = strings.TrimSpace(reason)
	if reason == "" {
		return ErrReasonMissing
	}
	return e.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		d, err := tx.Delivery(ctx, id)
		if err != nil {
			return err
		}
		if !actor.sees(d.PartnerID) {
			return store.ErrNotFound
		}
		done, err := tx.Discard(ctx, id, reason)
		if err != nil {
			return fmt.Errorf("discard delivery: %w", err)
		}
		if !done {
			return ErrNotDiscardable
		}
		return actor.auditDelivery(ctx, tx, "delivery.discarded", d, reason)
	})
}

func (a Actor) auditDelivery(ctx context.Context, tx *store.Tx, action string, d store.Delivery, reason string) error {
	return a.audit(ctx, tx, store.Audit{Action: action, ObjectKind: "delivery", ObjectID: d.ID, ObjectName: d.EventType, PartnerID: d.PartnerID},
		map[string]any{"reason": reason, "event": d.EventID, "status": d.Status})
}

// TestEventType is the type of a test event, which shows whether an endpoint works.
const TestEventType = "nl.schakel.endpoint.test.v1"

// ErrNothingSent: a consumer fetches from the endpoint. The text may be shown.
var ErrNothingSent = refusal("outbox.nothing-sent")

// TestExtension is the attribute that marks a test event of another type, true; its receiver can tell it from a real one.
const TestExtension = "schakeltest"

// SendTest queues a test event to an endpoint of an approved partner, outside any subscription, and returns its event and
// delivery ids. It is sent outside the delivery windows too. It is delivered like any other: with a token, retries and an end
// in the dead-letter queue. An endpoint of kind pull or files gets ErrNothingSent.
func (e *Engine) SendTest(ctx context.Context, actor Actor, endpointID, source string) (eventID, deliveryID string, err error) {
	return e.sendTest(ctx, actor, endpointID, func(ep store.Endpoint, now store.Time) (event.Event, error) { return testEvent(source, ep, now) })
}

// SendTestEvent is SendTest for an event that the caller made, such as one of a type that is subscribed to. It must carry
// TestExtension, and goes to this endpoint alone.
func (e *Engine) SendTestEvent(ctx context.Context, actor Actor, endpointID string, ev event.Event) (eventID, deliveryID string, err error) {
	return e.sendTest(ctx, actor, endpointID, func(store.Endpoint, store.Time) (event.Event, error) {
		if mark, _ := ev.Extension(TestExtension); mark != "true" {
			return event.Event{}, errors.New("a test event lacks the attribute " + TestExtension)
		}
		return ev, nil
	})
}

func (e *Engine) sendTest(ctx context.Context, actor Actor, endpointID string, makeEvent func(store.Endpoint, store.Time) (event.Event, error),
) (eventID, deliveryID string, err error) {
	e.refresh(ctx)
	err = e.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		ep, err := tx.Endpoint(ctx, endpointID)
		if err != nil {
			return err
		}
		if !actor.sees(ep.PartnerID) {
			return store.ErrNotFound
		}
		if ep.Kind == store.EndpointPull || ep.Kind == store.EndpointFiles {
			return ErrNothingSent
		}
		ev, err := makeEvent(ep, tx.Now)
		if err != nil {
			return err
		}
		row := Row(tx, &ev, ep.PartnerID, "")
		row.Test = true
		if _, err := tx.InsertEvents(ctx, []store.Event{row}); err != nil {
			return fmt.Errorf("insert test event: %w", err)
		}
		d := e.newDelivery(tx, row, store.FanoutTarget{EndpointID: ep.ID, PartnerID: ep.PartnerID})
		eventID, deliveryID = row.ID, d.ID
		if err := tx.InsertDeliveries(ctx, []store.Delivery{d}); err != nil {
			return fmt.Errorf("insert test delivery: %w", err)
		}
		entry := store.Audit{Action: "endpoint.tested", ObjectKind: "endpoint", ObjectID: ep.ID, ObjectName: ep.Name, PartnerID: ep.PartnerID}
		return actor.audit(ctx, tx, entry, map[string]any{"event": row.ID, "type": row.CEType})
	})
	if err == nil {
		e.wakeForTest(endpointID)
	}
	return eventID, deliveryID, err
}

func testEvent(source string, ep store.Endpoint, now store.Time) (event.Event, error) {
	body, err := json.Marshal(map[string]any{
		"specversion": "1.0", "id": uuid.NewString(), "source": source, "type": TestEventType, "time": now.Format("2006-01-02T15:04:05.000Z"),
		"datacontenttype": "application/json", "subject": ep.ID,
		"data": map[string]string{"message": "This is a test of the endpoint " + ep.Name + ". Answer 202 and forget it."},
	})
	if err != nil {
		return event.Event{}, fmt.Errorf("make test event: %w", err)
	}
	return event.ParseJSON(body, event.Limits{})
}
