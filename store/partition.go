package store

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jmoiron/sqlx"
)

// byDay lists the tables that PostgreSQL keeps in a partition for each span of days, with the prefix of their ids: the ids tell
// the time, so that a row is found by its id in one partition.
var byDay = [...]struct{ table, prefix string }{{"event", "evt"}, {"delivery", "dlv"}, {"attempt", "att"}}

// Partitions of days to come are made daysAhead of them, so that the task that makes them may fail for as long.
const daysAhead = 3

// moveAtMost bounds the rows that are moved out of the default partition when the one they belong in is made. When there are
// more, they stay, and that partition is not made: it would hold intake up.
const moveAtMost = 5000

// partitionWait sets how long a change of partitions waits for those who read and write, and keeps others waiting behind it.
const partitionWait = "250ms"

// partition is a part of a table: the rows whose ids are from From to before To. An empty From is the beginning.
type partition struct{ Name, From, To string }

var boundPattern = regexp.MustCompile(`^FOR VALUES FROM \((?:MINVALUE|'([^']*)')\) TO \('([^']*)'\)$`)

// partitions lists the parts of a table but the default one, oldest first.
func (q *Queries) partitions(ctx context.Context, table string) ([]partition, error) {
	var rows []struct {
		Name  string `db:"relname"`
		Bound string `db:"bound"`
	}
	err := q.list(ctx, &rows, `SELECT c.relname, pg_get_expr(c.relpartbound, c.oid) AS bound FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
		WHERE i.inhparent = CAST(? AS regclass) ORDER BY split_part(pg_get_expr(c.relpartbound, c.oid), ' TO ', 2)`, table)
	if err != nil {
		return nil, fmt.Errorf("list partitions of %s: %w", table, err)
	}
	var parts []partition
	for _, r := range rows {
		if m := boundPattern.FindStringSubmatch(r.Bound); m != nil {
			parts = append(parts, partition{Name: r.Name, From: m[1], To: m[2]})
		}
	}
	return parts, nil
}

// MakePartitions makes the partitions that are missing from today until some days ahead, each of span, a number of days. On
// SQLite there are none. It answers ErrBusy when others, such as a backup, use the tables for long: try again later.
func (tx *Tx) MakePartitions(ctx context.Context, span time.Duration) error {
	if tx.dialect != Postgres {
		return nil
	}
	// One node at a time; the others find them made.
	if _, err := tx.exec(ctx, `SELECT pg_advisory_xact_lock(hashtext('schakel.partitions'))`); err != nil {
		return fmt.Errorf("wait for the other nodes: %w", err)
	}
	for _, t := range byDay {
		parts, err := tx.partitions(ctx, t.table)
		if err != nil {
			return err
		}
		for _, p := range missing(t.table, t.prefix, parts, tx.Now.Time, span) {
			if err := tx.makePartition(ctx, t.table, p); err != nil {
				return busy(fmt.Errorf("make partition %s: %w", p.Name, err))
			}
		}
	}
	return nil
}

const aDay = 24 * time.Hour

// missing lists the partitions that have to be made.
func missing(table, prefix string, there []partition, now time.Time, span time.Duration) (all []partition) {
	from := now.UTC().Truncate(aDay)
	for _, p := range there { // spans may have changed, and end at any midnight
		for p.To > IDAt(prefix, from) {
			if from = from.Add(aDay); from.Sub(now) > daysAhead*aDay {
				return nil
			}
		}
	}
	for from.Sub(now) <= daysAhead*aDay {
		to := from.Add(max(span.Truncate(aDay), aDay))
		all = append(all, partition{table + "_" + from.Format("20060102"), IDAt(prefix, from), IDAt(prefix, to)})
		from = to
	}
	return all
}

// makePartition makes one, and moves what the default partition holds of it.
func (tx *Tx) makePartition(ctx context.Context, table string, p partition) error {
	rest := table + "_default"
	n, err := tx.countUpTo(ctx, moveAtMost+1, rest, where{[]string{`id >= ?`, `id < ?`}, []any{p.From, p.To}})
	if err != nil || n > moveAtMost {
		return err
	}
	for _, query := range []string{
		`SET LOCAL lock_timeout = '` + partitionWait + `'`,
		`LOCK TABLE ` + rest + ` IN ACCESS EXCLUSIVE MODE`,
		`CREATE TABLE ` + p.Name + ` (LIKE ` + table + ` INCLUDING ALL)`,
		`WITH moved AS (DELETE FROM ` + rest + ` WHERE id >= '` + p.From + `' AND id < '` + p.To + `' RETURNING *) INSERT INTO ` + p.Name + ` SELECT * FROM moved`,
		`ALTER TABLE ` + table + ` ATTACH PARTITION ` + p.Name + ` FOR VALUES FROM ('` + p.From + `') TO ('` + p.To + `')`,
		`SET LOCAL lock_timeout = DEFAULT`,
	} {
		if _, err := tx.tx.ExecContext(ctx, query); err != nil {
			return err
		}
	}
	return nil
}

// busy is ErrBusy for what could not get a lock in time.
func busy(err error) error {
	if p, ok := errors.AsType[*pgconn.PgError](err); ok && p.Code == "55P03" {
		return fmt.Errorf("%w: %w", ErrBusy, err)
	}
	return err
}

// daysSince is the version of the schema that keeps events by the day.
const daysSince = 11

// PrepareLoad makes one partition for all that a backup of this version of the schema holds, so that the days after it can have
// theirs.
func PrepareLoad(ctx context.Context, tx *sqlx.Tx, version int64, takenAt time.Time) error {
	if version < daysSince {
		return nil // the migration does it
	}
	q := &Queries{ext: tx, dialect: Postgres}
	for _, t := range byDay {
		parts, err := q.partitions(ctx, t.table)
		if err != nil {
			return err
		}
		to := IDAt(t.prefix, takenAt.UTC().Truncate(aDay).Add(aDay))
		if len(parts) > 0 {
			if parts[0].From == "" {
				continue
			}
			to = parts[0].From
		}
		_, err = tx.ExecContext(ctx, `CREATE TABLE `+t.table+`_before PARTITION OF `+t.table+` FOR VALUES FROM (MINVALUE) TO ('`+to+`')`)
		if err != nil {
			return err
		}
	}
	return nil
}

// FinishLoad fills the table of senders from the events that were loaded from a backup of this version of the schema. A backup
// does not hold it: SQLite has no such table.
func FinishLoad(ctx context.Context, tx *sqlx.Tx, version int64) error {
	if version < daysSince {
		return nil // the migration does it
	}
	if _, err := tx.ExecContext(ctx, `TRUNCATE event_identity`); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO event_identity (ce_id, ce_source, client_id, event_id) SELECT ce_id, ce_source, client_id, id FROM event`)
	return err
}
