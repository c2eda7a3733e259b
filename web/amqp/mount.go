// Package amqp serves the exchange by AMQP: brokers, parties, processes, queues and messages, as pages for administrators and
// partners, and as an API.
//
// A partner sees its own parties and messages alone (guarantee G7). Nothing here speaks AMQP: decisions about messages go to
// the bridge, which may be absent.
package amqp

import (
	_ "embed"
	"net/http"

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
	s.AMQPAdmin().handleDiscards()
	return s
}

//go:embed openapi.yaml
var openapiYAML []byte

// EventsPart describes what the API for events answers here.
var EventsPart = api.NewPart("amqp", openapiYAML)

// MountAPI registers the API.
func MountAPI(m *api.API) { (&handlers{m}).mountMessages() }

// mountMessages registers the API about messages of message brokers.
func (m *handlers) mountMessages() {
	bridged := m.Scoped(api.EventsBase, site.ScopeEventsConsume, site.ScopeRegistryWrite)
	bridged.GET("/amqp-messages", m.ByCaller(m.listAMQPMessages))
	bridged.GET("/amqp-messages/:amqpMessageId", m.showAMQPMessage)
	decide := m.Scoped(api.EventsBase, site.ScopeRegistryWrite)
	decide.GET("/amqp-messages/:amqpMessageId/body", m.ByDecider(m.getAMQPBody))
	decide.POST("/amqp-messages/:amqpMessageId/resend", m.postAMQPAct(http.StatusAccepted, site.AMQPBridge.Resend), m.Once)
	decide.POST("/amqp-messages/:amqpMessageId/answer", m.postAMQPAct(http.StatusAccepted, site.AMQPBridge.AnswerAgain), m.Once)
	decide.POST("/amqp-messages/:amqpMessageId/put-back", m.postAMQPAct(http.StatusOK, site.AMQPBridge.PutBack), m.Once)
	decide.POST("/amqp-messages/:amqpMessageId/retry", m.postAMQPAct(http.StatusAccepted, site.AMQPBridge.Retry), m.Once)
	decide.POST("/amqp-messages/:amqpMessageId/reprocess", m.postAMQPAct(http.StatusOK, site.AMQPBridge.Reprocess), m.Once)
	decide.POST("/amqp-messages/:amqpMessageId/drop", m.postAMQPDrop, m.Once)
	decide.POST("/amqp-actions", m.ByDecider(m.postAMQPAll), m.Once)
}
