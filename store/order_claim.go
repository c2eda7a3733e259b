package store

import (
	"context"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// fewBehind bounds the deliveries claimed behind many heads. A single key needs many at a time to be fast; many keys keep
// their sender busy without, and would only make the transaction long, for which others wait.
const fewBehind = 64

// ClaimBehind claims, for the owner of heads that were claimed in this transaction, what comes right behind them in the
// queues of their keys: up to each for one key and most in all, fewer behind many heads. It takes an unbroken part of a queue, up to the first
// delivery that is held, not due or not free. The owner sends those of a key one after the other and gives back all that
// follow the first that did not arrive (guarantee G5). The answer is in the order of acceptance.
func (tx *Tx) ClaimBehind(ctx context.Context, heads []Claimed, owner string, each, most int, lease Time) ([]Claimed, error) {
	keys := make(map[orderKey]string)
	for i := range heads {
		if d := &heads[i].Delivery; d.OrderKey != "" && !d.Behind {
			keys[d.orderKey()] = d.ID
		}
	}
	if len(keys) == 0 {
		return nil, nil
	}
	if each = min(each, max(min(most, fewBehind), most/len(keys))/len(keys)); each < 1 {
		return nil, nil
	}
	queues, err := tx.followers(ctx, keys, each)
	if err != nil || len(queues) == 0 {
		return nil, err
	}
	rows, err := tx.lease(ctx, queues, owner, lease)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return tx.claimed(ctx, rows)
}

// followers lists the ids of what may be claimed behind each head, in the order of their queues.
func (tx *Tx) followers(ctx context.Context, heads map[orderKey]string, each int) (map[orderKey][]string, error) {
	const free = `CASE WHEN d.status <> 'held' AND d.due_at <= ? AND d.key_expires_at > ? AND ` + unexpired + ` AND d.batch_id = '' THEN d.id ELSE '' END AS i`
	const next = ` FROM delivery x WHERE x.subscription_id = k.s AND x.order_key = k.o AND x.order_key <> '' AND x.status IN ` + queued + ` AND x.id > k.i ORDER BY x.id LIMIT `
	each = 1 << (bits.Len(uint(each)) - 1) // few statements, planned for how much they read
	limit := strconv.Itoa(each)
	query := `SELECT k.s, k.o, ` + free + ` FROM k CROSS JOIN delivery d WHERE d.id IN (SELECT x.id` + next + limit + `) ORDER BY d.id`
	if tx.dialect == Postgres {
		query = `SELECT k.s, k.o, ` + free + ` FROM k CROSS JOIN LATERAL (SELECT x.*` + next + limit + `) d ORDER BY d.id`
	}
	found, err := tx.ofKeys(ctx, query, sortedKeys(heads), tx.Now, tx.Now, tx.Now)
	if err != nil {
		return nil, fmt.Errorf("find deliveries behind others: %w", err)
	}
	queues, ends := make(map[orderKey][]string), make(map[orderKey]bool)
	for _, r := range found {
		k := orderKey{r.Subscription, r.Key}
		if ends[k] = ends[k] || r.ID == ""; !ends[k] {
			queues[k] = append(queues[k], r.ID)
		}
	}
	return queues, nil
}

// lease claims the parts of queues. Where another transaction got at one of them meanwhile, it takes those before that.
func (tx *Tx) lease(ctx context.Context, queues map[orderKey][]string, owner string, lease Time) ([]Delivery, error) {
	var ids []string
	for _, q := range queues {
		ids = append(ids, q...)
	}
	slices.Sort(ids)
	got, err := tx.leaseIDs(ctx, ids, owner, lease)
	if err != nil {
		return nil, fmt.Errorf("claim deliveries behind others: %w", err)
	}
	if len(got) == len(ids) {
		return got, nil
	}
	byID := make(map[string]int, len(got))
	for i := range got {
		byID[got[i].ID] = i
	}
	var unbroken []Delivery
	var back []Lease
	for _, q := range queues {
		whole := true
		for _, id := range q {
			switch i, ok := byID[id]; {
			case !ok:
				whole = false
			case whole:
				unbroken = append(unbroken, got[i])
			default:
				back = append(back, LeaseOf(&got[i]))
			}
		}
	}
	return unbroken, tx.Unclaim(ctx, back)
}

// leaseIDs claims those of the deliveries that are still free.
func (tx *Tx) leaseIDs(ctx context.Context, ids []string, owner string, lease Time) (got []Delivery, err error) {
	const set = `UPDATE delivery SET due_at = ?, lease_owner = ?, lease = lease + 1, updated_at = ? WHERE id IN `
	if tx.dialect == Postgres {
		// By their ids alone: with their state in it the planner would choose an index of all that waits.
		rows, err := listOf[Delivery](ctx, &tx.Queries, `SELECT id, status, due_at, lease_owner FROM delivery WHERE id = ANY (?) AND id >= ? AND id <= ? FOR UPDATE SKIP LOCKED`,
			ids, ids[0], ids[len(ids)-1])
		var free []string
		for i := range rows {
			if d := &rows[i]; (d.Status == DeliveryPending || d.Status == DeliveryRetrying) && !d.DueAt.After(tx.Now.Time) && !tx.holds(d) {
				free = append(free, d.ID)
			}
		}
		if err != nil || len(free) == 0 {
			return nil, err
		}
		return got, tx.list(ctx, &got, `UPDATE delivery SET due_at = ?, lease_owner = ?, lease = lease + 1, updated_at = ?
			WHERE id = ANY (?) AND id >= ? AND id <= ? RETURNING `+deliveryColumns, lease, owner, tx.Now, free, ids[0], ids[len(ids)-1])
	}
	for len(ids) > 0 {
		n := chunk(len(ids))
		args := []any{lease, owner, tx.Now}
		for _, id := range ids[:n] {
			args = append(args, id)
		}
		text := tx.texts.as(textKey{into: set, rows: n}, func() string {
			return set + `(` + strings.TrimSuffix(strings.Repeat(`?, `, n), `, `) + `) RETURNING ` + deliveryColumns
		})
		var part []Delivery
		if err := tx.list(ctx, &part, text, args...); err != nil {
			return nil, err
		}
		got, ids = append(got, part...), ids[n:]
	}
	return got, nil
}
