package partners

import (
	"context"
	"fmt"

	"schakel/registry"
	"schakel/store"
)

// Probe lets one delivery go at once to an active endpoint whose circuit is open, for whoever mended its receiver and does not want
// to wait for the next probe. When it arrives the circuit closes, and when it fails the next probe waits as after any other (EDU-12). A
// receiver that asked for no requests is not sent to before the time it named (EDU-10). It reports whether a delivery waited.
func (e *Endpoints) Probe(ctx context.Context, actor registry.Actor, id string) (delivery string, err error) {
	_, err = e.change(ctx, actor, id, func(tx *store.Tx, endpoint *store.Endpoint) error {
		if endpoint.Status != store.EndpointActive || endpoint.Circuit != store.CircuitOpen {
			return registry.Conflict("partners.endpoint.probe-not-open")
		}
		if endpoint.WaitsAt(tx.Now.Time) {
			return registry.Conflict("partners.endpoint.probe-waits", endpoint.WaitUntil.Time)
		}
		if delivery, err = tx.ProbeNow(ctx, endpoint); err != nil {
			return fmt.Errorf("probe endpoint: %w", err)
		}
		return registry.Record(ctx, tx, actor, registry.ActionEndpointProbed, endpointObject(*endpoint), nil)
	})
	return delivery, err
}

// closeCircuit lets everything through again: whoever resumes an endpoint says that it works.
func closeCircuit(ctx context.Context, tx *store.Tx, endpoint *store.Endpoint) error {
	endpoint.Circuit, endpoint.CircuitFailures = store.CircuitClosed, 0
	endpoint.CircuitOpenedAt, endpoint.CircuitProbeAt, endpoint.CircuitPlannedAt = store.Time{}, store.Time{}, store.Time{}
	return registry.Wrap("close circuit", tx.SaveCircuit(ctx, endpoint))
}

// beginAnew closes the circuit of an endpoint that sends elsewhere now: what failed at one destination says nothing about another. What was asked for
// and waits is no destination yet.
func beginAnew(ctx context.Context, tx *store.Tx, before store.Endpoint, endpoint *store.Endpoint) error {
	if before.URL == endpoint.URL && before.TokenURL == endpoint.TokenURL || endpoint.Circuit == store.CircuitClosed && endpoint.CircuitFailures == 0 {
		return nil
	}
	return closeCircuit(ctx, tx, endpoint)
}
