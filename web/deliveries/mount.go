// Package deliveries serves deliveries: the error queue, the dead-letter queue, one delivery with its attempts, jobs, replays,
// and the API with which consumers pull, look and resend.
//
// A partner sees and resends its own alone (guarantee G7). A count equals what its page lists up to the bound of lists, and
// says "or more" beyond it.
package deliveries

import (
	"context"
	_ "embed"

	"schakel/registry"
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

// Mount registers the pages. The functions count the AMQP messages beside a queue, and link a delivery to its message.
func Mount(p *site.Portal, amqpBeside func(context.Context, site.DeliveryQueue) (ui.Crumb, error),
	amqpItem func(context.Context, site.DeliveryArea, store.Delivery) ([]ui.Item, error),
) *Pages {
	s := &Pages{p, amqpBeside, amqpItem}
	s.mountDeliveries()
	return s
}

var (
	//go:embed openapi.yaml
	openapiYAML []byte
	//go:embed openapi_pull.yaml
	openapiPullYAML []byte
	//go:embed openapi_resends.yaml
	openapiResendsYAML []byte
)

// EventsParts describe in the API for events how deliveries are fetched, followed and resent.
var EventsParts = []api.Part{
	api.NewPart("pull", openapiPullYAML), api.NewPart("deliveries", openapiYAML), api.NewPart("resends", openapiResendsYAML),
}

// MountAPI registers the API.
func MountAPI(m *api.API) { (&handlers{m}).mountConsume() }

// mountDeliveries registers the pages about deliveries: the two queues, one delivery, jobs and replays.
func (p *Pages) mountDeliveries() {
	admin := p.Pages("/admin", p.RequireAdministrator)
	for _, queue := range []site.DeliveryQueue{site.ErrorQueue(), site.DeadLetterQueue(), site.AllDeliveries()} {
		p.routesQueue(p.Pages("", p.RequireAdministrator), queue)
	}
	p.routesDelivery(admin, site.AdministratorArea())
	admin.POST("/deliveries/:id/discard", p.discardDelivery)

	partner := p.Pages("/partner", p.RequirePartner)
	p.routesQueue(p.Pages("", p.RequirePartner), site.OwnDeliveries())
	p.routesDelivery(partner, site.PartnerArea())
	partner.GET("/deliveries/:id/data", p.deliveryData)
	partner.GET("/deliveries/:id/object", p.deliveryObject, p.Slow(site.UploadTime))
}

func (p *Pages) routesQueue(g site.RouteGroup, queue site.DeliveryQueue) {
	g.GET(queue.Path, p.deliveryList(queue))
	g.GET(queue.Path+"/export", p.exportDeliveries(queue))
	g.POST(queue.Path, p.deliveryBulk(queue))
	g.GET(queue.Path+"/all", p.deliveryAll(queue), p.FewCounts)
	g.POST(queue.Path+"/all", p.startDeliveryJob(queue), p.FewCounts)
}

func (p *Pages) routesDelivery(g site.RouteGroup, area site.DeliveryArea) {
	g.GET("/deliveries/:id", p.deliveryPage(area))
	g.POST("/deliveries/:id/resend", p.resendDelivery(area))
	g.GET("/batches/:id", p.batchPage(area))
	g.GET("/issues", p.issueList(area))
	g.GET("/issues/:id", p.issuePage(area))
	g.POST("/issues/:id/acknowledge", p.postIssueDecision(area, registry.ActionIssueAcknowledged))
	g.POST("/issues/:id/resolve", p.postIssueDecision(area, registry.ActionIssueResolved))
	g.POST("/issues/:id/reopen", p.postIssueDecision(area, registry.ActionIssueReopened))
	g.POST("/issues/:id/pause", p.pauseIssue(area))
	g.POST("/issues/:id/resume", p.resumeIssue(area))
	g.GET("/issues/:id/mail", p.issueMailPage(area))
	g.POST("/issues/:id/mail", p.sendIssueMail(area))
	g.GET("/issues/export", p.exportIssues(area))
	g.GET("/jobs", p.jobList(area))
	g.GET("/jobs/new", p.askAgain(area))
	g.GET("/jobs/failed", p.failedSince(area))
	g.GET("/replays", p.replayPage(area), p.FewCounts)
	g.POST("/replays", p.startReplay(area), p.FewCounts)
	g.GET("/jobs/:id", p.jobPage(area))
	g.POST("/jobs/:id/cancel", p.cancelJob(area))
	g.POST("/jobs/:id/continue", p.continueJob(area))
}

// mountConsume registers the API with which consumers pull, look at their deliveries and resend them.
func (m *handlers) mountConsume() {
	consume := m.Scoped(api.EventsBase, site.ScopeEventsConsume)
	consume.GET("/deliveries", m.ByCaller(m.listDeliveries))
	consume.GET("/deliveries/:deliveryId", m.ByCaller(m.showDelivery))
	consume.POST("/deliveries/:deliveryId/resend", m.ByCaller(m.resendDelivery), m.Once)
	counted := m.FewAtOnce(m.App.Counts, site.TooManyCounts)
	consume.POST("/resends", m.postResend, counted, m.Once)
	consume.GET("/resends", m.ByCaller(m.listResends))
	consume.POST("/resend-previews", m.postResendPreview, counted)
	consume.GET("/resends/:resendId", m.ByCaller(m.showResend))
	consume.DELETE("/resends/:resendId", m.ByCaller(m.cancelResend), m.Once)
	consume.POST("/resends/:resendId/continue", m.ByCaller(m.continueResend), m.Once)
	consume.GET("/resends/:resendId/refusals", m.ByCaller(m.listRefusals))

	consume.POST("/subscriptions/:subscriptionId/receive", m.postReceive, m.App.Slow(receiveTime))
	consume.POST("/subscriptions/:subscriptionId/acknowledge", m.postAcknowledge)
	consume.POST("/subscriptions/:subscriptionId/release", m.postRelease)
	consume.POST("/subscriptions/:subscriptionId/reject", m.postReject)
	consume.POST("/subscriptions/:subscriptionId/renew", m.postRenew)
}
