package contracts

import (
	"context"
	"net/http"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/store"
	view "schakel/templates/contracts"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

// contractPage shows a contract with its versions.
func (p *pages) contractPage(c echo.Context) error {
	ctx := c.Request().Context()
	reader, contract, err := p.readable(c)
	if err != nil {
		return err
	}
	versions, err := p.Registry.Contracts.Versions(ctx, reader, contract.ID)
	if err != nil {
		return err
	}
	v := contractView(contract, versions)
	v.Now = p.Cfg.Now()
	if err := p.fillContract(c, reader, contract, &v); err != nil {
		return err
	}
	page := p.Frame(c, contract.Title, ui.Crumb{Label: i18n.T(ctx, "contracts.word.contracts"), Href: "/contracts"})
	if len(versions) > 0 {
		page.Feed = site.ContractHref(contract.ID) + "/feed.atom"
	}
	if reader.Maintains(contract) {
		page.Actions = templ.Join(
			ui.LinkButton(ui.Primary, i18n.T(ctx, "contracts.contract.upload"), v.UploadHref),
			ui.LinkButton(ui.Secondary, i18n.T(ctx, "contracts.contract.edit"), maintainHref(reader, contract.ID)+"/edit"))
	}
	if v.Copy, err = p.addOrigin(c, reader, contract, &page); err != nil {
		return err
	}
	page.Actions = readFirst(ctx, page.Actions, contract.ID, v.TypesOf)
	return p.Render(c, http.StatusOK, view.ContractPage(page, v))
}

// readFirst puts the way to the text of the latest version before what else can be
// done: most come to read.
func readFirst(ctx context.Context, others templ.Component, id, latest string) templ.Component {
	if latest == "" {
		return others
	}
	kind := ui.Secondary
	if others == nil {
		kind, others = ui.Primary, templ.NopComponent
	}
	return templ.Join(ui.LinkButton(kind, i18n.T(ctx, "contracts.contract.read-version", latest), site.ContractVersionHref(id, latest)+"/reading"), others)
}

func contractView(c store.Contract, versions []store.ContractVersion) view.ContractView {
	v := view.ContractView{
		ID: c.ID, Kind: c.Kind, Description: c.Description, Owner: c.Owner, Maintainer: c.Maintainer, ContactName: c.ContactName,
		ContactEmail: c.ContactEmail, Classification: c.Classification, BasedOn: c.BasedOn, Agreement: c.Agreement, AgreedOn: c.AgreedOn,
		IDMeaning: c.IDMeaning, TimeMeaning: c.TimeMeaning, Visibility: c.Visibility, Created: c.CreatedAt.Time, Updated: c.UpdatedAt.Time,
	}
	for i, row := range versions {
		v.Versions = append(v.Versions, view.VersionRow{
			Version: row.Version, Href: site.ContractVersionHref(c.ID, row.Version), Status: row.Status, Spec: row.SpecVersion,
			Size: row.Size, Published: row.PublishedAt.Time, Sunset: row.SunsetAt.Time,
		})
		if i+1 < len(versions) {
			since := versions[i+1].Version
			v.Versions[i].ChangesSince = since
			v.Versions[i].ChangesHref = changesHref(c.ID, row.Version, since)
		}
	}
	return v
}

// fillContract adds the event types of the latest version, the addresses of the
// API and, for who maintains it, what happened.
func (p *pages) fillContract(c echo.Context, reader registry.Reader, contract store.Contract, v *view.ContractView) error {
	ctx := c.Request().Context()
	latest, err := p.Registry.Contracts.Version(ctx, reader, contract.ID, registry.Latest)
	if err == nil {
		types, err := p.Registry.Contracts.EventTypes(ctx, reader, contract.ID, latest.Version)
		if err != nil {
			return err
		}
		v.TypesOf, v.Types, v.API = latest.Version, typeRows(ctx, types), contractAPI(ctx, contract.ID)
		host := p.Absolute("")
		if contract.Visibility == store.VisibilityPublic {
			host = "" // no key is needed
		}
		v.API = append(v.API, ui.Named{Name: i18n.T(ctx, "contracts.contract.feed"), Href: site.ContractHref(contract.ID) + "/feed.atom"})
		v.Renovate = renovateExample(p.Absolute(contractsPath), host)
	} else if !isNotFound(err) {
		return err
	}
	if !reader.Maintains(contract) {
		return nil
	}
	v.UploadHref = maintainHref(reader, contract.ID) + "/upload"
	if !reader.Administrator {
		return nil
	}
	v.VisibilityHref = maintainHref(reader, contract.ID) + "/visibility"
	named, err := p.Registry.Contracts.NamedPartners(ctx, reader, contract.ID)
	if err != nil {
		return err
	}
	for _, partner := range named {
		v.Named = append(v.Named, partner.Name)
	}
	history, err := p.History(ctx, store.AuditFilter{ObjectKind: "contract", ObjectID: contract.ID}, "")
	v.History = &history
	return err
}

// typeRows are the event types a version defines.
func typeRows(ctx context.Context, types []store.EventType) []ui.GrantedType {
	var rows []ui.GrantedType
	for _, t := range types {
		row := ui.GrantedType{Name: t.Name, Title: site.TypeTitle(ctx, t), Status: t.Status, Known: true}
		if t.Status == store.VersionPublished || t.Status == store.VersionDeprecated {
			row.Href = site.EventTypeHref(t.Name)
		}
		rows = append(rows, row)
	}
	return rows
}

// contractAPI are the addresses at which machines find a contract.
func contractAPI(ctx context.Context, id string) []ui.Named {
	return []ui.Named{
		{Name: i18n.T(ctx, "contracts.contract.metadata"), Href: contractPath(id)},
		{Name: i18n.T(ctx, "contracts.word.versions"), Href: contractPath(id) + "/versions"},
		{Name: i18n.T(ctx, "contracts.contract.latest-uploaded"), Href: versionPath(id, registry.Latest) + "/original"},
		{Name: i18n.T(ctx, "contracts.contract.latest-json"), Href: versionPath(id, registry.Latest) + "/content.json"},
		{Name: i18n.T(ctx, "contracts.contract.releases"), Href: contractPath(id) + "/releases"},
		{Name: i18n.T(ctx, "contracts.contract.latest-changes"), Href: versionPath(id, registry.Latest) + "/changes"},
	}
}
