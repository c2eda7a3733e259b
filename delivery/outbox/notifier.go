package outbox

import (
	"context"

	"schakel/store"
)

// Notifier notifies people of decisions of the engine, inside the transaction of the decision.
type Notifier interface {
	// EndpointFailing: nothing has arrived at the endpoint since its circuit opened. cause is the detail of the last attempt.
	EndpointFailing(ctx context.Context, tx *store.Tx, endpoint store.Endpoint, cause string) error
	EndpointSuspended(ctx context.Context, tx *store.Tx, endpoint store.Endpoint, reason string) error
	SubscriptionEnded(ctx context.Context, tx *store.Tx, subscription store.Subscription, reason string) error
	// RequestQuarantined: a client used an Idempotency-Key again with other content, and none of its requests waited yet.
	RequestQuarantined(ctx context.Context, tx *store.Tx, request store.Quarantine) error
	// DeliveriesStuck: deliveries to these endpoints became held or dead since the last time. It reports, by index, of which
	// of them it notified people.
	DeliveriesStuck(ctx context.Context, tx *store.Tx, notices []store.DeliveryNotice) (notified []bool, err error)
	// IssuesOpened: these issues were opened or reopened some minutes ago, and are so still.
	IssuesOpened(ctx context.Context, tx *store.Tx, issues []store.Issue) error
}

// nopNotifier does nothing by design.
type nopNotifier struct{}

func (nopNotifier) EndpointFailing(context.Context, *store.Tx, store.Endpoint, string) error {
	return nil
}

func (nopNotifier) EndpointSuspended(context.Context, *store.Tx, store.Endpoint, string) error {
	return nil
}

func (nopNotifier) SubscriptionEnded(context.Context, *store.Tx, store.Subscription, string) error {
	return nil
}

func (nopNotifier) RequestQuarantined(context.Context, *store.Tx, store.Quarantine) error { return nil }

func (nopNotifier) IssuesOpened(context.Context, *store.Tx, []store.Issue) error { return nil }

func (nopNotifier) DeliveriesStuck(_ context.Context, _ *store.Tx, notices []store.DeliveryNotice) ([]bool, error) {
	return make([]bool, len(notices)), nil
}
