package site

import (
	"context"
	"slices"
	"time"

	"schakel/delivery/outbox"
	"schakel/store"
	"schakel/templates/i18n"
)

// deliveryWaits knows why the open deliveries of a list are not tried yet, from a query for their endpoints and one for their subscriptions.
type deliveryWaits struct {
	endpoints     map[string]store.Endpoint
	subscriptions map[string]store.Subscription
}

// waitsOf reads what the open deliveries among rows wait for; a list without any asks for nothing.
func waitsOf(ctx context.Context, db *store.DB, rows []store.Delivery) (w deliveryWaits, err error) {
	open := slices.DeleteFunc(slices.Clone(rows), func(d store.Delivery) bool { return !isOpen(d) })
	if len(open) == 0 {
		return w, nil
	}
	if w.endpoints, err = db.EndpointStates(ctx, distinct(open, func(d store.Delivery) string { return d.EndpointID })); err != nil {
		return w, err
	}
	w.subscriptions, err = db.SubscriptionStates(ctx, distinct(open, func(d store.Delivery) string { return d.SubscriptionID }))
	return w, err
}

// distinct lists the ids that rows name, each once and none of them empty.
func distinct(rows []store.Delivery, id func(store.Delivery) string) []string {
	ids := slices.Compact(slices.Sorted(slices.Values(IDsOf(rows, id))))
	return slices.DeleteFunc(ids, func(id string) bool { return id == "" })
}

func isOpen(d store.Delivery) bool {
	return d.Status == store.DeliveryPending || d.Status == store.DeliveryRetrying
}

// of explains in a few words why an open delivery is not tried yet, and when that ends if a clock sets it; "" when it only waits for
// its next attempt, or is not open.
func (w deliveryWaits) of(ctx context.Context, d store.Delivery, now time.Time) (why string, until store.Time) {
	ep, known := w.endpoints[d.EndpointID]
	switch {
	case !isOpen(d):
		return "", until
	case d.LeaseOwner != "" && ep.Kind == store.EndpointPull:
		return i18n.T(ctx, "site.waits.leased"), until
	case d.LeaseOwner != "":
		return i18n.T(ctx, "site.waits.sending"), until
	}
	reason, until := "", store.Time{}
	if known {
		reason, until = EndpointWait(ep, d, now)
	}
	stop := ""
	if sub, ok := w.subscriptions[d.SubscriptionID]; ok {
		stop = outbox.SubscriptionStop(sub)
	}
	switch {
	case reason == "endpoint-paused" || reason == "endpoint-suspended":
		return i18n.Of(ctx, "site.waits", reason), until
	case stop == store.ReasonSubscriptionPaused || stop == store.ReasonSubscriptionSuspended:
		return i18n.Of(ctx, "site.waits", stop), store.Time{}
	case stop != "":
		return i18n.T(ctx, "site.waits.not-approved"), store.Time{}
	case d.Behind:
		return i18n.T(ctx, "site.waits.behind"), store.Time{}
	case reason != "":
		return i18n.Of(ctx, "site.waits", reason), until
	case ep.Kind == store.EndpointPull && !d.DueAt.After(now):
		return i18n.T(ctx, "site.waits.pull"), until
	case ep.Circuit == store.CircuitHalfOpen:
		return i18n.T(ctx, "site.waits.probe"), until
	case !d.DueAt.After(now):
		return i18n.T(ctx, "site.waits.due"), until
	}
	return "", until
}
