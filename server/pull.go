package main

import (
	"errors"
	"log/slog"

	"schakel/delivery/pull"
	"schakel/server/cli"
	"schakel/store"
)

// PullFlags are about consumers that fetch their events.
type PullFlags struct {
	PullMaxReceives int `default:"10" help:"How often an event can be received by pull without being acknowledged; then it goes to the dead-letter queue."`
}

// CheckFlags checks what flags cannot say one by one.
func (f PullFlags) CheckFlags() error {
	if f.PullMaxReceives < 1 {
		return errors.New("--pull-max-receives must be at least 1")
	}
	return nil
}

// service makes what serves consumers that fetch; their calls are answered at once when draining is closed.
func (f PullFlags) service(db *store.DB, draining <-chan struct{}, log *slog.Logger) *pull.Service {
	return pull.New(pull.Config{DB: db, Now: cli.Clock, Log: log, MaxReceives: f.PullMaxReceives, Draining: draining})
}
