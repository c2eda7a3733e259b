package main

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"schakel/server/cli"
	"schakel/store"
)

// How long the program waits at its start for a PostgreSQL that is not there yet, such as after a power failure, and how
// often it looks. What does not pass by itself, such as a wrong password, fails at once.
const (
	databaseWait = time.Minute
	databaseLook = time.Second
)

// whenThere opens a database as soon as it is there.
func whenThere(ctx context.Context, database string, log *slog.Logger, open func(context.Context, string) (*store.DB, error)) (*store.DB, error) {
	began := time.Now()
	for {
		db, err := open(ctx, database)
		if err == nil || !strings.HasPrefix(database, "postgres") || !store.Away(err) || time.Since(began) >= databaseWait {
			return db, err
		}
		log.WarnContext(ctx, "the database is not there yet; waiting for it", "error", err, "longest", databaseWait)
		if !cli.Pause(ctx, databaseLook) {
			return nil, err
		}
	}
}
