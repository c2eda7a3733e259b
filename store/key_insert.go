package store

import "context"

// insertKeysCounted is InsertKeys where one process has the database: a statement that touched as many keys as it names
// found all of them free, so that it need not list them, which costs as much as writing them.
func (tx *Tx) insertKeysCounted(ctx context.Context, rows []*IdempotencyKey) (fresh map[string]bool, err error) {
	fresh = make(map[string]bool, len(rows))
	for len(rows) > 0 {
		part := rows[:chunk(len(rows))]
		rows = rows[len(part):]
		n, err := tx.putMany(ctx, keyBulk(``), len(part), keyValues(part))
		if err != nil {
			return nil, err
		}
		for _, k := range part {
			mine := int(n) == len(part)
			if n > 0 && !mine {
				if mine, err = tx.hasWritten(ctx, k); err != nil {
					return nil, err
				}
			}
			if mine {
				fresh[k.Name()] = true
			}
		}
	}
	return fresh, nil
}

// hasWritten reports whether a key is there as this transaction writes it. Its answer names what the transaction made, which
// that of another request cannot.
func (tx *Tx) hasWritten(ctx context.Context, k *IdempotencyKey) (bool, error) {
	var n int
	err := tx.get(ctx, &n, `SELECT COUNT(*) FROM idempotency_key WHERE client_id = ? AND operation = ? AND key = ?
		AND created_at = ? AND fingerprint = ? AND response_body = ?`, k.ClientID, k.Operation, k.Key, k.CreatedAt, k.Fingerprint, k.ResponseBody)
	return n == 1, err
}
