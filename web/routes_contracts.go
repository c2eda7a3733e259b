package web

// formOverhead is what a form holds besides its document, in bytes. It is sent as
// multipart, so the document itself does not grow.
const formOverhead = 64 << 10

// routesContracts registers the pages about contracts: those to read them, for
// everybody as far as they may, and those to maintain them, for administrators.
func (p *portal) routesContracts() {
	read := p.pages("/contracts")
	read.GET("", p.contractsPage)
	read.GET("/feed.atom", p.registerFeed)
	read.GET("/:id/feed.atom", p.contractFeed)
	read.GET("/:id", p.contractPage)
	read.GET("/:id/versions/:version", p.versionPage)
	read.GET("/:id/versions/:version/changes", p.changesPage(newComparisons(p.Registry.Contracts)), p.slow(uploadTime))
	read.GET("/:id/versions/:version/reading", p.readingPage(), p.slow(uploadTime))
	converted := newConvertedDocuments()
	for _, form := range []string{"original", "json", "yaml"} {
		read.GET("/:id/versions/:version/"+form, p.downloadVersion(form, converted))
	}

	g := p.pages("/admin/contracts", p.requireAdministrator)
	g.GET("/new", p.newContract)
	g.POST("", p.createContract)
	g.GET("/:id/edit", p.editContract)
	g.POST("/:id", p.updateContract)
	g.GET("/:id/upload", p.uploadForm)
	p.pagesUpTo(p.DocumentBytes+formOverhead, "/admin/contracts", p.requireAdministrator, p.slow(uploadTime)).POST("/:id/versions", p.uploadVersion)
	g.GET("/:id/versions/:version/publication", p.publishForm, p.slow(uploadTime))
	g.POST("/:id/versions/:version/publication", p.publishVersion, p.slow(uploadTime))
	g.POST("/:id/versions/:version/deprecation", p.deprecateVersion)
	for _, s := range versionSteps() {
		g.POST("/:id/versions/:version/"+s.verb, p.versionStep(s))
	}
}
