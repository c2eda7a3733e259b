package datasets

import (
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/store"
	view "schakel/templates/datasets"
	"schakel/templates/i18n"
	"schakel/web/site"
)

// shownDescription limits a description in a list, in characters.
const shownDescription = 120

// routesDatasets registers the datasets that an organisation can follow.
func (d ownerPages) routesDatasets(g site.RouteGroup, upload site.RouteGroup) {
	g.GET("/datasets", d.catalogue)
	g.GET("/datasets/:dataset", d.datasetPage)
	ask := g.Needs(registry.ChangeSubscriptions)
	ask.GET("/datasets/:dataset/subscribe", d.subscribePage)
	upload.POST("/datasets/:dataset/subscribe", d.subscribe)
	ask.GET("/datasets/:dataset/subscriptions/:id/area", d.changeAreaPage)
	upload.POST("/datasets/:dataset/subscriptions/:id/area", d.changeArea)
	g.GET("/datasets/:dataset/subscriptions/:id/deltas", d.ownDeltas)
	g.GET("/datasets/:dataset/subscriptions/:id/deltas/:delta", d.ownChanges)
	g.GET("/datasets/:dataset/subscriptions/:id/deltas/:delta/content", d.ownDeltaFile, d.Slow(importTime))
	g.GET("/datasets/:dataset/subscriptions/:id/snapshots/:snapshot/content", d.ownSnapshotFile, d.Slow(importTime))
}

// catalogue lists the datasets there are, with what the organisation follows.
func (d ownerPages) catalogue(c echo.Context) error {
	owner, err := d.Owner(c)
	if err != nil {
		return err
	}
	ctx, paging := c.Request().Context(), site.PagePaging(c)
	f := store.DatasetFilter{Status: store.DatasetActive, FollowedBy: owner.ID, Text: site.Clean(c.QueryParam("q")), Page: paging}
	rows, total, err := d.Registry.Datasets.List(ctx, f)
	if err != nil {
		return err
	}
	v := view.CatalogueView{Here: d.Href("/datasets"), Search: f.Text, Closed: site.Waits(ctx, owner), Total: total, Pager: site.Pager(c, paging, total), Now: d.Cfg.Now()}
	for _, set := range rows {
		row := view.CatalogueRow{Title: set.Title, Href: d.Dataset(set.ID), Description: site.FirstLine(set.Description, shownDescription), Types: set.ObjectTypes, Areas: set.AreaKind, Ended: set.Status == store.DatasetEnded}
		last, err := lastDelta(ctx, d.DB, set.ID)
		if err != nil {
			return err
		}
		row.Cut = last.ToAt.Time
		own, err := d.Registry.Datasets.Followers(ctx, registry.ScopeOf(owner.ID), set.ID)
		if err != nil {
			return err
		}
		if len(own) > 0 {
			row.State = own[0].Subscription.Status
		}
		v.Rows = append(v.Rows, row)
	}
	page := d.Page(c, i18n.T(ctx, "datasets.title"))
	page.Lead = i18n.T(ctx, "datasets.follow.lead")
	page.Actions = view.DatasetActions("", d.Href("/mutations/lint"))
	return d.Render(c, http.StatusOK, view.CataloguePage(page, v))
}
