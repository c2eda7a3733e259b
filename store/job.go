package store

import (
	"context"
	"fmt"
)

// States of a job, and of its parts.
const (
	JobRunning   = "running"
	JobDone      = "done"
	JobCancelled = "cancelled"
	// JobStopped is a job that stopped by itself: its canary was not delivered. A person has it go on, or cancels it.
	JobStopped = "stopped"
)

// Stages of a job that resends one delivery an endpoint before the rest.
const (
	StageChoosing = "choosing" // resends the first of each endpoint
	StageCanary   = "canary"   // waits for their outcomes
)

// ResendJob resends or discards all deliveries a filter selects, or offers stored events again (a replay), in small steps.
type ResendJob struct {
	ID         string `db:"id"`
	PartnerID  string `db:"partner_id"` // whose job it is; empty for an administrator's
	Action     string `db:"action"`     // resend, discard or replay
	Filter     string `db:"filter"`     // what it selects as JSON: a DeliveryFilter, or that of a replay
	Reason     string `db:"reason"`
	Status     string `db:"status"`
	Total      int64  `db:"total"`
	TotalMore  bool   `db:"total_more"` // there was more than Total: it was not counted to the end
	Done       int64  `db:"done"`
	Refused    int64  `db:"refused"` // could not be resent, for instance because the subscription ended
	Cursor     string `db:"cursor"`
	Canary     bool   `db:"canary"`      // it resends one delivery an endpoint first
	Stage      string `db:"stage"`       // empty when it goes on with the rest
	Rate       int64  `db:"rate"`        // deliveries a minute; 0 for as fast as possible
	NextAt     Time   `db:"next_at"`     // before this moment Rate lets none go
	StoppedFor string `db:"stopped_for"` // the message of a job that stopped by itself
	Refusals   string `db:"refusals"`    // how many could not be resent, by reason, as JSON
	CreatedBy  string `db:"created_by"`
	CreatedAt  Time   `db:"created_at"`
	UpdatedAt  Time   `db:"updated_at"`
	FinishedAt Time   `db:"finished_at"`
}

// InsertResendJob adds a running job under a new id.
func (tx *Tx) InsertResendJob(ctx context.Context, j *ResendJob) error {
	j.ID, j.Status, j.CreatedAt, j.UpdatedAt, j.Refusals = tx.NewID("rsd"), JobRunning, tx.Now, tx.Now, "{}"
	return tx.insert(ctx, "resend_job", j)
}

// UpdateResendJob writes the progress of a job.
func (tx *Tx) UpdateResendJob(ctx context.Context, j *ResendJob) error {
	j.UpdatedAt = tx.Now
	return tx.update(ctx, "resend_job", j, "status", "done", "refused", "cursor", "stage", "next_at", "stopped_for", "refusals",
		"updated_at", "finished_at")
}

// LockResendJob reads a job for its next step, so that no other node takes the same step.
func (tx *Tx) LockResendJob(ctx context.Context, id string) (ResendJob, error) {
	query := `SELECT * FROM resend_job WHERE id = ?`
	if tx.dialect == Postgres {
		query += ` FOR UPDATE`
	}
	return getOne[ResendJob](ctx, &tx.Queries, query, id)
}

// ResendJob finds a job.
func (q *Queries) ResendJob(ctx context.Context, id string) (ResendJob, error) {
	return getOne[ResendJob](ctx, q, `SELECT * FROM resend_job WHERE id = ?`, id)
}

// RunningResendJobs lists the jobs that have something to do, oldest first.
func (q *Queries) RunningResendJobs(ctx context.Context) ([]ResendJob, error) {
	return listOf[ResendJob](ctx, q, `SELECT * FROM resend_job WHERE status = 'running' ORDER BY id`)
}

// JobFilter selects jobs; empty members but PartnerID select all.
type JobFilter struct {
	PartnerID string
	// Everybody adds the jobs of all partners to those of administrators.
	Everybody bool
	Actions   []string
	Status    string
	Page
}

// ResendJobs lists the jobs of a partner, of administrators when PartnerID is empty, or of everybody, newest first.
func (q *Queries) ResendJobs(ctx context.Context, f JobFilter) ([]ResendJob, int, error) {
	w := where{}
	if !f.Everybody {
		w.add(`partner_id = ?`, f.PartnerID)
	}
	w.in(`action`, f.Actions)
	w.text(`status = ?`, f.Status)
	return pageOf[ResendJob](ctx, q, `*`, `resend_job`, w, `id DESC`, f.Page)
}

// JobOutcome counts the outcomes of the deliveries that a job sent again or made.
type JobOutcome struct {
	Delivered int64
	Failed    int64 // failed again: held or dead
	Pending   int64 // still to be tried, or tried again
	Discarded int64 // by a person, or because its event expired, since
	Moved     int64 // taken over by later jobs, where they count
}

// Sum counts the deliveries that have an outcome.
func (o JobOutcome) Sum() int64 { return o.Delivered + o.Failed + o.Pending + o.Discarded + o.Moved }

// JobMove counts the deliveries of a job that a later one took over.
type JobMove struct {
	JobID string `db:"to_job_id"`
	Moved int64  `db:"moved"`
}

// MarkResent notes that a job sent a delivery again, which it takes over from an earlier one.
func (tx *Tx) MarkResent(ctx context.Context, d Delivery, jobID string) error {
	if d.ReplayOf != "" {
		if err := tx.noteMoved(ctx, jobID, []string{d.ID}); err != nil {
			return err
		}
	}
	return tx.one(ctx, `UPDATE delivery SET replay_of = ? WHERE id = ?`, jobID, d.ID)
}

// noteMoved counts the deliveries that a job takes over from others, before it does.
func (tx *Tx) noteMoved(ctx context.Context, jobID string, deliveries []string) error {
	w := whereIn(`d.id`, deliveries)
	w.add(`d.replay_of <> ''`)
	w.add(`d.replay_of <> ?`, jobID)
	err := tx.do(ctx, `INSERT INTO resend_moved (job_id, to_job_id, moved)
		SELECT j.id, ?, COUNT(*) FROM delivery d JOIN resend_job j ON j.id = d.replay_of`+w.sql()+` GROUP BY j.id
		ON CONFLICT (job_id, to_job_id) DO UPDATE SET moved = resend_moved.moved + excluded.moved`, append([]any{jobID}, w.args...)...)
	if err != nil {
		return fmt.Errorf("note what a job takes over: %w", err)
	}
	return nil
}

// addMoved counts n more deliveries of a job, if it is known still, that another took over.
func (tx *Tx) addMoved(ctx context.Context, jobID, toJobID string, n int) error {
	err := tx.do(ctx, `INSERT INTO resend_moved (job_id, to_job_id, moved) SELECT id, ?, ? FROM resend_job WHERE id = ?
		ON CONFLICT (job_id, to_job_id) DO UPDATE SET moved = resend_moved.moved + excluded.moved`, toJobID, n, jobID)
	if err != nil {
		return fmt.Errorf("count what a job takes over: %w", err)
	}
	return nil
}

// JobMoves lists the jobs that took over deliveries of a job, newest first.
func (q *Queries) JobMoves(ctx context.Context, jobID string) ([]JobMove, error) {
	return listOf[JobMove](ctx, q, `SELECT to_job_id, moved FROM resend_moved WHERE job_id = ? ORDER BY to_job_id DESC`, jobID)
}

// JobActions answers what jobs do, by id. One that was pruned is missing.
func (q *Queries) JobActions(ctx context.Context, ids []string) (map[string]string, error) {
	actions := make(map[string]string, len(ids))
	if len(ids) == 0 {
		return actions, nil
	}
	w := whereIn(`id`, ids)
	rows, err := listOf[ResendJob](ctx, q, `SELECT id, action FROM resend_job`+w.sql(), w.args...)
	for _, j := range rows {
		actions[j.ID] = j.Action
	}
	return actions, err
}

// JobOutcome counts what became of the deliveries of a job until now.
func (q *Queries) JobOutcome(ctx context.Context, jobID string) (o JobOutcome, err error) {
	n, err := q.countBy(ctx, `SELECT status AS name, COUNT(*) AS n FROM delivery WHERE replay_of <> '' AND replay_of = ? GROUP BY status`, jobID)
	if err != nil {
		return o, fmt.Errorf("count the outcomes of a job: %w", err)
	}
	moved, err := getOne[int64](ctx, q, `SELECT COALESCE(SUM(moved), 0) FROM resend_moved WHERE job_id = ?`, jobID)
	if err != nil {
		return o, fmt.Errorf("count what left a job: %w", err)
	}
	return JobOutcome{
		Moved:     moved,
		Delivered: int64(n[DeliveryDelivered]), Failed: int64(n[DeliveryHeld] + n[DeliveryDead]),
		Pending: int64(n[DeliveryPending] + n[DeliveryRetrying]), Discarded: int64(n[DeliveryDiscarded]),
	}, nil
}

// JobEndpoints lists the endpoints at which deliveries of a job are still pending.
func (q *Queries) JobEndpoints(ctx context.Context, jobID string) ([]string, error) {
	return listOf[string](ctx, q, `SELECT DISTINCT endpoint_id FROM delivery WHERE replay_of <> '' AND replay_of = ? AND status IN ('pending', 'retrying')
		ORDER BY endpoint_id`, jobID)
}

// PruneJobs removes jobs that ended before the moment given, or stopped and were left so, with their parts. Deliveries keep the id of
// the job they came by.
func (tx *Tx) PruneJobs(ctx context.Context, before Time, _ string, limit int) (Pruned, error) {
	const old = `(SELECT id FROM resend_job WHERE status <> 'running' AND COALESCE(finished_at, updated_at) < ? ORDER BY id LIMIT ?)`
	left := int64(limit)
	for _, part := range []struct{ table, key string }{
		{"replay_part", "subscription_id"},
		{"resend_canary", "endpoint_id"},
		{"resend_refusal", "delivery_id"},
		{"resend_moved", "to_job_id"},
	} {
		n, err := tx.exec(ctx, `DELETE FROM `+part.table+` WHERE (job_id, `+part.key+`) IN
			(SELECT job_id, `+part.key+` FROM `+part.table+` WHERE job_id IN `+old+` LIMIT ?)`, before, limit, left)
		if err != nil {
			return Pruned{}, fmt.Errorf("delete the %s of old jobs: %w", part.table, err)
		}
		if left -= n; left == 0 {
			return Pruned{Rows: int64(limit)}, nil
		}
	}
	n, err := tx.exec(ctx, `DELETE FROM resend_job WHERE id IN `+old, before, left)
	if err != nil {
		return Pruned{}, fmt.Errorf("delete old jobs: %w", err)
	}
	return Pruned{Rows: int64(limit) - left + n, Done: n < left}, nil
}
