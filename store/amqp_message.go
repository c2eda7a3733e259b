package store

import (
	"context"
	"errors"
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
	var rows []AMQPMessage
	err := tx.list(ctx, &rows, `SELECT * FROM amqp_message WHERE status = ? AND due_at <= ? ORDER BY due_at, id LIMIT ?`+tx.skipLocked("amqp_message"), status, tx.Now, limit)
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
	var rows []AMQPMessage
	err := tx.list(ctx, &rows, `SELECT * FROM amqp_message WHERE status = 'open' AND due_at <= ? AND overdue_at IS NULL ORDER BY due_at, id LIMIT ?`+
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
	err = tx.list(ctx, &held, `UPDATE delivery SET status = 'held', behind = (order_key <> ''), reason = ?, detail = ?, due_at = NULL, updated_at = ?
		WHERE id = ? AND status = 'delivered' RETURNING id, subscription_id, endpoint_id, order_key`, m.Reason, m.Detail, tx.Now, m.DeliveryID)
	for i := range held {
		if d := &held[i]; d.OrderKey != "" {
			queues.enter(d.orderKey(), d.ID)
		}
	}
	if err != nil {
		return 0, err
	}
	return int64(len(held)), errors.Join(queues.settle(ctx), tx.raised(ctx, DeliveryHeld, held))
}

// HoldAMQPRefused holds up to limit deliveries that were written to a queue and then refused there, by an AMQP error or a
// negative AppRec: they belong in the error queue. It returns how many.
func (tx *Tx) HoldAMQPRefused(ctx context.Context, limit int) (int64, error) {
	var rows []AMQPMessage
	err := tx.list(ctx, &rows, `SELECT m.* FROM amqp_message m JOIN delivery d ON d.id = m.delivery_id AND d.status = 'delivered'
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
