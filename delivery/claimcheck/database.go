package claimcheck

import (
	"context"
	"io"

	"schakel/store"
)

// Database keeps objects in the database, so that every node has them and so does every backup.
type Database struct{ DB *store.DB }

// NewID implements Objects.
func (d Database) NewID() string { return d.DB.NewID("obj") }

// Put implements Objects.
func (d Database) Put(ctx context.Context, o store.Object, data []byte) error {
	return d.DB.PutObject(ctx, o, data)
}

// Open implements Objects.
func (d Database) Open(ctx context.Context, o store.Object) io.ReadSeeker {
	return d.DB.OpenObject(ctx, o)
}

// Drop implements Objects.
func (d Database) Drop(ctx context.Context, id string) error {
	return d.DB.Write(ctx, func(tx *store.Tx) error { return tx.DropObject(ctx, id) })
}
