// Package datasets serves datasets and their mutation files: publication, deltas, snapshots, areas, imports and subscriptions,
// as pages and as an API that has the shapes of PDOK's download API (MUT-50..53).
//
// Files are streamed in both ways, so their size is bounded by the disk alone. What a subscriber gets of a dataset is decided
// by its subscription, for every request.
package datasets

import (
	"schakel/web/api"
	"schakel/web/site"
)

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
	g := p.Pages("/admin", p.RequireAdministrator)
	g.GET("/datasets", p.datasetsPage)
	g.POST("/datasets", p.createDataset)
	g.GET("/datasets/new", p.newDatasetPage)
	g.GET("/datasets/:dataset", p.datasetPage)
	g.GET("/datasets/:dataset/edit", p.editDatasetPage)
	g.POST("/datasets/:dataset/edit", p.changeDataset)
	g.POST("/datasets/:dataset/lineage", p.resetLineage)
	g.POST("/datasets/:dataset/end", p.endDataset)
	g.GET("/datasets/:dataset/deltas", p.datasetDeltasPage)
	g.POST("/datasets/:dataset/deltas", p.cutDelta)
	g.GET("/datasets/:dataset/deltas/:delta/content", p.deltaFile, p.Slow(importTime))
	g.POST("/datasets/:dataset/snapshots", p.makeSnapshot)
	g.GET("/datasets/:dataset/snapshots/:snapshot/content", p.snapshotFile, p.Slow(importTime))
	g.GET("/datasets/:dataset/followers", p.datasetFollowersPage)
	g.GET("/datasets/:dataset/import", p.importPage)
	p.PagesUpTo(maxImportBytes, "/admin", p.RequireAdministrator, p.Slow(importTime)).POST("/datasets/:dataset/import", p.importFile)
	g.GET("/datasets/:dataset/publications", p.datasetPublicationsPage)
	g.GET("/datasets/:dataset/publications/:publication", p.publicationPage)
	g.POST("/datasets/:dataset/publications/:publication/cancel", p.cancelPublication)
	p.areaAdmin().routes(g)

	partner := p.Pages("/partner", p.RequirePartner)
	ownerPages{p.PartnerPages(), p}.routesDatasets(partner, p.PagesUpTo(maxAreaForm, "/partner", p.RequirePartner))
	p.areaPartner().routes(partner)
}
