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
	tails      *site.Shares // live tails of each account
	allTails   *site.Shares
}

// handlers serves the API.
type handlers struct{ *api.API }

// Mount registers the pages. The functions count the AMQP messages beside a queue, and link a delivery to its message.
func Mount(p *site.Portal, amqpBeside func(context.Context, site.DeliveryQueue) (ui.Crumb, error),
	amqpItem func(context.Context, site.DeliveryArea, store.Delivery) ([]ui.Item, error),
) *Pages {
	s := &Pages{p, amqpBeside, amqpItem, site.NewShares(tailsEach), site.NewShares(tailsAtOnce)}
	s.mountDeliveries()
	s.handleDiscards()
	return s
}

var (
	//go:embed openapi.yaml
	openapiYAML []byte
	//go:embed openapi_pull.yaml
	openapiPullYAML []byte
	//go:embed openapi_resends.yaml
	openapiResendsYAML []byte
	//go:embed openapi_issues.yaml
	openapiIssuesYAML []byte
	//go:embed asyncapi.yaml
	asyncapiYAML []byte
)

// EventsDocument describes what subscribers are told of issues.
var EventsDocument = api.NewDocument("", registry.OwnDocument{
	ID: "schakel-issue-events", Title: "Issue events", Content: asyncapiYAML,
	Summary: "What this Schakel tells subscribers of issues: that failed deliveries opened one, or that it was acknowledged or resolved.",
})

// EventsParts describe in the API for events how deliveries are fetched, followed and resent, and the issues of what fails.
var EventsParts = []api.Part{
	api.NewPart("pull", openapiPullYAML), api.NewPart("deliveries", openapiYAML), api.NewPart("resends", openapiResendsYAML),
	api.NewPart("issues", openapiIssuesYAML),
}

// MountAPI registers the API.
func MountAPI(m *api.API) {
	h := &handlers{m}
	h.mountConsume()
	h.mountIssues()
}

// mountDeliveries registers the pages about deliveries: the two queues, one delivery, jobs and replays.
func (p *Pages) mountDeliveries() {
	admin := p.Pages("/admin", registry.ReadOrganisation)
	for _, queue := range []site.DeliveryQueue{site.ErrorQueue(), site.DeadLetterQueue(), site.AllDeliveries()} {
		p.routesQueue(p.Pages("", registry.ReadOrganisation), queue, registry.ResendDeliveries, registry.DiscardDeliveries)
	}
	p.routesDelivery(admin, site.AdministratorArea())
	admin.Needs(registry.DiscardDeliveries).POST("/deliveries/:id/discard", p.discardDelivery)

	partner := p.Pages("/partner", registry.ReadPartner)
	p.routesQueue(p.Pages("", registry.ReadPartner), site.OwnDeliveries(), registry.ResendDeliveries)
	p.routesDelivery(partner, site.PartnerArea())
	partner.GET("/deliveries/:id/data", p.deliveryData)
	partner.GET("/deliveries/:id/object", p.deliveryObject, p.Slow(site.UploadTime))
}

// routesQueue registers a list of deliveries, and what is done with many of them, which needs permissions.
func (p *Pages) routesQueue(g site.RouteGroup, queue site.DeliveryQueue, needs ...registry.Permission) {
	act := g.Needs(needs...)
	g.GET(queue.Path, p.deliveryList(queue))
	g.GET(queue.Path+"/export", p.exportDeliveries(queue))
	g.GET(queue.Path+"/live", p.tailPage(queue))
	g.GET(queue.Path+"/live/stream", p.tailStream(queue), p.Slow(tailLife+tailPatience))
	act.POST(queue.Path, p.deliveryBulk(queue))
	act.GET(queue.Path+"/all", p.deliveryAll(queue), p.FewCounts)
	act.POST(queue.Path+"/all", p.startDeliveryJob(queue), p.FewCounts)
}

func (p *Pages) routesDelivery(g site.RouteGroup, area site.DeliveryArea) {
	resend, issues, operate := g.Needs(registry.ResendDeliveries), g.Needs(registry.HandleIssues), g.Needs(registry.OperateEndpoints)
	g.GET("/deliveries/:id", p.deliveryPage(area))
	resend.POST("/deliveries/:id/resend", p.resendDelivery(area))
	g.GET("/batches/:id", p.batchPage(area))
	g.GET("/issues", p.issueList(area))
	g.GET("/issues/:id", p.issuePage(area))
	issues.POST("/issues/:id/acknowledge", p.postIssueDecision(area, registry.ActionIssueAcknowledged))
	issues.POST("/issues/:id/resolve", p.postIssueDecision(area, registry.ActionIssueResolved))
	issues.POST("/issues/:id/reopen", p.postIssueDecision(area, registry.ActionIssueReopened))
	operate.POST("/issues/:id/pause", p.pauseIssue(area))
	operate.POST("/issues/:id/resume", p.resumeIssue(area), p.RequireProof)
	operate.POST("/issues/:id/probe", p.probeIssue(area))
	issues.GET("/issues/:id/mail", p.issueMailPage(area))
	issues.POST("/issues/:id/mail", p.sendIssueMail(area))
	g.GET("/issues/export", p.exportIssues(area))
	g.GET("/jobs", p.jobList(area))
	resend.GET("/jobs/new", p.askAgain(area))
	resend.GET("/jobs/failed", p.failedSince(area))
	resend.GET("/replays", p.replayPage(area), p.FewCounts)
	resend.POST("/replays", p.startReplay(area), p.FewCounts)
	g.GET("/jobs/:id", p.jobPage(area))
	resend.POST("/jobs/:id/cancel", p.cancelJob(area))
	resend.POST("/jobs/:id/continue", p.continueJob(area))
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
