package site

import (
	"context"

	"schakel/store"
)

// DatabaseNavigation reads what the frame of a page shows. A count that cannot be read is shown as none: the page
// itself tells of the failure.
type DatabaseNavigation struct{ DB *store.DB }

// Waiting implements NavigationSource.
func (n DatabaseNavigation) Waiting(ctx context.Context, partnerID string) Waiting {
	w := Waiting{DeadLetters: n.deliveries(ctx, store.DeliveryFilter{PartnerID: partnerID, Statuses: []string{store.DeliveryDead}})}
	held := store.DeliveryFilter{PartnerID: partnerID, Statuses: []string{store.DeliveryHeld}}
	if partnerID != "" {
		w.Held = n.deliveries(ctx, held)
		return w
	}
	held.Reasons = ErrorQueueReasons()
	w.Errors = n.deliveries(ctx, held)
	if kept, err := n.DB.CountQuarantined(ctx); err == nil {
		w.Quarantined = kept
	}
	if asked, err := n.DB.CountVersionsRequested(ctx); err == nil {
		w.Publications = asked
	}
	if alarmed, err := n.DB.CountMirrorsAlarmed(ctx); err == nil {
		w.Mirrors = alarmed
	}
	if kept, err := n.DB.CountAMQPMessages(ctx, store.AMQPFilter{Attention: true}); err == nil {
		w.AMQP = kept
	}
	if partners, err := n.DB.CountPartners(ctx); err == nil {
		w.Registrations = partners[store.PartnerRequested]
	}
	if subscriptions, err := n.DB.CountSubscriptions(ctx); err == nil {
		w.Subscriptions = subscriptions[store.SubscriptionRequested]
	}
	if clients, err := n.DB.ClientsWaiting(ctx); err == nil {
		w.Clients = len(clients)
	}
	return w
}

// deliveries counts for every page, so it stops at what a page has room for.
func (n DatabaseNavigation) deliveries(ctx context.Context, f store.DeliveryFilter) int {
	count, err := n.DB.CountListed(ctx, f)
	if err != nil {
		return 0
	}
	return count
}

// PartnerName implements NavigationSource.
func (n DatabaseNavigation) PartnerName(ctx context.Context, partnerID string) string {
	p, err := n.DB.Partner(ctx, partnerID)
	if err != nil {
		return ""
	}
	return p.Name
}
