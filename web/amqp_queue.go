package web

import (
	"context"
	"strings"
	"time"

	"schakel/delivery/amqp"
	"schakel/store"
	"schakel/templates"
)

// queueRows say of the queues that we read whether their messages expire (INC-22), as far as their broker tells.
func (a amqpArea) queueRows(ctx context.Context, brokers map[string]string, now time.Time) ([]templates.AMQPQueueRow, error) {
	queues, err := a.DB.AMQPQueues(ctx)
	if err != nil {
		return nil, err
	}
	rows := make([]templates.AMQPQueueRow, 0, len(queues))
	for _, q := range queues {
		row := templates.AMQPQueueRow{Name: q.Name, Broker: brokers[q.BrokerID], Seen: q.SeenAt.Time}
		row.State, row.Detail = queueState(q, now)
		row.Loses = row.State.Kind == templates.KindError
		if q.PartyID != "" {
			row.Href = a.party(q.PartyID)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func queueState(q store.AMQPQueue, now time.Time) (templates.Mark, string) {
	if loss := amqp.LossText(q, now); loss != "" {
		return templates.Mark{Kind: templates.KindError, Text: "Messages expire"}, strings.ToUpper(loss[:1]) + loss[1:] + "."
	}
	if q.Known {
		return templates.Mark{Kind: templates.KindInfo, Text: "None in its arguments"}, "The queue was made without a time to live. RabbitMQ does not tell over AMQP whether a policy sets one; a message that expires and becomes a dead letter is reported here."
	}
	return templates.Mark{Kind: templates.KindWarning, Text: "Not known"}, "This broker does not tell over AMQP. Ask its operator. When a message expires and becomes a dead letter, it is reported here."
}
