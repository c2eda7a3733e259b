package amqp

import (
	"context"
	"slices"

	"schakel/store"
	view "schakel/templates/amqp"
	"schakel/templates/ui"
)

// onItsWay finds the delivery of a message of ours that waits to be sent again, or is being sent; nil when there is none.
func (a AMQPArea) onItsWay(ctx context.Context, m store.AMQPMessage) *store.Delivery {
	waits := []string{store.AMQPFailed, store.AMQPUnsent, store.AMQPUnanswered}
	overdue := m.Status == store.AMQPOpenMessage && !m.OverdueAt.IsZero()
	if m.Direction != store.AMQPOut || m.DeliveryID == "" || !overdue && !slices.Contains(waits, m.Status) {
		return nil
	}
	d, err := a.DB.Delivery(ctx, m.DeliveryID)
	if err != nil || d.Status != store.DeliveryPending && d.Status != store.DeliveryRetrying {
		return nil // the message itself says enough
	}
	return &d
}

// stateNow shows the state of a message: one that is sent again is on its way until that is done.
func (a AMQPArea) stateNow(ctx context.Context, m store.AMQPMessage) view.Mark {
	if a.onItsWay(ctx, m) != nil {
		return view.Mark{Kind: ui.KindInfo, Text: "On its way"}
	}
	return amqpState(m)
}

// aboutNow is [amqpAbout] for a message that may be on its way.
func (a AMQPArea) aboutNow(ctx context.Context, m store.AMQPMessage) string {
	d := a.onItsWay(ctx, m)
	switch {
	case d == nil:
		return amqpAbout(m)
	case d.Status == store.DeliveryRetrying:
		return "It is on its way: the last try did not get it on its queue, and it is tried again by itself. See its delivery."
	}
	return "It is on its way again. Its delivery tells when it is on its queue."
}

// whyNotResent explains why a message cannot be sent again while it is on its way.
func (a AMQPArea) whyNotResent(ctx context.Context, m store.AMQPMessage, why string) string {
	if why == "" && a.onItsWay(ctx, m) != nil {
		return "It is on its way."
	}
	return why
}

// resentItems lead from a message to the one that was sent in its place, and to the one whose place it took.
func (a AMQPArea) resentItems(ctx context.Context, m store.AMQPMessage) ([]ui.Item, error) {
	if m.DeliveryID == "" || m.Direction != store.AMQPOut {
		return nil, nil
	}
	rows, err := a.DB.AMQPOfDelivery(ctx, m.DeliveryID)
	if err != nil {
		return nil, err
	}
	here := slices.IndexFunc(rows, func(one store.AMQPMessage) bool { return one.ID == m.ID })
	var items []ui.Item
	if here > 0 {
		items = append(items, ui.Item{Label: "Sent again as", Content: ui.Link(rows[here-1].MessageID, a.message(rows[here-1].ID))})
	}
	if here >= 0 && here+1 < len(rows) {
		items = append(items, ui.Item{Label: "Sent in place of", Content: ui.Link(rows[here+1].MessageID, a.message(rows[here+1].ID))})
	}
	return items, nil
}
