package outbox

import (
	"context"
	"slices"
	"strings"

	"schakel/store"
	"schakel/templates/i18n"
)

// ErrDataErased: the data of the event was erased with its key, so it cannot be sent any more. The text may be shown.
var ErrDataErased = refusal("outbox.data-erased")

// unread ends a delivery whose event cannot be read: as a dead letter with the reason (G10). No request is made, and nothing counts against the
// endpoint.
func (e *Engine) unread(ep *store.Endpoint, c *store.Claimed) Result {
	reason, detail := c.Event.UnreadReason()
	if reason == store.ReasonDataUnreadable {
		e.cfg.Log.Error("the data of an event cannot be read", "event", c.EventID, "delivery", c.ID, "error", c.Event.Unread)
	}
	return Result{
		Status: store.DeliveryDead, Reason: reason, Detail: i18n.Message(detail), Uncounted: true,
		Attempt: store.Attempt{StartedAt: store.At(e.cfg.Now()), URL: ep.URL, ErrorKind: reason, Error: detail},
	}
}

// dataKeys names the keys of the data of all members of a batch: the answer to it may repeat any of them.
func dataKeys(members []store.Claimed) string {
	var all []string
	for i := range members {
		if keys := members[i].Event.DataKeys; keys != "" {
			all = append(all, keys)
		}
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), " ")
}

// withoutErased leaves out the events whose data was erased.
func withoutErased(ctx context.Context, tx *store.Tx, rows []store.Event) ([]store.Event, error) {
	left := make([]store.Event, 0, len(rows))
	for _, row := range rows {
		erased, err := tx.DataErased(ctx, row.DataKeys)
		if err != nil {
			return nil, err
		}
		if !erased {
			left = append(left, row)
		}
	}
	return left, nil
}
