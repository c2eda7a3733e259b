package store

import "context"

// ClaimKey inserts a key whose answer is not known yet, as the first thing of a transaction, and reports whether it was free.
// The unique insert is the lock (error E8): on PostgreSQL who comes second waits for the first to commit or roll back. A key
// whose time is over is free (IDEM-07).
func (tx *Tx) ClaimKey(ctx context.Context, k *IdempotencyKey) (bool, error) {
	n, err := tx.exec(ctx, `INSERT INTO idempotency_key
		(client_id, operation, key, fingerprint, status_code, response_body, created_at, expires_at) VALUES (?, ?, ?, ?, 0, ?, ?, ?)
		ON CONFLICT (client_id, operation, key) DO UPDATE SET fingerprint = excluded.fingerprint, status_code = 0, response_headers = '',
			response_body = excluded.response_body, created_at = excluded.created_at, expires_at = excluded.expires_at
			WHERE idempotency_key.expires_at <= excluded.created_at`,
		k.ClientID, k.Operation, k.Key, k.Fingerprint, []byte{}, k.CreatedAt, k.ExpiresAt)
	return n == 1, err
}

// SetKeyOutcome fills in the answer of a key, in the transaction that claimed it (IDEM-14, IDEM-17).
func (tx *Tx) SetKeyOutcome(ctx context.Context, k *IdempotencyKey) error {
	return tx.one(ctx, `UPDATE idempotency_key SET status_code = ?, response_headers = ?, response_body = ?
		WHERE client_id = ? AND operation = ? AND key = ?`, k.StatusCode, k.Headers, k.ResponseBody, k.ClientID, k.Operation, k.Key)
}

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
