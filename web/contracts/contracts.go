package contracts

import (
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/registry/contracts"
	"schakel/store"
	view "schakel/templates/contracts"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

// contractsPage lists the contracts that the reader may see.
func (p *pages) contractsPage(c echo.Context) error {
	reader, err := p.Reader(c)
	if err != nil {
		return err
	}
	paging := site.PagePaging(c)
	f := store.ContractFilter{
		Kind: site.PageChoice(c, "kind", site.ContractKinds()), Status: site.PageChoice(c, "status", versionStatuses(reader)), Owner: site.Clean(c.QueryParam("owner")),
		Search: site.Clean(c.QueryParam("q")), Page: paging,
	}
	list, total, err := p.Registry.Contracts.List(c.Request().Context(), reader, f)
	if err != nil {
		return err
	}
	v := view.ContractListView{
		Kind: f.Kind, Status: f.Status, Owner: f.Owner, Search: f.Search, Statuses: ui.StateOptions(versionStatuses(reader)...),
		Total: total, Pager: site.Pager(c, paging, total), ShowVisibility: reader.Administrator || reader.Internal,
	}
	if reader.Administrator || reader.PartnerID != "" && !reader.Internal {
		v.CreateHref = maintainBase(reader) + "/new"
	}
	for _, summary := range list {
		v.Rows = append(v.Rows, contractRow(summary))
	}
	if err := p.addRequested(c, reader, &v); err != nil {
		return err
	}
	v.Now = p.Cfg.Now()
	ctx := c.Request().Context()
	page := p.Page(c, i18n.T(ctx, "contracts.word.contracts"))
	page.Lead = i18n.T(ctx, "contracts.list.lead")
	page.Crumbs = append(page.Crumbs, ui.Crumb{Label: i18n.T(ctx, "contracts.word.contracts")})
	page.Feed = registerFeedHref
	if v.CreateHref != "" {
		page.Actions = ui.LinkButton(ui.Primary, i18n.T(ctx, "contracts.list.make"), v.CreateHref)
	}
	return p.Render(c, http.StatusOK, view.ContractList(page, v))
}

// addRequested adds the drafts whose publication partners ask for, for who decides. They have pages of their own, of which one
// beyond the last shows the last: deciding makes the list shorter.
func (p *pages) addRequested(c echo.Context, reader registry.Reader, v *view.ContractListView) error {
	if !reader.Administrator {
		return nil
	}
	paging := store.Page{Number: 1, Size: site.DefaultPerPage}
	if n, err := site.WholeNumber(c, "requested", 1, site.MaxPage); err == nil {
		paging.Number = n
	}
	list, total, err := p.requested(c, paging)
	if last := (total + paging.Size - 1) / paging.Size; err == nil && total > 0 && paging.Number > last {
		paging.Number = last
		list, total, err = p.requested(c, paging)
	}
	for _, r := range list {
		v.Requested = append(v.Requested, view.RequestedRow{
			Contract: r.Contract.Title, Version: r.Version, Href: site.ContractVersionHref(r.ContractID, r.Version), Owner: r.Contract.Owner,
			By: r.RequestedBy, At: r.RequestedAt.Time,
		})
	}
	here := *c.Request().URL
	v.RequestedTotal, v.RequestedPager = total, &ui.Pager{
		Page: paging.Number, PerPage: paging.Size, Total: total,
		URL: func(page int) string { return site.WithQuery(&here, "requested", strconv.Itoa(page)) + "#requested" },
	}
	return err
}

func (p *pages) requested(c echo.Context, paging store.Page) ([]contracts.RequestedVersion, int, error) {
	return p.Registry.Contracts.Requested(c.Request().Context(), site.Actor(c), paging)
}

func versionStatuses(reader registry.Reader) []string {
	statuses := []string{store.VersionPublished, store.VersionDeprecated}
	if reader.Administrator || reader.PartnerID != "" { // a partner has those of its own
		statuses = append(statuses, store.VersionDraft, store.VersionWithdrawn)
	}
	return statuses
}

func contractRow(s contracts.ContractSummary) view.ContractRow {
	row := view.ContractRow{ID: s.ID, Title: s.Title, Href: site.ContractHref(s.ID), Kind: s.Kind, Owner: s.Owner, Visibility: s.Visibility}
	if s.Latest.ID != "" {
		row.Version, row.Status = s.Latest.Version, s.Latest.Status
		row.VersionHref = site.ContractVersionHref(s.ID, s.Latest.Version)
	}
	return row
}
