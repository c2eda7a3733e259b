package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// channel is the PostgreSQL channel on which nodes tell each other of work.
const channel = "schakel"

// Notify sends the other nodes a notification once the transaction is committed. SQLite has one node and nobody to tell. The
// payload may have 7,999 bytes.
func (tx *Tx) Notify(ctx context.Context, payload string) error {
	if tx.dialect != Postgres {
		return nil
	}
	if err := tx.later(ctx, `SELECT pg_notify(?, ?)`, channel, payload); err != nil {
		return fmt.Errorf("notify: %w", err)
	}
	return nil
}

// Listen calls ready once it listens, and fn for every notification of any node, until ctx ends or the connection breaks;
// what was notified before ready or after the break is not told. On SQLite it waits for the end of ctx.
func (db *DB) Listen(ctx context.Context, ready func(), fn func(payload string)) error {
	if db.dialect != Postgres {
		<-ctx.Done()
		return nil
	}
	conn, err := pgx.Connect(ctx, db.dsn)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if _, err := conn.Exec(ctx, `LISTEN `+channel); err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	ready()
	for {
		n, err := conn.WaitForNotification(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("wait for notification: %w", err)
		}
		fn(n.Payload)
	}
}
