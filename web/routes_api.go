package web

import (
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
)

// routes registers the APIs for machines.
func (m *machineAPI) routes() {
	m.app.routesProblems()
	m.routesOAuth()
	m.routesEvents()
	m.routesRegister()
	m.routesMutations()
}

// refuseOptions answers 405 to OPTIONS, which echo would answer by itself: we take
// no part in the abuse-protection handshake of webhooks (EDU-03f).
func refuseOptions(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		allow, known := c.Get(echo.ContextKeyHeaderAllow).(string)
		if !known {
			return next(c)
		}
		if _, api := apiArea(c.Request().URL.Path); !api {
			return next(c)
		}
		c.Set(echo.ContextKeyHeaderAllow, strings.TrimPrefix(allow, "OPTIONS, "))
		if c.Request().Method == http.MethodOptions {
			return echo.MethodNotAllowedHandler(c)
		}
		return next(c)
	}
}

func (m *machineAPI) routesOAuth() {
	g := m.app.api(maxTokenForm*2, "/oauth")
	g.POST("/token", m.postToken)
	g.GET("/jwks", m.showJWKS)
	m.describe(g, "oauth")
	known := m.app.api(maxJSONBytes, "/.well-known")
	known.GET("/oauth-authorization-server", m.showMetadata)
	known.PublicGET("/api-catalog", m.showCatalog)
}

func (m *machineAPI) routesEvents() {
	const base = "/events/v1"
	scoped := func(scopes ...string) routeGroup {
		return m.app.api(maxJSONBytes, base, m.app.requireScope(scopes...), m.withCaller)
	}
	// No limit of the group here: the key comes before the size (IDEM-18).
	intake := routeGroup{echo: m.app.echo, prefix: base}
	intake.POST("/events", m.postEvents, m.app.requireScope(scopeEventsPublish), m.withCaller)

	publish := scoped(scopeEventsPublish)
	publish.GET("/events/:eventId", m.showEvent)
	scoped(scopeEventsConsume, scopeEventsPublish).GET("/objects/:objectId", m.showObject, m.app.slow(uploadTime))

	quarantine := scoped(scopeEventsPublish, scopeRegistryWrite)
	quarantine.GET("/quarantined-requests", m.listQuarantined)
	quarantine.GET("/quarantined-requests/:quarantineId", m.showQuarantined)
	decide := scoped(scopeRegistryWrite)
	decide.POST("/quarantined-requests/:quarantineId/release", m.postQuarantineRelease, m.once)
	decide.POST("/quarantined-requests/:quarantineId/discard", m.postQuarantineDiscard, m.once)

	bridged := scoped(scopeEventsConsume, scopeRegistryWrite)
	bridged.GET("/amqp-messages", m.listAMQPMessages)
	bridged.GET("/amqp-messages/:amqpMessageId", m.showAMQPMessage)
	decide.GET("/amqp-messages/:amqpMessageId/body", m.getAMQPBody)
	decide.POST("/amqp-messages/:amqpMessageId/resend", m.postAMQPAct(http.StatusAccepted, AMQPBridge.Resend), m.once)
	decide.POST("/amqp-messages/:amqpMessageId/answer", m.postAMQPAct(http.StatusAccepted, AMQPBridge.AnswerAgain), m.once)
	decide.POST("/amqp-messages/:amqpMessageId/put-back", m.postAMQPAct(http.StatusOK, AMQPBridge.PutBack), m.once)
	decide.POST("/amqp-messages/:amqpMessageId/retry", m.postAMQPAct(http.StatusAccepted, AMQPBridge.Retry), m.once)
	decide.POST("/amqp-messages/:amqpMessageId/reprocess", m.postAMQPAct(http.StatusOK, AMQPBridge.Reprocess), m.once)
	decide.POST("/amqp-messages/:amqpMessageId/drop", m.postAMQPDrop, m.once)
	decide.POST("/amqp-actions", m.postAMQPAll, m.once)

	look := scoped(scopeEventsPublish, scopeEventsConsume, scopeSubscriptionsWrite, scopeRegistryRead)
	look.GET("/event-types", m.listEventTypes)
	look.GET("/event-types/:name", m.showEventType)
	look.POST("/event-types/:name/validations", m.postEventTypeValidation)

	follow := scoped(scopeSubscriptionsWrite, scopeEventsConsume)
	follow.GET("/subscriptions", m.listSubscriptions)
	follow.GET("/subscriptions/:subscriptionId", m.showSubscription, m.ofEvents)
	subscribe := scoped(scopeSubscriptionsWrite)
	subscribe.POST("/subscriptions", m.postSubscription, m.once)
	subscribe.PATCH("/subscriptions/:subscriptionId", m.patchSubscription, m.once, m.ofEvents)
	subscribe.DELETE("/subscriptions/:subscriptionId", m.deleteSubscription, m.once, m.ofEvents)

	consume := scoped(scopeEventsConsume)
	consume.GET("/deliveries", m.listDeliveries)
	consume.GET("/deliveries/:deliveryId", m.showDelivery)
	consume.POST("/deliveries/:deliveryId/resend", m.resendDelivery, m.once)
	counted := m.fewAtOnce(m.app.counts, tooManyCounts)
	consume.POST("/resends", m.postResend, counted, m.once)
	consume.GET("/resends", m.listResends)
	consume.POST("/resend-previews", m.postResendPreview, counted)
	consume.GET("/resends/:resendId", m.showResend)
	consume.DELETE("/resends/:resendId", m.cancelResend, m.once)

	consume.POST("/subscriptions/:subscriptionId/receive", m.postReceive, m.app.slow(receiveTime))
	consume.POST("/subscriptions/:subscriptionId/acknowledge", m.postAcknowledge)
	consume.POST("/subscriptions/:subscriptionId/release", m.postRelease)
	consume.POST("/subscriptions/:subscriptionId/reject", m.postReject)
	consume.POST("/subscriptions/:subscriptionId/renew", m.postRenew)

	m.describeLive(m.app.api(maxJSONBytes, base), "events")
}

// uploadTime bounds the upload of a large document on a slow line.
const uploadTime = 2 * time.Minute

func (m *machineAPI) routesRegister() {
	const base = "/registry/v1"
	read := m.app.api(maxJSONBytes, base, m.orReadKey(m.app.optionalToken))
	read.PublicGET("/contracts", m.listContracts)
	read.PublicGET("/contracts/:contractId", m.showContract)
	read.PublicGET("/contracts/:contractId/releases", m.showReleases)
	read.PublicGET("/contracts/:contractId/versions", m.listVersions)
	read.PublicGET("/contracts/:contractId/versions/:version", m.showVersion, m.app.slow(uploadTime))
	read.PublicGET("/contracts/:contractId/versions/:version/changes", m.showChanges(newComparisons(m.Registry.Contracts)), m.app.slow(uploadTime))
	read.PublicGET("/contracts/:contractId/versions/:version/content", m.showContent)
	read.PublicGET("/contracts/:contractId/versions/:version/content.json", m.showContentJSON)
	read.PublicGET("/contracts/:contractId/versions/:version/content.yaml", m.showContentYAML)
	read.PublicGET("/contracts/:contractId/versions/:version/original", m.showOriginal)

	write := m.app.api(maxJSONBytes, base, m.app.requireScope(scopeRegistryWrite), m.withCaller)
	write.POST("/contracts", m.postContract, m.once)
	write.PATCH("/contracts/:contractId", m.patchContract, m.once)
	write.PUT("/contracts/:contractId/visibility", m.putVisibility, m.once)
	write.POST("/contracts/:contractId/versions/:version/publication", m.publishVersion, m.app.slow(uploadTime), m.once)
	write.POST("/contracts/:contractId/versions/:version/deprecation", m.deprecateVersion, m.once)
	write.DELETE("/contracts/:contractId/versions/:version/deprecation", m.undeprecateVersion, m.once)
	write.GET("/contracts/:contractId/versions/:version/withdrawal", m.showWithdrawal)
	write.POST("/contracts/:contractId/versions/:version/withdrawal", m.withdrawVersion, m.once)

	m.routesMirrors(m.app.api(maxJSONBytes, base, m.app.requireScope(scopeRegistryRead, scopeRegistryWrite), m.withCaller), write)

	// A form has a little more than the document in it.
	limit := m.DocumentBytes + 8<<10
	few := m.fewAtOnce(newShares(uploadsPerPartner), tooManyUploads)
	upload := m.app.api(limit, base, m.app.requireScope(scopeRegistryWrite), m.withCaller, few, m.app.slow(uploadTime))
	upload.POST("/contracts/:contractId/versions", m.postVersion, m.once)
	validate := m.app.api(limit, base, m.orReadKey(m.app.requireScope(scopeRegistryRead, scopeRegistryWrite)), few, m.app.slow(uploadTime))
	validate.POST("/validations", m.postValidation)

	m.describe(m.app.api(maxJSONBytes, base), "registry")
}
