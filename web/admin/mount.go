// Package admin serves the pages of administrators about this Schakel itself: the overview, the installation, accounts, mails, routes between
// partners, the settings of the chain collaboration and the audit trail.
//
// All of it is behind the role of administrator, but for the mailbox of a demonstration. It changes nothing by itself: every
// change is a call of one method of the registry, which checks it and writes its audit entry.
package admin

import (
	"context"

	"schakel/templates/ui"
	"schakel/web/site"
)

// pages serves the pages; the tiles of the overview that another feature counts are given.
type pages struct {
	*site.Portal
	failedDownloads, failingDatasets func(context.Context) ([]ui.Tile, error)
}

// Mount registers the pages. The functions count the failed downloads and the failing datasets for the overview.
func Mount(p *site.Portal, failedDownloads, failingDatasets func(context.Context) ([]ui.Tile, error)) {
	(&pages{p, failedDownloads, failingDatasets}).mountAdmin()
}

// mountAdmin registers the pages of administrators about this Schakel itself.
func (p *pages) mountAdmin() {
	g := p.Pages("/admin", p.RequireAdministrator)
	g.GET("", p.adminOverview)
	g.GET("/routes", p.adminRoutes)
	g.POST("/routes", p.adminAddRoute)
	g.POST("/routes/:id/removal", p.adminRemoveRoute)
	g.GET("/mails", p.adminMails)
	g.GET("/mails/:id", p.adminMail)
	g.POST("/mails/:id/text", p.adminMailText)
	g.GET("/accounts", p.adminAccounts)
	g.POST("/accounts", p.adminInvite)
	g.POST("/accounts/:id/:change", p.adminChangeAccount)
	g.GET("/audit", p.auditPage)
	g.GET("/audit/export", p.exportAudit)
	p.routesSettings()
	p.routesInstallation()
	if p.Mailbox {
		g := p.Pages("")
		g.GET("/mailbox", p.mailboxPage)
		g.GET("/mailbox/:id", p.mailPage)
	}
}
