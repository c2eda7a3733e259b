package amqp

import (
	"context"
	"strconv"

	"github.com/a-h/templ"
	"schakel/store"
	"schakel/templates/ui"
	"schakel/web/site"
)

// AMQPBeside leads from the error queue and the dead letters to the messages of brokers that are like them: dead letters
// that came in belong to no delivery. Empty when there is none.
func (p *Pages) AMQPBeside(ctx context.Context, queue site.DeliveryQueue) (ui.Crumb, error) {
	if !queue.Admin || len(queue.Statuses) == 0 {
		return ui.Crumb{}, nil
	}
	label, href, f := "AMQP messages that were refused", "?state="+amqpAttention+"&direction=out", store.AMQPFilter{
		Direction: store.AMQPOut, Statuses: []string{store.AMQPFailed, store.AMQPRejected, store.AMQPUnanswered},
	}
	if !queue.Errors {
		label, href, f = "AMQP messages on dead-letter queues", "?state=dead", store.AMQPFilter{Statuses: []string{store.AMQPDead}}
	}
	n, err := p.DB.CountAMQPMessages(ctx, f)
	if err != nil || n == 0 {
		return ui.Crumb{}, err
	}
	return ui.Crumb{Label: label + " (" + ui.CountUpTo(n, store.ListBound) + ")", Href: p.AMQPAdmin().messages() + href}, nil
}

// AMQPItem leads from a delivery to the messages it was sent as.
func (p *Pages) AMQPItem(ctx context.Context, area site.DeliveryArea, d store.Delivery) ([]ui.Item, error) {
	rows, err := p.DB.AMQPOfDelivery(ctx, d.ID)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	a := AMQPArea{p, area}
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
