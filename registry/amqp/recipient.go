package amqp

import (
	"context"
	"fmt"
	"slices"

	"schakel/registry"
	"schakel/store"
)

// checkRecipient refuses a process that makes events of what comes in while nobody is subscribed to them. What comes in is
// acknowledged on behalf of a recipient (AMQP-16), so there must be one when the process is agreed.
func (in ProcessInput) checkRecipient(ctx context.Context, tx *store.Tx, row store.AMQPProcess, wrong registry.Problems) error {
	if in.Receives == "" || in.Mode == store.AMQPSync && in.HandlerID != "" || len(wrong) > 0 {
		return nil
	}
	if row.ID != "" && in.Receives == row.Receives && in.Mode == row.Mode && in.HandlerID == row.HandlerID {
		return nil // what else is changed of it makes it no worse
	}
	party, err := tx.AMQPParty(ctx, row.PartyID)
	if err != nil {
		return fmt.Errorf("find party: %w", err)
	}
	there, err := tx.HasRecipient(ctx, in.Receives, party.PartnerID)
	if err != nil {
		return fmt.Errorf("look for recipient: %w", err)
	}
	if !there {
		wrong.Add("receives", "Nobody is subscribed to this event type, so what comes in would reach nobody. Approve a subscription of your own organisation to it, or a route and a subscription of a partner; then add it here.")
	}
	return nil
}

// Orphan is a process whose messages nobody would get.
type Orphan struct {
	store.AMQPProcess

	Party string // name of the counterpart
}

// Orphans lists the processes within a scope that make events nobody is subscribed to: their messages are held, or rejected
// where the settings say so.
func (a *AMQP) Orphans(ctx context.Context, scope registry.Scope) ([]Orphan, error) {
	id, ok := scope.Narrow("")
	if !ok {
		return nil, nil
	}
	return orphans(ctx, &a.cfg.DB.Queries, id)
}

func orphans(ctx context.Context, q *store.Queries, partnerID string) ([]Orphan, error) {
	rows, err := q.AMQPWithoutRecipient(ctx, partnerID)
	if err != nil {
		return nil, fmt.Errorf("list processes without a recipient: %w", err)
	}
	list := make([]Orphan, len(rows))
	for i, row := range rows {
		party, err := q.AMQPParty(ctx, row.PartyID)
		if err != nil {
			return nil, fmt.Errorf("find party: %w", err)
		}
		list[i] = Orphan{row, party.Name}
	}
	return list, nil
}

// KeepRecipients makes a change of an administrator that ends something for good, and refuses it when it takes the last recipient
// from a process. A suspension is not refused: it can be taken back, and meanwhile messages are held. Nor is a partner that leaves.
func KeepRecipients(ctx context.Context, tx *store.Tx, actor registry.Actor, change func() error) error {
	if !actor.Administrator {
		return change()
	}
	before, err := orphans(ctx, &tx.Queries, "")
	if err != nil {
		return err
	}
	if err := change(); err != nil {
		return err
	}
	after, err := orphans(ctx, &tx.Queries, "")
	if err != nil {
		return err
	}
	for _, one := range after {
		if !slices.ContainsFunc(before, func(b Orphan) bool { return b.ID == one.ID }) {
			return registry.Conflict("The process %s with %s would have no recipient: its messages become events of type %s, and nobody else is subscribed to them. Approve another subscription first, or remove that event type from the process.",
				one.Name, one.Party, one.Receives)
		}
	}
	return nil
}
