package store

import (
	"context"
	"fmt"
	"slices"
)

// AMQPQuarantinedAs finds a message that was quarantined with the same content.
func (q *Queries) AMQPQuarantinedAs(ctx context.Context, ownPartyID, queue, messageID, digest string) (AMQPMessage, error) {
	var m AMQPMessage
	return m, q.get(ctx, &m, `SELECT * FROM amqp_message WHERE direction = 'in' AND own_party_id = ? AND queue = ? AND message_id = ? AND content_digest = ?`,
		ownPartyID, queue, messageID, digest)
}

// ReprocessAMQPMessage writes all that is known of a stored message once it was handled again, as long as its state is still was;
// it reports whether it was. ErrConflict is as of [Tx.InsertAMQPMessage].
func (tx *Tx) ReprocessAMQPMessage(ctx context.Context, m *AMQPMessage, was string) (bool, error) {
	m.UpdatedAt = tx.Now
	if err := tx.Lock(ctx, "amqp_message", m.ID); err != nil {
		return false, err
	}
	var there int
	if err := tx.get(ctx, &there, `SELECT COUNT(*) FROM amqp_message WHERE id = ? AND status = ?`, m.ID, was); err != nil || there == 0 {
		return false, err
	}
	return true, tx.update(ctx, "amqp_message", m, "kind", "status", "reason", "detail", "codes", "party_id", "partner_id", "her", "correlation_id", "conversation_id",
		"subject", "msg_id", "reference_id", "event_id", "due_at", "encoded", "digest", "content_digest", "cpa_id", "attempts", "asked", "asked_at", "notified_at", "updated_at")
}

// AskAMQP asks for something to be done, soon, with up to limit messages of a filter that are in one of some states, the oldest
// first: all of them that nothing is asked of yet. It gives their number.
func (tx *Tx) AskAMQP(ctx context.Context, f AMQPFilter, asked string, limit int) (int, error) {
	w := f.where()
	w.add(`asked = ''`)
	n, err := tx.exec(ctx, `UPDATE amqp_message SET asked = ?, asked_at = ? WHERE id IN (SELECT id FROM amqp_message`+w.sql()+` ORDER BY id LIMIT ?)`,
		append(append([]any{asked, tx.Now}, w.args...), limit)...)
	return int(n), err
}

// TakeAMQPAsked hands up to limit messages that something is asked of to the caller until lease.
func (tx *Tx) TakeAMQPAsked(ctx context.Context, limit int, lease Time) ([]AMQPMessage, error) {
	var rows []AMQPMessage
	err := tx.list(ctx, &rows, `SELECT * FROM amqp_message WHERE asked <> '' AND asked_at <= ? ORDER BY asked_at, id LIMIT ?`+tx.skipLocked("amqp_message"), tx.Now, limit)
	for i := range rows {
		rows[i].AskedAt = lease
		if err == nil {
			err = tx.one(ctx, `UPDATE amqp_message SET asked_at = ? WHERE id = ?`, lease, rows[i].ID)
		}
	}
	return rows, err
}

// AskedAMQPDone ends what was asked of a message, done or impossible. The program itself asks no sooner than again.
func (tx *Tx) AskedAMQPDone(ctx context.Context, id, asked string, again Time) error {
	_, err := tx.exec(ctx, `UPDATE amqp_message SET asked = '', asked_at = ? WHERE id = ? AND asked = ?`, again, id, asked)
	return err
}

// AMQPHeldFor is of whom and about what messages are held.
type AMQPHeldFor struct {
	PartyID    string `db:"party_id"`
	OwnPartyID string `db:"own_party_id"`
	Subject    string `db:"subject"`
}

// AMQPHeld lists what messages are held for that may be tried now.
func (q *Queries) AMQPHeld(ctx context.Context, now Time) ([]AMQPHeldFor, error) {
	var rows []AMQPHeldFor
	return rows, q.list(ctx, &rows, `SELECT DISTINCT party_id, own_party_id, subject FROM amqp_message WHERE status = 'held' AND asked = ''
		AND (asked_at IS NULL OR asked_at <= ?)`, now)
}

// ReleaseAMQPHeld asks for messages that are held to be handled again; it gives their number.
func (tx *Tx) ReleaseAMQPHeld(ctx context.Context, of AMQPHeldFor, asked string) (int64, error) {
	return tx.exec(ctx, `UPDATE amqp_message SET asked = ?, asked_at = ? WHERE status = 'held' AND asked = '' AND (asked_at IS NULL OR asked_at <= ?)
		AND party_id = ? AND own_party_id = ? AND subject = ?`, asked, tx.Now, tx.Now, of.PartyID, of.OwnPartyID, of.Subject)
}

// AMQPUnnoticed are messages of one sender or receiver, in one queue, that wait for a person and that no administrator was notified of.
type AMQPUnnoticed struct {
	Status     string `db:"status"`
	OwnPartyID string `db:"own_party_id"`
	PartyID    string `db:"party_id"`
	Her        int64  `db:"her"`
	Queue      string `db:"queue"`
	Count      int    `db:"messages"`
	First      string `db:"first"`  // id of the oldest
	Reason     string `db:"reason"` // of one of them
	Detail     string `db:"detail"` // of one of them
}

// unnoticed returns the messages that an administrator must hear of (AMQP-53, AMQP-89).
var unnoticed = fmt.Sprintf(`notified_at IS NULL AND (status IN ('dead', 'quarantined', 'held', 'unchecked') OR status = 'open' AND overdue_at IS NOT NULL AND kind = 'business'
	OR kind IN ('apprec', 'error') AND (status = 'due' AND attempts >= %d OR status = 'unsent')
	OR status = 'duplicate' AND reason = '%s')`, AMQPAnswerTries, AMQPOtherContent)

// AMQPUnnoticed lists them in groups, the oldest first: up to limit, without those of a sender or receiver and queue that
// administrators were notified of since the moment given.
func (q *Queries) AMQPUnnoticed(ctx context.Context, since Time, limit int) ([]AMQPUnnoticed, error) {
	var rows []AMQPUnnoticed
	return rows, q.list(ctx, &rows, `SELECT status, own_party_id, party_id, her, queue, COUNT(*) AS messages, MIN(id) AS first, MIN(reason) AS reason, MIN(detail) AS detail
		FROM amqp_message m WHERE `+unnoticed+` AND NOT EXISTS (SELECT 1 FROM amqp_message n WHERE n.her = m.her AND n.queue = m.queue
			AND n.notified_at > ? AND n.status = m.status AND n.party_id = m.party_id)
		GROUP BY status, own_party_id, party_id, her, queue ORDER BY MIN(id) LIMIT ?`, since, limit)
}

// NoticedAMQP notes that administrators are notified of a group, and gives it as it is at this moment: messages may have come, and gone,
// since it was listed. Its count is 0 when none is left.
func (tx *Tx) NoticedAMQP(ctx context.Context, g AMQPUnnoticed) (AMQPUnnoticed, error) {
	var ids []string
	err := tx.list(ctx, &ids, `UPDATE amqp_message SET notified_at = ? WHERE `+unnoticed+` AND status = ? AND own_party_id = ? AND party_id = ? AND her = ? AND queue = ? RETURNING id`,
		tx.Now, g.Status, g.OwnPartyID, g.PartyID, g.Her, g.Queue)
	g.Count = len(ids)
	if len(ids) > 0 {
		g.First = slices.Min(ids)
	}
	return g, err
}

// dropAMQPOf ends the messages that a discarded delivery was sent as and that wait for a person: the delivery and its message are
// one piece of work.
func (tx *Tx) dropAMQPOf(ctx context.Context, deliveryID, detail string) error {
	var ids []string
	err := tx.list(ctx, &ids, `SELECT id FROM amqp_message WHERE delivery_id <> '' AND delivery_id = ? AND direction = 'out'
		AND status IN ('sending', 'failed', 'unsent', 'unanswered', 'rejected')`, deliveryID)
	for _, id := range ids {
		if err == nil {
			_, err = tx.exec(ctx, `UPDATE amqp_message SET status = 'dropped', asked = '', updated_at = ? WHERE id = ?`, tx.Now, id)
		}
		if err == nil {
			err = tx.TraceAMQP(ctx, AMQPTrace{MessageID: id, Step: "dropped", Detail: detail})
		}
	}
	return err
}
