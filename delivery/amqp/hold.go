package amqp

import (
	"context"
	"errors"
	"fmt"

	"schakel/delivery/outbox"
	"schakel/store"
)

// ReasonNoRecipient is the reason of a message that nobody is subscribed to.
const ReasonNoRecipient = "no-recipient"

const noRecipientText = "Nobody is subscribed to what this message becomes."

// withoutRecipient decides about a message that nobody here would get. Its AppRec would take over responsibility for it (AMQP-16), so
// there is none: the message is held until somebody is subscribed, or rejected where the settings say so.
func (b *Bridge) withoutRecipient(ctx context.Context, in *incoming) (*rejected, error) {
	if b.cfg.RejectUnwanted(ctx) {
		return &rejected{codes: []string{codeNoSubscriber}, text: noRecipientText}, nil
	}
	in.row.Status, in.row.Reason, in.row.Detail = store.AMQPHeld, ReasonNoRecipient, noRecipientText
	return nil, b.preserveIn(in)
}

// preserveIn stores a message with its row; one that was stored before stays as it is.
func (b *Bridge) preserveIn(in *incoming) (err error) {
	if in.stored != nil {
		in.row.Encoded = in.stored.Encoded
		return nil
	}
	in.row.Encoded, err = b.preserve(in.delivery.Message)
	return err
}

// releaseHeld asks for held messages to be handled once somebody is subscribed to what they become.
func (b *Bridge) releaseHeld(ctx context.Context) error {
	held, err := b.cfg.DB.AMQPHeld(ctx, b.now())
	if err != nil || len(held) == 0 {
		return err
	}
	dir := b.dir.Load()
	for _, of := range held {
		from, own := dir.parties[of.PartyID], dir.parties[of.OwnPartyID]
		if from == nil || own == nil {
			continue
		}
		process, ok := dir.receives(from, own, of.Subject, store.AMQPAsync)
		if !ok {
			continue
		}
		there, err := b.cfg.DB.HasRecipient(ctx, process.Receives, from.PartnerID)
		if err != nil || !there {
			if err != nil {
				return fmt.Errorf("look for recipient: %w", err)
			}
			continue
		}
		err = b.cfg.DB.Write(ctx, func(tx *store.Tx) error {
			_, err := tx.ReleaseAMQPHeld(ctx, of, operation{Do: operationRelease}.text())
			return err
		})
		if err != nil {
			return err
		}
		signal(b.operations)
	}
	return nil
}

// acceptOrHold accepts a business message as an event. A *rejected is the answer to one without a recipient; held reports that it
// waits for one.
func (b *Bridge) acceptOrHold(ctx context.Context, in *incoming, doc *document) (negative *rejected, held bool, err error) {
	in.row.EventID, err = b.accept(ctx, in, doc)
	if !errors.Is(err, outbox.ErrNoRecipient) {
		return nil, false, err
	}
	if negative, err = b.withoutRecipient(ctx, in); err != nil {
		return nil, false, err
	}
	return negative, negative == nil, nil
}
