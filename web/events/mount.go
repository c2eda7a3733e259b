// Package events takes events in and answers about them: the intake API, the pages of administrators about events, and
// quarantined messages.
//
// An event is acknowledged only after the engine stored it (guarantee G1); who may publish what comes from the access token.
// The package keeps no event: what it holds in memory are bodies under way, within a bound for each partner.
package events

import (
	"context"
	_ "embed"

	"github.com/labstack/echo/v4"
	"schakel/delivery/claimcheck"
	"schakel/delivery/outbox"
	"schakel/registry"
	"schakel/store"
	"schakel/templates/ui"
	"schakel/web/api"
	"schakel/web/site"
)

//go:embed openapi.yaml
var openapiYAML []byte

// Document describes the API for events, without the parts of the other features that serve it.
var Document = api.NewDocument("events", registry.OwnDocument{
	ID: "schakel-events", Title: "API for events", Content: openapiYAML,
	Summary: "How events are sent to this Schakel, by its own systems and by the intermediaries of partners, and how deliveries are fetched and followed.",
})

// pages serves the pages; the list of an event's deliveries is given by their feature.
type pages struct {
	*site.Portal
	otherDeliveries func(c echo.Context, area site.DeliveryArea, eventID, but string) (ui.DeliveryListView, error)
}

// handlers serves the API.
type handlers struct {
	*api.API
	types   *site.Recent[[]store.EventType]
	rates   *clientRates
	large   *LargeBodies
	objects *claimcheck.Service
}

// Mount registers the pages. The function lists the deliveries of an event, but one.
func Mount(p *site.Portal, otherDeliveries func(c echo.Context, area site.DeliveryArea, eventID, but string) (ui.DeliveryListView, error)) {
	s := &pages{p, otherDeliveries}
	s.mountEvents()
	site.HandleDiscard(p, discardRequest, func(id string, a discardReason) site.Discard { return s.discardOf(id, a.Reason) })
}

// Publisher takes an event of a page as a client of the reader, with the checks of the API.
type Publisher = func(ctx context.Context, client store.Client, partner store.Partner, content []byte) (outbox.Receipt, []site.ProblemError, error)

// MountAPI registers the API, which the whole document describes, and returns what publishes for pages.
func MountAPI(m *api.API, whole api.Document) Publisher {
	now := m.App.Cfg.Now
	h := &handlers{
		API: m, types: site.NewRecent[[]store.EventType](now), rates: newClientRates(now), large: NewLargeBodies(),
		objects: claimcheck.New(claimcheck.Config{
			Objects: claimcheck.Database{DB: m.DB}, Address: func(id string) string { return m.App.Absolute(site.ObjectsPath + id) },
		}),
	}
	h.mountIntake()
	m.Describe(m.App.API(api.MaxJSONBytes, api.EventsBase), whole)
	return h.publish
}

// mountEvents registers the pages of administrators about events and quarantined messages.
func (p *pages) mountEvents() {
	admin := p.Pages("/admin", registry.ReadOrganisation)
	admin.GET("/events", p.eventList)
	admin.GET("/events/:id", p.eventPage)
	admin.GET("/events/:id/data", p.eventData)
	admin.GET("/events/:id/object", p.eventObject, p.Slow(site.UploadTime))
	admin.GET("/quarantine", p.quarantineList)
	admin.GET("/quarantine/:id", p.quarantinePage)
	admin.Needs(registry.ResendDeliveries).POST("/quarantine/:id/release", p.releaseQuarantined)
	admin.Needs(registry.DiscardDeliveries).POST("/quarantine/:id/discard", p.discardQuarantined)
}

// mountIntake registers the API that takes events in and answers about them.
func (m *handlers) mountIntake() {
	// No limit of the group here: the key comes before the size (IDEM-18).
	intake := m.App.API(0, api.EventsBase)
	intake.POST("/events", m.ByCaller(m.postEvents), m.App.RequireScope(site.ScopeEventsPublish), m.WithCaller)

	publish := m.Scoped(api.EventsBase, site.ScopeEventsPublish)
	publish.GET("/events/:eventId", m.ByCaller(m.showEvent))
	m.Scoped(api.EventsBase, site.ScopeEventsConsume, site.ScopeEventsPublish).GET("/objects/:objectId", m.ByCaller(m.showObject), m.App.Slow(site.UploadTime))

	quarantined := m.Scoped(api.EventsBase, site.ScopeEventsPublish, site.ScopeRegistryWrite)
	quarantined.GET("/quarantined-requests", m.ByCaller(m.listQuarantined))
	quarantined.GET("/quarantined-requests/:quarantineId", m.ByCaller(m.showQuarantined))
	decide := m.Scoped(api.EventsBase, site.ScopeRegistryWrite)
	decide.POST("/quarantined-requests/:quarantineId/release", m.ByDecider(m.postQuarantineRelease), m.Once)
	decide.POST("/quarantined-requests/:quarantineId/discard", m.ByDecider(m.postQuarantineDiscard), m.Once)
}
