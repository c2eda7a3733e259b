package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
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
	sorted := slices.SortedFunc(slices.Values(all), func(a, b Handed) int {
		return cmp.Or(strings.Compare(a.SubscriptionID, b.SubscriptionID), strings.Compare(a.Identity, b.Identity))
	})
	fresh = make(map[Handed]bool, len(all))
	for _, h := range sorted {
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
	var rows []LeftOut
	return rows, q.list(ctx, &rows, `SELECT * FROM left_out WHERE event_id = ? ORDER BY id`, eventID)
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
