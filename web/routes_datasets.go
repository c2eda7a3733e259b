package web

// routesDatasets registers the pages about datasets and their mutation files: those of administrators, those with which
// partners follow, and the one that looks for what is wrong in files.
func (p *portal) routesDatasets() {
	p.routesMutationLint()
	g := p.pages("/admin", p.requireAdministrator)
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
	g.GET("/datasets/:dataset/deltas/:delta/content", p.deltaFile, p.slow(importTime))
	g.POST("/datasets/:dataset/snapshots", p.makeSnapshot)
	g.GET("/datasets/:dataset/snapshots/:snapshot/content", p.snapshotFile, p.slow(importTime))
	g.GET("/datasets/:dataset/followers", p.datasetFollowersPage)
	g.GET("/datasets/:dataset/import", p.importPage)
	p.pagesUpTo(maxImportBytes, "/admin", p.requireAdministrator, p.slow(importTime)).POST("/datasets/:dataset/import", p.importFile)
	g.GET("/datasets/:dataset/publications", p.datasetPublicationsPage)
	g.GET("/datasets/:dataset/publications/:publication", p.publicationPage)
	g.POST("/datasets/:dataset/publications/:publication/cancel", p.cancelPublication)
	p.areaAdmin().routes(g)

	partner := p.pages("/partner", p.requirePartner)
	p.partnerDesk().routesDatasets(partner, p.pagesUpTo(maxAreaForm, "/partner", p.requirePartner))
	p.areaPartner().routes(partner)
}
