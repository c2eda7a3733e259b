package store

import (
	"context"
	"fmt"
	"time"
)

// ReplayPart holds the work and the progress of a replay for one subscription.
type ReplayPart struct {
	JobID          string `db:"job_id"`
	SubscriptionID string `db:"subscription_id"`
	EndpointID     string `db:"endpoint_id"`
	PartnerID      string `db:"partner_id"`
	Since          Time   `db:"since_at"` // events accepted before do not count; zero is all that are kept
	Status         string `db:"status"`   // running or done
	Reason         string `db:"reason"`   // why it does not go on now, or why it ended early
	Total          int64  `db:"total"`
	TotalMore      bool   `db:"total_more"`
	Done           int64  `db:"done"`
	Refused        int64  `db:"refused"`
	Cursor         string `db:"cursor"` // the last event that was looked at
}

// InsertReplayParts adds the parts of a replay.
func (tx *Tx) InsertReplayParts(ctx context.Context, parts []ReplayPart) error {
	for i := range parts {
		if err := tx.insert(ctx, "replay_part", &parts[i]); err != nil {
			return fmt.Errorf("insert part of replay: %w", err)
		}
	}
	return nil
}

// UpdateReplayPart writes how far a part is.
func (tx *Tx) UpdateReplayPart(ctx context.Context, p *ReplayPart) error {
	return tx.one(ctx, `UPDATE replay_part SET status = ?, reason = ?, done = ?, refused = ?, cursor = ? WHERE job_id = ? AND subscription_id = ?`,
		p.Status, p.Reason, p.Done, p.Refused, p.Cursor, p.JobID, p.SubscriptionID)
}

// ReplayPart finds the part of a replay for a subscription.
func (q *Queries) ReplayPart(ctx context.Context, jobID, subscriptionID string) (ReplayPart, error) {
	return getOne[ReplayPart](ctx, q, `SELECT * FROM replay_part WHERE job_id = ? AND subscription_id = ?`, jobID, subscriptionID)
}

// ReplayParts lists the parts of a replay.
func (q *Queries) ReplayParts(ctx context.Context, jobID string) ([]ReplayPart, error) {
	return listOf[ReplayPart](ctx, q, `SELECT * FROM replay_part WHERE job_id = ? ORDER BY subscription_id`, jobID)
}

// EventSpan selects stored events, test events never; empty members select all.
type EventSpan struct {
	Types   []string
	Subject string
	IDs     []string // our ids
	From    Time     // when they were accepted, inclusive
	Until   Time     // exclusive
	AfterID string
}

func (s EventSpan) where() where {
	w := whereIn(`id`, s.IDs)
	// The ids tell when events were accepted, to the millisecond: so the primary key finds where to begin and to end.
	after := s.AfterID
	if !s.From.IsZero() {
		after = max(after, IDAt("evt", s.From.Time))
		w.add(`accepted_at >= ?`, s.From)
	}
	w.text(`id > ?`, after)
	if !s.Until.IsZero() {
		w.add(`id < ?`, IDAt("evt", s.Until.Add(time.Millisecond)))
		w.add(`accepted_at < ?`, s.Until)
	}
	w.add(`NOT test`)
	w.in(`ce_type`, s.Types)
	w.text(`ce_subject = ?`, s.Subject)
	return w
}

// EventsIn lists up to limit events of a span without their data, in order of acceptance.
func (q *Queries) EventsIn(ctx context.Context, s EventSpan, limit int) ([]Event, error) {
	w := s.where()
	return listOf[Event](ctx, q, `SELECT `+eventSummary+` FROM event`+w.sql()+` ORDER BY id LIMIT ?`, append(w.args, limit)...)
}

// EventIDBound bounds the events that can be chosen by id; a statement takes no more of them than some ten thousands.
const EventIDBound = 10_000

// EventIDs finds events by our ids or by those their producers gave them; of the latter there may be several. More than
// EventIDBound of them tell that there are too many.
func (q *Queries) EventIDs(ctx context.Context, ids []string) ([]string, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	w := whereIn(`id`, ids)
	w.in(`ce_id`, ids)
	return listOf[string](ctx, q, `SELECT id FROM event WHERE `+w.conditions[0]+` UNION `+q.identities()+` WHERE `+w.conditions[1]+` ORDER BY 1 LIMIT ?`,
		append(w.args, EventIDBound+1)...)
}

// LockEvents keeps events, of which pruning may remove some, until the transaction ends and tells which are there still.
func (tx *Tx) LockEvents(ctx context.Context, ids []string) (map[string]bool, error) {
	there := make(map[string]bool, len(ids))
	if len(ids) == 0 {
		return there, nil
	}
	w := whereIn(`id`, ids)
	query := `SELECT id FROM event` + w.sql() + ` ORDER BY id`
	if tx.dialect == Postgres {
		query += ` FOR UPDATE` // in the order of ids, so that two nodes cannot wait for each other
	}
	found, err := listOf[string](ctx, &tx.Queries, query, w.args...)
	for _, id := range found {
		there[id] = true
	}
	return there, err
}

// DeliveriesFor lists what a subscription got, or is to get, of these events: only their ids, event ids, states and what a
// resend needs to know; oldest first.
func (q *Queries) DeliveriesFor(ctx context.Context, subscriptionID string, events []string) ([]Delivery, error) {
	if len(events) == 0 {
		return nil, nil
	}
	w := whereIn(`event_id`, events)
	w.add(`subscription_id = ?`, subscriptionID)
	return listOf[Delivery](ctx, q, `SELECT id, event_id, status, last_status, idempotency_key, key_expires_at, batch_id FROM delivery`+w.sql()+` ORDER BY id`, w.args...)
}

// HandedBefore returns which of these identities (EventIdentity) a subscription was handed (EDU-18b).
func (q *Queries) HandedBefore(ctx context.Context, subscriptionID string, identities []string) (map[string]bool, error) {
	before := make(map[string]bool)
	if len(identities) == 0 {
		return before, nil
	}
	w := whereOf(`subscription_id = ?`, subscriptionID)
	w.in(`identity`, identities)
	found, err := listOf[string](ctx, q, `SELECT identity FROM handed_identity`+w.sql(), w.args...)
	for _, identity := range found {
		before[identity] = true
	}
	return before, err
}

// MarkReplayed records by which replay deliveries came, or were sent again.
func (tx *Tx) MarkReplayed(ctx context.Context, jobID string, deliveries []string) error {
	if len(deliveries) == 0 {
		return nil
	}
	if err := tx.noteMoved(ctx, jobID, deliveries); err != nil {
		return err
	}
	w := whereIn(`id`, deliveries)
	return tx.do(ctx, `UPDATE delivery SET replay_of = ?`+w.sql(), append([]any{jobID}, w.args...)...)
}

// ReplaysWaiting counts what replays have waiting at an endpoint.
func (q *Queries) ReplaysWaiting(ctx context.Context, endpointID string) (int, error) {
	w := whereOf(`endpoint_id = ?`, endpointID)
	w.add(`replay_of <> ''`)
	w.add(`status IN ('pending', 'retrying')`)
	return q.count(ctx, `delivery`, w)
}
