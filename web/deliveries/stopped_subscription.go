package deliveries

import (
	"context"
	"errors"
	"slices"

	"schakel/delivery/outbox"
	"schakel/store"
	"schakel/templates/i18n"
	"schakel/web/site"
)

// stoppedSubscription is a subscription that may not be sent to, with the reason as the API names it: its deliveries cannot be resent.
type stoppedSubscription struct {
	SubscriptionID string `json:"subscriptionId"`
	Reason         string `json:"reason"`
	row            store.Subscription
}

// stoppedSubscriptions finds those that may not be sent to among subscriptions.
func stoppedSubscriptions(ctx context.Context, db *store.DB, ids []string) (stopped []stoppedSubscription, err error) {
	for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) {
		if id == "" {
			continue // a test of an endpoint
		}
		sub, err := db.Subscription(ctx, id)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if reason := outbox.SubscriptionStop(sub); reason != "" {
			stopped = append(stopped, stoppedSubscription{id, reason, sub})
		}
	}
	return stopped, nil
}

// warning announces that deliveries of the subscription cannot be resent, and when they can.
func (s stoppedSubscription) warning(ctx context.Context) string {
	name := site.SubscriptionLabel(ctx, s.row)
	switch s.Reason {
	case store.ReasonSubscriptionPaused:
		return i18n.T(ctx, "deliveries.stopped.subscription-paused", name)
	case store.ReasonSubscriptionSuspended:
		return i18n.T(ctx, "deliveries.stopped.subscription-suspended", name)
	}
	return i18n.T(ctx, "deliveries.stopped.subscription-ended", name)
}

// subscriptionWarnings are the warnings about subscriptions that may not be sent to.
func (p *Pages) subscriptionWarnings(ctx context.Context, ids []string) ([]string, error) {
	stopped, err := stoppedSubscriptions(ctx, p.DB, ids)
	var texts []string
	for _, s := range stopped {
		texts = append(texts, s.warning(ctx))
	}
	return texts, err
}

// subscriptionsOf are the subscriptions of what a job would do.
func subscriptionsOf(p outbox.Preview) (ids []string) {
	for _, g := range p.Groups {
		ids = append(ids, g.SubscriptionID)
	}
	return ids
}

// leftOut counts the deliveries that a resend leaves out: of subscriptions that may not be sent to, and messages that may not go again.
func (p *Pages) leftOut(ctx context.Context, counted outbox.Preview) (int, error) {
	stopped, err := stoppedSubscriptions(ctx, p.DB, subscriptionsOf(counted))
	n := 0
	for _, g := range counted.Groups {
		if slices.ContainsFunc(stopped, func(s stoppedSubscription) bool { return s.SubscriptionID == g.SubscriptionID }) {
			n += g.Count
		} else {
			n += g.SentForGood
		}
	}
	return n, err
}

// targetWarnings are the warnings about endpoints and subscriptions of what a job would do.
func (p *Pages) targetWarnings(ctx context.Context, counted outbox.Preview) ([]string, error) {
	texts, err := p.stoppedWarnings(ctx, endpointsOf(counted))
	if err != nil {
		return nil, err
	}
	more, err := p.subscriptionWarnings(ctx, subscriptionsOf(counted))
	if counted.SentForGood > 0 {
		more = append(more, i18n.T(ctx, "deliveries.stopped.sent-for-good", counted.SentForGood))
	}
	return append(texts, more...), err
}

// stopText explains why nothing is sent to the subscription of a delivery, or to the partner of a test.
func (at DeliveryContext) stopText(ctx context.Context) string {
	if at.Subscription.ID != "" {
		switch outbox.SubscriptionStop(at.Subscription) {
		case store.ReasonSubscriptionPaused:
			return i18n.T(ctx, "deliveries.wait.subscription-paused")
		case store.ReasonSubscriptionSuspended:
			return i18n.T(ctx, "deliveries.wait.subscription-suspended")
		}
	}
	return i18n.T(ctx, "deliveries.wait.not-approved")
}

// sentForGood finds why a delivery cannot be resent although all of its counterparts are in use: the same message may not go again.
func (p *Pages) sentForGood(ctx context.Context, d store.Delivery, ep store.Endpoint) (i18n.Message, error) {
	if ep.Kind != store.EndpointAMQP {
		return "", nil
	}
	found, err := p.DB.SentForGood(ctx, []string{d.ID})
	if err != nil || len(found) == 0 {
		return "", err
	}
	return outbox.RefusalOf(outbox.RefusedSent), nil
}
