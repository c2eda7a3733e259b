package deliveries

import (
	"schakel/web/api"
	"schakel/web/site"
)

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
	g.POST(queue.Path, p.deliveryBulk(queue))
	g.GET(queue.Path+"/all", p.deliveryAll(queue), p.FewCounts)
	g.POST(queue.Path+"/all", p.startDeliveryJob(queue), p.FewCounts)
}

func (p *Pages) routesDelivery(g site.RouteGroup, area site.DeliveryArea) {
	g.GET("/deliveries/:id", p.deliveryPage(area))
	g.POST("/deliveries/:id/resend", p.resendDelivery(area))
	g.GET("/batches/:id", p.batchPage(area))
	g.GET("/jobs", p.jobList(area))
	g.GET("/jobs/new", p.sendAgain(area))
	g.GET("/jobs/failed", p.failedSince(area))
	g.GET("/replays", p.replayPage(area), p.FewCounts)
	g.POST("/replays", p.startReplay(area), p.FewCounts)
	g.GET("/jobs/:id", p.jobPage(area))
	g.POST("/jobs/:id/cancel", p.cancelJob(area))
}

// mountConsume registers the API with which consumers pull, look at their deliveries and resend them.
func (m *handlers) mountConsume() {
	consume := m.Scoped(api.EventsBase, site.ScopeEventsConsume)
	consume.GET("/deliveries", m.listDeliveries)
	consume.GET("/deliveries/:deliveryId", m.showDelivery)
	consume.POST("/deliveries/:deliveryId/resend", m.resendDelivery, m.Once)
	counted := m.FewAtOnce(m.App.Counts, site.TooManyCounts)
	consume.POST("/resends", m.postResend, counted, m.Once)
	consume.GET("/resends", m.listResends)
	consume.POST("/resend-previews", m.postResendPreview, counted)
	consume.GET("/resends/:resendId", m.showResend)
	consume.DELETE("/resends/:resendId", m.cancelResend, m.Once)

	consume.POST("/subscriptions/:subscriptionId/receive", m.postReceive, m.App.Slow(receiveTime))
	consume.POST("/subscriptions/:subscriptionId/acknowledge", m.postAcknowledge)
	consume.POST("/subscriptions/:subscriptionId/release", m.postRelease)
	consume.POST("/subscriptions/:subscriptionId/reject", m.postReject)
	consume.POST("/subscriptions/:subscriptionId/renew", m.postRenew)
}
