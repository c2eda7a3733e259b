package store

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Optimize gives the query planner statistics of what the tables hold, where those it has are missing or old. Without them it guesses,
// and reads whole tables for pages that need few rows. It reads samples only; call it at start-up, after large changes, and every
// few minutes.
//
// PostgreSQL's own autovacuum sees neither partitioned tables as a whole nor, for a minute or more, a partition that fills up.
func (db *DB) Optimize(ctx context.Context) error {
	if db.dialect == Postgres {
		return db.optimizePostgres(ctx)
	}
	// 0x02: analyse where that helps; 0x10: with a bounded sample; 0x10000: all tables, not only those this connection asked about.
	if _, err := db.write.ExecContext(ctx, `PRAGMA optimize = 0x10012`); err != nil {
		return fmt.Errorf("optimize: %w", err)
	}
	// Connections read statistics when they open.
	db.read.SetMaxIdleConns(0)
	db.read.SetMaxIdleConns(db.readers)
	return nil
}

// staleTables lists the tables with more changes since they were last analysed than a tenth of their rows. Of a partitioned table its
// partitions tell.
const staleTables = `SELECT CAST(s.relid AS regclass) AS name FROM pg_stat_user_tables s
	WHERE s.schemaname = current_schema() AND s.n_mod_since_analyze > 1000 + s.n_live_tup / 10
	ORDER BY 1`

// staleParents lists the partitioned tables that were never analysed, or not since a partition changed by as much as it holds.
const staleParents = `SELECT CAST(c.oid AS regclass) AS name FROM pg_class c WHERE c.relkind = 'p' AND c.relnamespace = CAST(current_schema() AS regnamespace)
	AND NOT EXISTS (SELECT 1 FROM pg_statistic t WHERE t.starelid = c.oid)
	AND EXISTS (SELECT 1 FROM pg_inherits i JOIN pg_stat_user_tables s ON s.relid = i.inhrelid WHERE i.inhparent = c.oid AND s.n_live_tup > 0)`

func (db *DB) optimizePostgres(ctx context.Context) error {
	return db.Write(ctx, func(tx *Tx) error {
		var mine bool
		if err := tx.get(ctx, &mine, `SELECT pg_try_advisory_xact_lock(hashtext('schakel.statistics'))`); err != nil || !mine {
			return err // another node does it
		}
		var tables []string
		if err := tx.list(ctx, &tables, `SELECT name FROM (`+staleParents+`) p`); err != nil {
			return fmt.Errorf("find tables without statistics: %w", err)
		}
		var stale []string
		if err := tx.list(ctx, &stale, staleTables); err != nil {
			return fmt.Errorf("find tables with old statistics: %w", err)
		}
		for _, table := range append(tables, stale...) {
			if _, err := tx.exec(ctx, `ANALYZE `+table); err != nil {
				return fmt.Errorf("analyze %s: %w", table, err)
			}
		}
		return nil
	})
}

// Backlog counts the deliveries that wait at one endpoint.
type Backlog struct {
	EndpointID string `db:"endpoint_id"`
	Waiting    int    `db:"waiting"` // up to ListBound + 1, which stands for more than ListBound
	OldestDue  Time   `db:"oldest_due"`
}

// Backlogs counts what waits per endpoint, up to [ListBound] + 1 of each. Endpoints at which nothing waits are left out.
func (q *Queries) Backlogs(ctx context.Context) ([]Backlog, error) {
	const waiting = `FROM delivery d WHERE d.endpoint_id = e.id AND d.status IN ('pending', 'retrying')`
	return listOf[Backlog](ctx, q, fmt.Sprintf(`SELECT endpoint_id, waiting, oldest_due FROM (SELECT e.id AS endpoint_id,
			(SELECT COUNT(*) FROM (SELECT 1 %s LIMIT %d) counted) AS waiting, (SELECT MIN(d.due_at) %s) AS oldest_due FROM endpoint e) each_endpoint
		WHERE waiting > 0`, waiting, ListBound+1, waiting))
}

// Queued describes what waits at one endpoint. Of more than ListBound deliveries, Oldest is that of those that are due first.
type Queued struct {
	Waiting int  `db:"waiting"` // up to ListBound + 1, which stands for more than ListBound
	Oldest  Time `db:"oldest"`  // when the oldest was made; zero when nothing waits
	Stopped int  `db:"stopped"` // of Waiting, those whose subscription may not be sent to now
	Next    Time `db:"next_at"` // when the first is tried; zero when none can be, as it is being tried, behind another or stopped
}

// QueuedAt reads what waits at an endpoint in the order of its index, and no more than [ListBound] + 1 deliveries of it.
func (q *Queries) QueuedAt(ctx context.Context, endpointID string) (Queued, error) {
	return getOne[Queued](ctx, q, fmt.Sprintf(`SELECT COUNT(*) AS waiting, MIN(created_at) AS oldest, COUNT(CASE WHEN stopped THEN 1 END) AS stopped,
		MIN(CASE WHEN behind = FALSE AND lease_owner = '' AND NOT stopped THEN due_at END) AS next_at
		FROM (SELECT created_at, behind, lease_owner, due_at, subscription_id IN (SELECT id FROM subscription WHERE endpoint_id = ? AND NOT sending) AS stopped
		FROM delivery WHERE endpoint_id = ? AND status IN ('pending', 'retrying') ORDER BY behind, due_at LIMIT %d) queued`, ListBound+1), endpointID, endpointID)
}

// BacklogOf counts what waits at one endpoint, up to [ListBound] + 1.
func (q *Queries) BacklogOf(ctx context.Context, endpointID string) (int, error) {
	w := whereOf(`endpoint_id = ?`, endpointID)
	w.add(`status IN ('pending', 'retrying')`)
	return q.countUpTo(ctx, ListBound+1, `delivery`, w)
}

// SQLite writes what changes to a log beside the database file, and copies the log into the database from time to time. While a
// read goes on, what came after it began cannot be copied, and the log grows. The copy itself may need room, for the database
// grows by it: a log that takes all the room of a volume can no longer be copied.

const (
	// checkpointPages bounds the log, in pages of 4 KiB, before its pages are copied into the database: sixteen times
	// SQLite's own. The same pages change in many group commits and are copied once, and the writer stands still for it less often.
	checkpointPages = 16000
	// fewestPages is checkpointPages where there is hardly any room.
	fewestPages = 250
	// logShare is the part of the free room that the log may take.
	logShare = 8
	pageSize = 4096
	// keptLogs sets how many times that length the log keeps on disk when it begins anew after it was longer.
	keptLogs = 2
	// busyTimeout sets how long a connection waits for another, and truncateTimeout how long Checkpoint waits for those that read.
	busyTimeout     = 10 * time.Second
	truncateTimeout = 50 * time.Millisecond
)

// openLog sets how long the log of SQLite gets.
func (db *DB) openLog(ctx context.Context) error {
	return db.limitLog(ctx, checkpointPages)
}

// LimitLog has SQLite copy its log into the database before it takes more than a part of the free room on its volume, in bytes, and
// keep no more than twice that of a log that was longer. On PostgreSQL it does nothing.
func (db *DB) LimitLog(ctx context.Context, free uint64) error {
	pages := fewestPages
	for pages < checkpointPages && uint64(2*pages)*pageSize <= free/logShare {
		pages *= 2
	}
	return db.limitLog(ctx, min(pages, checkpointPages))
}

func (db *DB) limitLog(ctx context.Context, pages int) error {
	if db.dialect == Postgres || db.logPages.Load() == int64(pages) {
		return nil
	}
	if _, err := db.write.ExecContext(ctx, fmt.Sprintf(`PRAGMA wal_autocheckpoint=%d; PRAGMA journal_size_limit=%d`, pages, keptLogs*pages*pageSize)); err != nil {
		return fmt.Errorf("limit the log: %w", err)
	}
	db.logPages.Store(int64(pages))
	return nil
}

// LogPages returns how many pages SQLite's log may have before it is copied into the database; see LimitLog.
func (db *DB) LogPages() int64 { return db.logPages.Load() }

// OwnLog gives SQLite's log to who copies it elsewhere and keeps it from beginning anew: turn ends that for a moment, before Checkpoint does
// its work. Nil gives it back.
func (db *DB) OwnLog(turn func(ctx context.Context) error) { db.turnLog.Store(&turn) }

// Checkpoint has SQLite copy its log into the database as far as readers let it. When all of it is copied and nobody reads it, its
// room on the volume is given back. On PostgreSQL it does nothing.
func (db *DB) Checkpoint(ctx context.Context) error {
	if db.dialect == Postgres {
		return nil
	}
	if turn := db.turnLog.Load(); turn != nil && *turn != nil {
		if err := (*turn)(ctx); err != nil {
			return err
		}
	}
	conn, err := db.write.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	var busy, frames, copied int
	if err := conn.QueryRowContext(ctx, `PRAGMA wal_checkpoint(PASSIVE)`).Scan(&busy, &frames, &copied); err != nil || copied < frames {
		return err
	}
	setTimeout := func(ctx context.Context, d time.Duration) error {
		_, err := conn.ExecContext(ctx, fmt.Sprintf(`PRAGMA busy_timeout=%d`, d.Milliseconds()))
		return err
	}
	if err := setTimeout(ctx, truncateTimeout); err != nil {
		return err
	}
	err = conn.QueryRowContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &frames, &copied)
	return errors.Join(err, setTimeout(context.WithoutCancel(ctx), busyTimeout))
}
