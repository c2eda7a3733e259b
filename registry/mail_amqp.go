package registry

import (
	"context"
	"fmt"
	"time"

	"schakel/store"
)

// amqpMailEvery is how often at most the administrators get a mail about the same trouble of a party.
const amqpMailEvery = time.Hour

// AMQPDead tells the administrators that a message lies in a dead-letter queue (AMQP-53). More of the same party within the
// hour get no mail of their own.
func (m *Mails) AMQPDead(ctx context.Context, party, messageID string) error {
	return m.amqp(ctx, "dead", party, m.cfg.letter("A message to "+party+" is in the dead-letter queue", "/admin/amqp/messages/"+messageID,
		"A message that came in for "+party+" was tried ten times without success, for reasons of this side. It is kept, and waits for you.",
		"Mend the cause, then put it back on its queue. No other mail follows about this party within the hour."))
}

// AMQPOverdue tells the administrators that the AppRecs of messages have not come in time (AMQP-89, AMQP-117).
func (m *Mails) AMQPOverdue(ctx context.Context, party, messageID string, count int) error {
	return m.amqp(ctx, "overdue", party, m.cfg.letter("No AppRec from "+party, "/admin/amqp/messages/"+messageID,
		fmt.Sprintf("%d of the messages that were sent to %s got no answer in the time that was set for it.", count, party),
		"Responsibility has not passed to the receiver. Ask them, then send the message again if they did not get it: once at most."))
}

func (m *Mails) amqp(ctx context.Context, kind, party string, msg message) error {
	name := "amqp.mailed." + kind + "." + party
	err := m.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		before, err := tx.Setting(ctx, name)
		if err != nil {
			return err
		}
		if at, err := time.Parse(time.RFC3339, before); err == nil && tx.Now.Sub(at) < amqpMailEvery && !tx.Now.Before(at) {
			return nil
		}
		if err := tx.SetSetting(ctx, name, tx.Now.Format(time.RFC3339)); err != nil {
			return err
		}
		return m.cfg.mailAdministrators(ctx, tx, msg)
	})
	if err != nil {
		return fmt.Errorf("mail about AMQP: %w", err)
	}
	return nil
}
