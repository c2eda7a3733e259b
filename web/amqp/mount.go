// Package amqp serves the exchange by AMQP: brokers, parties, processes, queues and messages, as pages for administrators and
// partners, and as an API.
//
// A partner sees its own parties and messages alone (guarantee G7). Nothing here speaks AMQP: decisions about messages go to
// the bridge, which may be absent.
package amqp

import (
	"schakel/web/api"
	"schakel/web/site"
)

// Pages serves the pages, and gives other features what they show of it.
type Pages struct{ *site.Portal }

// handlers serves the API.
type handlers struct{ *api.API }

// Mount registers the pages.
func Mount(p *site.Portal) *Pages {
	s := &Pages{p}
	s.mountAMQP()
	return s
}

// MountAPI registers the API.
func MountAPI(m *api.API) { (&handlers{m}).mountMessages() }
