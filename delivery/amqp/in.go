package amqp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	goamqp "github.com/Azure/go-amqp"
	"schakel/delivery/amqp/link"
	"schakel/delivery/amqp/message"
	"schakel/delivery/amqp/msghead"
	"schakel/store"
	"schakel/templates/i18n"
)

const subjectAppRec = "APPREC"

// incoming is a message that was read and is not settled.
type incoming struct {
	queue    queue
	own      *party
	from     *party // nil when it is not known
	message  message.Message
	faults   []message.Fault
	delivery *link.Delivery
	row      store.AMQPMessage
	known    bool // it was read before, by ourselves or another node
	// stored is its row when it was stored before and is handled again; nil when it comes from its queue.
	stored *store.AMQPMessage
}

// receive handles one message of a queue: checks, keeps, answers, and settles last. An error is our own fault: the message
// goes back after a while, and the tenth time the broker puts it among the dead letters (AMQP-11, AMQP-45, AMQP-51).
func (b *Bridge) receive(ctx context.Context, conn Conn, q queue, d *link.Delivery) error {
	id, err := b.handle(ctx, conn, q, d)
	if err != nil {
		return fmt.Errorf("handle message: %w", err)
	}
	if err := d.Accept(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("settle what was handled; it comes again and is known then: %w", err)
	}
	b.noteSoon(ctx, id, stepSettled)
	return nil
}

// handle does all but settling, and gives our id of the message, if it has one.
func (b *Bridge) handle(ctx context.Context, conn Conn, q queue, d *link.Delivery) (id string, err error) {
	own := b.dir.Load().parties[q.party]
	if own == nil {
		return "", fmt.Errorf("party of queue %s: %w", q.name, errOurs)
	}
	switch q.role {
	case roleEvent:
		return "", b.takeEvent(ctx, own, q, d)
	case roleDead:
		return b.takeDead(ctx, own, q, d)
	}
	in, err := b.incoming(ctx, own, q, d.Message)
	if err != nil {
		return "", err
	}
	in.delivery, in.row.Attempts = d, int64(d.DeliveryCount)
	switch {
	case in.message.Error != nil || q.role == roleError:
		err = b.takeError(ctx, in)
	case q.role == roleReply:
		err = b.takeReply(ctx, in)
	case q.role == roleSync:
		err = b.takeRequest(ctx, conn, in)
	default:
		err = b.takeBusiness(ctx, conn, in)
	}
	return in.row.ID, err
}

// incoming reads the fields of a message, and finds its sender.
func (b *Bridge) incoming(ctx context.Context, own *party, q queue, m *goamqp.Message) (*incoming, error) {
	in := &incoming{queue: q, own: own}
	in.message, in.faults = message.Decode(m)
	var err error
	if in.from, err = b.sender(ctx, in.message.FromHerID); err != nil {
		return nil, err
	}
	in.row = b.inRow(in)
	return in, nil
}

// sender finds a party by its HER-id; one that is not known may have been added this moment (AMQP-46).
func (b *Bridge) sender(ctx context.Context, her int) (*party, error) {
	if p := b.dir.Load().byHer[int64(her)]; p != nil || her <= 0 {
		return p, nil
	}
	if err := b.fresh(ctx); err != nil {
		return nil, fmt.Errorf("look for sender: %w", err)
	}
	return b.dir.Load().byHer[int64(her)], nil
}

func (b *Bridge) inRow(in *incoming) store.AMQPMessage {
	m := in.message
	row := store.AMQPMessage{
		Direction: store.AMQPIn, Kind: store.AMQPBusiness, OwnPartyID: in.own.ID, OwnHer: in.own.HerID, Her: int64(m.FromHerID),
		MessageID: m.ID, CorrelationID: m.CorrelationID, Correlation: message.PackCorrelation(m.Correlation, m.CorrelationID), CPAID: m.CPAID, ConversationID: m.ConversationID, Subject: m.Subject, Queue: in.queue.name,
	}
	if in.from != nil {
		row.PartyID, row.PartnerID = in.from.ID, in.from.PartnerID
	}
	if row.MessageID == "" {
		row.MessageID = message.AnswerID(fmt.Sprint(m.FromHerID, m.CorrelationID, m.Timestamp.UnixNano(), "\n", string(m.Body)), "unnamed")
	}
	return row
}

// takeBusiness handles a message of the async queue: a business message, or an AppRec.
func (b *Bridge) takeBusiness(ctx context.Context, conn Conn, in *incoming) error {
	doc, err := b.check(ctx, conn, in, store.AMQPAsync)
	if errors.Is(err, errDuplicate) {
		return b.again(ctx, in)
	}
	if doc != nil && doc.kind.IsAppRec() && err == nil {
		return b.takeAppRec(ctx, in, doc.bytes)
	}
	if doc != nil && doc.kind == msghead.SOAPFault && err == nil {
		return b.takeFault(ctx, in, doc)
	}
	if unavailable(err) {
		return b.postpone(ctx, in, err)
	}
	return b.conclude(ctx, in, doc, err)
}

// conclude keeps what became of a message, with its answer, and has the answer written.
func (b *Bridge) conclude(ctx context.Context, in *incoming, doc *document, err error) error {
	var answer *store.AMQPMessage
	if r, ok := errors.AsType[*refused](err); ok {
		in.row.Status, in.row.Reason, in.row.Detail, in.row.Codes = store.AMQPRefused, string(r.Condition), r.explain(), nonEmpty(r.Data)
		b.reportRefusal(ctx, in, r.Error())
		answer = b.errorRow(in, r)
		if answer == nil {
			in.row.Status = store.AMQPQuarantined
			if err := b.preserveIn(in); err != nil {
				return err
			}
			in.row.ContentDigest = contentDigest(in.delivery.Message)
		}
		return b.storeMessage(ctx, in, answer)
	}
	r, negative := errors.AsType[*rejected](err)
	if err != nil && !negative {
		return err // our own fault
	}
	in.row.MsgID, in.row.Status, in.row.Digest = doc.info.MsgID, store.AMQPProcessed, digest(doc.bytes)
	if negative {
		b.reportRefusal(ctx, in, strings.Join(r.codes, ", ")+": "+r.forLog())
		in.reject(r)
	}
	known, err := b.cfg.DB.AMQPHandled(ctx, in.own.ID, in.row.Her, in.row.MsgID)
	if err == nil && known.MessageID != in.row.MessageID {
		return b.discard(ctx, in, known) // AMQP-116
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	if !negative {
		var held bool
		if r, held, err = b.acceptOrHold(ctx, in, doc); err != nil {
			return err
		}
		if held {
			return b.storeMessage(ctx, in, nil)
		}
		if r != nil {
			in.reject(r)
		}
	}
	if answer, err = b.appRecRow(in, doc, r); err != nil {
		return err
	}
	return b.storeMessage(ctx, in, answer)
}

// reject notes that a message is answered with a negative AppRec.
func (in *incoming) reject(r *rejected) {
	in.row.Status, in.row.Reason, in.row.Detail, in.row.Codes = store.AMQPRejected, r.codes[0], r.text, r.codes
}

func nonEmpty(text string) store.Strings {
	if text == "" {
		return nil
	}
	return store.Strings{text}
}

// storeMessage writes the row of a message and of its answer in one transaction (AMQP-82), and tries the answer until it is on the
// queue or our patience is over: then it waits in the database (AMQP-114, INC-10).
func (b *Bridge) storeMessage(ctx context.Context, in *incoming, answer *store.AMQPMessage) error {
	row := in.row
	err := b.writes.do(ctx, func(tx *store.Tx) (err error) {
		in.row = row
		if in.known, err = b.readBefore(ctx, tx, in); err != nil || in.known {
			return err // what it is answered with, if at all, was decided once (AMQP-116)
		}
		if err := b.insertIn(ctx, tx, in); err != nil || in.known {
			return err
		}
		return b.storeAnswer(ctx, tx, in, answer)
	})
	if errors.Is(err, store.ErrConflict) && in.stored == nil {
		return b.again(ctx, in) // another reader was faster with the same
	}
	if err != nil {
		return fmt.Errorf("store message: %w", err)
	}
	if !in.known {
		b.answerSoon(ctx, answer)
	}
	return nil
}

func (b *Bridge) storeAnswer(ctx context.Context, tx *store.Tx, in *incoming, answer *store.AMQPMessage) error {
	if answer == nil {
		return nil
	}
	switch known, err := tx.AMQPWritten(ctx, answer.MessageID); {
	case err == nil:
		*answer = known
		return nil
	case !errors.Is(err, store.ErrNotFound):
		return err
	}
	answer.ReferenceID = in.row.ID
	return tx.InsertAMQPMessage(ctx, answer)
}

// answerSoon waits for an answer to be on its queue, as long as our patience lasts.
func (b *Bridge) answerSoon(ctx context.Context, answer *store.AMQPMessage) {
	if answer != nil && answer.Status == store.AMQPDue {
		ctx, cancel := context.WithTimeout(ctx, b.cfg.Patience)
		defer cancel()
		if err := b.answer(ctx, *answer); err != nil {
			b.cfg.Log.WarnContext(ctx, "an answer waits; it is tried again", "message", answer.ID, "error", err)
		}
	}
}

// errDuplicate reports that a messageId was read before (AMQP-105).
var errDuplicate = errors.New("a message with this messageId was read before")

// again handles a message that was read before: it is logged and dropped (AMQP-105). When that was ourselves before a crash,
// its answer may still be due: the loop of answers writes it.
func (b *Bridge) again(ctx context.Context, in *incoming) error {
	in.known = true
	known, err := b.cfg.DB.AMQPRead(ctx, in.own.ID, in.queue.name, in.row.Her, in.row.MessageID)
	if errors.Is(err, store.ErrNotFound) {
		// The same business message came under two messageIds at once, and the other is stored by now.
		return fmt.Errorf("handled by another reader at this moment: %w", errDuplicate)
	}
	if err != nil {
		return err
	}
	if in.stored != nil {
		return b.writes.do(ctx, func(tx *store.Tx) error { return b.markDuplicate(ctx, tx, in, known) })
	}
	b.note(ctx, known.ID, stepAgain, "amqp.detail.same-message")
	in.row = known
	signal(b.answers)
	return nil
}

// discard drops a business message that was handled under another messageId; the AppRec is sent once (AMQP-116). When its
// content is another than that of the first, people are notified: its sender thinks that it was taken.
func (b *Bridge) discard(ctx context.Context, in *incoming, known store.AMQPMessage) error {
	in.row.Status, in.row.ReferenceID = store.AMQPDuplicate, known.ID
	in.row.Reason, in.row.Codes = "", nil
	in.row.Detail = string(i18n.M("amqp.detail.handled-before", known.MessageID))
	differs := known.Digest != "" && known.Digest != in.row.Digest
	if differs {
		in.row.Reason = store.AMQPOtherContent
		in.row.Detail += " That one had other content; this content was not handled."
	}
	if err := b.storeMessage(ctx, in, nil); err != nil {
		return err
	}
	if differs && !in.known {
		b.cfg.Log.WarnContext(ctx, "a business message came with a MsgId that was used for other content", "message", in.row.ID, "first", known.ID, "her", in.row.Her, "messageId", in.row.MessageID)
	}
	b.note(ctx, known.ID, stepAgain, string(i18n.M("amqp.detail.same-msgid", in.row.MessageID)))
	return nil
}

// tooLate reports whether a synchronous message is older than its sender waits (AMQP-56, AMQP-90).
func (b *Bridge) tooLate(in *incoming) bool {
	since := in.delivery.EnqueuedAt
	if since.IsZero() {
		since = in.message.Timestamp
	}
	return !since.IsZero() && b.cfg.Now().Sub(since) > b.cfg.SyncTimeout+time.Second
}
