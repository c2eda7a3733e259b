// Package contracts serves the contract register: contracts, versions, their reading view, changes and feeds, event types,
// mirrors of other registers, read keys, and the register's API.
//
// A published version has the same bytes for ever (guarantee G8): what is served of it carries their digest. Who sees a
// contract is decided by registry/contracts for every request; documents of strangers are shown as text.
package contracts

import (
	_ "embed"

	"schakel/registry"
	"schakel/registry/contracts"
	"schakel/store"
	"schakel/web/api"
	"schakel/web/site"
)

//go:embed openapi.yaml
var openapiYAML []byte

// Document describes the API of the contract register.
var Document = api.NewDocument("registry", registry.OwnDocument{
	ID: "schakel-registry", Title: "API of the contract register", Content: openapiYAML,
	Summary: "How contracts are found, read, compared, uploaded and published.",
})

//go:embed openapi_events.yaml
var openapiEventsYAML []byte

// EventsPart describes event types in the API for events.
var EventsPart = api.NewPart("contracts", openapiEventsYAML)

//go:embed asyncapi.yaml
var asyncapiYAML []byte

// EventsDocument describes what partners are told of contracts.
var EventsDocument = api.NewDocument("", registry.OwnDocument{
	ID: "schakel-contracts", Title: "Contract events", Content: asyncapiYAML,
	Summary: "What this Schakel tells partners of new, deprecated and withdrawn contract versions.",
})

// pages serves the pages.
type pages struct {
	*site.Portal
	compared *comparisons
}

// handlers serves the API.
type handlers struct {
	*api.API
	// converted caches documents in their other form.
	converted *api.ConvertedDocuments
}

// ownerPages serves the pages about the read keys of one organisation.
type ownerPages struct {
	site.OwnerPages
	pages *pages
}

// Mount registers the pages.
func Mount(p *site.Portal) Checks {
	(&pages{p, newComparisons(p.Registry.Contracts)}).mountContracts()
	return Checks{p.Registry.Payloads}
}

// Checks hold events against contracts, for pages of other features.
type Checks struct{ payloads *contracts.Payloads }

// CheckEvent lists what does not fit in an event, or in its data alone, when it is held against the versions of its type.
func (c Checks) CheckEvent(eventType string, content []byte, versions []store.EventType) ([]site.ProblemError, error) {
	if len(versions) == 0 {
		return nil, nil
	}
	found, err := CheckEvent(c.payloads, eventType, content, versions)
	return found.Findings, err
}

// MountAPI registers the API.
func MountAPI(m *api.API) { (&handlers{m, api.NewConvertedDocuments()}).mountRegister() }

// mountContracts registers the pages about contracts: those to read them, for everybody as far as they may, and those to
// maintain them, for administrators and for partners that own some; and the pages about event types, mirrors and read keys.
func (p *pages) mountContracts() {
	read := p.Pages("/contracts", registry.Anyone)
	read.GET("", p.contractsPage)
	read.PublicGET("/feed.atom", p.registerFeed)
	read.PublicGET("/:id/feed.atom", p.contractFeed)
	read.GET("/:id", p.contractPage)
	read.GET("/:id/versions/:version", p.versionPage)
	read.GET("/:id/versions/:version/changes", p.changesPage(p.compared), p.Slow(site.UploadTime))
	read.GET("/:id/versions/:version/reading", p.readingPage(newOutlines()), p.Slow(site.UploadTime))
	read.GET("/:id/versions/:version/advice", p.advicePage, p.Slow(site.UploadTime))
	read.GET("/:id/versions/:version/redoc", p.redocPage)
	converted := api.NewConvertedDocuments()
	for _, form := range []string{"original", "json", "yaml"} {
		read.PublicGET("/:id/versions/:version/"+form, p.downloadVersion(form, converted))
	}

	p.routesMaintain("/admin/contracts", registry.ReadOrganisation)
	p.routesMaintain("/partner/contracts", registry.ReadPartner)
	g := p.Pages("/admin/contracts", registry.ReadOrganisation).Needs(registry.ChangeContracts)
	g.GET("/:id/visibility", p.visibilityForm)
	g.POST("/:id/visibility", p.changeVisibility)

	types := p.Pages("", registry.Anyone)
	types.GET("/event-types", p.eventTypesPage)
	types.GET("/event-types/:name", p.eventTypePage)
	p.Pages("", registry.OwnAccount).POST("/event-types/:name", p.checkEventType)

	admin := p.Pages("/admin", registry.ReadOrganisation)
	p.routesMirrors(admin)
	ownerPages{p.OwnPages("/admin"), p}.routesReadKeys(admin)
	p.routesPartnerKeys(admin)
	ownerPages{p.PartnerPages(), p}.routesReadKeys(p.Pages("/partner", registry.ReadPartner))
}

// routesMaintain registers the pages to maintain contracts, for those who may
// enter; each page looks whether the contract is theirs.
func (p *pages) routesMaintain(base string, who registry.Permission) {
	reader := p.Pages(base, who)
	g, publish := reader.Needs(registry.ChangeContracts), reader.Needs(registry.PublishContracts)
	g.GET("/new", p.newContract)
	g.POST("", p.createContract)
	g.GET("/:id/edit", p.editContract)
	g.POST("/:id", p.updateContract)
	g.GET("/:id/upload", p.uploadForm)
	p.PagesUpTo(p.DocumentBytes+site.FormOverhead, base, who, p.Slow(site.UploadTime)).Needs(registry.ChangeContracts).POST("/:id/versions", p.uploadVersion)
	publish.GET("/:id/versions/:version/publication", p.publishForm, p.Slow(site.UploadTime))
	publish.POST("/:id/versions/:version/publication", p.publishVersion, p.Slow(site.UploadTime))
	g.POST("/:id/versions/:version/deprecation", p.deprecateVersion)
	for _, s := range p.versionSteps(base == "/admin/contracts") {
		reader.Needs(s.Needs).POST("/:id/versions/:version/"+s.Verb, p.versionStep(s))
	}
}

// mountRegister registers the API of the contract register, and what the API for events answers about event types.
func (m *handlers) mountRegister() {
	const base = "/registry/v1"
	read := m.App.API(api.MaxJSONBytes, base, m.OrReadKey(m.App.OptionalToken))
	read.PublicGET("/contracts", m.listContracts)
	read.PublicGET("/contracts/:contractId", m.showContract)
	read.PublicGET("/contracts/:contractId/releases", m.showReleases)
	read.PublicGET("/contracts/:contractId/versions", m.listVersions)
	read.PublicGET("/contracts/:contractId/versions/:version", m.showVersion, m.App.Slow(site.UploadTime))
	read.PublicGET("/contracts/:contractId/versions/:version/changes", m.showChanges(newComparisons(m.Registry.Contracts)), m.App.Slow(site.UploadTime))
	read.PublicGET("/contracts/:contractId/versions/:version/content", m.showContent)
	read.PublicGET("/contracts/:contractId/versions/:version/content.json", m.showContentJSON)
	read.PublicGET("/contracts/:contractId/versions/:version/content.yaml", m.showContentYAML)
	read.PublicGET("/contracts/:contractId/versions/:version/original", m.showOriginal)

	write := m.Scoped(base, site.ScopeRegistryWrite)
	write.POST("/contracts", m.ByCaller(m.postContract), m.Once)
	write.PATCH("/contracts/:contractId", m.ByCaller(m.patchContract), m.Once)
	write.PUT("/contracts/:contractId/visibility", m.ByCaller(m.putVisibility), m.Once)
	write.POST("/contracts/:contractId/versions/:version/publication", m.ByCaller(m.publishVersion), m.App.Slow(site.UploadTime), m.Once)
	write.POST("/contracts/:contractId/versions/:version/deprecation", m.ByCaller(m.deprecateVersion), m.Once)
	write.DELETE("/contracts/:contractId/versions/:version/deprecation", m.ByCaller(m.undeprecateVersion), m.Once)
	write.GET("/contracts/:contractId/versions/:version/withdrawal", m.ByCaller(m.showWithdrawal))
	write.POST("/contracts/:contractId/versions/:version/withdrawal", m.ByCaller(m.withdrawVersion), m.Once)

	m.routesMirrors(m.Scoped(base, site.ScopeRegistryRead, site.ScopeRegistryWrite), write)

	// A form has a little more than the document in it.
	limit := m.DocumentBytes + 8<<10
	few := m.FewAtOnce(site.NewShares(site.UploadsPerPartner), site.TooManyUploads)
	upload := m.App.API(limit, base, m.App.RequireScope(site.ScopeRegistryWrite), m.WithCaller, few, m.App.Slow(site.UploadTime))
	upload.POST("/contracts/:contractId/versions", m.ByCaller(m.postVersion), m.Once)
	validate := m.App.API(limit, base, m.OrReadKey(m.App.RequireScope(site.ScopeRegistryRead, site.ScopeRegistryWrite)), few, m.App.Slow(site.UploadTime))
	validate.POST("/validations", m.postValidation)

	m.Describe(m.App.API(api.MaxJSONBytes, base), Document)

	m.App.API(api.MaxJSONBytes, "/.well-known").PublicGET("/api-catalog", m.showCatalog)

	types := m.Scoped(api.EventsBase, site.ScopeEventsPublish, site.ScopeEventsConsume, site.ScopeSubscriptionsWrite, site.ScopeRegistryRead)
	types.GET("/event-types", m.listEventTypes)
	types.GET("/event-types/:name", m.showEventType)
	types.POST("/event-types/:name/validations", m.postEventTypeValidation)
}
