package amqp

import (
	"net/http"
	"schakel/web/api"
	"schakel/web/site"
)

// mountMessages registers the API about messages of message brokers.
func (m *handlers) mountMessages() {
	bridged := m.Scoped(api.EventsBase, site.ScopeEventsConsume, site.ScopeRegistryWrite)
	bridged.GET("/amqp-messages", m.listAMQPMessages)
	bridged.GET("/amqp-messages/:amqpMessageId", m.showAMQPMessage)
	decide := m.Scoped(api.EventsBase, site.ScopeRegistryWrite)
	decide.GET("/amqp-messages/:amqpMessageId/body", m.getAMQPBody)
	decide.POST("/amqp-messages/:amqpMessageId/resend", m.postAMQPAct(http.StatusAccepted, site.AMQPBridge.Resend), m.Once)
	decide.POST("/amqp-messages/:amqpMessageId/answer", m.postAMQPAct(http.StatusAccepted, site.AMQPBridge.AnswerAgain), m.Once)
	decide.POST("/amqp-messages/:amqpMessageId/put-back", m.postAMQPAct(http.StatusOK, site.AMQPBridge.PutBack), m.Once)
	decide.POST("/amqp-messages/:amqpMessageId/retry", m.postAMQPAct(http.StatusAccepted, site.AMQPBridge.Retry), m.Once)
	decide.POST("/amqp-messages/:amqpMessageId/reprocess", m.postAMQPAct(http.StatusOK, site.AMQPBridge.Reprocess), m.Once)
	decide.POST("/amqp-messages/:amqpMessageId/drop", m.postAMQPDrop, m.Once)
	decide.POST("/amqp-actions", m.postAMQPAll, m.Once)
}
