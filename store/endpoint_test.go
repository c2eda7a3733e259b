package store_test

import (
	"testing"
	"time"

	"schakel/store"
)

func TestEndpoint(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		var e store.Endpoint
		fill(&e, 1, "PartnerID", "WaitUntil", "ProbeOwner", "UnaskedAt")
		e.PartnerID = w.partner.ID
		w.write(func(tx *store.Tx) error { return tx.InsertEndpoint(w.ctx, &e) })
		same(t, e.Circuit, nil, store.CircuitClosed)
		got, err := w.db.Endpoint(w.ctx, e.ID)
		same(t, got, err, e)

		w.clock.Advance(time.Second)
		fill(&e, 2, "ID", "PartnerID", "Kind", "Circuit", "CircuitFailures", "CircuitOpenedAt", "CircuitProbeAt", "WaitUntil", "ProbeOwner", "UnaskedAt", "CreatedAt")
		version := e.ConfigVersion
		w.write(func(tx *store.Tx) error { return tx.UpdateEndpoint(w.ctx, &e) })
		same(t, e.ConfigVersion, nil, version+1)
		got, err = w.db.Endpoint(w.ctx, e.ID)
		same(t, got, err, e)

		e.Circuit, e.CircuitFailures, e.CircuitOpenedAt, e.CircuitProbeAt = store.CircuitOpen, 5, w.now(), w.in(time.Minute)
		w.write(func(tx *store.Tx) error { return tx.SaveCircuit(w.ctx, &e) })
		got, err = w.db.Endpoint(w.ctx, e.ID)
		same(t, got, err, e)
		got, err = w.db.Endpoint(w.ctx, "ept_none")
		missing(t, got, err)
	})
}

func TestEndpoints(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		own := w.newEndpoint(w.own.ID)
		gone := w.newEndpoint(w.partner.ID)
		gone.Status = store.EndpointEnded
		w.write(func(tx *store.Tx) error { return tx.UpdateEndpoint(w.ctx, &gone) })
		id := func(e store.Endpoint) string { return e.ID }
		rows, err := w.db.Endpoints(w.ctx, "")
		listed(t, id, []string{own.ID, w.endpoint.ID}, 2)(rows, len(rows), err)
		rows, err = w.db.Endpoints(w.ctx, w.partner.ID)
		listed(t, id, []string{w.endpoint.ID}, 1)(rows, len(rows), err)

		w.endpoint.Status = store.EndpointEnded
		w.write(func(tx *store.Tx) error { return tx.UpdateEndpoint(w.ctx, &w.endpoint) })
		s, err := w.db.Subscription(w.ctx, w.subscription.ID)
		same(t, [2]bool{s.Accepting, s.Sending}, err, [2]bool{false, false})
	})
}
