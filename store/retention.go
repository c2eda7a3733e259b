package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Pruned holds the result of one small step of pruning.
type Pruned struct {
	Rows   int64
	Cursor string // where the next step goes on
	Done   bool   // nothing is left to do for now
}

// pruneEvents bounds the events that one step looks at, so that with a delivery and an attempt each they fit in one step.
const pruneEvents = 150

// The states in which nothing more is to be done for a delivery. Whatever another state means, it keeps its event.
const closedStates = `('delivered', 'discarded')`

// PruneEvents removes events accepted before the moment given, with their deliveries and attempts: at most limit rows in
// all, from those behind the cursor on. An event stays as long as one of its deliveries is pending, retrying, held or
// dead, or changed since that moment: dead letters are never pruned. The order of ids is the order of acceptance, so
// no index is needed for it.
//
// On PostgreSQL a day goes as a whole once all of it is old, whatever its number of rows, which do not count; what must stay
// of it is kept.
//
// Whoever makes new deliveries of an old event has to [Tx.Lock] that event.
func (tx *Tx) PruneEvents(ctx context.Context, before Time, cursor string, limit int) (Pruned, error) {
	if tx.dialect == Postgres && !strings.HasPrefix(cursor, atEvents) {
		return tx.pruneDays(ctx, before, cursor, limit)
	}
	bound, err := tx.rowsBound(ctx, before)
	if err != nil {
		return Pruned{}, err
	}
	var page []string
	err = tx.list(ctx, &page, `SELECT id FROM event WHERE id > ? AND id < ? ORDER BY id LIMIT ?`+tx.skipLocked("event"),
		cursor, bound, pruneEvents)
	if err != nil {
		return Pruned{}, fmt.Errorf("list old events: %w", err)
	}
	if len(page) == 0 {
		return Pruned{Done: true}, nil
	}
	old, err := tx.withoutOpen(ctx, page, before)
	if err != nil {
		return Pruned{}, fmt.Errorf("find events that are still needed: %w", err)
	}
	p := Pruned{Cursor: page[len(page)-1]}
	if p.Rows, err = tx.deleteEvents(ctx, old, limit); err != nil {
		return Pruned{}, err
	}
	if p.Rows >= int64(limit) {
		p.Cursor = cursor // there may be more of the same events
	}
	return p, nil
}

// withoutOpen leaves out the events that are still needed.
func (tx *Tx) withoutOpen(ctx context.Context, events []string, before Time) (old []string, err error) {
	w := whereIn(`event_id`, events)
	w.add(`(status NOT IN `+closedStates+` OR updated_at >= ?)`, before)
	var needed []string
	if err := tx.list(ctx, &needed, `SELECT DISTINCT event_id FROM delivery`+w.sql(), w.args...); err != nil {
		return nil, err
	}
	keep := make(map[string]bool, len(needed))
	for _, id := range needed {
		keep[id] = true
	}
	for _, id := range events {
		if !keep[id] {
			old = append(old, id)
		}
	}
	return old, nil
}

// deleteEvents removes up to limit rows of events: the attempts first, then the deliveries, then the events themselves.
func (tx *Tx) deleteEvents(ctx context.Context, events []string, limit int) (gone int64, err error) {
	if len(events) == 0 {
		return 0, nil
	}
	if err := tx.rememberReaders(ctx, events); err != nil {
		return 0, err
	}
	w := whereIn(`event_id`, events)
	w.add(`status IN ` + closedStates)
	var deliveries []string
	err = tx.list(ctx, &deliveries, `SELECT id FROM delivery`+w.sql()+` LIMIT ?`+tx.skipLocked("delivery"), append(w.args, limit)...)
	if err != nil {
		return 0, fmt.Errorf("list deliveries of old events: %w", err)
	}
	if gone, err = tx.deleteDeliveries(ctx, deliveries, limit); err != nil || gone >= int64(limit) {
		return gone, err
	}
	if tx.dialect == Postgres {
		w := whereIn(`event_id`, events)
		_, err := tx.exec(ctx, `DELETE FROM event_identity`+w.sql()+` AND NOT EXISTS (SELECT 1 FROM delivery d WHERE d.event_id = event_identity.event_id)`, w.args...)
		if err != nil {
			return gone, fmt.Errorf("forget senders: %w", err)
		}
	}
	n, err := tx.deleteSome(ctx, "event", "id", events, " AND NOT EXISTS (SELECT 1 FROM delivery d WHERE d.event_id = event.id)", limit-int(gone))
	return gone + n, err
}

// deleteDeliveries removes up to limit rows: attempts at deliveries first, then these.
func (tx *Tx) deleteDeliveries(ctx context.Context, deliveries []string, limit int) (gone int64, err error) {
	gone, err = tx.deleteSome(ctx, "attempt", "delivery_id", deliveries, "", limit)
	if err != nil || gone >= int64(limit) {
		return gone, err
	}
	n, err := tx.deleteSome(ctx, "delivery", "id", deliveries, "", limit-int(gone))
	return gone + n, err
}

// deleteSome removes up to limit rows of a table whose column has one of the values.
func (tx *Tx) deleteSome(ctx context.Context, table, column string, values []string, and string, limit int) (int64, error) {
	if len(values) == 0 {
		return 0, nil
	}
	w := whereIn(column, values)
	n, err := tx.exec(ctx, `DELETE FROM `+table+` WHERE id IN (SELECT id FROM `+table+w.sql()+and+` LIMIT ?)`, append(w.args, limit)...)
	if err != nil {
		return n, fmt.Errorf("delete from %s: %w", table, err)
	}
	return n, nil
}

// PruneAttemptBodies removes what was answered to attempts made before the moment given, of deliveries that arrived or were
// discarded. It looks at limit attempts behind the cursor, which must be kept from run to run: it spares what was
// looked at before. Whoever has to decide about a dead letter still sees what came back.
func (tx *Tx) PruneAttemptBodies(ctx context.Context, before Time, cursor string, limit int) (Pruned, error) {
	page, err := listOf[string](ctx, &tx.Queries, `SELECT id FROM attempt WHERE id > ? AND id < ? ORDER BY id LIMIT ?`, cursor, IDAt("att", before.Time), limit)
	if err != nil {
		return Pruned{}, fmt.Errorf("list old attempts: %w", err)
	}
	if len(page) == 0 {
		return Pruned{Cursor: cursor, Done: true}, nil
	}
	w := whereIn(`id`, page)
	w.add(`response_body IS NOT NULL`)
	w.add(`EXISTS (SELECT 1 FROM delivery d WHERE d.id = attempt.delivery_id AND d.status IN ` + closedStates + `)`)
	n, err := tx.exec(ctx, `UPDATE attempt SET response_body = NULL`+w.sql(), w.args...)
	if err != nil {
		return Pruned{}, fmt.Errorf("empty old attempts: %w", err)
	}
	return Pruned{Rows: n, Cursor: page[len(page)-1], Done: len(page) < limit}, nil
}

// PruneMails removes mails that were sent, could not be, or are held, and were made before the moment given.
func (tx *Tx) PruneMails(ctx context.Context, before Time, _ string, limit int) (Pruned, error) {
	return tx.pruneOldest(ctx, "mail", "mal", " AND status IN ('sent', 'failed', 'held')", before, limit)
}

// PruneIssueEvents removes what happened to issues before the moment given; the issues stay.
func (tx *Tx) PruneIssueEvents(ctx context.Context, before Time, _ string, limit int) (Pruned, error) {
	return tx.pruneOldest(ctx, "issue_event", "ise", "", before, limit)
}

// pruneOldest removes rows of a table whose ids, of this prefix, tell when they were made.
func (tx *Tx) pruneOldest(ctx context.Context, table, prefix, and string, before Time, limit int) (Pruned, error) {
	n, err := tx.exec(ctx, `DELETE FROM `+table+` WHERE id IN (SELECT id FROM `+table+` WHERE id < ?`+and+` ORDER BY id LIMIT ?)`,
		IDAt(prefix, before.Time), limit)
	if err != nil {
		return Pruned{}, fmt.Errorf("delete from %s: %w", table, err)
	}
	return Pruned{Rows: n, Done: n < int64(limit)}, nil
}

// forgetLogins sets how long the failed logins of a bucket are kept after the last one.
const forgetLogins = 30 * 24 * time.Hour

// forgetDevices sets how long a browser is kept after its last login.
const forgetDevices = 400 * 24 * time.Hour

// forgetExpiries sets how long it is kept, after the end of a certificate, that people were told of it.
const forgetExpiries = 400 * 24 * time.Hour

// forgetMandates sets how long an answer of the register of mandates is kept; then it is asked again.
const forgetMandates = 90 * 24 * time.Hour

// MaxSession bounds how long a login can last, whatever the settings say.
const MaxSession = 31 * 24 * time.Hour

// PruneExpired removes what had expired before the moment given: sessions, links, begun registrations, single-use values and idempotency
// keys (error E2: those whose expiry has passed), and failed logins, browsers and answers about mandates of long ago; at most limit rows in all.
func (tx *Tx) PruneExpired(ctx context.Context, before Time, _ string, limit int) (Pruned, error) {
	longAgo := At(before.Add(-forgetLogins))
	var gone int64
	for _, t := range []struct {
		table, key, column string
		until              Time
	}{
		{"session", "token_hash", "expires_at", before},
		{"one_time_link", "token_hash", "expires_at", before},
		{"used_once", "value", "expires_at", before},
		{"registration_draft", "id", "expires_at", before},
		{"login_throttle", "bucket", "updated_at", longAgo},
		{"login_session", "id", "started_at", At(before.Add(-MaxSession))},
		{"expiry_notice", "(item, until)", "until", At(before.Add(-forgetExpiries))},
		{"login_device", "token_hash", "used_at", At(before.Add(-forgetDevices))},
		{"mandate", "(intermediary, organisation, service)", "asked_at", At(before.Add(-forgetMandates))},
		{"idempotency_key", "(client_id, operation, key)", "expires_at", before},
	} {
		inner := t.key
		if inner[0] == '(' {
			inner = inner[1 : len(inner)-1]
		}
		n, err := tx.exec(ctx, `DELETE FROM `+t.table+` WHERE `+t.key+` IN
			(SELECT `+inner+` FROM `+t.table+` WHERE `+t.column+` <= ? LIMIT ?)`, t.until, limit-int(gone))
		if err != nil {
			return Pruned{}, fmt.Errorf("delete from %s: %w", t.table, err)
		}
		if gone += n; gone >= int64(limit) {
			return Pruned{Rows: gone}, nil
		}
	}
	return Pruned{Rows: gone, Done: true}, nil
}

// ErrLeaseLost is returned when another node has taken a task over.
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
	return getOne[ClusterTask](ctx, q, `SELECT * FROM cluster_task WHERE name = ?`, name)
}

// ClusterTasks lists the tasks that ever ran, by name.
func (q *Queries) ClusterTasks(ctx context.Context) ([]ClusterTask, error) {
	return listOf[ClusterTask](ctx, q, `SELECT * FROM cluster_task ORDER BY name`)
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

// StepTask extends the lease of owner on a task, in the transaction of what it does for it: so that whatever
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
	return tx.do(ctx, `UPDATE cluster_task SET finished_at = ?, lease_until = ?, error = ? WHERE name = ? AND owner = ?`,
		tx.Now, tx.Now, failure, name, owner)
}

// LetGoOfTask ends the lease of a run that owner does not finish, so that another node does.
func (tx *Tx) LetGoOfTask(ctx context.Context, name, owner string) error {
	return tx.do(ctx, `UPDATE cluster_task SET lease_until = ? WHERE name = ? AND owner = ? AND lease_until > ?`, tx.Now, name, owner, tx.Now)
}

// unixMicro returns the value of the column; the zero Time gives no moment at which anything happened.
func (t Time) unixMicro() int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}
