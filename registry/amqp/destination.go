package amqp

import (
	"context"
	"slices"

	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
)

// destinationHeld tells people of a partner who changes where messages go.
const destinationHeld i18n.Message = "amqp.party.destination-held"

// HoldsDestination reports whether an actor is refused a change of where messages of a party that exists go, or of who can read them. By setting
// (sending.new_destination) an administrator makes it for the people and machines of a partner. No queue answers a challenge as a host does, so
// nothing waits for proof here.
func (a *AMQP) HoldsDestination(ctx context.Context, actor registry.Actor) (bool, error) {
	if actor.Administrator || actor.Kind == registry.ActorSystem {
		return false, nil
	}
	set, err := a.profile.InForce(ctx)
	if err != nil {
		return false, registry.Wrap("read whether a destination waits", err)
	}
	return set.NewDestination != registry.DestinationAtOnce, nil
}

// HoldsFirst reports whether an actor is refused even the first destination of an endpoint, or the first certificates of its party: the approval of a
// subscription there was one of the destination too, so none is chosen after it.
func (a *AMQP) HoldsFirst(ctx context.Context, actor registry.Actor, endpointID string) (bool, error) {
	held, err := a.HoldsDestination(ctx, actor)
	if err != nil || !held {
		return false, err
	}
	return flows(ctx, &a.cfg.DB.Queries, endpointID)
}

// flows reports whether a subscription at an endpoint was approved, and has not ended.
func flows(ctx context.Context, q *store.Queries, endpointID string) (bool, error) {
	subs, _, err := q.Subscriptions(ctx, store.SubscriptionFilter{EndpointID: endpointID, Open: true})
	return slices.ContainsFunc(subs, func(s store.Subscription) bool { return s.Status != store.SubscriptionRequested }), registry.Wrap("list subscriptions of endpoint", err)
}

// heldFields tells which fields of input would send messages of a party elsewhere.
func heldFields(in PartyInput, row store.AMQPParty) error {
	wrong, was := registry.Problems{}, InputOfParty(row).queues()
	wrong.AddIf(in.HerID != row.HerID, "herId", destinationHeld)
	wrong.AddIf(in.BrokerID != row.BrokerID, "brokerId", destinationHeld)
	for i, q := range in.queues() {
		wrong.AddIf(q.name != was[i].name, q.field, destinationHeld)
	}
	return wrong.Err()
}
