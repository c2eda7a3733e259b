package amqp

import (
	"context"
	"errors"
	"fmt"

	"schakel/registry"
	"schakel/registry/amqp/cpa"
	"schakel/store"
)

// Refresh asks the address registry for a counterpart anew, adds its new certificates and takes its queues over (AMQP-62).
// Certificates that the registry no longer has stay until they expire: a message may be on its way that was made with them
// (AMQP-65). Without an address registry, or a HER-id, our own records are all there is.
func (a *AMQP) Refresh(ctx context.Context, partyID string) error {
	if a.addresses == nil {
		return nil
	}
	p, err := a.cfg.DB.AMQPParty(ctx, partyID)
	if err != nil {
		return registry.Found("party", err)
	}
	if p.Own || p.HerID == 0 {
		return nil
	}
	address, err := a.addresses.Address(ctx, p.HerID)
	if errors.Is(err, ErrNoAddress) {
		return nil
	}
	if err != nil {
		return err
	}
	chains, err := readCertificates(address.Certificates)
	if address.Certificates != "" && err != nil {
		return fmt.Errorf("certificates of the address registry: %w", err)
	}
	list := make([]enterprise, len(chains))
	for i, c := range chains {
		list[i] = enterprise{certificateChain: c}
	}
	_, err = a.changeParty(ctx, registry.SystemActor(), partyID, func(tx *store.Tx, row *store.AMQPParty) error {
		return a.takeOver(ctx, tx, row, address.Queues, list)
	})
	return err
}

func (a *AMQP) takeOver(ctx context.Context, tx *store.Tx, row *store.AMQPParty, queues cpa.Queues, list []enterprise) error {
	actor, before := registry.SystemActor(), *row
	if _, err := a.addCertificates(ctx, tx, actor, *row, list, store.AMQPRegistry); err != nil {
		return err
	}
	for _, q := range []struct {
		to   *string
		name string
	}{{&row.AsyncQueue, queues.Async}, {&row.SyncQueue, queues.Sync}, {&row.ErrorQueue, queues.Error}} {
		if q.name != "" && checkQueue(q.name, false) == "" {
			*q.to = q.name
		}
	}
	changed := *row != before
	row.RefreshedAt = tx.Now
	if changed {
		row.Source = store.AMQPRegistry
	}
	if err := tx.UpdateAMQPParty(ctx, row); err != nil {
		return partyTaken(err)
	}
	if !changed {
		return nil
	}
	return registry.Record(ctx, tx, actor, registry.ActionPartyChanged, partyObject(*row), partyDetails(*row))
}
