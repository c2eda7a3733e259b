// Package admin serves the pages of administrators about this Schakel itself: the overview, the installation, mails, routes between
// partners, the settings of the chain collaboration, how they relate to the rules, and the audit trail.
//
// All of it is for the people of the organisation, but for the mailbox of a demonstration. It changes nothing by itself: every
// change is a call of one method of the registry, which checks it and writes its audit entry.
package admin

import (
	"context"
	_ "embed" // the description of events

	"schakel/registry"
	"schakel/templates/ui"
	"schakel/web/api"
	"schakel/web/site"
)

//go:embed asyncapi.yaml
var asyncapiYAML []byte

// EventsDocument describes what the own organisation is told of its installation.
var EventsDocument = api.NewDocument("", registry.OwnDocument{
	ID: "schakel-alert-events", Title: "Alert events", Content: asyncapiYAML, Internal: true,
	Summary: "What this Schakel tells its own organisation when something is wrong with the installation, and when it is over.",
})

//go:embed audit.yaml
var auditYAML []byte

// AuditDocument describes the events that tell the own organisation of entries of the audit trail.
var AuditDocument = api.NewDocument("", registry.OwnDocument{
	ID: "schakel-audit-events", Title: "Audit events", Content: auditYAML, Internal: true,
	Summary: "The entries of the audit trail of this Schakel, for systems of its own organisation, when --audit-events is set.",
})

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
	g := p.Pages("/admin", registry.ReadOrganisation)
	g.GET("", p.adminOverview)
	g.GET("/routes", p.adminRoutes)
	routes := g.Needs(registry.ChangeRoutes)
	routes.POST("/routes", p.adminAddRoute, p.RequireProof)
	routes.POST("/routes/:id/removal", p.adminRemoveRoute)
	g.GET("/mails", p.adminMails)
	g.GET("/mails/:id", p.adminMail)
	mails := g.Needs(registry.ManageMails)
	mails.POST("/mails/:id/text", p.adminMailText, p.RequireProof)
	mails.POST("/mails/:id/release", p.releaseMail)
	g.GET("/audit", p.auditPage)
	g.GET("/audit/export", p.exportAudit)
	g.GET("/conformance", p.conformance)
	g.GET("/conformance.json", p.conformanceJSON)
	p.routesSettings()
	p.routesInstallation()
	if p.Mailbox {
		g := p.Pages("", registry.Anyone)
		g.GET("/mailbox", p.mailboxPage)
		g.GET("/mailbox/:id", p.mailPage)
	}
}
