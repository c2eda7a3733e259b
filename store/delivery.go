package store

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"
)

// States of a delivery: pending → delivered, retrying, held, dead (in the dead-letter queue), discarded.
const (
	DeliveryPending   = "pending"
	DeliveryRetrying  = "retrying"
	DeliveryDelivered = "delivered"
	DeliveryHeld      = "held"
	DeliveryDead      = "dead"
	DeliveryDiscarded = "discarded"
)

// Reasons why a delivery is held. The error queue holds what the receiver rejected.
const (
	ReasonRejected              = "rejected"
	ReasonSubscriptionPaused    = "subscription-paused"
	ReasonSubscriptionSuspended = "subscription-suspended"
	ReasonSubscriptionEnded     = "subscription-ended"
	ReasonEndpointSuspended     = "endpoint-suspended"
)

// Details of deliveries that the database settles by itself: keys of the catalogues, which are written in the language of their reader.
const (
	detailEventExpired = "verdict.event-expired"
	detailKeyExpired   = "verdict.key-has-expired"
	detailPullRejected = "verdict.pull-rejected"
)

// Delivery is one event for one subscription.
type Delivery struct {
	ID             string `db:"id"`
	EventID        string `db:"event_id"`
	SubscriptionID string `db:"subscription_id"` // empty for a test event to an endpoint
	EndpointID     string `db:"endpoint_id"`
	PartnerID      string `db:"partner_id"`
	EventType      string `db:"event_type"`
	OrderKey       string `db:"order_key"` // what it shares with those it must come after and before, or empty
	Behind         bool   `db:"behind"`    // an earlier one with its key is not done with; see order.go
	Status         string `db:"status"`
	Reason         string `db:"reason"` // code of why it is held, dead or retrying
	Detail         string `db:"detail"` // for people: what happened and what to do next
	Attempts       int64  `db:"attempts"`
	Round          int64  `db:"round"` // attempts since it was created or last resent
	IdempotencyKey string `db:"idempotency_key"`
	KeyExpiresAt   Time   `db:"key_expires_at"`
	DueAt          Time   `db:"due_at"`
	LeaseOwner     string `db:"lease_owner"`
	Lease          int64  `db:"lease"`       // how many times a node claimed it: the number of its present lease
	BatchID        string `db:"batch_id"`    // the Batch it goes with, or went with last; empty for none
	Alone          bool   `db:"alone"`       // it goes by itself, whatever its endpoint takes
	LastStatus     int64  `db:"last_status"` // HTTP status of the last answer, 0 when there was none
	Cause          string `db:"cause"`       // of its last failed attempt, which names its Issue; empty while none failed
	CreatedAt      Time   `db:"created_at"`
	UpdatedAt      Time   `db:"updated_at"`
	DeliveredAt    Time   `db:"delivered_at"`
	ExpiresAt      Time   `db:"expires_at"` // of the event, from its expirytime; zero when it does not expire
	ReplayOf       string `db:"replay_of"`  // the job that resent this delivery, or replayed its event by it; or empty
}

const deliveryColumns = `id, event_id, subscription_id, endpoint_id, partner_id, event_type, order_key, behind, status, reason, detail, attempts, round,
	idempotency_key, key_expires_at, due_at, lease_owner, lease, batch_id, alone, last_status, created_at, updated_at, delivered_at, expires_at`

// failedColumns lists the columns of a delivery that raiseNotices and recordFailures read.
const failedColumns = `id, partner_id, endpoint_id, event_type, status, cause, detail`

// InsertDeliveries adds deliveries whose ids are given. One with a LeaseOwner belongs to that node until DueAt, as if it had
// claimed it. It sets Behind of each.
func (tx *Tx) InsertDeliveries(ctx context.Context, rows []Delivery) error {
	if err := tx.enqueue(ctx, rows); err != nil {
		return err
	}
	_, err := tx.putMany(ctx, bulk{
		into: `delivery (id, event_id, subscription_id, endpoint_id, partner_id, event_type, order_key, behind, status, idempotency_key,
			key_expires_at, due_at, lease_owner, batch_id, alone, expires_at, created_at, updated_at)`, width: 18, kinds: "tttttttbttiittbiii", blind: true,
	}, len(rows), func(args []any, i int) []any {
		d := &rows[i]
		return append(args, d.ID, d.EventID, d.SubscriptionID, d.EndpointID, d.PartnerID, d.EventType, d.OrderKey, d.Behind, d.Status,
			d.IdempotencyKey, d.KeyExpiresAt, d.DueAt, d.LeaseOwner, d.BatchID, d.Alone, d.ExpiresAt, tx.Now, tx.Now)
	})
	for i := range rows {
		tx.counting(rows[i].EndpointID).Made++
	}
	return err
}

// Delivery finds a delivery.
func (q *Queries) Delivery(ctx context.Context, id string) (Delivery, error) {
	return getOne[Delivery](ctx, q, `SELECT * FROM delivery WHERE id = ?`, id)
}

// DeliveriesOf lists the deliveries of an event, oldest first.
func (q *Queries) DeliveriesOf(ctx context.Context, eventID string) ([]Delivery, error) {
	return listOf[Delivery](ctx, q, `SELECT * FROM delivery WHERE event_id = ? ORDER BY id`, eventID)
}

// DeliveryFilter selects deliveries; empty members select all. It is kept as JSON with a resend job.
type DeliveryFilter struct {
	IDs            []string `json:"ids,omitempty"`
	Statuses       []string `json:"statuses,omitempty"`
	Reason         string   `json:"reason,omitempty"`     // kind of error
	Cause          string   `json:"cause,omitempty"`      // of the last failed attempt; with EndpointID it names an issue
	Reasons        []string `json:"reasons,omitempty"`    // any of these kinds of error
	NotReasons     []string `json:"notReasons,omitempty"` // none of these kinds of error
	PartnerID      string   `json:"partnerId,omitempty"`
	EndpointID     string   `json:"endpointId,omitempty"`
	SubscriptionID string   `json:"subscriptionId,omitempty"`
	EventID        string   `json:"eventId,omitempty"`
	EventType      string   `json:"eventType,omitempty"`
	CEID           string   `json:"ceId,omitempty"`     // any name of the event but our id; see [Queries.eventsNamed]
	Subject        string   `json:"subject,omitempty"`  // of the event, exactly
	From           Time     `json:"from,omitzero"`      // when the delivery last changed, inclusive
	Until          Time     `json:"until,omitzero"`     // exclusive
	MadeFrom       Time     `json:"madeFrom,omitzero"`  // when the delivery was made, inclusive
	ReplayOf       string   `json:"replayOf,omitempty"` // the job that resent them, or that they were replayed by
	AfterID        string   `json:"afterId,omitempty"`
	BeforeID       string   `json:"beforeId,omitempty"`
	// Stopped adds what is pending or retrying at paused and suspended endpoints to what Statuses and Reasons select. It is for lists: a job
	// cannot resend that.
	Stopped bool `json:"-"`
	Page    `json:"-"`
}

// idAfter sorts after the ids of all deliveries that were made before until.
func idAfter(until Time) string { return IDAt("dlv", until.Add(time.Millisecond)) }

// madeAfter sorts before the ids of all deliveries that were made from MadeFrom on; "" without it.
func (f DeliveryFilter) madeAfter() string {
	if f.MadeFrom.IsZero() {
		return ""
	}
	return IDAt("dlv", f.MadeFrom.Time)
}

func (f DeliveryFilter) where(q *Queries) where {
	_, before := f.before()
	return f.conditions(q, eventPart{before: before})
}

// conditions writes the filter as SQL, for a part of the events.
func (f DeliveryFilter) conditions(q *Queries, p eventPart) where {
	w := whereIn(`id`, f.IDs)
	w.text(`reason = ?`, f.Reason)
	w.text(`cause <> '' AND cause = ?`, f.Cause) // the partial index is used only by its very words
	state := where{}
	state.in(`status`, f.Statuses)
	state.in(`reason`, f.Reasons)
	if other := whereIn(`reason`, f.NotReasons); len(other.conditions) > 0 {
		state.add(`NOT `+other.conditions[0], other.args...)
	}
	if f.Stopped && len(state.conditions) > 0 {
		w.add(`(`+strings.Join(state.conditions, ` AND `)+` OR status IN ('pending', 'retrying') AND `+atStopped+`)`, state.args...)
	} else {
		w = w.with(state)
		w.partial(f.Statuses)
	}
	w.text(`partner_id = ?`, f.PartnerID)
	w.text(`endpoint_id = ?`, f.EndpointID)
	w.text(`subscription_id = ?`, f.SubscriptionID)
	f.owner(&w)
	w.text(`event_id = ?`, f.EventID)
	w.text(`event_type = ?`, f.EventType)
	if f.CEID != "" {
		events, args := q.eventsNamed(f.CEID, p)
		w.add(`event_id IN (`+events+`)`, args...)
	}
	p.bound(&w, `event_id`)
	w.text(ofSubject, f.Subject)
	w.instant(`updated_at >= ?`, f.From)
	w.instant(`updated_at < ?`, f.Until)
	if !f.Until.IsZero() { // nothing changes before it is made, which its id tells
		w.add(`id < ?`, idAfter(f.Until))
	}
	w.text(`id > ?`, f.AfterID)
	w.text(`id > ?`, f.madeAfter())
	before, _ := f.before()
	w.text(`id < ?`, before)
	if f.ReplayOf != "" {
		w.add(`replay_of <> ''`) // the partial index is used only by its very words
		w.add(`replay_of = ?`, f.ReplayOf)
	}
	return w
}

// atStopped holds for deliveries at endpoints that a person or the engine stopped.
const atStopped = `endpoint_id IN (SELECT e.id FROM endpoint e WHERE e.status IN ('` + EndpointPaused + `', '` + EndpointSuspended + `'))`

// ofSubject holds for deliveries of events with a subject.
const ofSubject = `EXISTS (SELECT 1 FROM event e WHERE e.id = event_id AND e.ce_subject = ?)`

// owner limits the deliveries to the partner of the endpoint or the subscription: those of a partner are found by an index.
func (f DeliveryFilter) owner(w *where) {
	switch {
	case f.PartnerID != "" || len(f.IDs) > 0 || f.EventID != "":
	case f.SubscriptionID != "":
		w.add(`partner_id = (SELECT s.partner_id FROM subscription s WHERE s.id = ?)`, f.SubscriptionID)
	case f.EndpointID != "":
		w.add(`partner_id = (SELECT e.partner_id FROM endpoint e WHERE e.id = ?)`, f.EndpointID)
	}
}

// partial repeats the condition of a partial index in its very words where it holds: SQLite uses the index only then,
// and would read all that was ever delivered otherwise.
func (w *where) partial(statuses []string) {
	all := func(holds func(string) bool) bool {
		return len(statuses) > 0 && !slices.ContainsFunc(statuses, func(s string) bool { return !holds(s) })
	}
	if all(func(s string) bool { return s == DeliveryPending || s == DeliveryRetrying }) {
		w.add(`status IN ('pending', 'retrying')`)
	}
	if all(inTrouble) {
		w.add(troubleIndexed)
	}
}

// CountDeliveries counts what a filter selects.
func (q *Queries) CountDeliveries(ctx context.Context, f DeliveryFilter) (int, error) {
	return q.count(ctx, `delivery`, f.where(q))
}

// DeliveryIDs lists the ids of up to limit deliveries a filter selects, oldest first: the next step of a long job.
func (q *Queries) DeliveryIDs(ctx context.Context, f DeliveryFilter, limit int) (ids []string, err error) {
	p, err := q.deliveryPlan(ctx, f)
	if err != nil || p.none {
		return nil, err
	}
	if p.selective {
		w := f.where(q)
		return ids, q.list(ctx, &ids, `SELECT id FROM delivery`+w.sql()+` ORDER BY id LIMIT ?`, append(w.args, limit)...)
	}
	for _, a := range p.branches {
		var some []string
		if a.byPartner {
			a.order = `id`
		}
		w := a.with(p.rest)
		if err := q.list(ctx, &some, `SELECT id FROM delivery`+w.sql()+` ORDER BY `+a.order+` LIMIT ?`, append(w.args, limit)...); err != nil {
			return nil, err
		}
		ids = append(ids, some...)
	}
	slices.Sort(ids)
	return ids[:min(limit, len(ids))], nil
}

// DeliveryReasons lists the kinds of error among the deliveries in these states, for a filter. An index leads from each kind to the
// next, so that the number of deliveries does not matter.
func (q *Queries) DeliveryReasons(ctx context.Context, partnerID string, statuses ...string) ([]string, error) {
	found := make(map[string]bool)
	for _, status := range statuses {
		w := where{}
		w.text(`partner_id = ?`, partnerID)
		w.add(`status = ?`, status)
		w.add(troubleIndexed)
		w.add(`reason > `)
		next := func(after string) string { return `SELECT MIN(reason) FROM delivery` + w.sql() + after }
		reasons, err := listOf[string](ctx, q, `WITH RECURSIVE kind (reason) AS (`+next(`''`)+`
			UNION ALL SELECT (`+next(`kind.reason`)+`) FROM kind WHERE kind.reason IS NOT NULL)
			SELECT reason FROM kind WHERE reason IS NOT NULL`, slices.Concat(w.args, w.args)...)
		if err != nil {
			return nil, err
		}
		for _, reason := range reasons {
			found[reason] = true
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}
