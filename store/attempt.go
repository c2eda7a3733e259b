package store

import (
	"context"
	"errors"
	"strings"
)

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
	// Those still running had a lease that ended before PullExpire came by.
	expired, err := tx.endRunning(ctx, PullExpired, Time{}, again)
	if err != nil {
		return err
	}
	if expired > 0 {
		tx.counting(rows[0].EndpointID).Failed += expired
	}
	return tx.InsertAttempts(ctx, attempts)
}

// endReceives writes how the running attempts of deliveries ended.
func (tx *Tx) endReceives(ctx context.Context, kind string, next Time, ids []any) error {
	_, err := tx.endRunning(ctx, kind, next, ids)
	return err
}

// endRunning is endReceives, and returns how many ran.
func (tx *Tx) endRunning(ctx context.Context, kind string, next Time, ids []any) (int64, error) {
	if len(ids) == 0 {
		return 0, nil
	}
	args := append([]any{kind, next, tx.Now, PullReceived}, ids...)
	return tx.exec(ctx, `UPDATE attempt SET error_kind = ?, next_at = ?, duration_us = ? - started_at
		WHERE error_kind = ? AND delivery_id IN (`+marks(len(ids))+`)`, args...)
}

// extendReceives writes the new end of the leases into the running attempts of deliveries.
func (tx *Tx) extendReceives(ctx context.Context, lease Time, ids []any) error {
	args := append([]any{lease, PullReceived}, ids...)
	return tx.do(ctx, `UPDATE attempt SET next_at = ? WHERE error_kind = ? AND delivery_id IN (`+marks(len(ids))+`)`, args...)
}

// Attempt is one try of a delivery, with what was sent and what came back.
type Attempt struct {
	ID              string `db:"id"`
	DeliveryID      string `db:"delivery_id"`
	Number          int64  `db:"number"` // from 1
	StartedAt       Time   `db:"started_at"`
	DurationUS      int64  `db:"duration_us"` // microseconds
	URL             string `db:"url"`
	RequestHeaders  string `db:"request_headers"` // JSON object, secrets left out
	StatusCode      int64  `db:"status_code"`     // 0 when no answer came
	ResponseHeaders string `db:"response_headers"`
	ResponseBody    []byte `db:"response_body"` // its beginning
	ErrorKind       string `db:"error_kind"`
	Error           string `db:"error"`
	NextAt          Time   `db:"next_at"`  // when the next try was due then
	BatchID         string `db:"batch_id"` // the Batch it was made with; what was sent and came back stands with its first member
	// DataKeys names the keys of the data that was sent, with spaces between; the answer, which may repeat that, is encrypted with them.
	DataKeys string `db:"data_key"`
	// Unread is why ResponseBody is not there, as of an [Event].
	Unread error `db:"-"`
}

// InsertAttempts adds attempts under new ids.
func (tx *Tx) InsertAttempts(ctx context.Context, rows []Attempt) error {
	return tx.insertAttempts(ctx, len(rows), func(i int) *Attempt { return &rows[i] })
}

func (tx *Tx) insertAttempts(ctx context.Context, n int, row func(i int) *Attempt) error {
	var failed error
	_, err := tx.putMany(ctx, bulk{
		into: `attempt (id, delivery_id, number, started_at, duration_us, url, request_headers, status_code, response_headers,
			response_body, error_kind, error, next_at, batch_id, data_key)`, width: 15, kinds: "ttiiittitxttitt", blind: true,
	}, n, func(args []any, i int) []any {
		a, id := row(i), tx.NewID("att")
		body := SealedData{Bytes: a.ResponseBody}
		if a.DataKeys != "" && len(a.ResponseBody) > 0 {
			var err error
			body, err = tx.sealWith(ctx, strings.Fields(a.DataKeys), attemptPlace(id), a.ResponseBody)
			failed = errors.Join(failed, err)
		}
		return append(args, id, a.DeliveryID, a.Number, a.StartedAt, a.DurationUS, a.URL, a.RequestHeaders, a.StatusCode,
			a.ResponseHeaders, body.Bytes, a.ErrorKind, a.Error, a.NextAt, a.BatchID, body.Keys)
	})
	return errors.Join(err, failed)
}

// Attempts lists the attempts of a delivery, oldest first.
func (q *Queries) Attempts(ctx context.Context, deliveryID string) ([]Attempt, error) {
	rows, err := listOf[Attempt](ctx, q, `SELECT * FROM attempt WHERE delivery_id = ? ORDER BY number, id`, deliveryID)
	for i := range rows {
		if err == nil {
			rows[i].ResponseBody, rows[i].Unread, err = q.openData(ctx, rows[i].DataKeys, attemptPlace(rows[i].ID), rows[i].ResponseBody)
		}
	}
	return rows, err
}
