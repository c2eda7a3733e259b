package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"schakel/registry/sorted"
)

// Kinds of an EndpointChange.
const (
	ChangeStatus  = "status"
	ChangeCircuit = "circuit"
	ChangeProbe   = "probe" // the one request that an open circuit lets through, and that failed
	// ChangeAddress is another address; its State is the one before.
	ChangeAddress = "address"
)

// EndpointChange records a change of the state of an endpoint.
type EndpointChange struct {
	Kind  string `db:"kind"`
	At    Time   `db:"at"`
	State string `db:"state"` // one of the states of an endpoint or a circuit, or an address
}

// noteChange writes a change of an endpoint. It runs where a row of the endpoint is written anyway, never for an event.
func (tx *Tx) noteChange(ctx context.Context, endpointID, kind, state string) error {
	err := tx.do(ctx, `INSERT INTO endpoint_change (endpoint_id, kind, at, state) VALUES (?, ?, ?, ?)
		ON CONFLICT (endpoint_id, kind, at) DO UPDATE SET state = excluded.state`, endpointID, kind, tx.Now, state)
	if err != nil {
		return fmt.Errorf("note change of endpoint: %w", err)
	}
	return nil
}

// noteCircuit writes what the circuit of an endpoint becomes, before it is written there: that it opens or closes, or that a probe
// failed while it was open.
func (tx *Tx) noteCircuit(ctx context.Context, endpointID, circuit string) error {
	before, err := getOne[string](ctx, &tx.Queries, `SELECT circuit FROM endpoint WHERE id = ?`, endpointID)
	switch {
	case errors.Is(err, ErrNotFound):
		return nil
	case err != nil:
		return err
	case before != circuit:
		return tx.noteChange(ctx, endpointID, ChangeCircuit, circuit)
	case circuit == CircuitOpen:
		return tx.noteChange(ctx, endpointID, ChangeProbe, CircuitHalfOpen)
	}
	return nil
}

// noteAddress writes which address an endpoint had, before another is written there.
func (tx *Tx) noteAddress(ctx context.Context, endpointID, url string) error {
	before, err := getOne[string](ctx, &tx.Queries, `SELECT url FROM endpoint WHERE id = ?`, endpointID)
	if errors.Is(err, ErrNotFound) || err == nil && (before == url || before == "") {
		return nil
	}
	if err != nil {
		return err
	}
	return tx.noteChange(ctx, endpointID, ChangeAddress, before)
}

// PreviousAddress finds the address that an endpoint had before its present one, and until when; ErrNotFound when it always had that.
func (q *Queries) PreviousAddress(ctx context.Context, endpointID string) (EndpointChange, error) {
	return getOne[EndpointChange](ctx, q, `SELECT kind, at, state FROM endpoint_change WHERE endpoint_id = ? AND kind = ? ORDER BY at DESC LIMIT 1`, endpointID, ChangeAddress)
}

// changesShown bounds the changes of one timeline: a circuit that is open for a week has 672 probes.
const changesShown = 5000

// EndpointChanges lists the changes of an endpoint since a moment, oldest first, behind its last change of status and of circuit
// before that moment, from which follows what it was then.
func (q *Queries) EndpointChanges(ctx context.Context, endpointID string, since Time) ([]EndpointChange, error) {
	var changes []EndpointChange
	for _, kind := range []string{ChangeStatus, ChangeCircuit} {
		last, err := listOf[EndpointChange](ctx, q, `SELECT kind, at, state FROM endpoint_change WHERE endpoint_id = ? AND kind = ? AND at < ?
			ORDER BY at DESC LIMIT 1`, endpointID, kind, since)
		if err != nil {
			return nil, fmt.Errorf("read changes of endpoint: %w", err)
		}
		changes = append(changes, last...)
	}
	sorted.By(changes, func(a, b EndpointChange) int { return a.At.Compare(b.At.Time) })
	rows, err := listOf[EndpointChange](ctx, q, `SELECT kind, at, state FROM endpoint_change WHERE endpoint_id = ? AND at >= ?
		ORDER BY at DESC LIMIT ?`, endpointID, since, changesShown)
	if err != nil {
		return nil, fmt.Errorf("read changes of endpoint: %w", err)
	}
	sorted.Stable(rows, func(a, b EndpointChange) int { return cmp.Or(a.At.Compare(b.At.Time), cmp.Compare(a.Kind, b.Kind)) })
	return append(changes, rows...), nil
}

// PruneEndpointChanges removes changes of before a moment, but the last of each endpoint and kind, which still holds.
func (tx *Tx) PruneEndpointChanges(ctx context.Context, before Time, _ string, limit int) (Pruned, error) {
	n, err := tx.exec(ctx, `DELETE FROM endpoint_change WHERE (endpoint_id, kind, at) IN (SELECT endpoint_id, kind, at FROM endpoint_change c
		WHERE c.at < ? AND (c.kind = 'probe' OR EXISTS (SELECT 1 FROM endpoint_change n WHERE n.endpoint_id = c.endpoint_id AND n.kind = c.kind AND n.at > c.at))
		ORDER BY c.at LIMIT ?)`, before, limit)
	if err != nil {
		return Pruned{}, fmt.Errorf("delete from endpoint_change: %w", err)
	}
	return Pruned{Rows: n, Done: n < int64(limit)}, nil
}
