package events

import (
	"schakel/web/api"
	"schakel/web/site"
)

// mountEvents registers the pages of administrators about events and quarantined messages.
func (p *pages) mountEvents() {
	admin := p.Pages("/admin", p.RequireAdministrator)
	admin.GET("/events", p.eventList)
	admin.GET("/events/:id", p.eventPage)
	admin.GET("/events/:id/data", p.eventData)
	admin.GET("/events/:id/object", p.eventObject, p.Slow(site.UploadTime))
	admin.GET("/quarantine", p.quarantineList)
	admin.GET("/quarantine/:id", p.quarantinePage)
	admin.POST("/quarantine/:id/release", p.releaseQuarantined)
	admin.POST("/quarantine/:id/discard", p.discardQuarantined)
}

// mountIntake registers the API that takes events in and answers about them.
func (m *handlers) mountIntake() {
	// No limit of the group here: the key comes before the size (IDEM-18).
	intake := site.RouteGroup{Echo: m.App.Echo, Prefix: api.EventsBase}
	intake.POST("/events", m.postEvents, m.App.RequireScope(site.ScopeEventsPublish), m.WithCaller)

	publish := m.Scoped(api.EventsBase, site.ScopeEventsPublish)
	publish.GET("/events/:eventId", m.showEvent)
	m.Scoped(api.EventsBase, site.ScopeEventsConsume, site.ScopeEventsPublish).GET("/objects/:objectId", m.showObject, m.App.Slow(site.UploadTime))

	quarantined := m.Scoped(api.EventsBase, site.ScopeEventsPublish, site.ScopeRegistryWrite)
	quarantined.GET("/quarantined-requests", m.listQuarantined)
	quarantined.GET("/quarantined-requests/:quarantineId", m.showQuarantined)
	decide := m.Scoped(api.EventsBase, site.ScopeRegistryWrite)
	decide.POST("/quarantined-requests/:quarantineId/release", m.postQuarantineRelease, m.Once)
	decide.POST("/quarantined-requests/:quarantineId/discard", m.postQuarantineDiscard, m.Once)

	m.DescribeLive(m.App.Api(api.MaxJSONBytes, api.EventsBase), "events")
}
