package store

import "context"

// Lock keeps others from changing a row until the transaction ends, so that what is read of it afterwards still holds
// when it is written. On SQLite the one writer has that already. table is a name of ours, never input.
func (tx *Tx) Lock(ctx context.Context, table, id string) error {
	if tx.dialect != Postgres {
		return nil
	}
	var found string
	return tx.get(ctx, &found, `SELECT id FROM `+table+` WHERE id = ? FOR UPDATE`, id)
}
