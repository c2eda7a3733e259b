package web

import "github.com/labstack/echo/v4"

// formOverhead bounds a form without its document, in bytes. The form is sent as
// multipart, so the document itself does not grow.
const formOverhead = 64 << 10

// routesContracts registers the pages about contracts: those to read them, for
// everybody as far as they may, and those to maintain them, for administrators and
// for partners that own some.
func (p *portal) routesContracts() {
	read := p.pages("/contracts")
	read.GET("", p.contractsPage)
	read.PublicGET("/feed.atom", p.registerFeed)
	read.PublicGET("/:id/feed.atom", p.contractFeed)
	read.GET("/:id", p.contractPage)
	read.GET("/:id/versions/:version", p.versionPage)
	read.GET("/:id/versions/:version/changes", p.changesPage(newComparisons(p.Registry.Contracts)), p.slow(uploadTime))
	read.GET("/:id/versions/:version/reading", p.readingPage(), p.slow(uploadTime))
	read.GET("/:id/versions/:version/advice", p.advicePage, p.slow(uploadTime))
	read.GET("/:id/versions/:version/redoc", p.redocPage)
	converted := newConvertedDocuments()
	for _, form := range []string{"original", "json", "yaml"} {
		read.PublicGET("/:id/versions/:version/"+form, p.downloadVersion(form, converted))
	}

	p.routesMaintain("/admin/contracts", p.requireAdministrator)
	p.routesMaintain("/partner/contracts", p.requirePartner)
	g := p.pages("/admin/contracts", p.requireAdministrator)
	g.GET("/:id/visibility", p.visibilityForm)
	g.POST("/:id/visibility", p.changeVisibility)
}

// routesMaintain registers the pages to maintain contracts, for those who may
// enter; each page looks whether the contract is theirs.
func (p *portal) routesMaintain(base string, who echo.MiddlewareFunc) {
	g := p.pages(base, who)
	g.GET("/new", p.newContract)
	g.POST("", p.createContract)
	g.GET("/:id/edit", p.editContract)
	g.POST("/:id", p.updateContract)
	g.GET("/:id/upload", p.uploadForm)
	p.pagesUpTo(p.DocumentBytes+formOverhead, base, who, p.slow(uploadTime)).POST("/:id/versions", p.uploadVersion)
	g.GET("/:id/versions/:version/publication", p.publishForm, p.slow(uploadTime))
	g.POST("/:id/versions/:version/publication", p.publishVersion, p.slow(uploadTime))
	g.POST("/:id/versions/:version/deprecation", p.deprecateVersion)
	for _, s := range versionSteps(base == "/admin/contracts") {
		g.POST("/:id/versions/:version/"+s.verb, p.versionStep(s))
	}
}
