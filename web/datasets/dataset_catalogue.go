package web

import (
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/store"
	view "schakel/templates/datasets"
)

// shownDescription limits a description in a list, in characters.
const shownDescription = 120

func (d desk) dataset(id string) string { return d.href("/datasets/" + url.PathEscape(id)) }

// routesDatasets registers the datasets that an organisation can follow.
func (d desk) routesDatasets(g routeGroup, upload routeGroup) {
	g.GET("/datasets", d.catalogue)
	g.GET("/datasets/:dataset", d.datasetPage)
	g.GET("/datasets/:dataset/subscribe", d.subscribePage)
	upload.POST("/datasets/:dataset/subscribe", d.subscribe)
	g.GET("/datasets/:dataset/subscriptions/:id/area", d.changeAreaPage)
	upload.POST("/datasets/:dataset/subscriptions/:id/area", d.changeArea)
	g.GET("/datasets/:dataset/subscriptions/:id/deltas", d.ownDeltas)
	g.GET("/datasets/:dataset/subscriptions/:id/deltas/:delta/content", d.ownDeltaFile, d.slow(importTime))
	g.GET("/datasets/:dataset/subscriptions/:id/snapshots/:snapshot/content", d.ownSnapshotFile, d.slow(importTime))
}

// catalogue lists the datasets there are, with what the organisation follows.
func (d desk) catalogue(c echo.Context) error {
	owner, err := d.owner(c)
	if err != nil {
		return err
	}
	ctx, paging := c.Request().Context(), pagePaging(c)
	f := store.DatasetFilter{Status: store.DatasetActive, FollowedBy: owner.ID, Text: clean(c.QueryParam("q")), Page: store.Page{Number: paging.Page, Size: paging.PerPage}}
	rows, total, err := d.Registry.Datasets.List(ctx, f)
	if err != nil {
		return err
	}
	v := view.CatalogueView{Here: d.href("/datasets"), Search: f.Text, Closed: waits(owner), Total: total, Pager: pager(c, paging, total), Now: d.cfg.Now()}
	for _, set := range rows {
		row := view.CatalogueRow{Title: set.Title, Href: d.dataset(set.ID), Description: firstLine(set.Description, shownDescription), Types: set.ObjectTypes, Areas: set.AreaKind, Ended: set.Status == store.DatasetEnded}
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
	page := d.page(c, "Datasets")
	page.Lead = "Registers of which you can keep an exact copy: all of one, or your area of it."
	page.Actions = view.DatasetActions("", d.href("/mutations/lint"))
	return d.render(c, http.StatusOK, view.CataloguePage(page, v))
}
