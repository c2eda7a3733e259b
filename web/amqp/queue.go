package amqp

import (
	"context"
	"strings"
	"time"

	"schakel/delivery/amqp"
	"schakel/store"
	view "schakel/templates/amqp"
	"schakel/templates/ui"
)

// queueRows lists the queues that we read, with the expiry of their messages (INC-22) as far as their broker reports it.
func (a AMQPArea) queueRows(ctx context.Context, brokers map[string]string, now time.Time) ([]view.AMQPQueueRow, error) {
	queues, err := a.DB.AMQPQueues(ctx)
	if err != nil {
		return nil, err
	}
	rows := make([]view.AMQPQueueRow, 0, len(queues))
	for _, q := range queues {
		row := view.AMQPQueueRow{Name: q.Name, Broker: brokers[q.BrokerID], Seen: q.SeenAt.Time}
		row.State, row.Detail = queueState(q, now)
		row.Loses = row.State.Kind == ui.KindError
		if q.PartyID != "" {
			row.Href = a.party(q.PartyID)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func queueState(q store.AMQPQueue, now time.Time) (view.Mark, string) {
	if loss := amqp.LossText(q, now); loss != "" {
		return view.Mark{Kind: ui.KindError, Text: "Messages expire"}, strings.ToUpper(loss[:1]) + loss[1:] + "."
	}
	if q.Known {
		return view.Mark{Kind: ui.KindInfo, Text: "None in its arguments"}, "The queue was made without a time to live. RabbitMQ does not tell over AMQP whether a policy sets one; a message that expires and becomes a dead letter is reported here."
	}
	return view.Mark{Kind: ui.KindWarning, Text: "Not known"}, "This broker does not tell over AMQP. Ask its operator. When a message expires and becomes a dead letter, it is reported here."
}
