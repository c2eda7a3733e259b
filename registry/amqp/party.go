package amqp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"schakel/registry"
	"schakel/store"
)

// CreateOwnParty adds a party of the own organisation, whose queues we read. Fields: brokerId, kind, name, herId,
// parentHerId, asyncQueue, syncQueue, replyQueue, errorQueue, deadQueue, answerWait, apprecVersion.
func (a *AMQP) CreateOwnParty(ctx context.Context, actor registry.Actor, in PartyInput) (store.AMQPParty, error) {
	if err := actor.RequireAdministrator(); err != nil {
		return store.AMQPParty{}, err
	}
	row := store.AMQPParty{Own: true, Source: store.AMQPEntered, CreatedBy: actor.Name}
	err := a.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		own, err := tx.OwnPartner(ctx)
		if err != nil {
			return registry.Found("own organisation", err)
		}
		row.PartnerID = own.ID
		return a.addParty(ctx, tx, actor, in, &row)
	})
	return row, err
}

// CreateCounterpart adds the party that an endpoint of kind amqp delivers to. The people of its partner may do so too.
// Fields: as CreateOwnParty, and inboundQueue, clientId, contentMode.
func (a *AMQP) CreateCounterpart(ctx context.Context, actor registry.Actor, endpointID string, in PartyInput) (store.AMQPParty, error) {
	row := store.AMQPParty{EndpointID: endpointID, Source: store.AMQPEntered, CreatedBy: actor.Name}
	held, err := a.HoldsDestination(ctx, actor)
	if err != nil {
		return row, err
	}
	create := func(ctx context.Context) (err error) {
		row, err = a.createCounterpart(ctx, actor, row, in, held)
		return err
	}
	// The approval of a subscription there was one of the destination too: until then another can be chosen.
	approved, err := flows(ctx, &a.cfg.DB.Queries, endpointID)
	if err != nil || !approved {
		return row, cmp.Or(err, create(ctx))
	}
	endpoint, err := a.cfg.DB.Endpoint(ctx, endpointID)
	if err != nil {
		return row, registry.Found("endpoint", err)
	}
	b, _ := a.cfg.DB.AMQPBroker(ctx, in.BrokerID) // checkParty refuses one that is not there
	before := store.AMQPParty{PartnerID: endpoint.PartnerID, EndpointID: endpoint.ID, Kind: in.Kind}
	after := before
	in.clean(false, b.Dialect).fill(&after)
	object := registry.ObjectOf("endpoint", endpoint.ID, endpoint.Name, endpoint.PartnerID)
	err = a.hold(ctx, actor, object, partyAsk{Change: asksCounterpart, Input: in}, "endpoint", before, after, nil, create)
	return row, err
}

func (a *AMQP) createCounterpart(ctx context.Context, actor registry.Actor, row store.AMQPParty, in PartyInput, held bool) (store.AMQPParty, error) {
	err := a.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		endpoint, err := registry.Locked(ctx, tx, "endpoint", "endpoint", row.EndpointID, tx.Endpoint)
		if err != nil {
			return err
		}
		if err := registry.AllowChange(ctx, tx, actor, "endpoint", endpoint.PartnerID); err != nil {
			return err
		}
		if endpoint.Kind != store.EndpointAMQP || endpoint.Status == store.EndpointEnded {
			return registry.Conflict("amqp.party.endpoint-bad")
		}
		if held {
			if approved, err := flows(ctx, &tx.Queries, endpoint.ID); err != nil || approved {
				return cmp.Or(err, registry.Conflict(string(destinationHeld)))
			}
		}
		if in.Kind == store.AMQPHealth {
			if err := checkUnencrypted(ctx, tx, endpoint); err != nil {
				return err
			}
		}
		row.PartnerID = endpoint.PartnerID
		return a.addParty(ctx, tx, actor, in, &row)
	})
	return row, err
}

// checkUnencrypted refuses a health party where a subscription encrypts data: nothing of that could be sent to it.
func checkUnencrypted(ctx context.Context, tx *store.Tx, endpoint store.Endpoint) error {
	subs, _, err := tx.Subscriptions(ctx, store.SubscriptionFilter{EndpointID: endpoint.ID, Open: true})
	if err == nil && slices.ContainsFunc(subs, func(s store.Subscription) bool { return s.Encrypt != "" }) {
		return registry.Conflict("amqp.party.encrypted")
	}
	return registry.Wrap("list subscriptions of endpoint", err)
}

func (a *AMQP) addParty(ctx context.Context, tx *store.Tx, actor registry.Actor, in PartyInput, row *store.AMQPParty) error {
	in = in.clean(row.Own, dialectOf(ctx, tx, in.BrokerID))
	if err := a.checkParty(ctx, tx, actor, in, *row); err != nil {
		return err
	}
	in.fill(row)
	if err := tx.InsertAMQPParty(ctx, row); err != nil {
		return partyTaken(err)
	}
	if err := registry.Record(ctx, tx, actor, registry.ActionPartyAdded, partyObject(*row), partyDetails(*row)); err != nil {
		return err
	}
	added, err := stateOf(ctx, &tx.Queries, *row)
	if err != nil {
		return err
	}
	return a.mailParty(ctx, tx, actor, partyState{}, added)
}

// UpdateParty changes a party; its kind stays. Fields: as when it was added.
func (a *AMQP) UpdateParty(ctx context.Context, actor registry.Actor, id string, in PartyInput) (store.AMQPParty, error) {
	held, err := a.HoldsDestination(ctx, actor)
	if err != nil {
		return store.AMQPParty{}, err
	}
	row, err := a.cfg.DB.AMQPParty(ctx, id)
	if err != nil {
		return row, registry.Found("party", err)
	}
	b, _ := a.cfg.DB.AMQPBroker(ctx, in.BrokerID) // checkParty refuses one that is not there
	after, asked := row, in
	asked.Kind = row.Kind
	asked.clean(row.Own, b.Dialect).fill(&after)
	err = a.hold(ctx, actor, partyObject(row), partyAsk{Change: asksParty, Input: in}, "amqp_party", row, after, nil, func(ctx context.Context) (err error) {
		row, err = a.updateParty(ctx, actor, id, in, held)
		return err
	})
	return row, err
}

func (a *AMQP) updateParty(ctx context.Context, actor registry.Actor, id string, in PartyInput, held bool) (store.AMQPParty, error) {
	return a.changeParty(ctx, actor, id, func(tx *store.Tx, row *store.AMQPParty) error {
		in.Kind = row.Kind
		asked := in.clean(row.Own, dialectOf(ctx, tx, in.BrokerID))
		if held {
			if err := heldFields(asked, *row); err != nil {
				return err
			}
		}
		if err := a.checkParty(ctx, tx, actor, asked, *row); err != nil {
			return err
		}
		asked.fill(row)
		if err := tx.UpdateAMQPParty(ctx, row); err != nil {
			return partyTaken(err)
		}
		return registry.Record(ctx, tx, actor, registry.ActionPartyChanged, partyObject(*row), partyDetails(*row))
	})
}

// dialectOf gives the dialect of a broker; "" of one that is not there, which checkParty refuses.
func dialectOf(ctx context.Context, tx *store.Tx, brokerID string) string {
	b, _ := tx.AMQPBroker(ctx, brokerID)
	return b.Dialect
}

// changeParty reads a party the actor may change: own ones only an administrator, others the people of their partner too.
func (a *AMQP) changeParty(ctx context.Context, actor registry.Actor, id string, fn func(*store.Tx, *store.AMQPParty) error) (store.AMQPParty, error) {
	var row store.AMQPParty
	err := a.cfg.DB.Write(ctx, func(tx *store.Tx) (err error) {
		if row, err = registry.Locked(ctx, tx, "party", "amqp_party", id, tx.AMQPParty); err != nil {
			return err
		}
		if err := registry.AllowChange(ctx, tx, actor, "party", row.PartnerID); err != nil {
			return err
		}
		if row.Own {
			if err := actor.RequireAdministrator(); err != nil {
				return err
			}
		}
		before, err := stateOf(ctx, &tx.Queries, row)
		if err != nil {
			return err
		}
		if err := fn(tx, &row); err != nil {
			return err
		}
		after, err := stateOf(ctx, &tx.Queries, row)
		if err != nil {
			return err
		}
		return a.mailParty(ctx, tx, actor, before, after)
	})
	return row, err
}

func partyTaken(err error) error {
	if errors.Is(err, store.ErrConflict) {
		return registry.Invalid(registry.Problems{"herId": "amqp.party.her-id-taken"})
	}
	return fmt.Errorf("save party: %w", err)
}

func partyObject(p store.AMQPParty) registry.Object {
	return registry.ObjectOf("amqp-party", p.ID, p.Name, p.PartnerID)
}

func partyDetails(p store.AMQPParty) registry.Details {
	return registry.Details{"herId": p.HerID, "kind": p.Kind, "broker": p.BrokerID, "queue": p.AsyncQueue, "inboundQueue": p.InboundQueue, "enabled": p.Enabled}
}

// checkParty judges input for a party that is now as row; a row without an id is a new one.
func (a *AMQP) checkParty(ctx context.Context, tx *store.Tx, actor registry.Actor, in PartyInput, row store.AMQPParty) error {
	wrong := in.check(row.Own)
	if b, err := tx.AMQPBroker(ctx, in.BrokerID); err != nil || !b.Enabled && b.ID != row.BrokerID {
		wrong.Add("brokerId", "amqp.party.broker-bad")
	}
	if in.ClientID != "" {
		client, err := tx.Client(ctx, in.ClientID)
		wrong.AddIf(err != nil || client.PartnerID != row.PartnerID || client.Status == store.ClientRevoked,
			"clientId", "amqp.party.client-bad")
	}
	if err := checkReadQueues(ctx, tx, in, row, wrong); err != nil {
		return err
	}
	if !actor.Administrator {
		if err := checkClaims(ctx, tx, in, row, wrong); err != nil {
			return err
		}
	}
	return wrong.Err()
}

// checkClaims keeps the people of a partner from what an administrator decides: the queue that we read for it, and who
// it is once processes are agreed with it. What comes in under a HER-id is taken for that partner's.
func checkClaims(ctx context.Context, tx *store.Tx, in PartyInput, row store.AMQPParty, wrong registry.Problems) error {
	wrong.AddIf(in.InboundQueue != row.InboundQueue, "inboundQueue", "amqp.party.inbound-not-yours")
	wrong.AddIf(in.ClientID != row.ClientID, "clientId", "amqp.party.client-not-yours")
	if row.ID == "" || in.HerID == row.HerID && in.BrokerID == row.BrokerID {
		return nil
	}
	processes, err := tx.AMQPProcesses(ctx, row.ID)
	if err != nil {
		return fmt.Errorf("list processes: %w", err)
	}
	if len(processes) == 0 {
		return nil
	}
	if in.HerID != row.HerID {
		wrong.Add("herId", "amqp.party.her-id-agreed")
	} else {
		wrong.Add("brokerId", "amqp.party.broker-agreed")
	}
	return nil
}

// checkReadQueues keeps a queue that is read for one party from being read for another, or written to for a third: one
// would get what is the other's.
func checkReadQueues(ctx context.Context, tx *store.Tx, in PartyInput, row store.AMQPParty, wrong registry.Problems) error {
	all, err := tx.AMQPParties(ctx, "")
	if err != nil {
		return fmt.Errorf("list parties: %w", err)
	}
	for _, other := range all {
		if other.ID == row.ID || other.BrokerID != in.BrokerID {
			continue
		}
		theirs := InputOfParty(other)
		for _, q := range in.queues() {
			if q.name == "" {
				continue
			}
			among := theirs.readQueues(other.Own)
			if row.Own || q.field == "inboundQueue" {
				among = theirs.queues()
			}
			if slices.ContainsFunc(among, func(t namedQueue) bool {
				return t.name != "" && store.AMQPQueueName(t.name) == store.AMQPQueueName(q.name)
			}) {
				wrong.Add(q.field, "amqp.party.queue-of-other")
			}
		}
	}
	return nil
}

func (in PartyInput) readQueues(own bool) []namedQueue {
	return slices.DeleteFunc(in.queues(), func(q namedQueue) bool { return q.name == "" || !own && q.field != "inboundQueue" })
}
