package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Directions, kinds and states of a message by AMQP.
const (
	AMQPIn  = "in"
	AMQPOut = "out"

	AMQPBusiness = "business" // asynchronous, to be answered by an AppRec
	AMQPAppRec   = "apprec"
	AMQPError    = "error"   // for an error queue
	AMQPRequest  = "request" // synchronous
	AMQPAnswer   = "answer"  // to a request
	AMQPEvent    = "event"   // in the AMQP binding of CloudEvents

	// Of a business message or request that goes out.
	AMQPSending      = "sending"      // it may be on the queue
	AMQPOpenMessage  = "open"         // it is on the queue; its AppRec is waited for (AMQP-16)
	AMQPAcknowledged = "acknowledged" // positive AppRec, or an answer came
	AMQPPartly       = "partly"       // AppRec: OK, with errors in a part
	AMQPRejected     = "rejected"     // negative AppRec; of one that came in: answered by one
	AMQPFailed       = "failed"       // an AMQP error came back
	AMQPUnsent       = "unsent"       // it is not on the queue
	AMQPUnanswered   = "unanswered"   // a request without an answer in time (AMQP-90)
	AMQPReplaced     = "replaced"     // it was sent again under another messageId

	// Of an answer that goes out.
	AMQPDue  = "due"  // it is still to be written
	AMQPSent = "sent" // the broker accepted it

	// Of a message that came in.
	AMQPProcessed   = "processed"
	AMQPRefused     = "refused" // answered by an AMQP error
	AMQPDuplicate   = "duplicate"
	AMQPMatched     = "matched"     // an AppRec, error or answer, and we know to what
	AMQPUnmatched   = "unmatched"   // an AppRec, error or answer to something we do not know
	AMQPUnchecked   = "unchecked"   // it waits until the revocation of its certificate can be checked (AMQP-61)
	AMQPQuarantined = "quarantined" // nobody can be answered
	AMQPDead        = "dead"        // it came from the dead-letter queue and waits for a person
	AMQPPutBack     = "put-back"    // it was put back on its queue
	AMQPDropped     = "dropped"     // taken out by a person, or too late to be of use
	AMQPHeld        = "held"        // nobody is subscribed to what it becomes; no AppRec goes out before somebody is
)

// AMQPOtherContent is the reason of a duplicate whose content is another than that of the first message with its MsgId.
const AMQPOtherContent = "amqp-other-content"

// AMQPAnswerTries is after how many tries an answer that is not on its queue needs a person.
const AMQPAnswerTries = 6

// AMQPMessage is one message that was written or read, and what became of it.
type AMQPMessage struct {
	ID             string  `db:"id"`
	Direction      string  `db:"direction"`
	Kind           string  `db:"kind"`
	Status         string  `db:"status"`
	Reason         string  `db:"reason"` // a code, such as transport:invalid-signature or T02
	Detail         string  `db:"detail"` // for people
	Codes          Strings `db:"codes"`  // the errors of an AppRec, or the data of an AMQP error
	OwnPartyID     string  `db:"own_party_id"`
	PartyID        string  `db:"party_id"` // the counterpart, when it is known
	PartnerID      string  `db:"partner_id"`
	OwnHer         int64   `db:"own_her"`
	Her            int64   `db:"her"`
	MessageID      string  `db:"message_id"`
	CorrelationID  string  `db:"correlation_id"` // as text
	Correlation    []byte  `db:"correlation"`    // as it came, with its AMQP type; empty when it is the text above
	CPAID          string  `db:"cpa_id"`         // AMQP-27
	Digest         string  `db:"digest"`         // SHA-256 of the business document that came in, hexadecimal
	ConversationID string  `db:"conversation_id"`
	Subject        string  `db:"subject"`
	MsgID          string  `db:"msg_id"`       // MsgHead/MsgInfo/MsgId
	Queue          string  `db:"queue"`        // where it was read or is written
	ReferenceID    string  `db:"reference_id"` // our id of the message this one answers
	EventID        string  `db:"event_id"`
	DeliveryID     string  `db:"delivery_id"`
	Resends        int64   `db:"resends"` // identical ones (AMQP-118)
	Attempts       int64   `db:"attempts"`
	DueAt          Time    `db:"due_at"`         // of an answer or an unchecked message: when it is tried; of an open message: when its AppRec is overdue
	OverdueAt      Time    `db:"overdue_at"`     // since when it is known to be overdue
	Encoded        []byte  `db:"encoded"`        // what is still to be written: an AppRec in the clear, an AMQP error as it goes over the wire; of what waits the message as received, sealed
	ContentDigest  string  `db:"content_digest"` // of a quarantined message: SHA-256 of all that a broker must not change of it, hex
	Asked          string  `db:"asked"`          // JSON: what a person asked to be done with it, with others; empty for nothing
	AskedAt        Time    `db:"asked_at"`       // when that is done, or until when a node does it
	NotifiedAt     Time    `db:"notified_at"`
	CreatedAt      Time    `db:"created_at"`
	UpdatedAt      Time    `db:"updated_at"`
}

// InsertAMQPMessage adds a message under a new id. ErrConflict: it was read from that queue before, something was sent under
// its messageId, or its business message was handled (AMQP-105, AMQP-116).
func (tx *Tx) InsertAMQPMessage(ctx context.Context, m *AMQPMessage) error {
	m.ID, m.CreatedAt, m.UpdatedAt = tx.NewID("amm"), tx.Now, tx.Now
	return tx.insert(ctx, "amqp_message", m)
}

// UpdateAMQPMessage writes what becomes of a message, as long as its state is still was; it reports whether it was. In another
// state nothing is asked of it any more, and the administrators have not been notified.
func (tx *Tx) UpdateAMQPMessage(ctx context.Context, m *AMQPMessage, was string) (bool, error) {
	m.UpdatedAt = tx.Now
	n, err := tx.exec(ctx, `UPDATE amqp_message SET status = ?, reason = ?, detail = ?, codes = ?, reference_id = ?, event_id = ?, resends = ?, attempts = ?,
		due_at = ?, overdue_at = ?, encoded = ?, updated_at = ?, asked = CASE WHEN status = ? THEN asked ELSE '' END,
		notified_at = CASE WHEN status = ? THEN notified_at END WHERE id = ? AND status = ?`,
		m.Status, m.Reason, m.Detail, m.Codes, m.ReferenceID, m.EventID, m.Resends, m.Attempts, m.DueAt, m.OverdueAt, m.Encoded, m.UpdatedAt, m.Status, m.Status, m.ID, was)
	return n == 1, err
}

// TakeAMQPAnswers hands up to limit answers that are due to the caller until lease, the oldest first.
func (tx *Tx) TakeAMQPAnswers(ctx context.Context, limit int, lease Time) ([]AMQPMessage, error) {
	return tx.takeAMQPDue(ctx, AMQPDue, limit, lease)
}

// TakeAMQPUnchecked hands up to limit messages whose next check is due to the caller until lease, the oldest first.
func (tx *Tx) TakeAMQPUnchecked(ctx context.Context, limit int, lease Time) ([]AMQPMessage, error) {
	return tx.takeAMQPDue(ctx, AMQPUnchecked, limit, lease)
}

// WakeAMQPUnchecked makes the unchecked messages of a counterpart due now, but for those that were tried since the moment
// given: its certificate can be checked again.
func (tx *Tx) WakeAMQPUnchecked(ctx context.Context, partyID string, since Time) (int64, error) {
	return tx.exec(ctx, `UPDATE amqp_message SET due_at = ? WHERE status = 'unchecked' AND due_at > ? AND party_id = ? AND updated_at < ?`, tx.Now, tx.Now, partyID, since)
}

func (tx *Tx) takeAMQPDue(ctx context.Context, status string, limit int, lease Time) ([]AMQPMessage, error) {
	rows, err := listOf[AMQPMessage](ctx, &tx.Queries, `SELECT * FROM amqp_message WHERE status = ? AND due_at <= ? ORDER BY due_at, id LIMIT ?`+tx.skipLocked("amqp_message"), status, tx.Now, limit)
	for i := range rows {
		rows[i].DueAt = lease
		if err == nil {
			err = tx.one(ctx, `UPDATE amqp_message SET due_at = ? WHERE id = ?`, lease, rows[i].ID)
		}
	}
	return rows, err
}

// TakeAMQPOverdue marks up to limit open messages whose AppRec is overdue, and gives them; each is given once (AMQP-89).
func (tx *Tx) TakeAMQPOverdue(ctx context.Context, limit int) ([]AMQPMessage, error) {
	rows, err := listOf[AMQPMessage](ctx, &tx.Queries, `SELECT * FROM amqp_message WHERE status = 'open' AND due_at <= ? AND overdue_at IS NULL ORDER BY due_at, id LIMIT ?`+
		tx.skipLocked("amqp_message"), tx.Now, limit)
	for i := range rows {
		rows[i].OverdueAt = tx.Now
		if err == nil {
			err = tx.one(ctx, `UPDATE amqp_message SET overdue_at = ? WHERE id = ?`, tx.Now, rows[i].ID)
		}
	}
	return rows, err
}

// holdDelivered holds the delivery of a refused message, if it counts as delivered. Later ones with its order key wait for it
// from now on.
func (tx *Tx) holdDelivered(ctx context.Context, m AMQPMessage) (int64, error) {
	queues, err := tx.orderingByID(ctx, m.DeliveryID)
	if err != nil {
		return 0, err
	}
	var held []Delivery
	err = tx.list(ctx, &held, `UPDATE delivery SET status = 'held', behind = (order_key <> ''), reason = ?, cause = ?, detail = ?, due_at = NULL, updated_at = ?
		WHERE id = ? AND status = 'delivered' RETURNING subscription_id, order_key, created_at, delivered_at, `+failedColumns, m.Reason, m.Reason, m.Detail, tx.Now, m.DeliveryID)
	for i := range held {
		tx.countRefused(&held[i])
		if d := &held[i]; d.OrderKey != "" {
			queues.enter(d.orderKey(), d.ID)
		}
	}
	if err != nil {
		return 0, err
	}
	return int64(len(held)), errors.Join(queues.settle(ctx), tx.raiseNotices(ctx, held), tx.recordFailures(ctx, held))
}

// HoldAMQPRefused holds up to limit deliveries that were written to a queue and then refused there, by an AMQP error or a
// negative AppRec: they belong in the error queue. It returns how many.
func (tx *Tx) HoldAMQPRefused(ctx context.Context, limit int) (int64, error) {
	rows, err := listOf[AMQPMessage](ctx, &tx.Queries, `SELECT m.* FROM amqp_message m JOIN delivery d ON d.id = m.delivery_id AND d.status = 'delivered'
		WHERE m.status IN ('failed', 'rejected', 'unanswered') AND m.direction = 'out' LIMIT ?`+tx.skipLocked("m"), limit)
	var n int64
	for _, m := range rows {
		if err != nil {
			return n, err
		}
		var one int64
		one, err = tx.holdDelivered(ctx, m)
		n += one
	}
	return n, err
}

// AMQPQuarantinedAs finds a message that was quarantined with the same content.
func (q *Queries) AMQPQuarantinedAs(ctx context.Context, ownPartyID, queue, messageID, digest string) (AMQPMessage, error) {
	return getOne[AMQPMessage](ctx, q, `SELECT * FROM amqp_message WHERE direction = 'in' AND own_party_id = ? AND queue = ? AND message_id = ? AND content_digest = ?`,
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
	rows, err := listOf[AMQPMessage](ctx, &tx.Queries, `SELECT * FROM amqp_message WHERE asked <> '' AND asked_at <= ? ORDER BY asked_at, id LIMIT ?`+tx.skipLocked("amqp_message"), tx.Now, limit)
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
	return tx.do(ctx, `UPDATE amqp_message SET asked = '', asked_at = ? WHERE id = ? AND asked = ?`, again, id, asked)
}

// AMQPHeldFor is of whom and about what messages are held.
type AMQPHeldFor struct {
	PartyID    string `db:"party_id"`
	OwnPartyID string `db:"own_party_id"`
	Subject    string `db:"subject"`
}

// AMQPHeld lists what messages are held for that may be tried now.
func (q *Queries) AMQPHeld(ctx context.Context, now Time) ([]AMQPHeldFor, error) {
	return listOf[AMQPHeldFor](ctx, q, `SELECT DISTINCT party_id, own_party_id, subject FROM amqp_message WHERE status = 'held' AND asked = ''
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
	return listOf[AMQPUnnoticed](ctx, q, `SELECT status, own_party_id, party_id, her, queue, COUNT(*) AS messages, MIN(id) AS first, MIN(reason) AS reason, MIN(detail) AS detail
		FROM amqp_message m WHERE `+unnoticed+` AND NOT EXISTS (SELECT 1 FROM amqp_message n WHERE n.her = m.her AND n.queue = m.queue
			AND n.notified_at > ? AND n.status = m.status AND n.party_id = m.party_id)
		GROUP BY status, own_party_id, party_id, her, queue ORDER BY MIN(id) LIMIT ?`, since, limit)
}

// NoticedAMQP notes that administrators are notified of a group, and gives it as it is at this moment: messages may have come, and gone,
// since it was listed. Its count is 0 when none is left.
func (tx *Tx) NoticedAMQP(ctx context.Context, g AMQPUnnoticed) (AMQPUnnoticed, error) {
	ids, err := listOf[string](ctx, &tx.Queries, `UPDATE amqp_message SET notified_at = ? WHERE `+unnoticed+` AND status = ? AND own_party_id = ? AND party_id = ? AND her = ? AND queue = ? RETURNING id`,
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
	ids, err := listOf[string](ctx, &tx.Queries, `SELECT id FROM amqp_message WHERE delivery_id <> '' AND delivery_id = ? AND direction = 'out'
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
