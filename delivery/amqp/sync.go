package amqp

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"sync"
	"time"

	goamqp "github.com/Azure/go-amqp"
	"schakel/delivery/amqp/message"
	"schakel/delivery/amqp/msghead"
	"schakel/store"
	"schakel/templates/i18n"
)

// waiters are requests of this node that wait for their answers, by our id of the request.
type waiters struct {
	mu  sync.Mutex
	all map[string]chan struct{}
}

func (w *waiters) add(id string) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all == nil {
		w.all = map[string]chan struct{}{}
	}
	ch := make(chan struct{}, 1)
	w.all[id] = ch
	return ch
}

func (w *waiters) remove(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.all, id)
}

func (w *waiters) wake(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if ch := w.all[id]; ch != nil {
		signal(ch)
	}
}

// peek is the interval at which a request looks whether another node read its answer.
const peek = 250 * time.Millisecond

// ask writes a synchronous request and waits for its answer, no longer than its lifetime on the queue (AMQP-90).
func (b *Bridge) ask(ctx context.Context, o *order) error {
	if o.own.ReplyQueue == "" {
		return &held{reason: ReasonNoQueue, detail: i18n.M("amqp.detail.no-reply-queue", o.own.Name)}
	}
	woken := b.waiting.add(o.row.ID)
	defer b.waiting.remove(o.row.ID)
	if err := b.put(ctx, o); err != nil {
		return b.unwritten(ctx, o, err)
	}
	until := b.cfg.Now().Add(b.cfg.SyncTimeout)
	was := o.row.Status
	o.row.Status, o.row.DueAt = store.AMQPOpenMessage, store.At(until)
	err := b.cfg.DB.Write(context.WithoutCancel(ctx), func(tx *store.Tx) error {
		if _, err := tx.UpdateAMQPMessage(ctx, &o.row, was); err != nil {
			return err
		}
		return b.trace(ctx, tx, o.row.ID, stepWritten, o.row.Queue)
	})
	if err != nil {
		return err
	}
	for b.cfg.Now().Before(until) && ctx.Err() == nil {
		if done, err := b.answered(ctx, o.row.ID); done {
			return err
		}
		timer := time.NewTimer(peek)
		select {
		case <-woken:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
	return b.unanswered(context.WithoutCancel(ctx), o.row.ID)
}

// answered reports whether a request has its answer; an AMQP error is one too.
func (b *Bridge) answered(ctx context.Context, id string) (bool, error) {
	m, err := b.cfg.DB.AMQPMessage(ctx, id)
	if err != nil {
		return false, err
	}
	switch m.Status {
	case store.AMQPAcknowledged:
		return true, nil
	case store.AMQPFailed, store.AMQPRejected:
		return true, &held{reason: m.Reason, detail: i18n.Message(m.Detail), written: true}
	}
	return false, nil
}

// unanswered ends a request that got no answer in time; one that comes later is dropped (AMQP-90).
func (b *Bridge) unanswered(ctx context.Context, id string) error {
	silent := &held{reason: ReasonUnanswered, detail: "amqp.detail.unanswered", written: true}
	var result error
	err := b.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		if err := tx.Lock(ctx, "amqp_message", id); err != nil { // its answer may be stored at this moment
			return err
		}
		m, err := tx.AMQPMessage(ctx, id)
		if err != nil {
			return err
		}
		switch m.Status {
		case store.AMQPAcknowledged:
			return nil
		case store.AMQPFailed, store.AMQPRejected:
			result = &held{reason: m.Reason, detail: i18n.Message(m.Detail), written: true}
			return nil
		}
		was := m.Status
		m.Status, m.Reason, m.Detail, m.DueAt = store.AMQPUnanswered, ReasonUnanswered, string(silent.detail), store.Time{}
		result = silent
		_, err = tx.UpdateAMQPMessage(ctx, &m, was)
		return err
	})
	if err != nil {
		return err
	}
	return result
}

// takeReply handles the answer to a request of ours, which becomes an event. It ties to the request by its correlationId
// (AMQP-24).
func (b *Bridge) takeReply(ctx context.Context, in *incoming) error {
	in.row.Kind, in.row.Status = store.AMQPAnswer, store.AMQPUnmatched
	asked, err := b.cfg.DB.AMQPWritten(ctx, in.message.CorrelationID)
	if errors.Is(err, store.ErrNotFound) {
		in.row.Detail = "amqp.detail.no-request"
		return b.storeReceipt(ctx, in, nil, receipt{})
	}
	if err != nil {
		return err
	}
	if asked.Status != store.AMQPOpenMessage && asked.Status != store.AMQPSending {
		in.row.Status, in.row.Detail = store.AMQPDropped, "amqp.detail.too-late"
		return b.storeReceipt(ctx, in, nil, receipt{})
	}
	doc, err := b.readReply(ctx, in, asked)
	if r, bad := errors.AsType[*refused](err); bad {
		return b.storeReceipt(ctx, in, &asked, receipt{store.AMQPFailed, string(r.Condition), string(i18n.M("amqp.detail.answer-refused", r.Error())), nil})
	}
	if err != nil {
		return err
	}
	if in.row.EventID, err = b.accept(ctx, in, doc); err != nil {
		return err
	}
	defer b.waiting.wake(asked.ID)
	if doc.kind == msghead.SOAPFault {
		return b.storeReceipt(ctx, in, &asked, receipt{store.AMQPRejected, reasonFault, doc.info.Type.DN, nil})
	}
	return b.storeReceipt(ctx, in, &asked, receipt{status: store.AMQPAcknowledged})
}

// readReply opens an answer. It comes from whom was asked.
func (b *Bridge) readReply(ctx context.Context, in *incoming, asked store.AMQPMessage) (*document, error) {
	if in.from == nil || in.from.ID != asked.PartyID {
		return nil, refuse(message.RefuseFields(message.InvalidFieldValue, message.FieldFromHerID), errUnknownSender)
	}
	doc := &document{}
	for _, p := range b.dir.Load().processes {
		if p.PartyID == asked.PartyID && p.OwnPartyID == asked.OwnPartyID && p.Subject == asked.Subject && p.Mode == store.AMQPSync {
			doc.process = p
		}
	}
	if doc.process.Receives == "" {
		return nil, refuse(message.Refuse(message.UnsupportedMessage), errors.New("the process says of no event type what answers become"))
	}
	var err error
	if doc.bytes, err = b.openBody(ctx, in); err != nil {
		return nil, err
	}
	parsed, err := msghead.Parse(doc.bytes)
	doc.kind, doc.info = parsed.Kind, parsed.Info
	if doc.kind == msghead.SOAPFault {
		doc.info.Type.DN = parsed.Fault.Reason
	}
	if r, bad := errors.AsType[*refused](b.headFault(err)); bad {
		return nil, r
	}
	return doc, nil
}

// takeRequest handles a synchronous request: the same checks, then the handler, whose answer goes to replyTo (AMQP-93 to
// AMQP-96). A request is handled at most once; its sender asks again when no answer comes.
func (b *Bridge) takeRequest(ctx context.Context, conn Conn, in *incoming) error {
	in.row.Kind = store.AMQPRequest
	if b.tooLate(in) {
		in.row.Status, in.row.Detail = store.AMQPDropped, "amqp.detail.too-old"
		return b.storeMessage(ctx, in, nil)
	}
	doc, err := b.check(ctx, conn, in, store.AMQPSync)
	if errors.Is(err, errDuplicate) {
		return b.again(ctx, in)
	}
	if r, ok := errors.AsType[*refused](err); ok {
		return b.conclude(ctx, in, doc, r)
	}
	if err == nil && doc.kind == msghead.SOAPFault {
		return b.takeFault(ctx, in, doc)
	}
	if err == nil && doc.kind.IsAppRec() {
		return b.conclude(ctx, in, doc, refuse(message.RefuseFields(message.InvalidFieldValue, message.FieldSubject), errors.New("an AppRec is no request")))
	}
	fault, bad := errors.AsType[*rejected](err)
	if err != nil && !bad {
		return err
	}
	in.row.MsgID, in.row.Status = doc.info.MsgID, store.AMQPProcessed
	if bad {
		in.row.Status, in.row.Reason, in.row.Detail, in.row.Codes = store.AMQPRejected, fault.codes[0], fault.text, fault.codes
	}
	if err := b.storeMessage(ctx, in, nil); err != nil || in.known {
		return err
	}
	return b.reply(ctx, conn, in, b.solve(ctx, in, doc, fault))
}

// solve has the handler answer; what it cannot answer is a SOAP fault (AMQP-96).
func (b *Bridge) solve(ctx context.Context, in *incoming, doc *document, bad *rejected) []byte {
	if bad != nil {
		return soapFault("Sender", bad.codes[0]+": "+bad.text)
	}
	if doc.process.HandlerID == "" {
		return soapFault("Receiver", "No handler is set up for this message.")
	}
	ev, err := b.eventOf(in, doc)
	if err != nil {
		return soapFault("Receiver", "The message could not be handled.")
	}
	ctx, cancel := context.WithTimeout(ctx, b.cfg.SyncTimeout)
	defer cancel()
	answer, err := b.cfg.Handle(ctx, doc.process.HandlerID, &ev, in.row.MessageID)
	if err != nil || len(answer) == 0 {
		b.note(ctx, in.row.ID, stepAnswered, string(i18n.M("amqp.detail.no-answer-of-handler", fmt.Sprint(err))))
		return soapFault("Receiver", "The message could not be handled.")
	}
	if fault := b.answerFault(ctx, in, answer); fault != nil {
		b.cfg.Log.ErrorContext(ctx, "the answer of a handler is not sent: its receiver would refuse it", "message", in.row.ID, "handler", doc.process.HandlerID, "error", fault)
		b.note(ctx, in.row.ID, stepUnanswerable, fault.Error())
		return soapFault("Receiver", "The message could not be handled.")
	}
	return answer
}

// answerFault holds the answer of a handler to the checks of its receiver before it is signed (AMQP-98). A SOAP fault is an
// answer; an AppRec is none (AMQP-90). The text quotes nothing of the answer.
func (b *Bridge) answerFault(ctx context.Context, in *incoming, answer []byte) error {
	parsed, err := msghead.Parse(answer)
	switch {
	case err != nil:
		return fmt.Errorf("it is no business message: %w", err)
	case parsed.Kind == msghead.SOAPFault:
		return nil
	case parsed.Kind != msghead.MsgHead && parsed.Kind != msghead.SOAP:
		return fmt.Errorf("it is a %s, not a MsgHead or SOAP fault", parsed.Kind)
	case int64(parsed.Info.Sender.HerID()) != in.own.HerID:
		return fmt.Errorf("it is from HER-id %d, not from %d", parsed.Info.Sender.HerID(), in.own.HerID)
	case int64(parsed.Info.Receiver.HerID()) != in.row.Her:
		return fmt.Errorf("it is to HER-id %d, not to %d", parsed.Info.Receiver.HerID(), in.row.Her)
	}
	findings, _, err := b.validate(ctx, answer)
	if err != nil {
		return err
	}
	if len(findings) > 0 {
		return fmt.Errorf("it does not keep to its schema in line %d, element %s; %d findings", findings[0].Line, findings[0].Path, len(findings))
	}
	return nil
}

// reply writes the answer to a request: not durable, with a lifetime, as the request itself (AMQP-91).
func (b *Bridge) reply(ctx context.Context, conn Conn, in *incoming, answer []byte) error {
	m, err := b.composeReply(ctx, in, answer)
	if err == nil {
		err = conn.Send(ctx, store.AMQPQueueName(in.message.ReplyTo), m)
	}
	if err != nil {
		// It is handled, and handling it again would be twice: its sender asks again when it wants (AMQP-90).
		b.note(ctx, in.row.ID, stepUnwritten, string(i18n.M("amqp.detail.answer-unwritten", err.Error())))
		return nil
	}
	b.note(ctx, in.row.ID, stepAnswered, store.AMQPQueueName(in.message.ReplyTo))
	return nil
}

func (b *Bridge) composeReply(ctx context.Context, in *incoming, answer []byte) (*goamqp.Message, error) {
	sealed, err := b.seal(ctx, in.own, in.from, answer)
	if err != nil {
		return nil, err
	}
	subject := in.message.Subject
	if parsed, err := msghead.Parse(answer); err == nil && parsed.Kind == msghead.SOAPFault {
		subject = message.SubjectSOAPFault
	}
	return message.Encode(message.Message{
		ID: message.AnswerID(message.Seed(in.row.Her, in.row.MessageID), answerReply), To: in.message.ReplyTo, Subject: subject, ReplyTo: b.address(in.own.SyncQueue),
		CorrelationID: in.message.CorrelationID, Correlation: in.message.Correlation, ContentType: message.ContentSignedAndEncrypted, CPAID: in.row.CPAID,
		ConversationID: in.message.ConversationID, Timestamp: b.cfg.Now(), TTL: b.cfg.SyncTimeout,
		FromHerID: int(in.own.HerID), ToHerID: int(in.row.Her), Body: sealed,
	})
}

// soapFault is the answer to a request that could not be handled (AMQP-96): a SOAP 1.2 fault of the sender's or the
// receiver's making.
func soapFault(whose, reason string) []byte {
	var b bytes.Buffer
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?><env:Envelope xmlns:env="` + msghead.NamespaceSOAP12 + `"><env:Body><env:Fault><env:Code><env:Value>env:` +
		whose + `</env:Value></env:Code><env:Reason><env:Text xml:lang="en">`)
	_ = xml.EscapeText(&b, []byte(reason)) // writing to a buffer does not fail
	b.WriteString(`</env:Text></env:Reason></env:Fault></env:Body></env:Envelope>`)
	return b.Bytes()
}
