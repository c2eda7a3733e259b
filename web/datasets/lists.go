package datasets

import (
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"
	"schakel/store"
	view "schakel/templates/datasets"
	"schakel/templates/ui"
	"schakel/web/site"
)

// datasetOf finds the dataset of an address, with the frame of a page about it.
func (p *Pages) datasetOf(c echo.Context, title string) (store.Dataset, ui.Page, error) {
	d, err := p.Registry.Datasets.Get(c.Request().Context(), c.Param("dataset"))
	if err != nil {
		return d, ui.Page{}, err
	}
	return d, p.Frame(c, title, ui.Crumb{Label: "Datasets", Href: datasetPages}, ui.Crumb{Label: d.Title, Href: datasetHref(d.ID)}), nil
}

// datasetDeltasPage lists all deltas of a dataset, gone ones included.
func (p *Pages) datasetDeltasPage(c echo.Context) error {
	d, page, err := p.datasetOf(c, "Deltas")
	if err != nil {
		return err
	}
	paging := site.PagePaging(c)
	v := view.DatasetListView{Now: p.Cfg.Now(), Empty: ui.Empty{Text: "No delta was cut yet."}}
	if v.Deltas, v.Total, err = p.deltaRows(c.Request().Context(), d, store.Page{Number: paging.Page, Size: paging.PerPage}); err != nil {
		return err
	}
	v.Pager = site.Pager(c, paging, v.Total)
	return p.Render(c, http.StatusOK, view.DatasetDeltasPage(page, v))
}

// datasetPublicationsPage lists all that came in.
func (p *Pages) datasetPublicationsPage(c echo.Context) error {
	d, page, err := p.datasetOf(c, "What came in")
	if err != nil {
		return err
	}
	paging, here := site.PagePaging(c), datasetHref(d.ID)+"/publications"
	statuses := []string{store.MutationRunning, store.MutationDone, store.MutationFailed, store.MutationCancelled}
	v := view.DatasetListView{
		Here: here, Filter: ui.StateOptions(statuses...), Status: site.PageChoice(c, "status", statuses), Now: p.Cfg.Now(),
		Empty: ui.Empty{Text: "Nothing came in yet.", ActionLabel: "Import a file", ActionHref: datasetHref(d.ID) + "/import"},
	}
	if v.Status != "" {
		v.Empty = ui.Empty{Text: "Nothing matches this filter.", ActionLabel: "Show all that came in", ActionHref: here}
	}
	rows, total, err := p.DB.Publications(c.Request().Context(), store.PublicationFilter{
		DatasetID: d.ID, Status: v.Status, Page: store.Page{Number: paging.Page, Size: paging.PerPage},
	})
	if err != nil {
		return err
	}
	v.Total, v.Pager = total, site.LongPager(c, paging, total)
	for _, one := range rows {
		v.Publications = append(v.Publications, publicationRow(one))
	}
	return p.Render(c, http.StatusOK, view.DatasetPublicationsPage(page, v))
}

// datasetFollowersPage lists all who follow a dataset.
func (p *Pages) datasetFollowersPage(c echo.Context) error {
	d, page, err := p.datasetOf(c, "Followers")
	if err != nil {
		return err
	}
	rows, _, err := p.followerRows(c, d)
	if err != nil {
		return err
	}
	paging, here := site.PagePaging(c), datasetHref(d.ID)+"/followers"
	statuses := []string{store.SubscriptionRequested, store.SubscriptionApproved, store.SubscriptionPaused, store.SubscriptionSuspended}
	v := view.DatasetListView{
		Here: here, Filter: ui.StateOptions(statuses...), Status: site.PageChoice(c, "status", statuses), Now: p.Cfg.Now(),
		Empty: ui.Empty{Text: "Nobody follows this dataset yet."},
	}
	if v.Status != "" {
		v.Empty = ui.Empty{Text: "No follower matches this filter.", ActionLabel: "Show all followers", ActionHref: here}
		rows = slices.DeleteFunc(rows, func(r ui.FollowerRow) bool { return r.State != v.Status })
	}
	v.Total, v.Pager, v.Followers = len(rows), site.Pager(c, paging, len(rows)), site.SlicePage(rows, paging)
	return p.Render(c, http.StatusOK, view.DatasetFollowersPage(page, v))
}
