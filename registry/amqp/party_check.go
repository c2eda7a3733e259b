package amqp

import (
	"context"
	"fmt"
	"slices"

	"schakel/registry"
	"schakel/store"
)

// checkParty judges input for a party that is now as row; a row without an id is a new one.
func (a *AMQP) checkParty(ctx context.Context, tx *store.Tx, actor registry.Actor, in PartyInput, row store.AMQPParty) error {
	wrong := in.check(row.Own)
	if b, err := tx.AMQPBroker(ctx, in.BrokerID); err != nil || !b.Enabled && b.ID != row.BrokerID {
		wrong.Add("brokerId", "Choose from the brokers that are listed.")
	}
	if in.ClientID != "" {
		client, err := tx.Client(ctx, in.ClientID)
		if err != nil || client.PartnerID != row.PartnerID || client.Status == store.ClientRevoked {
			wrong.Add("clientId", "Choose a client of this partner that is not revoked.")
		}
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
	if in.InboundQueue != row.InboundQueue {
		wrong.Add("inboundQueue", "An administrator names the queue that is read for you. Ask for it.")
	}
	if in.ClientID != row.ClientID {
		wrong.Add("clientId", "An administrator chooses the client whose rights hold. Ask for it.")
	}
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
		wrong.Add("herId", "Processes are agreed with this HER-id. Ask an administrator to change it.")
	} else {
		wrong.Add("brokerId", "Processes are agreed at this broker. Ask an administrator to change it.")
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
				wrong.Add(q.field, "This queue is that of another party already.")
			}
		}
	}
	return nil
}

// readQueues are the queues that we read for a party.
func (in PartyInput) readQueues(own bool) []namedQueue {
	return slices.DeleteFunc(in.queues(), func(q namedQueue) bool { return q.name == "" || !own && q.field != "inboundQueue" })
}
