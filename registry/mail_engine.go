package registry

import (
	"context"
	"fmt"

	"schakel/store"
)

// EndpointFailing tells the partner and the administrators that nothing has arrived at an endpoint for a while. It is
// called in the transaction that keeps what was found.
func (m *Mails) EndpointFailing(ctx context.Context, tx *store.Tx, endpoint store.Endpoint) error {
	since := endpoint.CircuitOpenedAt.Format("2 January 2006 15:04 MST")
	return m.tellBoth(ctx, tx, endpoint.PartnerID, m.cfg.letter("Endpoint "+endpoint.Name+" does not answer", "/partner/endpoints/"+endpoint.ID,
		"Nothing has arrived at endpoint "+endpoint.Name+" since "+since+". Its events wait; one at a time is tried, and all follow by themselves when one arrives.",
		"When this goes on for days the endpoint is suspended. Nothing is lost by that."))
}

// EndpointSuspended tells the partner and the administrators that the delivery engine stopped sending to an endpoint by
// itself. It is called in the transaction of that decision.
func (m *Mails) EndpointSuspended(ctx context.Context, tx *store.Tx, endpoint store.Endpoint, _ string) error {
	return m.tellBoth(ctx, tx, endpoint.PartnerID, m.cfg.mailEndpoint(endpoint, "suspend"))
}

// SubscriptionEnded tells the partner and the administrators that the delivery engine ended a subscription by itself.
func (m *Mails) SubscriptionEnded(ctx context.Context, tx *store.Tx, subscription store.Subscription, _ string) error {
	endpoint, err := tx.Endpoint(ctx, subscription.EndpointID)
	if err != nil {
		return fmt.Errorf("find endpoint of subscription: %w", err)
	}
	return m.tellBoth(ctx, tx, subscription.PartnerID, m.cfg.mailSubscriptionDecision(subscription, endpoint, "end"))
}

// RequestQuarantined tells the administrators that a client used an Idempotency-Key again with other content, and that they
// have to decide about it. It is called in the transaction that keeps the request.
func (m *Mails) RequestQuarantined(ctx context.Context, tx *store.Tx, request store.Quarantine) error {
	partner, err := tx.Partner(ctx, request.PartnerID)
	if err != nil {
		return fmt.Errorf("find partner: %w", err)
	}
	return m.cfg.mailAdministrators(ctx, tx, m.cfg.letter("A request of "+partner.Name+" is in quarantine", "/admin/quarantine/"+request.ID,
		"A client of "+partner.Name+" used an Idempotency-Key again with other content. Its events are kept aside and are not delivered.",
		"Look at them, and at what was sent first under the key. Then release or discard them. More requests of the same client may follow; no other mail is sent while this one waits."))
}

func (m *Mails) tellBoth(ctx context.Context, tx *store.Tx, partnerID string, msg message) error {
	partner, err := tx.Partner(ctx, partnerID)
	if err != nil {
		return fmt.Errorf("find partner: %w", err)
	}
	if err := m.cfg.mail(ctx, tx, partner.ContactEmail, msg); err != nil {
		return err
	}
	return m.cfg.mailAdministrators(ctx, tx, msg)
}
