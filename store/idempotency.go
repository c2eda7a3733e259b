package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"schakel/registry/sorted"
)

// Handed is an event, by its (source, id), that a subscription was handed (EDU-18b).
type Handed struct{ SubscriptionID, Identity string }

// EventIdentity hashes the source and the id of an event, to find it again: 32 hexadecimal digits.
func EventIdentity(source, id string) string {
	// Neither holds a control character (CE-04), so that two pairs cannot run together.
	sum := sha256.Sum256([]byte(source + "\x00" + id))
	return hex.EncodeToString(sum[:16])
}

// InsertHanded records the events handed to subscriptions, and returns those that were not handed to them before.
func (tx *Tx) InsertHanded(ctx context.Context, all []Handed) (fresh map[Handed]bool, err error) {
	// In one order, so that two nodes cannot wait for each other.
	rows := slices.Clone(all)
	sorted.By(rows, func(a, b Handed) int {
		return cmp.Or(strings.Compare(a.SubscriptionID, b.SubscriptionID), strings.Compare(a.Identity, b.Identity))
	})
	fresh = make(map[Handed]bool, len(all))
	for _, h := range rows {
		n, err := tx.exec(ctx, `INSERT INTO handed_identity (subscription_id, identity, seen_at) VALUES (?, ?, ?)
			ON CONFLICT (subscription_id, identity) DO NOTHING`, h.SubscriptionID, h.Identity, tx.Now)
		if err != nil {
			return nil, fmt.Errorf("insert identity: %w", err)
		}
		fresh[h] = fresh[h] || n == 1
	}
	return fresh, nil
}

// LeftOut is an event that a subscription did not get, because it had got one with the same source and id.
type LeftOut struct {
	ID             string `db:"id"`
	EventID        string `db:"event_id"`
	SubscriptionID string `db:"subscription_id"`
	PartnerID      string `db:"partner_id"`
}

// InsertLeftOut notes for whom events were left out, under new ids.
func (tx *Tx) InsertLeftOut(ctx context.Context, rows []LeftOut) error {
	for i := range rows {
		rows[i].ID = tx.NewID("lft")
		if err := tx.insert(ctx, "left_out", &rows[i]); err != nil {
			return fmt.Errorf("insert what was left out: %w", err)
		}
	}
	return nil
}

// LeftOutOf lists the subscriptions an event was left out for.
func (q *Queries) LeftOutOf(ctx context.Context, eventID string) ([]LeftOut, error) {
	return listOf[LeftOut](ctx, q, `SELECT * FROM left_out WHERE event_id = ? ORDER BY id`, eventID)
}

// PruneHanded removes what was handed over, and left out, before the moment given.
func (tx *Tx) PruneHanded(ctx context.Context, before Time, _ string, limit int) (Pruned, error) {
	n, err := tx.exec(ctx, `DELETE FROM handed_identity WHERE (subscription_id, identity) IN
		(SELECT subscription_id, identity FROM handed_identity WHERE seen_at < ? LIMIT ?)`, before, limit)
	if err != nil {
		return Pruned{}, fmt.Errorf("delete from handed_identity: %w", err)
	}
	if n >= int64(limit) {
		return Pruned{Rows: n}, nil
	}
	p, err := tx.pruneOldest(ctx, "left_out", "lft", "", before, limit-int(n))
	p.Rows += n
	return p, err
}

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
	n, err := getOne[int](ctx, &tx.Queries, `SELECT COUNT(*) FROM idempotency_key WHERE client_id = ? AND operation = ? AND key = ?
		AND created_at = ? AND fingerprint = ? AND response_body = ?`, k.ClientID, k.Operation, k.Key, k.CreatedAt, k.Fingerprint, k.ResponseBody)
	return n == 1, err
}

// AwaitStandby makes the commit wait until each standby that PostgreSQL waits for has what this transaction read. Without it a transaction
// that wrote nothing commits at once, though it may have read what another one wrote whose wait was broken off: the primary alone has
// that, and a failover loses it.
func (tx *Tx) AwaitStandby(ctx context.Context) error {
	if tx.dialect != Postgres {
		return nil
	}
	return tx.do(ctx, `SELECT pg_logical_emit_message(TRUE, 'schakel', '')`)
}

// IdempotencyKey stores the fingerprint and the answer of a request under (client, operation, key): IDEM-08, IDEM-14, IDEM-16.
type IdempotencyKey struct {
	ClientID     string `db:"client_id"`
	Operation    string `db:"operation"`
	Key          string `db:"key"`
	Fingerprint  []byte `db:"fingerprint"` // SHA-256
	StatusCode   int64  `db:"status_code"`
	ResponseBody []byte `db:"response_body"`
	CreatedAt    Time   `db:"created_at"`
	ExpiresAt    Time   `db:"expires_at"`
	Headers      string `db:"response_headers"` // JSON object of lists, or empty
}

// InsertKeys adds idempotency keys with the answers they stand for and tells, by [IdempotencyKey.Name], which were new.
// The unique insert is the lock (error E8). A key whose time is over counts as new and is replaced (IDEM-07). Of keys
// alike in one call only the first is written: the caller keeps them apart. The answers of several keys must each name
// something made in the transaction.
func (tx *Tx) InsertKeys(ctx context.Context, keys []IdempotencyKey) (fresh map[string]bool, err error) {
	rows := firstKeys(keys)
	if tx.dialect == SQLite {
		return tx.insertKeysCounted(ctx, rows)
	}
	_, written, err := tx.sendMany(ctx, keyBulk(` RETURNING client_id || ' ' || operation || ' ' || key`), len(rows), keyValues(rows))
	fresh = make(map[string]bool, len(rows))
	for _, name := range written {
		fresh[name] = true
	}
	return fresh, err
}

// keyBulk inserts keys, and takes over those whose time is over.
func keyBulk(suffix string) bulk {
	return bulk{
		into: `idempotency_key (client_id, operation, key, fingerprint, status_code, response_body, created_at, expires_at)`,
		suffix: ` ON CONFLICT (client_id, operation, key) DO UPDATE SET fingerprint = excluded.fingerprint, status_code = excluded.status_code,
			response_body = excluded.response_body, created_at = excluded.created_at, expires_at = excluded.expires_at
			WHERE idempotency_key.expires_at <= excluded.created_at` + suffix, width: 8, kinds: "tttxixii",
	}
}

func keyValues(rows []*IdempotencyKey) func(args []any, i int) []any {
	return func(args []any, i int) []any {
		k := rows[i]
		return append(args, k.ClientID, k.Operation, k.Key, k.Fingerprint, k.StatusCode, k.ResponseBody, k.CreatedAt, k.ExpiresAt)
	}
}

// firstKeys keeps the first of keys alike, in an order all nodes share: PostgreSQL refuses an upsert that meets a row twice.
func firstKeys(keys []IdempotencyKey) []*IdempotencyKey {
	rows := make([]*IdempotencyKey, len(keys))
	for i := range keys {
		rows[i] = &keys[i]
	}
	same := func(a, b *IdempotencyKey) int {
		return cmp.Or(strings.Compare(a.Key, b.Key), strings.Compare(a.ClientID, b.ClientID), strings.Compare(a.Operation, b.Operation))
	}
	slices.SortStableFunc(rows, same)
	return slices.CompactFunc(rows, func(a, b *IdempotencyKey) bool { return same(a, b) == 0 })
}

// Name identifies the key in the result of InsertKeys.
func (k *IdempotencyKey) Name() string { return k.ClientID + " " + k.Operation + " " + k.Key }

// Key finds a stored key.
func (q *Queries) Key(ctx context.Context, clientID, operation, key string) (IdempotencyKey, error) {
	return getOne[IdempotencyKey](ctx, q, `SELECT * FROM idempotency_key WHERE client_id = ? AND operation = ? AND key = ?`, clientID, operation, key)
}

// SetKeyAnswer changes the answer kept with a key, in the transaction that inserted it.
func (tx *Tx) SetKeyAnswer(ctx context.Context, clientID, operation, key string, body []byte) error {
	return tx.one(ctx, `UPDATE idempotency_key SET response_body = ? WHERE client_id = ? AND operation = ? AND key = ?`,
		body, clientID, operation, key)
}
