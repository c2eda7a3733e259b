package outbox

import (
	"context"
	"fmt"

	"schakel/store"
)

// deduper collects new deliveries of subscriptions that ask for no repeated events, so that an event that the subscription was
// handed before, by its (source, id), makes no delivery (EDU-18b). Resends and replays of all events bypass it.
//
// The known hole: a crash after an attempt and before its outcome is written has that delivery sent once more. No intermediary
// can close it; only the consumer can, by storing (source, id) in the transaction of its work (EDU-18a).
type deduper struct {
	identity map[int]store.Handed // by index of the delivery
}

// add notes the delivery at an index as one of such a subscription.
func (h *deduper) add(index int, d *store.Delivery, row *store.Event) {
	if h.identity == nil {
		h.identity = make(map[int]store.Handed)
	}
	h.identity[index] = store.Handed{SubscriptionID: d.SubscriptionID, Identity: store.EventIdentity(row.CESource, row.CEID)}
}

// dropRepeated records what is handed over now, and drops the deliveries of what was handed over before, which shows on the
// page of the event.
func (h *deduper) dropRepeated(ctx context.Context, tx *store.Tx, deliveries []fanoutDelivery) ([]fanoutDelivery, error) {
	if len(h.identity) == 0 {
		return deliveries, nil
	}
	all := make([]store.Handed, 0, len(h.identity))
	for _, identity := range h.identity {
		all = append(all, identity)
	}
	fresh, err := tx.InsertHanded(ctx, all)
	if err != nil {
		return nil, err
	}
	wanted := make([]fanoutDelivery, 0, len(deliveries))
	var out []store.LeftOut
	for i, d := range deliveries {
		identity, asked := h.identity[i]
		if asked && !fresh[identity] {
			out = append(out, store.LeftOut{EventID: d.EventID, SubscriptionID: d.SubscriptionID, PartnerID: d.PartnerID})
			continue
		}
		delete(fresh, identity) // a second one in the same group is a repeat
		wanted = append(wanted, d)
	}
	return wanted, tx.InsertLeftOut(ctx, out)
}

// linkObjects gives the objects of new events to them, in the transaction that writes the events.
func linkObjects(ctx context.Context, tx *store.Tx, p *pending, n int, row *store.Event) error {
	if len(p.Objects) == 0 || p.Objects[n] == "" {
		return nil
	}
	if err := tx.LinkObject(ctx, p.Objects[n], row.ID); err != nil {
		return fmt.Errorf("link object of event: %w", err)
	}
	return nil
}
