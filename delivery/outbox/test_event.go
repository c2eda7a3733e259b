package outbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"schakel/delivery/event"
	"schakel/store"
)

// TestEventType is the type of a test event, which shows whether an endpoint works.
const TestEventType = "nl.schakel.endpoint.test.v1"

// ErrNothingSent: a consumer fetches from the endpoint. The text may be shown.
var ErrNothingSent = errors.New("nothing is sent to an endpoint of kind pull, so there is nothing to test; receive from it as its page shows")

// SendTest queues a test event to an endpoint of an approved partner, outside any subscription, and returns its event and
// delivery ids. It is sent outside the delivery windows too. It is delivered like any other: with a token, retries and an end
// in the dead-letter queue. An endpoint of kind pull or files gets ErrNothingSent.
func (e *Engine) SendTest(ctx context.Context, actor Actor, endpointID, source string) (eventID, deliveryID string, err error) {
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
		ev, err := testEvent(source, ep, tx.Now)
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
		return actor.audit(ctx, tx, entry, map[string]any{"event": row.ID})
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
