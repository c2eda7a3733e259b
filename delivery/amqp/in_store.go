package amqp

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	goamqp "github.com/Azure/go-amqp"
	"schakel/delivery/amqp/link"
	"schakel/delivery/amqp/message"
	"schakel/delivery/outbox"
	"schakel/store"
	"schakel/templates/i18n"
)

// readBefore reports whether a message was read before, in the transaction that is to store it. Its row is then that of before. A
// quarantined message was read before only when its content is the same, for senders that nobody knows may use any messageId.
func (b *Bridge) readBefore(ctx context.Context, tx *store.Tx, in *incoming) (bool, error) {
	var known store.AMQPMessage
	var err error
	if in.row.ContentDigest != "" {
		known, err = tx.AMQPQuarantinedAs(ctx, in.own.ID, in.queue.name, in.row.MessageID, in.row.ContentDigest)
	} else {
		known, err = tx.AMQPRead(ctx, in.own.ID, in.queue.name, in.row.Her, in.row.MessageID)
	}
	switch {
	case errors.Is(err, store.ErrNotFound) || err == nil && known.ID == in.row.ID:
		return false, nil
	case err != nil:
		return false, err
	case in.stored != nil:
		return true, b.markDuplicate(ctx, tx, in, known)
	}
	in.row = known
	return true, b.trace(ctx, tx, known.ID, stepAgain, "")
}

// insertIn stores the row of a message that was read, or what became of one that was stored before. in.known says that another
// node did so meanwhile.
func (b *Bridge) insertIn(ctx context.Context, tx *store.Tx, in *incoming) error {
	if in.stored == nil {
		if err := tx.InsertAMQPMessage(ctx, &in.row); err != nil {
			return err
		}
		return b.trace(ctx, tx, in.row.ID, stepRead, in.queue.name)
	}
	in.row.NotifiedAt = store.Time{}
	if in.row.Status == in.stored.Status {
		in.row.NotifiedAt, in.row.Asked, in.row.AskedAt = in.stored.NotifiedAt, in.stored.Asked, in.stored.AskedAt
	}
	done, err := tx.ReprocessAMQPMessage(ctx, &in.row, in.stored.Status)
	if in.known = !done; err != nil || in.known {
		return err
	}
	step := stepReprocess
	if in.waited() {
		step = stepChecked
	}
	return b.trace(ctx, tx, in.row.ID, step, string(i18n.Word("amqp.state", in.row.Status)))
}

// markDuplicate ends a stored message of which the same was handled under its messageId meanwhile.
func (b *Bridge) markDuplicate(ctx context.Context, tx *store.Tx, in *incoming, known store.AMQPMessage) error {
	in.row.Status, in.row.ReferenceID, in.row.Encoded, in.row.EventID = store.AMQPDuplicate, known.ID, nil, ""
	in.row.ContentDigest = cmp.Or(in.stored.ContentDigest, "duplicate:"+in.row.ID)
	in.row.Reason, in.row.Codes, in.row.Detail = "", nil, "amqp.detail.sent-again"
	if _, err := tx.ReprocessAMQPMessage(ctx, &in.row, in.stored.Status); err != nil {
		return err
	}
	return b.trace(ctx, tx, in.row.ID, stepReprocess, string(i18n.Word("amqp.state", store.AMQPDuplicate)))
}

// sealPurpose binds the seal of a message that waits for a person.
const sealPurpose = "amqp-message"

// sealedHead begins sealed bytes; an encoded AMQP message begins with a zero.
const sealedHead = 'b'

// preserve encodes a message as it was received, with every section and the AMQP type of each value, and seals it: its body may
// have come unencrypted, and who is in its properties is nobody's business. A section of the broker's that cannot be encoded is
// left out.
func (b *Bridge) preserve(m *goamqp.Message) ([]byte, error) {
	encoded, err := m.MarshalBinary()
	if err != nil {
		if encoded, err = bare(m).MarshalBinary(); err != nil {
			return nil, fmt.Errorf("encode message as it was received: %w", err)
		}
	}
	return b.cfg.Vault.SealBytes(sealPurpose, encoded), nil
}

// restore reads what preserve made. What an older program stored is not sealed.
func (b *Bridge) restore(stored []byte) (*goamqp.Message, error) {
	encoded := stored
	if bytes.HasPrefix(stored, []byte{sealedHead}) {
		var err error
		if encoded, err = b.cfg.Vault.OpenBytes(sealPurpose, stored); err != nil {
			return nil, err
		}
	}
	m := &goamqp.Message{}
	if err := m.UnmarshalBinary(encoded); err != nil {
		return nil, fmt.Errorf("read stored message: %w", err)
	}
	return m, nil
}

// contentDigest names the content of a message, however often a broker hands it out: the sections that it must not change (AMQP-02).
func contentDigest(m *goamqp.Message) string {
	h := sha256.New()
	if properties, err := (&goamqp.Message{Properties: m.Properties}).MarshalBinary(); err == nil {
		_, _ = h.Write(properties)
	}
	for _, name := range slices.Sorted(maps.Keys(m.ApplicationProperties)) {
		_, _ = fmt.Fprintf(h, "%q %T %v\n", name, m.ApplicationProperties[name], m.ApplicationProperties[name])
	}
	for _, section := range m.Data {
		_, _ = fmt.Fprintf(h, "%d\n", len(section))
		_, _ = h.Write(section)
	}
	_, _ = fmt.Fprintf(h, "%T %v %v", m.Value, m.Value, m.Sequence)
	return hex.EncodeToString(h.Sum(nil))
}

// reportRefusal logs why a message is refused or rejected, and stores it as it came when that is so set. why quotes nothing of
// the business document.
func (b *Bridge) reportRefusal(ctx context.Context, in *incoming, why string) {
	b.cfg.Log.WarnContext(ctx, "a message is refused", "messageId", in.row.MessageID, "queue", in.queue.name, "her", in.row.Her, "subject", in.row.Subject, "why", why)
	if !b.cfg.KeepRefused || len(in.row.Encoded) > 0 || in.delivery == nil {
		return
	}
	b.warn(ctx, "a refused message is not stored", b.preserveIn(in))
}

// digest is the SHA-256 of a business document, in hexadecimal.
func digest(document []byte) string {
	sum := sha256.Sum256(document)
	return hex.EncodeToString(sum[:])
}

// Body gives the body of a message that came in and is stored, encrypted as it came. [store.ErrNotFound] when it is not stored;
// only the own organisation may have it.
func (b *Bridge) Body(ctx context.Context, by outbox.Actor, id string) ([]byte, error) {
	m, err := b.cfg.DB.AMQPMessage(ctx, id)
	if err != nil {
		return nil, err
	}
	if by.PartnerID != "" || m.Direction != store.AMQPIn || len(m.Encoded) == 0 {
		return nil, store.ErrNotFound
	}
	original, err := b.restore(m.Encoded)
	if err != nil {
		return nil, err
	}
	var body []byte
	for _, part := range original.Data {
		body = append(body, part...)
	}
	if body == nil {
		body, _ = original.Value.([]byte)
	}
	return body, nil
}

// takeDead takes a message from the dead-letter queue into the database, with every section, where it waits for a person
// (AMQP-52, AMQP-53). One that was handled in the end is only noted.
func (b *Bridge) takeDead(ctx context.Context, own *party, q queue, d *link.Delivery) (string, error) {
	in := &incoming{queue: q, own: own, delivery: d}
	in.message, in.faults = message.Decode(d.Message)
	in.from = b.dir.Load().byHer[int64(in.message.FromHerID)]
	in.row = b.inRow(in)
	in.row.Attempts, in.row.Detail = int64(d.DeliveryCount), deathReason(d.Message)
	if own.Kind == store.AMQPCloudEvents {
		in.row.Kind, in.row.PartyID, in.row.PartnerID = store.AMQPEvent, own.ID, own.PartnerID
		in.row.MessageID = eventMessageID(d.Message, contentDigest(d.Message))
	}
	handled, err := b.handled(ctx, in)
	if err != nil || handled {
		return "", err
	}
	if in.row.Encoded, err = b.preserve(d.Message); err != nil {
		return "", err
	}
	in.row.Status = store.AMQPDead
	err = b.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		known, err := tx.AMQPRead(ctx, own.ID, q.name, in.row.Her, in.row.MessageID)
		if errors.Is(err, store.ErrNotFound) {
			if err := tx.InsertAMQPMessage(ctx, &in.row); err != nil {
				return err
			}
			return errors.Join(b.trace(ctx, tx, in.row.ID, stepRead, q.name), b.noteExpired(ctx, tx, q, d))
		}
		if err != nil {
			return err
		}
		was := known.Status
		known.Status, known.Encoded, known.Detail = store.AMQPDead, in.row.Encoded, in.row.Detail
		in.row = known
		if _, err := tx.UpdateAMQPMessage(ctx, &known, was); err != nil {
			return err
		}
		return errors.Join(b.trace(ctx, tx, known.ID, stepAgain, q.name), b.noteExpired(ctx, tx, q, d))
	})
	if err != nil {
		return "", fmt.Errorf("keep dead letter: %w", err)
	}
	return in.row.ID, nil
}

// handled reports whether a dead letter was handled all the same, the time before it died.
func (b *Bridge) handled(ctx context.Context, in *incoming) (bool, error) {
	for _, queue := range []string{in.own.AsyncQueue, in.own.ErrorQueue} {
		known, err := b.cfg.DB.AMQPRead(ctx, in.own.ID, store.AMQPQueueName(queue), in.row.Her, in.row.MessageID)
		switch {
		case err == nil:
			b.note(ctx, known.ID, stepDropped, "amqp.detail.copy-dropped")
			return true, nil
		case !errors.Is(err, store.ErrNotFound):
			return false, err
		}
	}
	return false, nil
}

// Application properties that Azure Service Bus puts on a dead letter.
const (
	deadLetterReason      = "DeadLetterReason"
	deadLetterDescription = "DeadLetterErrorDescription"
)

// deathReason gives why a broker put a message among the dead letters, for people; "" where it does not say.
func deathReason(m *goamqp.Message) string {
	reason, _ := m.ApplicationProperties[deadLetterReason].(string)
	description, _ := m.ApplicationProperties[deadLetterDescription].(string)
	if first, ok := m.Annotations[rabbitDeathReason].(string); ok && reason == "" {
		reason = first
	}
	if text := strings.TrimSpace(reason + " " + description); text != "" {
		return string(i18n.M("amqp.detail.broker-reason", text))
	}
	return ""
}

// Message annotations in which RabbitMQ says why, and in which queue, a message became a dead letter.
const (
	rabbitDeathReason = "x-first-death-reason"
	rabbitDeathQueue  = "x-first-death-queue"
)

// bare is a message without what brokers put on it (AMQP-02).
func bare(m *goamqp.Message) *goamqp.Message {
	properties := maps.Clone(m.ApplicationProperties)
	delete(properties, deadLetterReason)
	delete(properties, deadLetterDescription)
	return &goamqp.Message{Properties: m.Properties, ApplicationProperties: properties, Data: m.Data, Value: m.Value, Sequence: m.Sequence}
}
