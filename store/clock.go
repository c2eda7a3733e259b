package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
)

// NewestDelivery returns when the newest delivery was made, by the clock of that moment; zero when there is none.
func (q *Queries) NewestDelivery(ctx context.Context) (Time, error) {
	var id string
	if err := q.get(ctx, &id, `SELECT COALESCE(MAX(id), '') FROM delivery`); err != nil || id == "" {
		return Time{}, err
	}
	_, text, _ := strings.Cut(id, "_")
	parsed, err := ulid.ParseStrict(text)
	if err != nil {
		return Time{}, nil // made by hand: it tells no time
	}
	return At(ulid.Time(parsed.Time())), nil
}

// KeepIDsAfter makes all ids of this process sort after those made until t, even when the clock shows less.
func (db *DB) KeepIDsAfter(t time.Time) { db.ids.after(t) }

// TurnBack mends what an endpoint has to send after the clock was set back: what was written when it showed more than
// now waits as long from now on as it had to wait then (EDU-N09). Doing it again, on whatever node, changes nothing.
func (tx *Tx) TurnBack(ctx context.Context, endpointID string) (int64, error) {
	n, err := tx.exec(ctx, `UPDATE delivery SET due_at = due_at - (updated_at - ?), updated_at = ?
		WHERE endpoint_id = ? AND status IN ('pending', 'retrying') AND updated_at > ?`, tx.Now, tx.Now, endpointID, tx.Now)
	if err != nil {
		return n, fmt.Errorf("turn deliveries back: %w", err)
	}
	return n, nil
}

// TurnCircuitsBack has circuits that would be probed later than most be probed at that moment.
func (tx *Tx) TurnCircuitsBack(ctx context.Context, most Time) error {
	n, err := tx.exec(ctx, `UPDATE endpoint SET circuit_probe_at = ? WHERE circuit_probe_at > ?`, most, most)
	if err != nil || n == 0 {
		return err
	}
	return tx.bumpFanout(ctx)
}
