package registry

import (
	"context"
	"fmt"

	"schakel/store"
)

// Wrap adds what was attempted to an error; nil stays nil.
func Wrap(attempted string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", attempted, err)
}

// Visible answers NotFound for a row of a partner that is out of scope, and gives the error of its look-up the meaning
// that Found does. what names the row to people.
func Visible[T any](scope Scope, what string, row T, partnerID string, err error) (T, error) {
	if err == nil && !scope.Sees(partnerID) {
		err = store.ErrNotFound
	}
	if err != nil {
		return *new(T), Found(what, err)
	}
	return row, nil
}

// Locked reads a row of a table by its id with get, and keeps others from changing it until the transaction ends.
func Locked[T any](ctx context.Context, tx *store.Tx, what, table, id string, get func(context.Context, string) (T, error)) (row T, err error) {
	if err = tx.Lock(ctx, table, id); err == nil {
		row, err = get(ctx, id)
	}
	return row, Found(what, err)
}
