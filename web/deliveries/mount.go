// Package deliveries serves deliveries: the error queue, the dead-letter queue, one delivery with its attempts, jobs, replays,
// and the API with which consumers pull, look and resend.
//
// A partner sees and resends its own alone (guarantee G7). A count equals what its page lists up to the bound of lists, and
// says "or more" beyond it.
package deliveries

import (
	"context"

	"schakel/store"
	"schakel/templates/ui"
	"schakel/web/api"
	"schakel/web/site"
)

// Pages serves the pages, and gives other features what they show of deliveries.
type Pages struct {
	*site.Portal
	amqpBeside func(ctx context.Context, queue site.DeliveryQueue) (ui.Crumb, error)
	amqpItem   func(ctx context.Context, area site.DeliveryArea, d store.Delivery) ([]ui.Item, error)
}

// handlers serves the API.
type handlers struct{ *api.API }

// Mount registers the pages. The functions tell what lies beside a queue among AMQP messages, and which message a delivery is.
func Mount(p *site.Portal, amqpBeside func(context.Context, site.DeliveryQueue) (ui.Crumb, error),
	amqpItem func(context.Context, site.DeliveryArea, store.Delivery) ([]ui.Item, error),
) *Pages {
	s := &Pages{p, amqpBeside, amqpItem}
	s.mountDeliveries()
	return s
}

// MountAPI registers the API.
func MountAPI(m *api.API) { (&handlers{m}).mountConsume() }
