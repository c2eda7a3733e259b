package store

import "context"

// Kinds of the attempts of pull deliveries, one for each receive: what became of it. They stand in Attempt.ErrorKind.
const (
	PullReceived     = "pull-received"     // the consumer has it; NextAt is when its lease ends
	PullAcknowledged = "pull-acknowledged" // delivered
	PullReleased     = "pull-released"     // given back; NextAt is when it can be received again
	PullRejected     = "pull-rejected"     // refused
	PullExpired      = "pull-expired"      // the lease ended without an answer
)

// recordReceives starts the attempts of deliveries just leased, and ends what earlier ones left open.
func (tx *Tx) recordReceives(ctx context.Context, c PullClaim, rows []Delivery) error {
	var again []any
	attempts := make([]Attempt, len(rows))
	for i, d := range rows {
		if d.Attempts > 1 {
			again = append(again, d.ID)
		}
		attempts[i] = Attempt{
			DeliveryID: d.ID, Number: d.Attempts, StartedAt: tx.Now, ErrorKind: PullReceived, NextAt: c.Lease,
			RequestHeaders: `{"Client":["` + c.ClientID + `"]}`,
		}
	}
	if err := tx.endReceives(ctx, PullExpired, Time{}, again); err != nil {
		return err
	}
	return tx.InsertAttempts(ctx, attempts)
}

// endReceives writes how the running attempts of deliveries ended.
func (tx *Tx) endReceives(ctx context.Context, kind string, next Time, ids []any) error {
	if len(ids) == 0 {
		return nil
	}
	args := append([]any{kind, next, tx.Now, PullReceived}, ids...)
	_, err := tx.exec(ctx, `UPDATE attempt SET error_kind = ?, next_at = ?, duration_us = ? - started_at
		WHERE error_kind = ? AND delivery_id IN (`+marks(len(ids))+`)`, args...)
	return err
}

// extendReceives writes the new end of the leases into the running attempts of deliveries.
func (tx *Tx) extendReceives(ctx context.Context, lease Time, ids []any) error {
	args := append([]any{lease, PullReceived}, ids...)
	_, err := tx.exec(ctx, `UPDATE attempt SET next_at = ? WHERE error_kind = ? AND delivery_id IN (`+marks(len(ids))+`)`, args...)
	return err
}
