package datasets

import (
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/web/api"
	"schakel/web/site"
)

// routesMutations registers the API for mutation files. Below a dataset it has the shapes of PDOK's download API
// (MUT-50..53), so that a client made for that takes {base}/datasets/{id} for its server; our own names beside those are
// plural.
func (m *handlers) mountMutations() {
	scoped := func(scopes ...string) site.RouteGroup {
		return m.App.API(api.MaxJSONBytes, site.MutationsBase, m.App.RequireScope(scopes...), m.WithCaller)
	}
	look := scoped(site.ScopeMutationsRead, site.ScopeMutationsPublish)
	look.GET("/datasets", m.listDatasets)
	look.GET("/datasets/:datasetId", m.showDataset)
	look.GET("/datasets/:datasetId/dataset", m.showTimeliness)

	read := scoped(site.ScopeMutationsRead)
	m.routesDownloads(read)
	// A geofilter may have as many vertices as an area.
	m.routesCustom(m.App.API(maxAreaBytes, site.MutationsBase, m.App.RequireScope(site.ScopeMutationsRead), m.WithCaller))
	read.GET("/datasets/:datasetId/areas/:areaId", m.showArea)
	m.routesDatasetSubscriptions(scoped)

	// No limit of the group here: it is read as a stream, which bounds each group by itself.
	intake := site.RouteGroup{Echo: m.App.Echo, Prefix: site.MutationsBase}
	few := m.InTurn(site.NewShares(site.UploadsPerPartner), site.TooManyUploads)
	intake.POST("/datasets/:datasetId/mutation-groups", m.postMutationGroups, m.App.RequireScope(site.ScopeMutationsPublish), m.WithCaller, few)
	scoped(site.ScopeMutationsPublish).GET("/datasets/:datasetId/publications/:publicationId", m.showPublication)

	m.Describe(m.App.API(api.MaxJSONBytes, site.MutationsBase), "mutations")
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
	follow.GET("/subscriptions", m.listDatasetSubscriptions)
	follow.GET("/subscriptions/:subscriptionId", m.showDatasetSubscription)
	// An area may have 100,000 vertices, or 10,000 keys.
	subscribe := m.App.API(maxAreaBytes, site.MutationsBase, m.App.RequireScope(site.ScopeSubscriptionsWrite), m.WithCaller)
	subscribe.POST("/subscriptions", m.postDatasetSubscription, m.Once)
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
