package amqp

import (
	"context"

	"schakel/delivery/amqp"
	"schakel/delivery/outbox"
	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
	"schakel/web/site"
)

// Discards that may wait for a second person.
const (
	dropOne = "discard.message"
	dropAll = "discard.messages"
)

// dropping holds a discard that waits: the messages, by filter where it is not about one.
type dropping struct {
	Filter store.AMQPFilter `json:"filter,omitzero"`
	Reason string           `json:"reason"`
}

// handleDiscards names what does the discards of messages once they are confirmed.
func (a AMQPArea) handleDiscards() {
	site.HandleDiscard(a.Portal, dropOne, func(id string, d dropping) site.Discard { return a.dropOf(id, d.Reason) })
	site.HandleDiscard(a.Portal, dropAll, func(_ string, d dropping) site.Discard { return a.dropAllOf(d.Filter, d.Reason, new(int)) })
}

// dropOf discards one message.
func (a AMQPArea) dropOf(id, reason string) site.Discard {
	return site.Discard{
		Action: dropOne, Object: registry.ObjectOf("amqp-message", id, "", ""), Args: dropping{Reason: reason}, Reason: reason,
		Describe: func(ctx context.Context) ([]i18n.Message, string, error) {
			m, err := a.DB.AMQPMessage(ctx, id)
			if err != nil {
				return nil, "", err
			}
			state, err := registry.Fingerprint(m.Status, m.Reason)
			return []i18n.Message{i18n.M("amqp.confirm.one", m.MessageID)}, state, err
		},
		Do: func(ctx context.Context, by outbox.Actor) error {
			if a.AMQP == nil {
				return amqp.Refused(WithoutBridge)
			}
			return a.AMQP.Drop(ctx, by, id, reason)
		},
	}
}

// dropAllOf discards the messages that a filter selects, and counts them.
func (a AMQPArea) dropAllOf(f store.AMQPFilter, reason string, n *int) site.Discard {
	f.Page = store.Page{}
	set, _ := registry.Fingerprint(f) // a filter can be written
	return site.Discard{
		Action: dropAll, Object: registry.ObjectOf("amqp-messages", set, "", ""), Args: dropping{f, reason}, Reason: reason,
		Describe: func(ctx context.Context) ([]i18n.Message, string, error) {
			rows, total, err := a.DB.AMQPMessages(ctx, amqp.Narrow(f, amqp.OperationDrop))
			if err != nil {
				return nil, "", err
			}
			parts := []any{total}
			for _, m := range rows {
				parts = append(parts, m.ID, m.Status)
			}
			state, err := registry.Fingerprint(parts...)
			return []i18n.Message{i18n.M("amqp.confirm.all", total)}, state, err
		},
		Do: func(ctx context.Context, by outbox.Actor) (err error) {
			if a.AMQP == nil {
				return amqp.Refused(WithoutBridge)
			}
			*n, err = a.AMQP.AskAll(ctx, by, f, amqp.OperationDrop, reason)
			return err
		},
	}
}
