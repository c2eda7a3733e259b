package web

import (
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/store"
	"schakel/templates"
)

// contractsPage lists the contracts that the reader may see.
func (p *portal) contractsPage(c echo.Context) error {
	reader, err := p.reader(c)
	if err != nil {
		return err
	}
	paging := pagePaging(c)
	f := store.ContractFilter{
		Kind: clean(c.QueryParam("kind")), Status: clean(c.QueryParam("status")), Owner: clean(c.QueryParam("owner")),
		Search: clean(c.QueryParam("q")), Page: store.Page{Number: paging.Page, Size: paging.PerPage},
	}
	list, total, err := p.Registry.Contracts.List(c.Request().Context(), reader, f)
	if err != nil {
		return err
	}
	v := templates.ContractListView{
		Kind: f.Kind, Status: f.Status, Owner: f.Owner, Search: f.Search, Statuses: templates.StateOptions(versionStatuses(reader)...),
		Total: total, Pager: pager(c, paging, total), CanCreate: reader.Administrator, ShowVisibility: reader.Administrator || reader.Internal,
	}
	for _, summary := range list {
		v.Rows = append(v.Rows, contractRow(summary))
	}
	page := p.page(c, "Contracts")
	page.Lead = "The OpenAPI and AsyncAPI documents that the exchange is based on."
	page.Crumbs = append(page.Crumbs, templates.Crumb{Label: "Contracts"})
	page.Feed = registerFeedHref
	if reader.Administrator {
		page.Actions = templates.LinkButton(templates.Primary, "Make a contract", "/admin/contracts/new")
	}
	return p.render(c, http.StatusOK, templates.ContractList(page, v))
}

func versionStatuses(reader registry.Reader) []string {
	statuses := []string{store.VersionPublished, store.VersionDeprecated}
	if reader.Administrator {
		statuses = append(statuses, store.VersionDraft, store.VersionWithdrawn)
	}
	return statuses
}

func contractRow(s registry.ContractSummary) templates.ContractRow {
	row := templates.ContractRow{ID: s.ID, Title: s.Title, Href: contractHref(s.ID), Kind: s.Kind, Owner: s.Owner, Visibility: s.Visibility}
	if s.Latest.ID != "" {
		row.Version, row.Status = s.Latest.Version, s.Latest.Status
		row.VersionHref = contractVersionHref(s.ID, s.Latest.Version)
	}
	return row
}

// contractVersionHref is the page of a version of a contract.
func contractVersionHref(id, version string) string {
	return contractHref(id) + "/versions/" + url.PathEscape(version)
}

// adminContractHref is where a contract is maintained.
func adminContractHref(id string) string { return "/admin/contracts/" + url.PathEscape(id) }

// adminVersionHref is where a version of a contract is maintained.
func adminVersionHref(id, version string) string {
	return adminContractHref(id) + "/versions/" + url.PathEscape(version)
}
