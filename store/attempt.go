package store

import "context"

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
}

// InsertAttempts adds attempts under new ids.
func (tx *Tx) InsertAttempts(ctx context.Context, rows []Attempt) error {
	return tx.insertAttempts(ctx, len(rows), func(i int) *Attempt { return &rows[i] })
}

func (tx *Tx) insertAttempts(ctx context.Context, n int, row func(i int) *Attempt) error {
	_, err := tx.putMany(ctx, bulk{
		into: `attempt (id, delivery_id, number, started_at, duration_us, url, request_headers, status_code, response_headers,
			response_body, error_kind, error, next_at, batch_id)`, width: 14, kinds: "ttiiittitxttit", blind: true,
	}, n, func(args []any, i int) []any {
		a := row(i)
		return append(args, tx.NewID("att"), a.DeliveryID, a.Number, a.StartedAt, a.DurationUS, a.URL, a.RequestHeaders, a.StatusCode,
			a.ResponseHeaders, a.ResponseBody, a.ErrorKind, a.Error, a.NextAt, a.BatchID)
	})
	return err
}

// Attempts lists the attempts of a delivery, oldest first.
func (q *Queries) Attempts(ctx context.Context, deliveryID string) ([]Attempt, error) {
	var rows []Attempt
	return rows, q.list(ctx, &rows, `SELECT * FROM attempt WHERE delivery_id = ? ORDER BY number, id`, deliveryID)
}
