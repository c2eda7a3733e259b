package store

import (
	"context"
	"errors"
)

// ErrLeaseLost is answered when another node has taken a task over.
var ErrLeaseLost = errors.New("another node has taken this task over")

// ClusterTask is work that one node of the cluster does at a time, and what came of its last run.
type ClusterTask struct {
	Name       string `db:"name"`
	Owner      string `db:"owner"`
	LeaseUntil Time   `db:"lease_until"` // when another node may take it over
	Cursor     string `db:"cursor"`      // how far it is
	StartedAt  Time   `db:"started_at"`
	FinishedAt Time   `db:"finished_at"` // of the last run that was finished
	Removed    int64  `db:"removed"`     // rows, by the last run
	Error      string `db:"error"`       // of the last run, or empty
}

// Running reports whether the last run has not been finished.
func (t *ClusterTask) Running() bool { return t.FinishedAt.Before(t.StartedAt.Time) }

// ClusterTask finds a task; one that never ran is ErrNotFound.
func (q *Queries) ClusterTask(ctx context.Context, name string) (ClusterTask, error) {
	var t ClusterTask
	return t, q.get(ctx, &t, `SELECT * FROM cluster_task WHERE name = ?`, name)
}

// ClusterTasks lists the tasks that ever ran, by name.
func (q *Queries) ClusterTasks(ctx context.Context) ([]ClusterTask, error) {
	var rows []ClusterTask
	return rows, q.list(ctx, &rows, `SELECT * FROM cluster_task ORDER BY name`)
}

// StartTask gives a new run of a task to owner until lease, or the rest of one whose node died. seen is the task as it was
// read; when another node was faster it answers false. A new run begins to count anew, and goes on at the cursor.
func (tx *Tx) StartTask(ctx context.Context, seen ClusterTask, owner string, lease Time) (bool, error) {
	removed := int64(0)
	if seen.Running() {
		removed = seen.Removed
	}
	n, err := tx.exec(ctx, `INSERT INTO cluster_task (name, owner, lease_until, started_at) VALUES (?, ?, ?, ?)
		ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, lease_until = excluded.lease_until,
		started_at = excluded.started_at, removed = ?, error = ''
		WHERE cluster_task.started_at = ? AND cluster_task.lease_until = ? AND cluster_task.owner = ?`,
		seen.Name, owner, lease, tx.Now, removed, seen.StartedAt.unixMicro(), seen.LeaseUntil.unixMicro(), seen.Owner)
	return n == 1, err
}

// StepTask tells that owner goes on with a task until lease, in the transaction of what it does for it: so that whatever
// a node does that has lost its lease is undone. It answers ErrLeaseLost then. Call it first.
func (tx *Tx) StepTask(ctx context.Context, name, owner string, lease Time) error {
	err := tx.one(ctx, `UPDATE cluster_task SET lease_until = ? WHERE name = ? AND owner = ? AND lease_until > ?`, lease, name, owner, tx.Now)
	if errors.Is(err, ErrNotFound) {
		return ErrLeaseLost
	}
	return err
}

// KeepTask keeps how far a task is, in the transaction of the step.
func (tx *Tx) KeepTask(ctx context.Context, name string, p Pruned) error {
	return tx.one(ctx, `UPDATE cluster_task SET cursor = ?, removed = removed + ? WHERE name = ?`, p.Cursor, p.Rows, name)
}

// FinishTask ends a run with what went wrong, or an empty text.
func (tx *Tx) FinishTask(ctx context.Context, name, owner, failure string) error {
	_, err := tx.exec(ctx, `UPDATE cluster_task SET finished_at = ?, lease_until = ?, error = ? WHERE name = ? AND owner = ?`,
		tx.Now, tx.Now, failure, name, owner)
	return err
}

// LetGoOfTask ends the lease of a run that owner does not finish, so that another node does.
func (tx *Tx) LetGoOfTask(ctx context.Context, name, owner string) error {
	_, err := tx.exec(ctx, `UPDATE cluster_task SET lease_until = ? WHERE name = ? AND owner = ? AND lease_until > ?`, tx.Now, name, owner, tx.Now)
	return err
}

// unixMicro is what the column holds; that of the zero Time is no moment at which anything happened.
func (t Time) unixMicro() int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}
