package amqp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"schakel/delivery/amqp/certs"
	"schakel/delivery/amqp/link"
	"schakel/delivery/amqp/message"
	"schakel/delivery/amqp/msghead"
	"schakel/delivery/amqp/xsd"
	"schakel/delivery/event"
	"schakel/delivery/webhook"
	"schakel/store"
	"schakel/templates/i18n"
)

type order struct {
	process  store.AMQPProcess
	own, to  *party
	document []byte
	info     msghead.Info
	row      store.AMQPMessage
	event    event.Event
}

// sendBusiness writes the business message of an event to its party, and tells to which queue.
func (b *Bridge) sendBusiness(ctx context.Context, to *party, c store.Claimed) (queue string, err error) {
	o, err := b.order(ctx, to, c)
	if err != nil {
		return "", err
	}
	o.row.Queue = store.AMQPQueueName(to.AsyncQueue)
	if o.process.Mode == store.AMQPSync {
		o.row.Queue = store.AMQPQueueName(to.SyncQueue)
	}
	done, err := b.begin(ctx, o)
	if err != nil || done {
		return o.row.Queue, err
	}
	if o.process.Mode == store.AMQPSync {
		return o.row.Queue, b.ask(ctx, o)
	}
	return o.row.Queue, b.write(ctx, o)
}

// order checks what is to be sent with the checks of the receiver (AMQP-98), in their order.
func (b *Bridge) order(ctx context.Context, to *party, c store.Claimed) (*order, error) {
	dir := b.dir.Load()
	if _, ok := dir.sends(to, "", c.EventType); !ok {
		return nil, &held{reason: ReasonNoProcess, detail: i18n.M("amqp.detail.no-process-with", to.Name, c.EventType)}
	}
	ev, err := event.FromParts(c.Event.Attributes, event.DataKind(c.Event.DataKind), c.Event.Data)
	if err != nil {
		return nil, &held{reason: ReasonDocument, detail: "verdict.error.event"}
	}
	if c.Encryption != nil {
		return nil, &held{reason: webhook.ReasonEncryption, detail: "amqp.detail.encrypted"}
	}
	o := &order{to: to, event: ev}
	if o.document, err = b.documentOf(ctx, c.EventID, &ev); err != nil {
		return nil, err
	}
	if o.info, err = b.inspect(ctx, o.document); err != nil {
		return nil, &held{reason: ReasonDocument, detail: i18n.M("amqp.detail.would-be-refused", err.Error())}
	}
	own := dir.byHer[int64(o.info.Sender.HerID())]
	if own == nil || !own.Own {
		return nil, &held{reason: ReasonParty, detail: i18n.M("amqp.detail.not-ours", fmt.Sprint(o.info.Sender.HerID()))}
	}
	if int64(o.info.Receiver.HerID()) != to.HerID {
		return nil, &held{reason: ReasonParty, detail: i18n.M("amqp.detail.other-receiver", fmt.Sprint(o.info.Receiver.HerID()), fmt.Sprint(to.HerID))}
	}
	process, ok := dir.sends(to, own.ID, c.EventType)
	if !ok {
		return nil, &held{reason: ReasonNoProcess, detail: i18n.M("amqp.detail.no-process-between", own.Name, to.Name, c.EventType)}
	}
	o.process, o.own = process, own
	o.row = b.outRow(o, c)
	return o, nil
}

// documentOf gives the business message of an event: its data, or its oversize data from the store (EDU-01a).
func (b *Bridge) documentOf(ctx context.Context, eventID string, ev *event.Event) ([]byte, error) {
	if ev.DataKind != event.DataNone {
		return ev.Data, nil
	}
	objects, err := b.cfg.DB.ObjectsOf(ctx, eventID)
	switch {
	case err != nil:
		return nil, fmt.Errorf("find data of event: %w", err)
	case len(objects) == 0:
		return nil, &held{reason: ReasonDocument, detail: "amqp.detail.no-business-message"}
	case !objects[0].GoneAt.IsZero():
		return nil, &held{reason: ReasonDocument, detail: "amqp.detail.business-message-gone"}
	}
	document, err := io.ReadAll(b.cfg.DB.OpenObject(ctx, objects[0]))
	if err != nil {
		return nil, fmt.Errorf("read data of event: %w", err)
	}
	return document, nil
}

// inspect reads a business message and validates it by the XSDs there are.
func (b *Bridge) inspect(ctx context.Context, document []byte) (msghead.Info, error) {
	d, err := msghead.Parse(document)
	if err != nil {
		return d.Info, err
	}
	if d.Kind != msghead.MsgHead && d.Kind != msghead.SOAP {
		return d.Info, fmt.Errorf("it is a %s, not a MsgHead", d.Kind)
	}
	findings, _, err := b.validate(ctx, document)
	if err != nil {
		return d.Info, err
	}
	if len(findings) > 0 {
		return d.Info, fmt.Errorf("line %d: %s", findings[0].Line, findings[0].Text)
	}
	return d.Info, nil
}

// validate holds a document against the operator's XSDs; without one for it there are no findings (AMQP-111). A document that
// was read before, and that the validator cannot read, is past a limit of the validator: it is accepted, with a warning.
func (b *Bridge) validate(ctx context.Context, document []byte) (findings []xsd.Finding, unread bool, err error) {
	if b.cfg.Schemas == nil {
		return nil, false, nil
	}
	findings, err = b.cfg.Schemas.Validate(ctx, document)
	switch {
	case err == nil:
		return findings, false, nil
	case errors.Is(err, xsd.ErrNoSchema):
		return nil, false, nil
	case ctx.Err() != nil:
		return nil, false, err
	}
	b.cfg.Log.WarnContext(ctx, "a business message is accepted without validation: the validator cannot read it", "bytes", len(document), "error", err)
	return nil, true, nil
}

// outRow is the row of a message; its messageId is the delivery's key, so it stays the same until it was on the queue (AMQP-121).
func (b *Bridge) outRow(o *order, c store.Claimed) store.AMQPMessage {
	row := store.AMQPMessage{
		Direction: store.AMQPOut, Kind: store.AMQPBusiness, Status: store.AMQPSending,
		OwnPartyID: o.own.ID, PartyID: o.to.ID, PartnerID: o.to.PartnerID, OwnHer: o.own.HerID, Her: o.to.HerID,
		MessageID: c.IdempotencyKey, CorrelationID: c.IdempotencyKey, Subject: o.process.Subject, MsgID: o.info.MsgID,
		EventID: c.EventID, DeliveryID: c.ID,
	}
	if o.process.Mode == store.AMQPSync {
		row.Kind = store.AMQPRequest
	}
	if id, ok := o.event.Extension("correlationid"); ok && message.IsUUID(id) && row.Kind == store.AMQPBusiness {
		row.CorrelationID = id
	}
	row.ConversationID = conversation(&o.event, o.info)
	return row
}

// conversation is the same for all messages of a conversation (AMQP-34): what the producer says, else the MsgId of its
// first message.
func conversation(ev *event.Event, info msghead.Info) string {
	if id, ok := ev.Extension("conversationid"); ok && id != "" {
		return id
	}
	return cmp.Or(info.Conversation.RefToConversation, info.MsgID)
}

// begin puts the row of a message there, before it can be on the queue. done tells that it is on the queue already: only
// the outcome was lost.
func (b *Bridge) begin(ctx context.Context, o *order) (done bool, err error) {
	err = b.writes.do(ctx, func(tx *store.Tx) error {
		known, err := tx.AMQPWritten(ctx, o.row.MessageID)
		if err == nil {
			o.row = known
			done, err = writtenBefore(known)
			return err
		}
		if !errors.Is(err, store.ErrNotFound) {
			return err
		}
		if err := b.mayBeSent(ctx, tx, o); err != nil {
			return err
		}
		return tx.InsertAMQPMessage(ctx, &o.row)
	})
	return done, err
}

// writtenBefore reports whether a message is on its queue already, or why it is not to be sent: only its outcome was lost.
func writtenBefore(m store.AMQPMessage) (bool, error) {
	switch m.Status {
	case store.AMQPSending, store.AMQPUnsent:
		return false, nil
	case store.AMQPFailed, store.AMQPRejected, store.AMQPUnanswered:
		return false, &held{reason: m.Reason, detail: i18n.Message(m.Detail), written: true}
	case store.AMQPReplaced:
		return false, &held{reason: ReasonSentBefore, detail: MayResend(m, m.UpdatedAt.Time), written: true}
	case store.AMQPOpenMessage:
		if m.Kind == store.AMQPRequest {
			return false, &held{reason: ReasonUnanswered, detail: "amqp.detail.stopped-waiting", written: true}
		}
	}
	return true, nil
}

// mayBeSent keeps to the rules of sending a business message again: never after a negative AppRec (AMQP-113), and otherwise
// only by a person's resend of its delivery (AMQP-118).
func (b *Bridge) mayBeSent(ctx context.Context, tx *store.Tx, o *order) error {
	before, err := tx.AMQPSentAs(ctx, o.to.HerID, o.row.MsgID)
	if err != nil {
		return err
	}
	for _, m := range before {
		if m.DeliveryID == o.row.DeliveryID {
			if err := b.supersede(ctx, tx, o, m); err != nil {
				return err
			}
			continue
		}
		switch m.Status {
		case store.AMQPRejected:
			return &held{reason: ReasonSentBefore, detail: "amqp.detail.sent-negative"}
		case store.AMQPOpenMessage, store.AMQPAcknowledged, store.AMQPPartly, store.AMQPSending:
			return &held{reason: ReasonSentBefore, detail: "amqp.detail.sent-before"}
		}
	}
	return nil
}

// supersede marks an earlier message of the same delivery as one in whose place another goes, if it may be sent again.
func (b *Bridge) supersede(ctx context.Context, tx *store.Tx, o *order, m store.AMQPMessage) error {
	was := m.Status
	o.row.Resends = max(o.row.Resends, m.Resends)
	switch was {
	case store.AMQPReplaced:
		return nil
	case store.AMQPSending:
	default:
		if why := MayResend(m, b.cfg.Now()); why != "" {
			return &held{reason: ReasonSentBefore, detail: why}
		}
	}
	if was == store.AMQPOpenMessage {
		o.row.Resends = max(o.row.Resends, m.Resends+1) // an identical one (AMQP-118)
	}
	m.Status = store.AMQPReplaced
	if _, err := tx.UpdateAMQPMessage(ctx, &m, was); err != nil {
		return err
	}
	return b.trace(ctx, tx, m.ID, stepResent, string(i18n.M("amqp.trace.as", o.row.MessageID)))
}

// compose makes the AMQP message of a sealed document (section B).
func (b *Bridge) compose(o *order, sealed []byte) message.Message {
	m := message.Message{
		ID: o.row.MessageID, To: b.address(o.to.AsyncQueue), Subject: o.row.Subject, ReplyTo: b.address(o.own.AsyncQueue),
		CorrelationID: o.row.CorrelationID, ContentType: message.ContentSignedAndEncrypted, ConversationID: o.row.ConversationID,
		CPAID: o.process.CPAID, Service: o.process.Service, Action: o.process.Action, FromRole: o.process.FromRole, ToRole: o.process.ToRole,
		Timestamp: b.cfg.Now(), FromHerID: int(o.row.OwnHer), ToHerID: int(o.row.Her), Durable: true, Body: sealed,
	}
	if o.row.Kind == store.AMQPRequest {
		m.To, m.ReplyTo, m.TTL, m.Durable = b.address(o.to.SyncQueue), b.address(o.own.ReplyQueue), b.cfg.SyncTimeout, false
	}
	return m
}

// address is a queue as it stands in to and replyTo (INC-26).
func (b *Bridge) address(registered string) string {
	if b.cfg.FullQueueNames {
		return registered
	}
	return store.AMQPQueueName(registered)
}

// write puts an asynchronous message on its queue. From then on its AppRec is waited for.
func (b *Bridge) write(ctx context.Context, o *order) error {
	if err := b.put(ctx, o); err != nil {
		return b.unwritten(ctx, o, err)
	}
	was := o.row.Status
	o.row.Status, o.row.DueAt, o.row.Reason, o.row.Detail = store.AMQPOpenMessage, b.dueAt(o.to), "", ""
	return b.writes.do(ctx, func(tx *store.Tx) error {
		// An AppRec that was faster stays what it is.
		if _, err := tx.UpdateAMQPMessage(ctx, &o.row, was); err != nil {
			return err
		}
		return b.trace(ctx, tx, o.row.ID, stepWritten, o.row.Queue)
	})
}

func (b *Bridge) put(ctx context.Context, o *order) error {
	sealed, err := b.seal(ctx, o.own, o.to, o.document)
	if err != nil {
		return sealTrouble(err)
	}
	m, err := message.Encode(b.compose(o, sealed))
	if err != nil {
		return &held{reason: ReasonDocument, detail: i18n.Message(err.Error())}
	}
	conn, err := b.connTo(o.to)
	if err != nil {
		return err
	}
	return finalTrouble(conn.Send(ctx, o.row.Queue, m))
}

// sealTrouble separates failures that wait from those that need a person: that the validation server cannot be asked waits
// (AMQP-61).
func sealTrouble(err error) error {
	if kind := certs.KindOf(err); (kind != "" && kind != certs.Unavailable) || errors.Is(err, errNoCertificate) {
		return &held{reason: ReasonCertificate, detail: i18n.M("amqp.detail.not-sealed", err.Error())}
	}
	return err
}

// unwritten keeps what went wrong. Unless the connection was lost the message is surely not on the queue.
func (b *Bridge) unwritten(ctx context.Context, o *order, cause error) error {
	was := o.row.Status
	o.row.Attempts++
	o.row.Status, o.row.Detail = store.AMQPUnsent, cause.Error()
	if link.KindOf(cause) == link.Lost {
		o.row.Status = store.AMQPSending
	}
	ctx = context.WithoutCancel(ctx)
	err := b.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		if _, err := tx.UpdateAMQPMessage(ctx, &o.row, was); err != nil {
			return err
		}
		return b.trace(ctx, tx, o.row.ID, stepUnwritten, cause.Error())
	})
	if err != nil {
		b.cfg.Log.WarnContext(ctx, "that a message was not written is not stored", "message", o.row.ID, "error", err)
	}
	return cause
}
