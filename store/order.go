package store

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"schakel/registry/sorted"
)

// Deliveries of a subscription with the same order key go one after the other, in the order of their ids (guarantee G5).
//
// A delivery is in its key's queue while it is pending, retrying or held: those may still be sent, and what the receiver
// rejected holds the later ones until a person resends or discards it. One that is delivered, dead or discarded has left
// the queue, and the next one goes. The head is the delivery with the smallest id in the queue. Two places say so:
//
//   - order_head has a row (subscription, key, head) for each key whose queue is not empty;
//   - delivery.behind is TRUE for every other delivery in the queue and FALSE for the head. Of a delivery that has left the
//     queue it says nothing.
//
// Only a delivery that is not behind is claimed; the index delivery_due leaves the others out, so a claim reads as many rows
// as it takes, however long the queues are. Those right behind a head may be claimed together with it, by the same node, which
// sends them in their order and gives back all that follow the first that did not arrive (see ClaimBehind).
//
// Whoever changes what is in a queue changes both places in the same transaction: it locks the keys (lockOrder), changes
// deliveries, and settles. These are
//
//	InsertDeliveries                        enters at the end, or in front when another node's clock was ahead
//	Resend, HoldAMQPRefused                 enters in front, or anywhere
//	Complete, PullAcknowledge, PullRelease, PullExpire, PullClaim (received too often),
//	ExpireKeys, ExpireEvents, HoldStopped (ended), Discard   leaves
//
// All else keeps a delivery in the queue or out of it: claims, retries, holding, releasing, giving back, turning the clock
// back. Retention and the drop of a day remove only what is out of it.
//
// On PostgreSQL the row in order_head is the lock of the key. It is taken before any delivery is changed and in the order of
// the keys, so that two nodes do not wait for each other. The head is also where the search for the next one begins: it need
// not pass over index entries of all that was delivered since the last vacuum, nor look into partitions of earlier days.

// LockOrder locks the queues of deliveries that a transaction is about to change one by one, so that it locks them in the order
// in which others do. The function it returns ends that, after the changes.
func (tx *Tx) LockOrder(ctx context.Context, ids []string) (settle func(context.Context) error, err error) {
	if tx.dialect != Postgres {
		return func(context.Context) error { return nil }, nil
	}
	queues, err := tx.orderingByID(ctx, ids...)
	return func(ctx context.Context) error {
		if queues == nil {
			return nil
		}
		again, err := tx.lockOrder(ctx, queues.heads) // the heads may have changed since
		if err != nil {
			return err
		}
		return again.settle(ctx)
	}, err
}

// orderKey names a queue.
type orderKey struct{ subscription, key string }

func (d *Delivery) orderKey() orderKey { return orderKey{d.SubscriptionID, d.OrderKey} }

// queued lists the states of deliveries in the queue of their key.
const queued = `('pending', 'retrying', 'held')`

// inQueue reports whether a delivery counts in the queue of its key.
func (d *Delivery) inQueue() bool {
	return d.OrderKey != "" && (d.Status == DeliveryPending || d.Status == DeliveryRetrying || d.Status == DeliveryHeld)
}

// ordering changes the queues of some keys. One of no keys does nothing; it may be nil.
type ordering struct {
	tx    *Tx
	heads map[orderKey]string // as the transaction found them; "" for an empty queue
	// entered has the smallest id that came into each queue since.
	entered map[orderKey]string
}

// keyRow is a key with an id: a head, or where to begin looking for it.
type keyRow struct {
	Subscription string `db:"s"`
	Key          string `db:"o"`
	ID           string `db:"i"`
}

// orderingOf locks the queues of deliveries that have a key; nil when none has.
func (tx *Tx) orderingOf(ctx context.Context, rows []Delivery) (*ordering, error) {
	var keys map[orderKey]string
	for i := range rows {
		if rows[i].OrderKey != "" {
			if keys == nil {
				keys = make(map[orderKey]string)
			}
			keys[rows[i].orderKey()] = ""
		}
	}
	return tx.lockOrder(ctx, keys)
}

// orderingByID is orderingOf for deliveries that are not read yet.
func (tx *Tx) orderingByID(ctx context.Context, ids ...string) (*ordering, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	w := whereIn(`id`, ids)
	w.add(`order_key <> ''`)
	var rows []Delivery
	if err := tx.list(ctx, &rows, `SELECT DISTINCT subscription_id, order_key FROM delivery`+w.sql(), w.args...); err != nil {
		return nil, fmt.Errorf("read order keys: %w", err)
	}
	return tx.orderingOf(ctx, rows)
}

// lockOrder locks the queues of keys and reads their heads into the map, which it keeps.
func (tx *Tx) lockOrder(ctx context.Context, keys map[orderKey]string) (*ordering, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	query := `SELECT h.subscription_id AS s, h.order_key AS o, h.head AS i FROM k CROSS JOIN order_head h WHERE h.subscription_id = k.s AND h.order_key = k.o`
	if tx.dialect == Postgres { // an insert waits for another one, which no SELECT could lock
		query = `INSERT INTO order_head (subscription_id, order_key, head) SELECT k.s, k.o, k.i FROM k
			ON CONFLICT (subscription_id, order_key) DO UPDATE SET head = order_head.head
			RETURNING subscription_id AS s, order_key AS o, head AS i`
	}
	found, err := tx.ofKeys(ctx, query, sortedKeys(keys))
	if err != nil {
		return nil, fmt.Errorf("lock order keys: %w", err)
	}
	for _, r := range found {
		keys[orderKey{r.Subscription, r.Key}] = r.ID
	}
	return &ordering{tx: tx, heads: keys, entered: make(map[orderKey]string)}, nil
}

// sortedKeys lists keys with their ids in one order, in which all transactions lock them.
func sortedKeys(keys map[orderKey]string) []keyRow {
	rows := make([]keyRow, 0, len(keys))
	for k, id := range keys {
		rows = append(rows, keyRow{k.subscription, k.key, id})
	}
	sorted.By(rows, func(a, b keyRow) int {
		return cmp.Or(strings.Compare(a.Subscription, b.Subscription), strings.Compare(a.Key, b.Key))
	})
	return rows
}

// enqueue puts new deliveries into the queues of their keys, before they are written.
func (tx *Tx) enqueue(ctx context.Context, rows []Delivery) error {
	if !slices.ContainsFunc(rows, func(d Delivery) bool { return d.inQueue() }) {
		return nil
	}
	o, err := tx.orderingOf(ctx, slices.DeleteFunc(slices.Clone(rows), func(d Delivery) bool { return !d.inQueue() }))
	if err != nil {
		return err
	}
	heads := make(map[orderKey]string)
	for i := range rows {
		if d := &rows[i]; d.inQueue() {
			k := d.orderKey()
			head, moved := heads[k]
			if !moved {
				head = o.heads[k]
			}
			if head == "" || d.ID < head {
				heads[k] = d.ID
			}
		}
	}
	for i := range rows {
		if d := &rows[i]; d.inQueue() {
			d.Behind = heads[d.orderKey()] != d.ID
		}
	}
	return o.move(ctx, heads, false)
}

// enter notes that a delivery came into the queue of its key. It was written as one that is behind.
func (o *ordering) enter(k orderKey, id string) {
	if first, ok := o.entered[k]; !ok || id < first {
		o.entered[k] = id
	}
}

// settle makes who is first now the head of each queue.
func (o *ordering) settle(ctx context.Context) error {
	if o == nil {
		return nil
	}
	tx := o.tx
	from, gone := make(map[orderKey]string, len(o.heads)), make(map[orderKey]string)
	for k, head := range o.heads {
		if e, ok := o.entered[k]; ok && (head == "" || e < head) {
			from[k] = e
		} else if head != "" {
			from[k] = head
		} else {
			gone[k] = ""
		}
	}
	// The head is the smallest id in the queue: nothing before it needs to be looked at.
	firsts, err := tx.ofKeys(ctx, `SELECT k.s, k.o, COALESCE((SELECT d.id FROM delivery d WHERE d.subscription_id = k.s AND d.order_key = k.o
		AND d.order_key <> '' AND d.status IN `+queued+` AND d.id >= k.i ORDER BY d.id LIMIT 1), '') AS i FROM k`, sortedKeys(from))
	if err != nil {
		return fmt.Errorf("find heads of order keys: %w", err)
	}
	moved := make(map[orderKey]string, len(firsts))
	for _, r := range firsts {
		k := orderKey{r.Subscription, r.Key}
		switch r.ID {
		case "":
			gone[k] = ""
		case o.heads[k]:
		default:
			moved[k] = r.ID
		}
	}
	if err := o.move(ctx, moved, true); err != nil {
		return err
	}
	return o.remove(ctx, gone)
}

// move gives queues other heads. promote tells that these are written as behind.
func (o *ordering) move(ctx context.Context, to map[orderKey]string, promote bool) error {
	if len(to) == 0 {
		return nil
	}
	tx, rows := o.tx, sortedKeys(to)
	_, err := tx.putMany(ctx, bulk{
		into: `order_head (subscription_id, order_key, head)`, width: 3, kinds: "ttt", blind: true,
		suffix: ` ON CONFLICT (subscription_id, order_key) DO UPDATE SET head = excluded.head`,
	}, len(rows), func(args []any, i int) []any { return append(args, rows[i].Subscription, rows[i].Key, rows[i].ID) })
	if err != nil {
		return fmt.Errorf("write heads of order keys: %w", err)
	}
	var overtaken, firsts []string
	for k, id := range to {
		if before := o.heads[k]; before != "" && id < before {
			overtaken = append(overtaken, before)
		}
		firsts = append(firsts, id)
		o.heads[k] = id
	}
	if err := tx.setBehind(ctx, overtaken, true); err != nil || !promote {
		return err
	}
	if len(overtaken) > 0 { // what was claimed asks before it is sent: see MayStart
		if err := tx.bumpFanout(ctx); err != nil {
			return fmt.Errorf("tell of a changed order: %w", err)
		}
	}
	return tx.setBehind(ctx, firsts, false)
}

func (tx *Tx) setBehind(ctx context.Context, ids []string, behind bool) error {
	if len(ids) == 0 {
		return nil
	}
	slices.Sort(ids)
	if err := tx.eachChunk(ctx, `UPDATE delivery SET behind = ? WHERE id IN`, []any{behind}, ids); err != nil {
		return fmt.Errorf("mark deliveries by their order: %w", err)
	}
	return nil
}

// remove forgets keys whose queues are empty.
func (o *ordering) remove(ctx context.Context, keys map[orderKey]string) error {
	if len(keys) == 0 {
		return nil
	}
	tx := o.tx
	query := `DELETE FROM order_head WHERE (subscription_id, order_key) IN (SELECT k.s, k.o FROM k) RETURNING subscription_id AS s, order_key AS o, head AS i`
	if _, err := tx.ofKeys(ctx, query, sortedKeys(keys)); err != nil {
		return fmt.Errorf("forget order keys: %w", err)
	}
	maps.Copy(o.heads, keys)
	return nil
}

// ofKeys runs a query on a list k of keys with an id each: (s, o, i). Further arguments come after those of the list.
func (tx *Tx) ofKeys(ctx context.Context, query string, keys []keyRow, more ...any) (found []keyRow, err error) {
	if len(keys) == 0 {
		return nil, nil
	}
	if tx.dialect == Postgres {
		if err := tx.planOnce(ctx); err != nil {
			return nil, err
		}
		var subscriptions, names, ids []string
		for _, r := range keys {
			subscriptions, names, ids = append(subscriptions, r.Subscription), append(names, r.Key), append(ids, r.ID)
		}
		return found, tx.list(ctx, &found, `WITH k (s, o, i) AS (SELECT * FROM unnest(?::text[], ?::text[], ?::text[])) `+query,
			append([]any{subscriptions, names, ids}, more...)...)
	}
	for len(keys) > 0 {
		n := chunk(len(keys))
		args := make([]any, 0, 3*n+len(more))
		for _, r := range keys[:n] {
			args = append(args, r.Subscription, r.Key, r.ID)
		}
		text := tx.texts.as(textKey{into: query, rows: n}, func() string {
			return `WITH k (s, o, i) AS (VALUES ` + strings.TrimSuffix(strings.Repeat(`(?, ?, ?), `, n), `, `) + `) ` + query
		})
		var part []keyRow
		if err := tx.list(ctx, &part, text, append(args, more...)...); err != nil {
			return nil, err
		}
		found, keys = append(found, part...), keys[n:]
	}
	return found, nil
}
