package store

import (
	"context"
	"errors"
	"fmt"
)

// EndpointWait is the time before which an endpoint wants no request (EDU-10). With a ProbeOwner, that node sends the one request
// that follows the time, and another node may send it when Until has passed.
type EndpointWait struct {
	EndpointID string `db:"id"`
	Until      Time   `db:"wait_until"`
	ProbeOwner string `db:"probe_owner"`
}

// EndpointWaits lists the endpoints that wait, or that no request has tried since their wait ended.
func (q *Queries) EndpointWaits(ctx context.Context) ([]EndpointWait, error) {
	var rows []EndpointWait
	err := q.list(ctx, &rows, `SELECT id, wait_until, probe_owner FROM endpoint WHERE wait_until IS NOT NULL`)
	if err != nil {
		return nil, fmt.Errorf("read waits of endpoints: %w", err)
	}
	return rows, nil
}

// ExtendWait makes an endpoint wait until a time, unless its receiver asked for a longer wait already. A probe under way loses
// its right to end the wait.
func (tx *Tx) ExtendWait(ctx context.Context, endpointID string, until Time) error {
	_, err := tx.exec(ctx, `UPDATE endpoint SET probe_owner = '',
		wait_until = CASE WHEN probe_owner = '' AND wait_until > ? THEN wait_until ELSE ? END WHERE id = ?`, until, until, endpointID)
	if err != nil {
		return fmt.Errorf("extend wait of endpoint: %w", err)
	}
	return nil
}

// TakeProbe gives owner the right to send the one request that follows a wait, until a time. It answers false and the wait of the
// endpoint as it is when another node has that right, or the endpoint waits still or not at all.
func (tx *Tx) TakeProbe(ctx context.Context, endpointID, owner string, until Time) (bool, EndpointWait, error) {
	n, err := tx.exec(ctx, `UPDATE endpoint SET wait_until = ?, probe_owner = ? WHERE id = ? AND (wait_until <= ? OR probe_owner = ?)`,
		until, owner, endpointID, tx.Now, owner)
	if err != nil || n == 1 {
		return n == 1, EndpointWait{}, err
	}
	var w EndpointWait
	err = tx.get(ctx, &w, `SELECT id, wait_until, probe_owner FROM endpoint WHERE id = ?`, endpointID)
	if errors.Is(err, ErrNotFound) {
		err = nil
	}
	return false, w, err
}

// GiveProbeBack lets any node send the request that owner did not send.
func (tx *Tx) GiveProbeBack(ctx context.Context, endpointID, owner string) error {
	_, err := tx.exec(ctx, `UPDATE endpoint SET wait_until = ?, probe_owner = '' WHERE id = ? AND probe_owner = ?`, tx.Now, endpointID, owner)
	return err
}

// EndWait ends the wait of an endpoint after the probe of owner worked, and reports whether it did.
func (tx *Tx) EndWait(ctx context.Context, endpointID, owner string) (bool, error) {
	n, err := tx.exec(ctx, `UPDATE endpoint SET wait_until = NULL, probe_owner = '' WHERE id = ? AND probe_owner = ?`, endpointID, owner)
	if err != nil {
		return false, fmt.Errorf("end wait of endpoint: %w", err)
	}
	return n == 1, nil
}

// ShortenWait makes an endpoint wait no longer than until a time, after the clock was set back.
func (tx *Tx) ShortenWait(ctx context.Context, endpointID string, until Time) error {
	_, err := tx.exec(ctx, `UPDATE endpoint SET wait_until = ? WHERE id = ? AND wait_until > ? AND probe_owner = ''`, until, endpointID, until)
	return err
}

// FreeProbes lets any node send the requests that owner was to send after a wait, or that any node was when owner is empty.
func (tx *Tx) FreeProbes(ctx context.Context, owner string) error {
	_, err := tx.exec(ctx, `UPDATE endpoint SET wait_until = ?, probe_owner = ''
		WHERE wait_until IS NOT NULL AND probe_owner <> '' AND (probe_owner = ? OR ? = '')`, tx.Now, owner, owner)
	return err
}

// NoteUnasked notes that the receiver of an endpoint sent what no request asked for, and reports whether that was not known. Nodes
// read the endpoint again.
func (tx *Tx) NoteUnasked(ctx context.Context, endpointID string) (bool, error) {
	n, err := tx.exec(ctx, `UPDATE endpoint SET unasked_at = ? WHERE id = ? AND unasked_at IS NULL`, tx.Now, endpointID)
	if err != nil || n == 0 {
		return false, err
	}
	return true, tx.bumpFanout(ctx)
}
