package store

import "context"

// AMQPMessage finds a message by our id.
func (q *Queries) AMQPMessage(ctx context.Context, id string) (AMQPMessage, error) {
	var m AMQPMessage
	return m, q.get(ctx, &m, `SELECT * FROM amqp_message WHERE id = ?`, id)
}

// AMQPRead finds what was read from a queue of an own party under a messageId (AMQP-105).
func (q *Queries) AMQPRead(ctx context.Context, ownPartyID, queue, messageID string) (AMQPMessage, error) {
	var m AMQPMessage
	return m, q.get(ctx, &m, `SELECT * FROM amqp_message WHERE direction = 'in' AND own_party_id = ? AND queue = ? AND message_id = ?`, ownPartyID, queue, messageID)
}

// AMQPWritten finds what was sent under a messageId.
func (q *Queries) AMQPWritten(ctx context.Context, messageID string) (AMQPMessage, error) {
	var m AMQPMessage
	return m, q.get(ctx, &m, `SELECT * FROM amqp_message WHERE direction = 'out' AND message_id = ?`, messageID)
}

// AMQPHandled finds the business message of a counterpart that an own party handled under a MsgId (AMQP-116).
func (q *Queries) AMQPHandled(ctx context.Context, ownPartyID string, her int64, msgID string) (AMQPMessage, error) {
	var m AMQPMessage
	return m, q.get(ctx, &m, `SELECT * FROM amqp_message WHERE direction = 'in' AND kind = 'business' AND status IN ('processed', 'rejected')
		AND own_party_id = ? AND her = ? AND msg_id = ?`, ownPartyID, her, msgID)
}

// AMQPSentAs lists what was sent to a counterpart with a MsgId, newest first: an AppRec is about one of them.
func (q *Queries) AMQPSentAs(ctx context.Context, her int64, msgID string) ([]AMQPMessage, error) {
	var rows []AMQPMessage
	return rows, q.list(ctx, &rows, `SELECT * FROM amqp_message WHERE msg_id <> '' AND msg_id = ? AND direction = 'out' AND kind = 'business' AND her = ? ORDER BY id DESC`,
		msgID, her)
}

// AMQPOfDelivery lists the messages a delivery was sent as, newest first.
func (q *Queries) AMQPOfDelivery(ctx context.Context, deliveryID string) ([]AMQPMessage, error) {
	var rows []AMQPMessage
	return rows, q.list(ctx, &rows, `SELECT * FROM amqp_message WHERE delivery_id <> '' AND delivery_id = ? ORDER BY id DESC`, deliveryID)
}

// AMQPAnswersTo lists the answers to a message, oldest first.
func (q *Queries) AMQPAnswersTo(ctx context.Context, id string) ([]AMQPMessage, error) {
	var rows []AMQPMessage
	return rows, q.list(ctx, &rows, `SELECT * FROM amqp_message WHERE reference_id <> '' AND reference_id = ? ORDER BY id`, id)
}

// AMQPFilter selects messages; an empty field selects all.
type AMQPFilter struct {
	Direction, Queue, PartyID, OwnPartyID, PartnerID string
	Statuses, Kinds                                  []string
	Overdue                                          bool
	Attention                                        bool   // those that wait for a person to look
	ID                                               string // a messageId, MsgId, correlationId or ConversationId
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
	if f.Overdue {
		w.add(`status = 'open' AND overdue_at IS NOT NULL`)
	}
	if f.Attention { // what we rejected is for its sender to mend
		w.add(`(status IN ('failed', 'unanswered', 'unsent', 'dead', 'quarantined') OR status = 'rejected' AND direction = 'out')`)
	}
	if f.ID != "" {
		w.add(`(message_id = ? OR msg_id = ? OR correlation_id = ? OR conversation_id = ?)`, f.ID, f.ID, f.ID, f.ID)
	}
	w.instant(`created_at >= ?`, f.Since)
	w.instant(`created_at < ?`, f.Until)
	return w
}

// AMQPMessages lists messages, newest first, with their total count.
func (q *Queries) AMQPMessages(ctx context.Context, f AMQPFilter) ([]AMQPMessage, int, error) {
	var rows []AMQPMessage
	total, err := q.page(ctx, &rows, `*`, `amqp_message`, f.where(), `id DESC`, f.Page)
	return rows, total, err
}

// CountAMQPMessages counts messages.
func (q *Queries) CountAMQPMessages(ctx context.Context, f AMQPFilter) (int, error) {
	return q.count(ctx, `amqp_message`, f.where())
}

// OldestAMQPMessage is when the oldest of some messages came or went; unset when there is none.
func (q *Queries) OldestAMQPMessage(ctx context.Context, f AMQPFilter) (Time, error) {
	var at Time
	w := f.where()
	return at, q.get(ctx, &at, `SELECT MIN(created_at) FROM amqp_message`+w.sql(), w.args...)
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
	var rows []AMQPTrace
	return rows, q.list(ctx, &rows, `SELECT * FROM amqp_trace WHERE message_id = ? ORDER BY id`, id)
}

// PruneAMQP removes up to limit messages that are done with since the moment given, with their traces.
func (tx *Tx) PruneAMQP(ctx context.Context, before Time, cursor string, limit int) (Pruned, error) {
	var ids []string
	err := tx.list(ctx, &ids, `SELECT id FROM amqp_message WHERE id > ? AND updated_at < ? AND status NOT IN ('sending', 'open', 'due', 'dead', 'quarantined')
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
