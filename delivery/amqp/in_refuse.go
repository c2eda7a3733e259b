package amqp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"schakel/delivery/outbox"
	"schakel/store"
)

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
