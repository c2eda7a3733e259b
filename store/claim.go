package store

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"schakel/registry/sorted"
)

// Claimed is a delivery a node holds, with the event to send.
type Claimed struct {
	Delivery
	Event Event
	// Retry holds the retry schedule of its subscription, or nothing, and Encryption for whom its data is encrypted; the engine fills them in.
	Retry      string
	Encryption *Encryption
}

// Lease identifies a claim of a delivery: a node may claim one again while a sender of its own that hung past its lease
// still has it in hand.
type Lease struct {
	DeliveryID string
	Owner      string
	Number     int64
}

// LeaseOf is the lease a delivery was read with.
func LeaseOf(d *Delivery) Lease {
	return Lease{DeliveryID: d.ID, Owner: d.LeaseOwner, Number: d.Lease}
}

// Claim takes up to limit due deliveries of an endpoint for owner until lease. Only those whose subscription is
// approved at this moment are taken (guarantee G2); a test event has no subscription, its partner must be approved.
// A delivery whose lease ends without an outcome is due again. One whose Idempotency-Key has expired waits for a person
// (IDEM-12), and one whose event has expired for ExpireEvents. One that must come in order waits for those before it with the same key (guarantee G5).
func (tx *Tx) Claim(ctx context.Context, endpointID, owner string, limit int, lease Time) ([]Claimed, error) {
	return tx.claim(ctx, endpointID, owner, limit, lease, ``)
}

// claim is Claim for those that meet one more condition.
func (tx *Tx) claim(ctx context.Context, endpointID, owner string, limit int, lease Time, condition string) ([]Claimed, error) {
	if tx.dialect == Postgres && condition == `` {
		return tx.claimAhead(ctx, endpointID, owner, limit, lease)
	}
	rows, _, err := tx.claimFrom(ctx, endpointID, owner, limit, lease, condition, Time{})
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return tx.claimed(ctx, rows)
}

// claimFrom takes those that are due since a moment, or all that are due, and tells since when the last of them was.
func (tx *Tx) claimFrom(ctx context.Context, endpointID, owner string, limit int, lease Time, condition string, from Time) ([]Delivery, Time, error) {
	var found []struct {
		Delivery
		Last Time `db:"last_due"`
	}
	last, args := `0`, []any{endpointID, tx.Now, tx.Now, tx.Now}
	if tx.dialect == Postgres {
		if err := tx.planOnce(ctx); err != nil {
			return nil, Time{}, err
		}
		since := int64(math.MinInt64)
		if !from.IsZero() {
			since = from.UnixMicro()
		}
		last, condition, args = `(SELECT MAX(due_at) FROM due)`, condition+` AND d.due_at >= ? AND NOT (d.lease_owner = ANY (?))`, append(args, since, tx.livingNodes())
	}
	err := tx.list(ctx, &found, `WITH due AS MATERIALIZED (
			SELECT d.id, d.due_at FROM delivery d
			WHERE d.endpoint_id = ? AND d.behind = FALSE AND d.status IN ('pending', 'retrying') AND d.due_at <= ? AND d.key_expires_at > ? AND `+unexpired+`
			AND CASE WHEN d.subscription_id = ''
				THEN EXISTS (SELECT 1 FROM partner p WHERE p.id = d.partner_id AND p.status = 'approved')
				ELSE EXISTS (SELECT 1 FROM subscription s WHERE s.id = d.subscription_id AND s.sending) END
`+condition+`
			ORDER BY d.due_at LIMIT ?`+tx.skipLocked("d")+`)
		UPDATE delivery SET due_at = ?, lease_owner = ?, lease = lease + 1, updated_at = ? WHERE id IN (SELECT id FROM due)
		RETURNING `+deliveryColumns+`, `+last+` AS last_due`, append(args, limit, lease, owner, tx.Now)...)
	if err != nil || len(found) == 0 {
		return nil, Time{}, err
	}
	rows := make([]Delivery, len(found))
	for i := range found {
		rows[i] = found[i].Delivery
	}
	return rows, found[0].Last, nil
}

// claimed are rows that were claimed, in the order they came in, with their events.
func (tx *Tx) claimed(ctx context.Context, rows []Delivery) ([]Claimed, error) {
	sorted.By(rows, func(a, b Delivery) int { return strings.Compare(a.ID, b.ID) })
	return tx.withEvents(ctx, rows)
}

// WaitsFor names the delivery that an open one waits for, because its subscription wants events with the same key in order;
// empty when it waits for none. One that the receiver rejected holds the later ones until a person resends or discards it; a
// dead letter does not.
func (q *Queries) WaitsFor(ctx context.Context, deliveryID string) (string, error) {
	id, err := getOne[string](ctx, q, `SELECT h.head FROM delivery d JOIN order_head h ON h.subscription_id = d.subscription_id AND h.order_key = d.order_key
		WHERE d.id = ? AND d.status IN ('pending', 'retrying') AND d.behind`, deliveryID)
	if errors.Is(err, ErrNotFound) {
		err = nil
	}
	return id, err
}

func (tx *Tx) withEvents(ctx context.Context, rows []Delivery) ([]Claimed, error) {
	w, seen := where{}, make(map[string]bool, len(rows))
	ids := make([]string, 0, len(rows))
	for _, r := range rows {
		if !seen[r.EventID] {
			seen[r.EventID] = true
			ids = append(ids, r.EventID)
		}
	}
	if tx.dialect == Postgres { // one statement for any number, in the partitions of these ids
		w.add(`id = ANY (?) AND id >= ? AND id <= ?`, ids, slices.Min(ids), slices.Max(ids))
	} else {
		w.in(`id`, ids)
	}
	var events []Event
	if err := tx.list(ctx, &events, `SELECT `+eventColumns+` FROM event`+w.sql(), w.args...); err != nil {
		return nil, err
	}
	byID := make(map[string]*Event, len(events))
	for i := range events {
		if err := tx.openEvent(ctx, &events[i]); err != nil {
			return nil, err
		}
		byID[events[i].ID] = &events[i]
	}
	claimed := make([]Claimed, 0, len(rows))
	for _, r := range rows {
		e := byID[r.EventID]
		if e == nil {
			return nil, errors.New("delivery " + r.ID + " has no event")
		}
		claimed = append(claimed, Claimed{Delivery: r, Event: *e})
	}
	return claimed, nil
}

// NextDue returns when the earliest open delivery of an endpoint is due that owner does not hold and that waits for no other;
// zero when there is none.
func (q *Queries) NextDue(ctx context.Context, endpointID, owner string) (Time, error) {
	t, err := getOne[Time](ctx, q, `SELECT due_at FROM delivery WHERE endpoint_id = ? AND behind = FALSE AND status IN ('pending', 'retrying')
		AND lease_owner <> ? ORDER BY due_at LIMIT 1`, endpointID, owner)
	if errors.Is(err, ErrNotFound) {
		err = nil
	}
	return t, err
}

// MayStart asks, right before an attempt, whether the lease still holds, the endpoint is active and the subscription is
// approved (guarantee G2), and, for one that comes in order, that nothing came before the first of those it was claimed with,
// by a resend (guarantee G5).
func (q *Queries) MayStart(ctx context.Context, l Lease, first string) (bool, error) {
	n, err := getOne[int](ctx, q, `SELECT COUNT(*) FROM delivery d JOIN endpoint e ON e.id = d.endpoint_id AND e.status = 'active'
		JOIN partner p ON p.id = d.partner_id AND p.status = 'approved'
		WHERE d.id = ? AND d.lease_owner = ? AND d.lease = ? AND d.status IN ('pending', 'retrying')
		AND (d.subscription_id = '' OR EXISTS (SELECT 1 FROM subscription s WHERE s.id = d.subscription_id AND s.sending))
		AND (d.order_key = '' OR NOT EXISTS (SELECT 1 FROM order_head h WHERE h.subscription_id = d.subscription_id AND h.order_key = d.order_key AND h.head < ?))`,
		l.DeliveryID, l.Owner, l.Number, first)
	return n == 1, err
}

// Unclaim gives back what was claimed and not tried, unless its lease is over and it was claimed again: it is due at once.
func (tx *Tx) Unclaim(ctx context.Context, leases []Lease) error {
	for _, l := range leases {
		_, err := tx.exec(ctx, `UPDATE delivery SET due_at = ?, lease_owner = '', updated_at = ?
			WHERE id = ? AND lease_owner = ? AND lease = ? AND status IN ('pending', 'retrying')`,
			tx.Now, tx.Now, l.DeliveryID, l.Owner, l.Number)
		if err != nil {
			return err
		}
	}
	return nil
}

// FreeLeases makes what a node held due at once, when the node starts again under the same name or stops.
func (tx *Tx) FreeLeases(ctx context.Context, owner string) (int64, error) {
	return tx.exec(ctx, `UPDATE delivery SET due_at = ?, lease_owner = '', updated_at = ? WHERE status IN ('pending', 'retrying') AND lease_owner = ?`, tx.Now, tx.Now, owner)
}

// FreeAllLeases makes everything that any node held due at once. Only for a database that one process works on. What pull
// consumers hold stays theirs: they live on when this program starts again.
func (tx *Tx) FreeAllLeases(ctx context.Context) error {
	return tx.do(ctx, `UPDATE delivery SET due_at = ?, lease_owner = '', updated_at = ? WHERE status IN ('pending', 'retrying')
		AND lease_owner <> '' AND NOT lease_owner LIKE 'lck%'`, tx.Now, tx.Now)
}

// Outcome holds the result of one attempt: the attempt, and the new state of the delivery.
type Outcome struct {
	Attempt Attempt
	// Of Delivery, ID, Status, Reason, Detail, DueAt, LastStatus and Cause are written; SubscriptionID and OrderKey name its queue,
	// EndpointID its endpoint; CreatedAt gives its latency.
	Delivery Delivery
	Lease    Lease // under which it was made
}

// Complete writes outcomes. A delivery that arrived is delivered whoever holds it by now; any other outcome counts
// only while its lease holds and the delivery is open.
func (tx *Tx) Complete(ctx context.Context, outcomes []Outcome) error {
	var ended []Delivery
	for i := range outcomes {
		if d := &outcomes[i].Delivery; d.OrderKey != "" && !d.inQueue() {
			ended = append(ended, *d)
		}
	}
	queues, err := tx.orderingOf(ctx, ended)
	if err != nil {
		return err
	}
	arrived := make(map[int64][]string)
	for i := range outcomes {
		o := &outcomes[i]
		if o.Delivery.Status != DeliveryDelivered {
			tx.counting(o.Delivery.EndpointID).Failed++
		} else {
			tx.countArrived(o.Delivery.EndpointID, o.Delivery.CreatedAt)
			arrived[o.Delivery.LastStatus] = append(arrived[o.Delivery.LastStatus], o.Delivery.ID)
		}
	}
	if err := tx.insertAttempts(ctx, len(outcomes), func(i int) *Attempt { return &outcomes[i].Attempt }); err != nil {
		return err
	}
	for status, ids := range arrived {
		err := tx.eachChunk(ctx, `UPDATE delivery SET status = 'delivered', reason = '', detail = '', due_at = NULL, lease_owner = '',
			attempts = attempts + 1, round = round + 1, last_status = ?, updated_at = ?, delivered_at = ?
			WHERE status IN ('pending', 'retrying', 'held', 'dead') AND id IN`, []any{status, tx.Now, tx.Now}, ids)
		if err != nil {
			return err
		}
	}
	for i := range outcomes {
		o := &outcomes[i]
		d := &o.Delivery
		if d.Status == DeliveryDelivered {
			continue
		}
		err := tx.later(ctx, `UPDATE delivery SET status = ?, reason = ?, detail = ?, due_at = ?, lease_owner = '',
			attempts = attempts + 1, round = round + 1, last_status = ?, cause = ?, updated_at = ?
			WHERE id = ? AND lease_owner = ? AND lease = ? AND status IN ('pending', 'retrying')`,
			d.Status, d.Reason, d.Detail, d.DueAt, d.LastStatus, d.Cause, tx.Now, d.ID, o.Lease.Owner, o.Lease.Number)
		if err != nil {
			return err
		}
	}
	if err := queues.settle(ctx); err != nil {
		return err
	}
	var stuck []Delivery
	for i := range outcomes {
		if d := &outcomes[i].Delivery; d.Status == DeliveryHeld || d.Status == DeliveryDead {
			stuck = append(stuck, *d)
		}
	}
	return tx.raiseNotices(ctx, stuck)
}

// cursors remembers, by endpoint, since when what was claimed last was due. PostgreSQL keeps what was claimed and delivered at
// the front of its index until the table is vacuumed, so that with a large backlog each claim would pass over more of it than
// the one before. While claims come back full the next one begins where the last one ended.
//
// What stands before that, because another node gave it back, a person resent it or the one before it in its order arrived, waits until a claim begins at the
// beginning again: after cursorAge, or as soon as one does not come back full.
type cursors struct {
	mu sync.Mutex
	of map[string]cursor
}

type cursor struct {
	due    Time
	looked Time // when a claim last began at the beginning
}

// cursorAge sets how long claims may begin in the middle.
const cursorAge = time.Second

func newCursors() *cursors { return &cursors{of: make(map[string]cursor)} }

// from returns where the next claim for an endpoint begins; zero means at the beginning.
func (f *cursors) from(endpointID string, now Time) cursor {
	f.mu.Lock()
	defer f.mu.Unlock()
	known := f.of[endpointID]
	if now.Sub(known.looked.Time).Abs() >= cursorAge {
		return cursor{looked: now}
	}
	return known
}

// set remembers where a claim that came back full ended, and forgets it after any other.
func (f *cursors) set(endpointID string, to cursor, full bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if full {
		f.of[endpointID] = to
	} else {
		delete(f.of, endpointID)
	}
}

// claimAhead is Claim, beginning where the last one ended, and again at the beginning for what is missing.
func (tx *Tx) claimAhead(ctx context.Context, endpointID, owner string, limit int, lease Time) ([]Claimed, error) {
	at := tx.cursors.from(endpointID, tx.Now)
	rows, last, err := tx.claimFrom(ctx, endpointID, owner, limit, lease, ``, at.due)
	if err == nil && len(rows) < limit && !at.due.IsZero() {
		var more []Delivery
		more, _, err = tx.claimFrom(ctx, endpointID, owner, limit-len(rows), lease, ``, Time{})
		rows, last = append(rows, more...), Time{}
	}
	if err != nil {
		return nil, err
	}
	tx.cursors.set(endpointID, cursor{due: last, looked: at.looked}, len(rows) == limit && !last.IsZero())
	if len(rows) == 0 {
		return nil, nil
	}
	return tx.claimed(ctx, rows)
}
