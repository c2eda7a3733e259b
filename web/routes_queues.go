package web

// routesQueues registers what moves: events, deliveries, the two queues, jobs and
// the audit trail.
func (p *portal) routesQueues() {
	admin := p.pages("/admin", p.requireAdministrator)
	for _, queue := range []deliveryQueue{errorQueue(), deadLetterQueue(), allDeliveries()} {
		p.routesQueue(p.pages("", p.requireAdministrator), queue)
	}
	p.routesDelivery(admin, administratorArea())
	admin.POST("/deliveries/:id/discard", p.discardDelivery)
	admin.GET("/events", p.eventList)
	admin.GET("/events/:id", p.eventPage)
	admin.GET("/events/:id/data", p.eventData)
	admin.GET("/events/:id/object", p.eventObject, p.slow(uploadTime))
	admin.GET("/quarantine", p.quarantineList)
	admin.GET("/quarantine/:id", p.quarantinePage)
	admin.POST("/quarantine/:id/release", p.releaseQuarantined)
	admin.POST("/quarantine/:id/discard", p.discardQuarantined)
	admin.GET("/audit", p.auditPage)

	partner := p.pages("/partner", p.requirePartner)
	p.routesQueue(p.pages("", p.requirePartner), ownDeliveries())
	p.routesDelivery(partner, partnerArea())
	partner.GET("/deliveries/:id/data", p.deliveryData)
	partner.GET("/deliveries/:id/object", p.deliveryObject, p.slow(uploadTime))
}

func (p *portal) routesQueue(g routeGroup, queue deliveryQueue) {
	g.GET(queue.path, p.deliveryList(queue))
	g.POST(queue.path, p.deliveryBulk(queue))
	g.GET(queue.path+"/all", p.deliveryAll(queue), p.fewCounts)
	g.POST(queue.path+"/all", p.startDeliveryJob(queue), p.fewCounts)
}

func (p *portal) routesDelivery(g routeGroup, area deliveryArea) {
	g.GET("/deliveries/:id", p.deliveryPage(area))
	g.POST("/deliveries/:id/resend", p.resendDelivery(area))
	g.GET("/batches/:id", p.batchPage(area))
	g.GET("/jobs", p.jobList(area))
	g.GET("/jobs/new", p.sendAgain(area))
	g.GET("/jobs/failed", p.failedSince(area))
	g.GET("/replays", p.replayPage(area), p.fewCounts)
	g.POST("/replays", p.startReplay(area), p.fewCounts)
	g.GET("/jobs/:id", p.jobPage(area))
	g.POST("/jobs/:id/cancel", p.cancelJob(area))
}
