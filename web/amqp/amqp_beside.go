package web

import (
	"context"
	"strconv"

	"github.com/a-h/templ"
	"schakel/store"
	"schakel/templates/ui"
)

// amqpBeside leads from the error queue and the dead letters to the messages of brokers that are like them: dead letters
// that came in belong to no delivery. Empty when there is none.
func (p *portal) amqpBeside(ctx context.Context, queue deliveryQueue) (ui.Crumb, error) {
	if !queue.admin || len(queue.statuses) == 0 {
		return ui.Crumb{}, nil
	}
	label, href, f := "AMQP messages that were refused", "?state="+amqpAttention+"&direction=out", store.AMQPFilter{
		Direction: store.AMQPOut, Statuses: []string{store.AMQPFailed, store.AMQPRejected, store.AMQPUnanswered},
	}
	if !queue.errors {
		label, href, f = "AMQP messages on dead-letter queues", "?state=dead", store.AMQPFilter{Statuses: []string{store.AMQPDead}}
	}
	n, err := p.DB.CountAMQPMessages(ctx, f)
	if err != nil || n == 0 {
		return ui.Crumb{}, err
	}
	return ui.Crumb{Label: label + " (" + ui.CountUpTo(n, store.ListBound) + ")", Href: p.amqpAdmin().messages() + href}, nil
}

// amqpItem leads from a delivery to the messages it was sent as.
func (p *portal) amqpItem(ctx context.Context, area deliveryArea, d store.Delivery) ([]ui.Item, error) {
	rows, err := p.DB.AMQPOfDelivery(ctx, d.ID)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	a := amqpArea{p, area}
	var links []templ.Component
	for i, m := range rows {
		label := amqpState(m).Text
		if len(rows) > 1 {
			label += " (" + strconv.Itoa(len(rows)-i) + ")"
		}
		links = append(links, ui.Link(label, a.message(m.ID)))
	}
	return []ui.Item{{Label: "AMQP message", Content: templ.Join(links...)}}, nil
}
