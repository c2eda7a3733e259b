package store

import (
	"context"
	"errors"
	"fmt"
	"time"
)

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

// Checkpoint has SQLite copy its log into the database as far as readers let it. When all of it is copied and nobody reads it, its
// room on the volume is given back. On PostgreSQL it does nothing.
func (db *DB) Checkpoint(ctx context.Context) error {
	if db.dialect == Postgres {
		return nil
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
