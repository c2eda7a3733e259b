package amqp

import (
	"context"
	"errors"
	"fmt"
	"time"

	goamqp "github.com/Azure/go-amqp"
	"schakel/delivery/amqp/apprec"
	"schakel/delivery/amqp/cms"
	"schakel/delivery/amqp/link"
	"schakel/delivery/amqp/message"
	"schakel/delivery/event"
	"schakel/delivery/outbox"
	"schakel/store"
)

// Kinds of answers, by which their messageIds differ (AMQP-139).
const (
	answerAppRec = "apprec"
	answerReply  = "reply"

	answerDocument = "apprec document" // the id of an AppRec itself
)

// answerRow is the row of an answer. Who makes it tries it as long as our patience lasts; it is due for the loop of answers
// after that, so that it is written once.
func (b *Bridge) answerRow(in *incoming, kind, queue, id string) *store.AMQPMessage {
	return &store.AMQPMessage{
		Direction: store.AMQPOut, Kind: kind, Status: store.AMQPDue, DueAt: store.At(b.cfg.Now().Add(b.cfg.Patience + answerMargin)), MessageID: id, Queue: store.AMQPQueueName(queue),
		OwnPartyID: in.own.ID, OwnHer: in.own.HerID, PartyID: in.row.PartyID, PartnerID: in.row.PartnerID, Her: in.row.Her,
		CorrelationID: in.row.CorrelationID, Correlation: in.row.Correlation, CPAID: in.row.CPAID, ConversationID: in.row.ConversationID, Subject: in.row.Subject,
	}
}

// errorRow makes the row of an error message to a sender (AMQP-12, AMQP-79); nil when no sender is known.
func (b *Bridge) errorRow(in *incoming, r *refused) *store.AMQPMessage {
	if in.from == nil || in.from.Own || in.from.ErrorQueue == "" {
		return nil
	}
	original := in.message
	original.CPAID = in.row.CPAID
	report := message.Report(original, r.Refusal, b.address(in.from.ErrorQueue), b.address(in.own.ErrorQueue), b.cfg.Now())
	row := b.answerRow(in, store.AMQPError, in.from.ErrorQueue, report.ID)
	encoded, err := encodeReport(report)
	if err != nil {
		b.cfg.Log.Error("an error message cannot be written", "error", err)
		return nil
	}
	row.Encoded, row.Reason, row.Detail, row.Codes = encoded, string(r.Condition), r.Description(), nonEmpty(r.Data)
	return row
}

// encodeReport writes an error message as it goes over the wire.
func encodeReport(report message.Message) ([]byte, error) {
	m, err := message.Encode(report)
	if err != nil {
		return nil, err
	}
	return m.MarshalBinary()
}

// appRecRow is the AppRec to a business message (AMQP-83, AMQP-86); nil when its sender wants none.
func (b *Bridge) appRecRow(in *incoming, doc *document, negative *rejected) (*store.AMQPMessage, error) {
	if !doc.info.AckWanted() && negative == nil {
		return nil, nil
	}
	id := message.AnswerID(message.Seed(in.row.Her, in.row.MessageID), answerAppRec)
	document := message.AnswerID(message.Seed(in.row.Her, in.row.MessageID), answerDocument) // independent of the messageId (AMQP-18)
	answer := apprec.Answer{Version: b.appRecVersion(in), ID: document, At: b.cfg.Now(), Info: doc.info}
	if negative != nil {
		for _, code := range negative.codes {
			answer.Errors = append(answer.Errors, appRecError(code, negative.text))
		}
	}
	built, err := apprec.Build(answer)
	if err != nil {
		return nil, fmt.Errorf("build AppRec: %w", err)
	}
	row := b.answerRow(in, store.AMQPAppRec, in.from.AsyncQueue, id)
	row.Subject, row.MsgID, row.Encoded = subjectAppRec, in.row.MsgID, built
	if negative != nil {
		row.Reason, row.Detail, row.Codes = negative.codes[0], negative.text, negative.codes
	}
	return row, nil
}

func appRecError(code, text string) apprec.Error {
	switch code {
	case codeReceiver:
		return apprec.E10(text)
	case codeNoSubscriber:
		return apprec.E21(text)
	case codeXML:
		return apprec.T01(text)
	}
	return apprec.T02(text)
}

// appRecVersion is the version the party wants: 1.1 unless it is set otherwise.
func (b *Bridge) appRecVersion(in *incoming) apprec.Version {
	if in.from.ApprecVersion == "1.0" {
		return apprec.V10
	}
	return apprec.V11
}

// Extension attributes of an event that came by AMQP.
const (
	attributeFrom         = "herfrom"
	attributeTo           = "herto"
	attributeConversation = "conversationid"
	attributeCorrelation  = "correlationid"
	attributeMessage      = "amqpmessageid"
)

// source is the CloudEvents source of a HER-id: its place under the OID of the address registry.
func source(her int64) string { return fmt.Sprintf("urn:oid:2.16.578.1.12.4.1.2.%d", her) }

// accept hands a business message to the engine as an event, and gives the event's id. The same message is the same event,
// however often that is done (guarantee G4); a partner's event goes where an administrator routed it (guarantee G3).
func (b *Bridge) accept(ctx context.Context, in *incoming, doc *document) (string, error) {
	ev, err := b.eventOf(in, doc)
	if err != nil {
		return "", err
	}
	// An AppRec takes over responsibility for it; an answer of the other party to a question of ours does not (AMQP-17).
	return b.submit(ctx, in.from, outbox.Submission{ClientID: in.from.ID, Events: []event.Event{ev}, NeedRecipient: in.queue.role != roleReply})
}

// eventOf is a business message as an event. Its id is the MsgId, so that the same message is the same event.
func (b *Bridge) eventOf(in *incoming, doc *document) (event.Event, error) {
	id := doc.info.MsgID
	if id == "" {
		id = in.row.MessageID
	}
	attributes := map[string]string{
		"id": id, "source": source(in.row.Her), "type": doc.process.Receives, "datacontenttype": "application/xml",
		"time": in.message.Timestamp.UTC().Format(time.RFC3339), attributeFrom: fmt.Sprint(in.row.Her), attributeTo: fmt.Sprint(in.row.OwnHer),
		attributeMessage: in.row.MessageID,
	}
	for name, value := range map[string]string{attributeConversation: in.row.ConversationID, attributeCorrelation: in.row.CorrelationID} {
		if value != "" {
			attributes[name] = value
		}
	}
	ev, err := event.New(attributes, doc.bytes, b.cfg.Limits)
	if err != nil {
		return event.Event{}, fmt.Errorf("make event: %w", err)
	}
	return ev, nil
}

// submit accepts an event of a party, only if somebody is subscribed to it where that is needed ([outbox.ErrNoRecipient]).
func (b *Bridge) submit(ctx context.Context, from *party, s outbox.Submission) (string, error) {
	s.PartnerID, s.FromOwn = from.PartnerID, from.Own
	receipt, err := b.engine.Accept(ctx, s)
	if err != nil {
		return "", fmt.Errorf("accept event: %w", err)
	}
	if len(receipt.Events) == 0 {
		return "", errors.New("accept event: it was not taken")
	}
	return receipt.Events[0].EventID, nil
}

// How answers that wait are tried again.
const (
	answerBatch   = 32
	answerLease   = time.Minute // how long an answer belongs to the node that took it
	answerPause   = 5 * time.Second
	answerMargin  = 2 * time.Second // beyond our patience, for keeping what came of it
	answerLongest = 10 * time.Minute
)

// answerLoop writes the answers that are due (AMQP-114): those of a process that died, and those the broker did not take.
func (b *Bridge) answerLoop(ctx context.Context) {
	for b.pauseOr(ctx, b.answers) {
		var due []store.AMQPMessage
		err := b.cfg.DB.Write(ctx, func(tx *store.Tx) (err error) {
			due, err = tx.TakeAMQPAnswers(ctx, answerBatch, store.At(tx.Now.Add(answerLease)))
			return err
		})
		if err != nil {
			if ctx.Err() == nil {
				b.cfg.Log.WarnContext(ctx, "answers wait; this is tried again", "error", err)
			}
			continue
		}
		b.answerAll(ctx, due)
		if len(due) == answerBatch {
			signal(b.answers)
		}
	}
}

// answerAll writes answers, several at once, and gives up in time for another node to try them.
func (b *Bridge) answerAll(ctx context.Context, due []store.AMQPMessage) {
	within, cancel := context.WithTimeout(ctx, answerLease/2)
	defer cancel()
	b.each(due, func(a store.AMQPMessage) {
		if err := b.answer(within, a); err != nil && ctx.Err() == nil {
			b.cfg.Log.WarnContext(ctx, "an answer waits; it is tried again", "message", a.ID, "error", err)
		}
	})
}

func (b *Bridge) answer(ctx context.Context, a store.AMQPMessage) error {
	if a.Status != store.AMQPDue {
		return nil
	}
	cause := b.putAnswer(ctx, a)
	was := a.Status
	a.Attempts++
	switch {
	case cause == nil:
		a.Status, a.DueAt = store.AMQPSent, store.Time{}
	case unwritable(cause):
		a.Status, a.DueAt, a.Detail = store.AMQPUnsent, store.Time{}, cause.Error()
	default:
		a.Detail = cause.Error()
		a.DueAt = store.At(b.cfg.Now().Add(min(answerPause<<min(a.Attempts-1, 10), answerLongest)))
	}
	ctx = context.WithoutCancel(ctx)
	err := b.writes.do(ctx, func(tx *store.Tx) error {
		if _, err := tx.UpdateAMQPMessage(ctx, &a, was); err != nil {
			return err
		}
		if cause != nil {
			if a.Attempts > store.AMQPAnswerTries {
				return nil // its detail says it; the trace must not grow for ever
			}
			return b.trace(ctx, tx, a.ID, stepUnwritten, cause.Error())
		}
		if err := b.trace(ctx, tx, a.ID, stepWritten, a.Queue); err != nil || a.ReferenceID == "" {
			return err
		}
		return b.trace(ctx, tx, a.ReferenceID, stepAnswered, string(namedMessage(a)))
	})
	return errors.Join(cause, err)
}

// unwritable reports whether trying an answer again is of no use until a person did something.
func unwritable(err error) bool {
	_, invalid := errors.AsType[*message.InvalidError](err)
	kind := link.KindOf(err)
	return invalid || kind == link.Rejected || kind == link.TooLarge || errors.Is(err, cms.ErrRecipient)
}

func (b *Bridge) putAnswer(ctx context.Context, a store.AMQPMessage) error {
	dir := b.dir.Load()
	own, to := dir.parties[a.OwnPartyID], dir.parties[a.PartyID]
	if own == nil || to == nil {
		return fmt.Errorf("the parties of this answer: %w", errOurs)
	}
	conn, err := b.connTo(to)
	if err != nil {
		return err
	}
	var m *goamqp.Message
	if a.Kind == store.AMQPError {
		m = &goamqp.Message{}
		err = m.UnmarshalBinary(a.Encoded)
	} else {
		m, err = b.sealAnswer(ctx, own, to, a)
	}
	if err != nil {
		return err
	}
	return conn.Send(ctx, a.Queue, m)
}

func (b *Bridge) sealAnswer(ctx context.Context, own, to *party, a store.AMQPMessage) (*goamqp.Message, error) {
	sealed, err := b.seal(ctx, own, to, a.Encoded)
	if err != nil {
		return nil, err
	}
	return message.Encode(message.Message{
		ID: a.MessageID, To: b.address(to.AsyncQueue), Subject: a.Subject, ReplyTo: b.address(own.AsyncQueue), CorrelationID: a.CorrelationID,
		Correlation: message.UnpackCorrelation(a.Correlation, a.CorrelationID), CPAID: a.CPAID,
		ContentType: message.ContentSignedAndEncrypted, ConversationID: a.ConversationID, Timestamp: a.CreatedAt.Time,
		FromHerID: int(a.OwnHer), ToHerID: int(a.Her), Durable: true, Body: sealed,
	})
}
