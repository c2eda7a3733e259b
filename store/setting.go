package store

import (
	"context"
	"fmt"
)

// Setting reads a setting of the installation, or "" when it is not set.
func (q *Queries) Setting(ctx context.Context, name string) (string, error) {
	value, err := getOne[string](ctx, q, `SELECT value FROM setting WHERE name = ?`, name)
	if err == ErrNotFound {
		err = nil
	}
	return value, err
}

// SetSetting writes a setting of the installation.
func (tx *Tx) SetSetting(ctx context.Context, name, value string) error {
	return tx.do(ctx, `INSERT INTO setting (name, value, updated_at) VALUES (?, ?, ?)
		ON CONFLICT (name) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at`, name, value, tx.Now)
}

// SwapSetting writes a setting that still has the value before ("" when it was not set). When someone else changed it
// meanwhile the error is ErrConflict.
func (tx *Tx) SwapSetting(ctx context.Context, name, before, after string) error {
	var query string
	args := []any{name, after, tx.Now}
	if before == "" {
		query = `INSERT INTO setting (name, value, updated_at) VALUES (?, ?, ?) ON CONFLICT (name) DO NOTHING`
	} else {
		query = `UPDATE setting SET value = ?, updated_at = ? WHERE name = ? AND value = ?`
		args = []any{after, tx.Now, name, before}
	}
	n, err := tx.exec(ctx, query, args...)
	if err != nil {
		return fmt.Errorf("write setting: %w", err)
	}
	if n == 0 {
		return ErrConflict
	}
	return nil
}
