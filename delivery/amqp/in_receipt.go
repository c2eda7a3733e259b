package amqp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"schakel/delivery/amqp/apprec"
	"schakel/store"
	"schakel/templates/i18n"
)

const reasonFault = "soap-fault"

// receipt holds the answer to a message of ours.
type receipt struct {
	status, reason, detail string
	codes                  store.Strings
}

// takeError handles a message of the error queue (AMQP-49, AMQP-87): what it is about has failed and waits for a person.
func (b *Bridge) takeError(ctx context.Context, in *incoming) error {
	in.row.Kind, in.row.Status = store.AMQPError, store.AMQPUnmatched
	e := in.message.Error
	if e == nil {
		in.row.Detail = "amqp.detail.no-error"
		return b.storeReceipt(ctx, in, nil, receipt{})
	}
	in.row.Reason, in.row.Detail, in.row.Codes = string(e.Condition), e.Description, nonEmpty(e.Data)
	if in.row.Detail == "" {
		in.row.Detail = e.Condition.Description()
	}
	about, err := b.cfg.DB.AMQPWritten(ctx, e.OriginalID)
	if errors.Is(err, store.ErrNotFound) {
		return b.storeReceipt(ctx, in, nil, receipt{})
	}
	if err != nil {
		return err
	}
	return b.storeReceipt(ctx, in, &about, receipt{store.AMQPFailed, in.row.Reason, in.row.Detail, in.row.Codes})
}

// takeAppRec handles an AppRec (AMQP-14, AMQP-16, AMQP-88). It is about the last message that was sent with its MsgId.
func (b *Bridge) takeAppRec(ctx context.Context, in *incoming, document []byte) error {
	in.row.Kind, in.row.Status = store.AMQPAppRec, store.AMQPUnmatched
	got, err := apprec.Parse(document)
	if err != nil {
		in.row.Detail = string(i18n.M("amqp.detail.unreadable", err.Error()))
		return b.storeReceipt(ctx, in, nil, receipt{})
	}
	in.row.MsgID = got.Original.ID
	if b.cfg.DB.EncryptsData(ctx) {
		withoutTexts(&got)
	}
	r := receiptOf(got)
	in.row.Reason, in.row.Detail, in.row.Codes = r.reason, r.detail, r.codes
	sent, err := b.cfg.DB.AMQPSentAs(ctx, in.row.Her, got.Original.ID)
	if err != nil {
		return err
	}
	for _, m := range sent {
		if m.OwnPartyID == in.own.ID && m.Status != store.AMQPReplaced {
			return b.storeReceipt(ctx, in, &m, r)
		}
	}
	return b.storeReceipt(ctx, in, nil, receipt{})
}

// takeFault handles a SOAP fault (AMQP-22): what it answers, by its correlationId, has failed.
func (b *Bridge) takeFault(ctx context.Context, in *incoming, doc *document) error {
	in.row.Kind, in.row.Status, in.row.Reason, in.row.Detail = store.AMQPAnswer, store.AMQPUnmatched, reasonFault, doc.info.Type.DN
	about, err := b.cfg.DB.AMQPWritten(ctx, in.message.CorrelationID)
	if errors.Is(err, store.ErrNotFound) || err == nil && about.PartyID != in.row.PartyID {
		return b.storeReceipt(ctx, in, nil, receipt{})
	}
	if err != nil {
		return err
	}
	return b.storeReceipt(ctx, in, &about, receipt{store.AMQPFailed, reasonFault, in.row.Detail, nil})
}

// withoutTexts leaves the codes of an AppRec alone. The other side writes texts, which may repeat the message; where data is encrypted they stand in
// the AppRec alone, which is, and not in lists, mails and issues.
func withoutTexts(got *apprec.AppRec) {
	got.StatusText = ""
	for i := range got.Errors {
		got.Errors[i].Text, got.Errors[i].Detail = "", ""
	}
}

// receiptOf reads what an AppRec says. A status that is not in the code list leaves the message open.
func receiptOf(got apprec.AppRec) receipt {
	r := receipt{detail: got.StatusText}
	var texts []string
	for _, e := range got.Errors {
		r.codes = append(r.codes, e.Code)
		parts := slices.DeleteFunc([]string{e.Code, e.Text, e.Detail}, func(s string) bool { return s == "" })
		texts = append(texts, strings.Join(parts, ": "))
	}
	if len(r.codes) > 0 {
		r.reason = r.codes[0]
	}
	if len(texts) > 0 {
		r.detail = strings.Join(texts, "; ")
	}
	switch got.Status {
	case apprec.OK:
		r.status = store.AMQPAcknowledged
	case apprec.Partly:
		r.status = store.AMQPPartly
	case apprec.Rejected:
		r.status = store.AMQPRejected
		if r.reason == "" {
			r.reason = "apprec-rejected"
		}
	default:
		r.detail = string(i18n.M("amqp.detail.odd-status", got.Status, r.detail))
	}
	return r
}

// storeReceipt stores a receipt with what it says about a message of ours, in one transaction. A message that has its AppRec
// keeps it: the first one counts, but for an AMQP error or negative AppRec after nothing worse.
func (b *Bridge) storeReceipt(ctx context.Context, in *incoming, about *store.AMQPMessage, r receipt) error {
	row := in.row
	err := b.writes.do(ctx, func(tx *store.Tx) (err error) {
		in.row = row
		if in.known, err = b.readBefore(ctx, tx, in); err != nil || in.known {
			return err
		}
		if about != nil {
			in.row.Status, in.row.ReferenceID = store.AMQPMatched, about.ID
			in.row.PartyID, in.row.PartnerID = about.PartyID, about.PartnerID
		}
		if err := b.insertIn(ctx, tx, in); err != nil || in.known {
			return err
		}
		return b.confirm(ctx, tx, in, about, r)
	})
	if err != nil {
		return fmt.Errorf("store receipt: %w", err)
	}
	return nil
}

// namedMessage names a message by its kind and its messageId.
func namedMessage(m store.AMQPMessage) i18n.Message {
	return i18n.M("amqp.trace.message", i18n.Word("amqp.kind", m.Kind), m.MessageID)
}

// confirm writes what a receipt means for the message it is about.
func (b *Bridge) confirm(ctx context.Context, tx *store.Tx, in *incoming, about *store.AMQPMessage, r receipt) error {
	if about == nil || r.status == "" {
		return nil
	}
	// That it was written may be stored at this moment: neither may overwrite the other.
	if err := tx.Lock(ctx, "amqp_message", about.ID); err != nil {
		return err
	}
	now, err := tx.AMQPMessage(ctx, about.ID) // as it is by now
	if err != nil {
		return err
	}
	if !supersedes(r.status, now.Status) {
		return b.trace(ctx, tx, now.ID, stepAgain, string(i18n.M("amqp.trace.came-after", namedMessage(in.row), i18n.Word("amqp.state", now.Status))))
	}
	was := now.Status
	now.Status, now.Reason, now.Detail, now.Codes, now.OverdueAt = r.status, r.reason, r.detail, r.codes, store.Time{}
	if _, err := tx.UpdateAMQPMessage(ctx, &now, was); err != nil {
		return err
	}
	by := namedMessage(in.row)
	if r.reason != "" {
		by = i18n.M("amqp.trace.with-code", by, r.reason)
	}
	if err := b.trace(ctx, tx, now.ID, stepConfirmed, string(by)); err != nil {
		return err
	}
	_, err = tx.HoldAMQPRefused(ctx, 100)
	return err
}

// supersedes reports whether a state that a receipt brings takes the place of another. What is open takes any; what went wrong
// stays wrong; an answer of ours that was sent can still fail.
func supersedes(next, now string) bool {
	switch now {
	case store.AMQPSending, store.AMQPUnsent, store.AMQPOpenMessage:
		return true
	case store.AMQPSent:
		return next == store.AMQPFailed
	}
	return false
}
