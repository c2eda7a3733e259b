package main

import (
	"context"
	"crypto/tls"

	"schakel/delivery/outbound"
	"schakel/registry/installation"
	"schakel/server/cli"
	"schakel/store"
)

// openStore opens the database and brings it to this version.
func openStore(ctx context.Context, database string) (*store.DB, error) {
	return openWith(ctx, database, store.Options{Now: cli.Clock})
}

// openAlone is openStore for a program that runs the engine, which takes a SQLite file for its own.
func openAlone(servers *outbound.Servers) func(ctx context.Context, database string) (*store.DB, error) {
	seen := func(address string) func(tls.ConnectionState) error {
		return servers.At(installation.ExpiryDatabaseServer, address)
	}
	return func(ctx context.Context, database string) (*store.DB, error) {
		return openWith(ctx, database, store.Options{Now: cli.Clock, Alone: true, Seen: seen})
	}
}

func openWith(ctx context.Context, database string, o store.Options) (*store.DB, error) {
	db, err := store.Open(ctx, database, o)
	if err != nil {
		return nil, err
	}
	if err := db.Migrate(ctx); err != nil {
		_ = db.Close()
		return nil, err
	}
	return db, nil
}
