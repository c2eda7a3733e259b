package contracts

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"
	"schakel/store"
	view "schakel/templates/contracts"
	"schakel/templates/ui"
	"schakel/web/site"
)

// eventTypesPage is the catalogue as its reader may see it.
func (p *pages) eventTypesPage(c echo.Context) error {
	reader, err := p.Reader(c)
	if err != nil {
		return err
	}
	all, err := p.Registry.EventTypes.Catalogue(c.Request().Context(), reader)
	if err != nil {
		return err
	}
	v := view.EventTypeListView{Search: site.Clean(c.QueryParam("q")), Status: site.PageChoice(c, "status", []string{store.VersionPublished, store.VersionDeprecated})}
	found := site.SearchTypes(all, v.Search, v.Status)
	paging := site.PagePaging(c)
	v.Total, v.Pager = len(found), site.Pager(c, paging, len(found))
	for _, t := range site.SlicePage(found, paging) {
		v.Rows = append(v.Rows, view.EventTypeRow{
			Name: t.Name, Href: site.EventTypeHref(t.Name), Title: t.Title, State: t.Status,
			Contract: t.ContractID, ContractHref: site.ContractHref(t.ContractID), Version: t.ContractVersion,
		})
	}
	page := p.Page(c, "Event types")
	page.Lead = "What you can be told about. Each event type is defined by a contract."
	return p.Render(c, http.StatusOK, view.EventTypeListPage(page, v))
}

// eventTypePage shows one event type with its contract and an example.
func (p *pages) eventTypePage(c echo.Context) error {
	return p.showEventType(c, http.StatusOK, &view.EventCheckView{})
}

// showEventType shows an event type, and what came of trying an event.
func (p *pages) showEventType(c echo.Context, status int, check *view.EventCheckView) error {
	reader, err := p.Reader(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	t, err := p.Registry.EventTypes.Get(ctx, reader, c.Param("name"))
	if err != nil {
		return err
	}
	contract, err := p.DB.Contract(ctx, t.ContractID)
	if err != nil {
		return err
	}
	v := view.EventTypeView{
		Name: t.Name, Title: t.Title, Summary: t.Summary, Description: paragraphs(t.Description), State: t.Status,
		ContentType: t.ContentType, Message: t.MessageName, Contract: contract.Title, ContractHref: site.ContractHref(t.ContractID),
		Version: t.ContractVersion, VersionHref: site.ContractHref(t.ContractID) + "/versions/" + url.PathEscape(t.ContractVersion),
		Example: site.ReadableJSON(t.Example), Schema: site.ReadableJSON(t.DataSchema),
	}
	lines, err := p.Registry.EventTypes.LinesOf(ctx, t.Name)
	if err != nil {
		return err
	}
	v.Versions = p.typeVersionRows(lines[t.Name])
	if v.Uses, err = p.typeUses(ctx, c, reader, t.Name); err != nil {
		return err
	}
	subscribe := "/partner/subscriptions/new?types=" + url.QueryEscape(t.Name)
	switch account := p.CurrentAccount(c); {
	case account == nil:
		v.LogIn = "/login?next=" + url.QueryEscape(subscribe)
	case account.Role == store.RolePartner:
		v.Subscribe = subscribe
	}
	if p.CurrentAccount(c) != nil {
		check.Action = site.EventTypeHref(t.Name)
		v.Check = check
		if err := p.fillCheck(check, t.Name, lines[t.Name]); err != nil {
			return err
		}
	}
	page := p.Page(c, t.Name)
	page.Invalid = check.Error != ""
	page.Lead, page.Badge = t.Title, ui.State(t.Status)
	page.Crumbs = append(page.Crumbs, ui.Crumb{Label: "Event types", Href: "/event-types"}, ui.Crumb{Label: t.Name})
	return p.Render(c, status, view.EventTypePage(page, v))
}

// paragraphs cuts a description at its empty lines; Markdown in it stays text.
func paragraphs(text string) []string {
	var list []string
	for part := range strings.SplitSeq(strings.ReplaceAll(text, "\r\n", "\n"), "\n\n") {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, part)
		}
	}
	return list
}
