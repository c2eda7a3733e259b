package contracts

import (
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/registry/contracts"
	"schakel/registry/contracts/compare"
	"schakel/store"
	view "schakel/templates/contracts"
	"schakel/templates/ui"
	"schakel/web/site"
)

// changesPage shows what changed from one version of a contract to another,
// grouped by what caused it.
func (p *pages) changesPage(compared *comparisons) echo.HandlerFunc {
	return func(c echo.Context) error {
		reader, err := p.Reader(c)
		if err != nil {
			return err
		}
		ctx := c.Request().Context()
		about, err := p.Registry.Contracts.Get(ctx, reader, c.Param("id"))
		if err != nil {
			return err
		}
		to, err := p.Registry.Contracts.Version(ctx, reader, about.ID, c.Param("version"))
		if err != nil {
			return err
		}
		v, err := p.changesView(c, reader, about, to)
		if err != nil {
			return err
		}
		made, err := compared.get(ctx, reader, about.ID, to.Version, site.Clean(c.QueryParam("from")))
		status, refused := site.FormRefusal(err)
		switch {
		case len(v.Others) == 0:
			v.Message = "This is the only version, so there is nothing to compare it with yet."
		case isNotFound(err) && site.Clean(c.QueryParam("from")) == "":
			v.Message = "There is no version before this one. Choose one to compare with."
		case refused != nil:
			v.Message = refused[""]
		case err != nil:
			return err
		default:
			fillChanges(c, &v, made)
		}
		page := p.Frame(c, "Changes in "+about.Title+" "+to.Version, ui.Crumb{Label: "Contracts", Href: "/contracts"},
			ui.Crumb{Label: about.Title, Href: site.ContractHref(about.ID)}, ui.Crumb{Label: to.Version, Href: v.VersionHref})
		return p.Render(c, max(status, http.StatusOK), view.ContractChangesPage(page, v))
	}
}

// changesView is the page without changes: what can be compared.
func (p *pages) changesView(c echo.Context, reader registry.Reader, about store.Contract, to store.ContractVersion) (view.ContractChangesView, error) {
	here := site.ContractVersionHref(about.ID, to.Version)
	v := view.ContractChangesView{To: to.Version, VersionHref: here, Action: here + "/changes"}
	versions, err := p.Registry.Contracts.Versions(c.Request().Context(), reader, about.ID)
	for _, other := range versions {
		if other.Version != to.Version {
			v.Others = append(v.Others, ui.Option{Value: other.Version, Label: other.Version + ", " + other.Status})
		}
	}
	return v, err
}

func fillChanges(c echo.Context, v *view.ContractChangesView, made contracts.Comparison) {
	n := countLevels(made.Changes)
	v.From, v.Compared, v.Suggested = made.From.Version, true, made.Suggested
	v.Breaking, v.Warning, v.Info = n.Breaking, n.Warning, n.Info
	v.API = versionPath(made.To.ContractID, made.To.Version) + "/changes?" + url.Values{"from": {made.From.Version}}.Encode()
	groups := compare.GroupByCause(made.Changes)
	paging := site.PagePaging(c)
	v.Causes, v.Pager = len(groups), site.Pager(c, paging, len(groups))
	for _, g := range site.SlicePage(groups, paging) {
		v.Groups = append(v.Groups, changeGroup(g))
	}
}

// maxShownChanges bounds what is shown of one cause; the API has them all.
const maxShownChanges = 200

func changeGroup(g compare.Group) view.ContractChangeGroup {
	group := view.ContractChangeGroup{Text: g.Text, Level: string(g.Level), Cause: g.Cause, Total: len(g.Changes), EventTypes: g.EventTypes}
	for _, c := range g.Changes[:min(len(g.Changes), maxShownChanges)] {
		group.Changes = append(group.Changes, changeRow(c))
	}
	return group
}

// changesHref is the page that compares two versions.
func changesHref(id, version, from string) string {
	return site.ContractVersionHref(id, version) + "/changes?" + url.Values{"from": {from}}.Encode()
}
