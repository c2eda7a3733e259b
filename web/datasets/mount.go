// Package datasets serves datasets and their mutation files: publication, deltas, snapshots, areas, imports and subscriptions,
// as pages and as an API that has the shapes of PDOK's download API (MUT-50..53).
//
// Files are streamed in both ways, so their size is bounded by the disk alone. What a subscriber gets of a dataset is decided
// by its subscription, for every request.
package datasets

import (
	_ "embed"
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/web/api"
	"schakel/web/site"
)

//go:embed openapi.yaml
var openapiYAML []byte

// Document describes the API for mutation files.
var Document = api.NewDocument("mutations", registry.OwnDocument{
	ID: "schakel-mutations", Title: "API for mutation files", Content: openapiYAML,
	Summary: "How what changes in a dataset is followed, so that a copy of it stays exact, and how it is published.",
})

//go:embed asyncapi.yaml
var asyncapiYAML []byte

// EventsDocument describes what followers of datasets are told.
var EventsDocument = api.NewDocument("", registry.OwnDocument{
	ID: "schakel-mutation-events", Title: "Mutation events", Content: asyncapiYAML,
	Summary: "What this Schakel tells followers of its datasets: that a delta can be fetched, or that a history was replaced.",
})

// Pages serves the pages, and gives other features what they show of datasets.
type Pages struct{ *site.Portal }

// handlers serves the API.
type handlers struct{ *api.API }

// ownerPages serves the pages with which one organisation follows datasets.
type ownerPages struct {
	site.OwnerPages
	pages *Pages
}

// Mount registers the pages.
func Mount(p *site.Portal) *Pages {
	s := &Pages{p}
	s.mountDatasets()
	return s
}

// MountAPI registers the API.
func MountAPI(m *api.API) { (&handlers{m}).mountMutations() }

// mountDatasets registers the pages about datasets and their mutation files: those of administrators, those with which
// partners follow, and the one that looks for what is wrong in files.
func (p *Pages) mountDatasets() {
	p.routesMutationLint()
	g := p.Pages("/admin", registry.ReadOrganisation)
	change := g.Needs(registry.ChangeDatasets)
	g.GET("/datasets", p.datasetsPage)
	change.POST("/datasets", p.createDataset)
	change.GET("/datasets/new", p.newDatasetPage)
	g.GET("/datasets/:dataset", p.datasetPage)
	change.GET("/datasets/:dataset/edit", p.editDatasetPage)
	change.POST("/datasets/:dataset/edit", p.changeDataset)
	change.POST("/datasets/:dataset/lineage", p.resetLineage)
	change.POST("/datasets/:dataset/end", p.endDataset)
	g.GET("/datasets/:dataset/deltas", p.datasetDeltasPage)
	change.POST("/datasets/:dataset/deltas", p.cutDelta)
	g.GET("/datasets/:dataset/deltas/:delta", p.deltaChangesPage)
	g.GET("/datasets/:dataset/deltas/:delta/content", p.deltaFile, p.Slow(importTime))
	change.POST("/datasets/:dataset/snapshots", p.makeSnapshot)
	g.GET("/datasets/:dataset/snapshots/:snapshot/content", p.snapshotFile, p.Slow(importTime))
	g.GET("/datasets/:dataset/followers", p.datasetFollowersPage)
	change.GET("/datasets/:dataset/import", p.importPage)
	p.PagesUpTo(maxImportBytes, "/admin", registry.ReadOrganisation, p.Slow(importTime)).Needs(registry.ChangeDatasets).POST("/datasets/:dataset/import", p.importFile)
	g.GET("/datasets/:dataset/publications", p.datasetPublicationsPage)
	g.GET("/datasets/:dataset/publications/:publication", p.publicationPage)
	change.POST("/datasets/:dataset/publications/:publication/cancel", p.cancelPublication)
	p.areaAdmin().routes(g)

	partner := p.Pages("/partner", registry.ReadPartner)
	ownerPages{p.PartnerPages(), p}.routesDatasets(partner, p.PagesUpTo(maxAreaForm, "/partner", registry.ReadPartner).Needs(registry.ChangeSubscriptions))
	p.areaPartner().routes(partner)
}

// routesMutations registers the API for mutation files. Below a dataset it has the shapes of PDOK's download API
// (MUT-50..53), so that a client made for that takes {base}/datasets/{id} for its server; our own names beside those are
// plural.
func (m *handlers) mountMutations() {
	scoped := func(scopes ...string) site.RouteGroup {
		return m.App.API(api.MaxJSONBytes, site.MutationsBase, m.App.RequireScope(scopes...), m.WithCaller)
	}
	look := scoped(site.ScopeMutationsRead, site.ScopeMutationsPublish)
	look.GET("/datasets", m.ByCaller(m.listDatasets))
	look.GET("/datasets/:datasetId", m.ByCaller(m.showDataset))
	look.GET("/datasets/:datasetId/dataset", m.showTimeliness)

	read := scoped(site.ScopeMutationsRead)
	m.routesDownloads(read)
	// A geofilter may have as many vertices as an area.
	m.routesCustom(m.App.API(maxAreaBytes, site.MutationsBase, m.App.RequireScope(site.ScopeMutationsRead), m.WithCaller))
	read.GET("/datasets/:datasetId/areas/:areaId", m.ByCaller(m.showArea))
	m.routesDatasetSubscriptions(scoped)

	// No limit of the group here: it is read as a stream, which bounds each group by itself.
	intake := m.App.API(0, site.MutationsBase)
	few := m.InTurn(site.NewShares(site.UploadsPerPartner), site.TooManyUploads)
	intake.POST("/datasets/:datasetId/mutation-groups", m.postMutationGroups, m.App.RequireScope(site.ScopeMutationsPublish), m.WithCaller, few)
	scoped(site.ScopeMutationsPublish).GET("/datasets/:datasetId/publications/:publicationId", m.showPublication)

	m.Describe(m.App.API(api.MaxJSONBytes, site.MutationsBase), Document)
}

// routesDownloads registers what a subscriber reads; PDOK's names and ours have the same handlers.
func (m *handlers) routesDownloads(read site.RouteGroup) {
	for _, name := range []string{"/datasets/:datasetId/delta", "/datasets/:datasetId/deltas"} {
		read.GET(name, m.listDeltas)
		read.GET(name+"/custom/:downloadRequestId/status", m.showCustomStatus)
	}
	const dataset = "/datasets/:datasetId"
	read.GET(dataset+"/delta/predefined/:name", m.redirectDelta)
	read.GET(dataset+"/full/custom/:downloadRequestId/status", m.showCustomStatus)
	read.GET(dataset+"/full/predefined/:name", m.redirectFull)

	read.GET(dataset+"/deltas/:deltaId", m.showDelta)
	read.GET(dataset+"/deltas/:deltaId/content", m.showDeltaContent)
	read.GET(dataset+"/snapshots/:snapshotId", m.showSnapshot)
	read.GET(dataset+"/snapshots/:snapshotId/content", m.showSnapshotContent)
	read.GET(dataset+"/downloads/:downloadId", m.showDownload)
	read.GET(dataset+"/downloads/:downloadId/content", m.showDownloadContent)
}

func (m *handlers) routesCustom(ask site.RouteGroup) {
	for _, name := range []string{"/delta", "/deltas"} {
		ask.POST("/datasets/:datasetId"+name+"/custom", m.postDeltaCustom, m.onceIfKeyed)
	}
	ask.POST("/datasets/:datasetId/full/custom", m.postFullCustom, m.onceIfKeyed)
}

func (m *handlers) routesDatasetSubscriptions(scoped func(...string) site.RouteGroup) {
	follow := scoped(site.ScopeSubscriptionsWrite, site.ScopeMutationsRead)
	follow.GET("/subscriptions", m.ByCaller(m.listDatasetSubscriptions))
	follow.GET("/subscriptions/:subscriptionId", m.showDatasetSubscription)
	// An area may have 100,000 vertices, or 10,000 keys.
	subscribe := m.App.API(maxAreaBytes, site.MutationsBase, m.App.RequireScope(site.ScopeSubscriptionsWrite), m.WithCaller)
	subscribe.POST("/subscriptions", m.ByCaller(m.postDatasetSubscription), m.Once)
	subscribe.DELETE("/subscriptions/:subscriptionId", m.deleteDatasetSubscription, m.Once)
	subscribe.PUT("/subscriptions/:subscriptionId/area", m.putSubscriptionArea, m.Once)
}

// onceIfKeyed is once for requests with an Idempotency-Key, and lets those without pass: clients of PDOK's API send none,
// and asking for the same download twice only makes it twice.
func (m *handlers) onceIfKeyed(next echo.HandlerFunc) echo.HandlerFunc {
	keyed := m.Once(next)
	return func(c echo.Context) error {
		if len(c.Request().Header.Values("Idempotency-Key")) > 0 {
			return keyed(c)
		}
		return next(c)
	}
}

// HalLink is a link of PDOK's API: HAL as an object, and as a member of a list.
type HalLink struct {
	Href string `json:"href"`
	Rel  string `json:"rel,omitempty"`
	Type string `json:"type,omitempty"`
}

func datasetPath(id string) string { return site.MutationsBase + "/datasets/" + id }

// notModified answers an immutable document by its tag.
func notModified(c echo.Context, tag string) bool {
	c.Response().Header().Set("ETag", tag)
	return site.MatchesTag(c.Request().Header, tag) && c.NoContent(http.StatusNotModified) == nil
}
