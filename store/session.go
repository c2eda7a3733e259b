package store

import (
	"context"
	"errors"
	"time"
)

// SessionFind reads a portal session by the hash of its token. An expired or unknown one is not found.
func (db *DB) SessionFind(ctx context.Context, tokenHash []byte) (data []byte, expires time.Time, found bool, err error) {
	var row struct {
		Data      []byte `db:"data"`
		ExpiresAt Time   `db:"expires_at"`
	}
	err = db.get(ctx, &row, `SELECT data, expires_at FROM session WHERE token_hash = ? AND expires_at > ?`, tokenHash, At(db.now()))
	if errors.Is(err, ErrNotFound) {
		return nil, time.Time{}, false, nil
	}
	return row.Data, row.ExpiresAt.Time, err == nil, err
}

// SessionSave writes a session until expires.
func (db *DB) SessionSave(ctx context.Context, tokenHash, data []byte, expires time.Time) error {
	return db.Write(ctx, func(tx *Tx) error {
		_, err := tx.exec(ctx, `INSERT INTO session (token_hash, data, expires_at) VALUES (?, ?, ?)
			ON CONFLICT (token_hash) DO UPDATE SET data = excluded.data, expires_at = excluded.expires_at`,
			tokenHash, data, At(expires))
		return err
	})
}

// SessionDelete ends a session; ending an unknown one is no error.
func (db *DB) SessionDelete(ctx context.Context, tokenHash []byte) error {
	return db.Write(ctx, func(tx *Tx) error {
		_, err := tx.exec(ctx, `DELETE FROM session WHERE token_hash = ?`, tokenHash)
		return err
	})
}

// UseOnce records value until expires and reports whether this was its first use. All nodes share the record.
func (db *DB) UseOnce(ctx context.Context, value string, expires time.Time) (bool, error) {
	var first bool
	err := db.Write(ctx, func(tx *Tx) error {
		n, err := tx.exec(ctx, `INSERT INTO used_once (value, expires_at) VALUES (?, ?) ON CONFLICT (value) DO NOTHING`, value, At(expires))
		first = n == 1
		return err
	})
	return first, err
}
