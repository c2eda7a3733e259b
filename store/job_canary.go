package store

import (
	"context"
	"slices"
)

// Outcomes of a canary.
const (
	CanaryPending   = "pending"
	CanaryDelivered = "delivered"
	CanaryFailed    = "failed"
)

// ResendCanary is the delivery that a job resent first to an endpoint.
type ResendCanary struct {
	JobID      string `db:"job_id"`
	EndpointID string `db:"endpoint_id"`
	DeliveryID string `db:"delivery_id"`
	Outcome    string `db:"outcome"`
}

// ResendRefusal is a delivery that a job could not resend, and why.
type ResendRefusal struct {
	JobID      string `db:"job_id"`
	DeliveryID string `db:"delivery_id"`
	Reason     string `db:"reason"`
}

// InsertCanary adds the canary of an endpoint.
func (tx *Tx) InsertCanary(ctx context.Context, c ResendCanary) error {
	return tx.insert(ctx, "resend_canary", &c)
}

// UpdateCanary writes the outcome of a canary.
func (tx *Tx) UpdateCanary(ctx context.Context, c ResendCanary) error {
	return tx.one(ctx, `UPDATE resend_canary SET outcome = ? WHERE job_id = ? AND endpoint_id = ?`, c.Outcome, c.JobID, c.EndpointID)
}

// ResendCanaries lists the canaries of a job.
func (q *Queries) ResendCanaries(ctx context.Context, jobID string) ([]ResendCanary, error) {
	return listOf[ResendCanary](ctx, q, `SELECT * FROM resend_canary WHERE job_id = ? ORDER BY endpoint_id`, jobID)
}

// InsertRefusal notes a delivery that a job could not resend.
func (tx *Tx) InsertRefusal(ctx context.Context, r ResendRefusal) error {
	return tx.do(ctx, `INSERT INTO resend_refusal (job_id, delivery_id, reason) VALUES (?, ?, ?) ON CONFLICT (job_id, delivery_id) DO NOTHING`,
		r.JobID, r.DeliveryID, r.Reason)
}

// ResendRefusals lists a page of what a job could not resend, oldest first. Its Refused counts them all.
func (q *Queries) ResendRefusals(ctx context.Context, jobID string, p Page) ([]ResendRefusal, error) {
	w := where{}
	w.add(`job_id = ?`, jobID)
	return onPage[ResendRefusal](ctx, q, `*`, `resend_refusal`, w, `delivery_id`, p)
}

// EndpointsOf lists the endpoints of the deliveries that a filter selects. It reads what the filter selects from end to end, which is
// for a job in the background.
func (q *Queries) EndpointsOf(ctx context.Context, f DeliveryFilter) ([]string, error) {
	w := f.where(q)
	ids, err := listOf[string](ctx, q, `SELECT DISTINCT endpoint_id FROM delivery`+w.sql(), w.args...)
	slices.Sort(ids)
	return ids, err
}
