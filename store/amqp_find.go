package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// AMQPMessage finds a message by our id.
func (q *Queries) AMQPMessage(ctx context.Context, id string) (AMQPMessage, error) {
	return getOne[AMQPMessage](ctx, q, `SELECT * FROM amqp_message WHERE id = ?`, id)
}

// AMQPRead finds what was read from a queue of an own party under a messageId of one sender (AMQP-105), but for what is or was
// quarantined: senders that nobody knows may use any messageId.
func (q *Queries) AMQPRead(ctx context.Context, ownPartyID, queue string, her int64, messageID string) (AMQPMessage, error) {
	return getOne[AMQPMessage](ctx, q, `SELECT * FROM amqp_message WHERE direction = 'in' AND own_party_id = ? AND queue = ? AND her = ? AND message_id = ?
		AND content_digest = ''`, ownPartyID, queue, her, messageID)
}

// AMQPWritten finds what was sent under a messageId.
func (q *Queries) AMQPWritten(ctx context.Context, messageID string) (AMQPMessage, error) {
	return getOne[AMQPMessage](ctx, q, `SELECT * FROM amqp_message WHERE direction = 'out' AND message_id = ?`, messageID)
}

// AMQPHandled finds the business message of a counterpart that an own party handled under a MsgId (AMQP-116).
func (q *Queries) AMQPHandled(ctx context.Context, ownPartyID string, her int64, msgID string) (AMQPMessage, error) {
	return getOne[AMQPMessage](ctx, q, `SELECT * FROM amqp_message WHERE direction = 'in' AND kind = 'business' AND status IN ('processed', 'rejected')
		AND own_party_id = ? AND her = ? AND msg_id = ?`, ownPartyID, her, msgID)
}

// AMQPSentAs lists what was sent to a counterpart with a MsgId, newest first: an AppRec is about one of them.
func (q *Queries) AMQPSentAs(ctx context.Context, her int64, msgID string) ([]AMQPMessage, error) {
	return listOf[AMQPMessage](ctx, q, `SELECT * FROM amqp_message WHERE msg_id <> '' AND msg_id = ? AND direction = 'out' AND kind = 'business' AND her = ? ORDER BY id DESC`,
		msgID, her)
}

// AMQPOfDelivery lists the messages a delivery was sent as, newest first.
func (q *Queries) AMQPOfDelivery(ctx context.Context, deliveryID string) ([]AMQPMessage, error) {
	return listOf[AMQPMessage](ctx, q, `SELECT * FROM amqp_message WHERE delivery_id <> '' AND delivery_id = ? ORDER BY id DESC`, deliveryID)
}

// AMQPAnswersTo lists the answers to a message, oldest first.
func (q *Queries) AMQPAnswersTo(ctx context.Context, id string) ([]AMQPMessage, error) {
	return listOf[AMQPMessage](ctx, q, `SELECT * FROM amqp_message WHERE reference_id <> '' AND reference_id = ? ORDER BY id`, id)
}

// HerNone selects messages that name no HER-id.
const HerNone = -1

// amqpNamed selects the ids of messages that have an id of their own, a messageId, MsgId, correlationId or ConversationId.
const amqpNamed = `SELECT id FROM amqp_message WHERE id = ? UNION ALL SELECT id FROM amqp_message WHERE message_id = ?
	UNION ALL SELECT id FROM amqp_message WHERE msg_id <> '' AND msg_id = ? UNION ALL SELECT id FROM amqp_message WHERE correlation_id <> '' AND correlation_id = ?
	UNION ALL SELECT id FROM amqp_message WHERE conversation_id <> '' AND conversation_id = ?`

func amqpNamedArgs(id string) []any { return []any{id, id, id, id, id} }

// AMQPFilter selects messages; an empty field selects all.
type AMQPFilter struct {
	Direction, Queue, PartyID, OwnPartyID, PartnerID string
	Statuses, Kinds                                  []string
	Overdue                                          bool
	Attention                                        bool     // those that wait for a person to look
	HerID                                            int64    // of the counterpart, as the message says; HerNone for none
	Asked                                            bool     // those that something is asked to be done with
	Able                                             []string // those in one of these states that a person can do something with
	ID                                               string   // ours, or a messageId, MsgId, correlationId or ConversationId
	Since, Until                                     Time
	Page                                             Page
}

func (f AMQPFilter) where() where {
	w := where{}
	w.text(`direction = ?`, f.Direction)
	w.text(`queue = ?`, f.Queue)
	w.text(`party_id = ?`, f.PartyID)
	w.text(`own_party_id = ?`, f.OwnPartyID)
	w.text(`partner_id = ?`, f.PartnerID)
	w.in(`status`, f.Statuses)
	w.in(`kind`, f.Kinds)
	switch {
	case f.HerID == HerNone:
		w.add(`her = 0`)
	case f.HerID > 0:
		w.add(`her = ?`, f.HerID)
	}
	if len(f.Able) > 0 {
		w.in(`status`, f.Able)
		w.add(`(direction = 'out' OR status IN ('dead', 'quarantined', 'held')) AND (status <> 'open' OR overdue_at IS NOT NULL AND kind = 'business')`)
	}
	if f.Asked {
		w.add(`asked <> ''`)
	}
	if f.Overdue {
		w.add(`status = 'open' AND overdue_at IS NOT NULL`)
	}
	if f.Attention { // what we rejected is for its sender to mend
		w.add(`(status IN ('failed', 'unanswered', 'unsent', 'dead', 'quarantined', 'held') OR status = 'rejected' AND direction = 'out'
			OR status = 'due' AND attempts >= ? OR status = 'duplicate' AND reason = ?)`, AMQPAnswerTries, AMQPOtherContent)
	}
	if f.ID != "" {
		w.add(`id IN (`+amqpNamed+`)`, amqpNamedArgs(f.ID)...)
	}
	w.instant(`created_at >= ?`, f.Since)
	w.instant(`created_at < ?`, f.Until)
	return w
}

// AMQPMessages lists messages, newest first, with their total count up to [ListBound] + 1, which stands for more than ListBound.
func (q *Queries) AMQPMessages(ctx context.Context, f AMQPFilter) ([]AMQPMessage, int, error) {
	total, err := q.CountAMQPMessages(ctx, f)
	if err != nil || total == 0 {
		return nil, total, err
	}
	limit, offset := f.Page.limits()
	var rows []AMQPMessage
	branches, order := f.branches()
	order = strings.ReplaceAll(order, `,`, ` DESC,`) // newest first
	if len(branches) == 1 {
		return rows, total, q.list(ctx, &rows, fmt.Sprintf(`SELECT * FROM amqp_message%s ORDER BY `+order+` DESC LIMIT %d OFFSET %d`, branches[0].sql(), limit, offset), branches[0].args...)
	}
	var parts []string
	var args []any
	for _, w := range branches {
		parts = append(parts, fmt.Sprintf(`SELECT id FROM (SELECT id FROM amqp_message%s ORDER BY `+order+` DESC LIMIT %d) branch`, w.sql(), limit+offset))
		args = append(args, w.args...)
	}
	query := fmt.Sprintf(`SELECT * FROM amqp_message WHERE id IN (SELECT id FROM (%s) branches ORDER BY id DESC LIMIT %d OFFSET %d) ORDER BY id DESC`,
		strings.Join(parts, ` UNION ALL `), limit, offset)
	return rows, total, q.list(ctx, &rows, query, args...)
}

// CountAMQPMessages counts messages, up to [ListBound] + 1.
func (q *Queries) CountAMQPMessages(ctx context.Context, f AMQPFilter) (int, error) {
	branches, _ := f.branches()
	if len(branches) == 0 {
		return 0, nil
	}
	parts, args := make([]string, len(branches)), []any(nil)
	for i, w := range branches {
		parts[i] = fmt.Sprintf(`SELECT 1 FROM (SELECT 1 FROM amqp_message%s LIMIT %d) a%d`, w.sql(), ListBound+1, i)
		args = append(args, w.args...)
	}
	return getOne[int](ctx, q, fmt.Sprintf(`SELECT COUNT(*) FROM (%s LIMIT %d) counted`, strings.Join(parts, ` UNION ALL `), ListBound+1), args...)
}

// OldestAMQPMessage is when the oldest of some messages came or went; unset when there is none.
func (q *Queries) OldestAMQPMessage(ctx context.Context, f AMQPFilter) (oldest Time, err error) {
	branches, order := f.branches()
	for _, w := range branches {
		var at []Time
		if err := q.list(ctx, &at, `SELECT created_at FROM amqp_message`+w.sql()+` ORDER BY `+order+` LIMIT 1`, w.args...); err != nil {
			return Time{}, err
		}
		if len(at) > 0 && (oldest.IsZero() || at[0].Before(oldest.Time)) {
			oldest = at[0]
		}
	}
	return oldest, nil
}

// branches returns the parts of a filter, one for each state that it can select, and the columns that order each part by age: an index
// has the messages of a state in their order.
func (f AMQPFilter) branches() (branches []where, order string) {
	if f.Asked { // few are asked about, and they have an index of their own
		return []where{f.where()}, `id`
	}
	var states []string
	for _, some := range [][]string{f.Statuses, f.Able, f.attention(), f.overdue()} {
		switch {
		case len(some) == 0:
		case states == nil:
			states = slices.Compact(slices.Sorted(slices.Values(some)))
		default:
			states = slices.DeleteFunc(states, func(s string) bool { return !slices.Contains(some, s) })
			if len(states) == 0 {
				return nil, `id`
			}
		}
	}
	if states == nil {
		return []where{f.where()}, `id`
	}
	f.Statuses = nil // each part has its own
	w := f.where()
	branches = make([]where, len(states))
	for i, status := range states {
		one := where{}
		if f.HerID == 0 { // a range: with "status = ?" PostgreSQL may take the order of the primary key, and pass over all other states
			one.add(`status BETWEEN ? AND ?`, status, status)
			order = `status, id`
		} else {
			one.add(`status = ?`, status)
			order = `id`
		}
		branches[i] = one.with(w)
	}
	return branches, order
}

// attention lists the states of messages that wait for a person to look; see where.
func (f AMQPFilter) attention() []string {
	if !f.Attention {
		return nil
	}
	return []string{AMQPFailed, AMQPUnanswered, AMQPUnsent, AMQPDead, AMQPQuarantined, AMQPHeld, AMQPRejected, AMQPDue, AMQPDuplicate}
}

func (f AMQPFilter) overdue() []string {
	if !f.Overdue {
		return nil
	}
	return []string{AMQPOpenMessage}
}

// AMQPTrace is a step in the life of a message: who did what with it, when (AMQP-15).
type AMQPTrace struct {
	ID        string `db:"id"`
	MessageID string `db:"message_id"` // our id
	Step      string `db:"step"`
	Detail    string `db:"detail"`
	Node      string `db:"node"`
	At        Time   `db:"at"`
}

// TraceAMQP adds a step.
func (tx *Tx) TraceAMQP(ctx context.Context, t AMQPTrace) error {
	t.ID, t.At = tx.NewID("amt"), tx.Now
	return tx.insert(ctx, "amqp_trace", &t)
}

// AMQPTraces lists the steps of a message in order.
func (q *Queries) AMQPTraces(ctx context.Context, id string) ([]AMQPTrace, error) {
	return listOf[AMQPTrace](ctx, q, `SELECT * FROM amqp_trace WHERE message_id = ? ORDER BY id`, id)
}

// PruneAMQP removes up to limit messages that are done with since the moment given, with their traces.
func (tx *Tx) PruneAMQP(ctx context.Context, before Time, cursor string, limit int) (Pruned, error) {
	ids, err := listOf[string](ctx, &tx.Queries, `SELECT id FROM amqp_message WHERE id > ? AND updated_at < ? AND status NOT IN ('sending', 'open', 'due', 'dead', 'unchecked', 'quarantined', 'held')
		ORDER BY id LIMIT ?`, cursor, before, limit)
	if err != nil || len(ids) == 0 {
		return Pruned{Done: true}, err
	}
	p := Pruned{Cursor: ids[len(ids)-1], Done: len(ids) < limit}
	w, of := where{}, where{}
	of.in(`message_id`, ids)
	w.in(`id`, ids)
	if _, err := tx.exec(ctx, `DELETE FROM amqp_trace`+of.sql(), of.args...); err != nil {
		return Pruned{}, err
	}
	p.Rows, err = tx.exec(ctx, `DELETE FROM amqp_message`+w.sql(), w.args...)
	return p, err
}
