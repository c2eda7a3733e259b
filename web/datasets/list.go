package datasets

import (
	"context"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/store"
	view "schakel/templates/datasets"
	"schakel/templates/ui"
	"schakel/web/site"
)

// datasetsPage lists the registers whose changes are delivered.
func (p *Pages) datasetsPage(c echo.Context) error {
	ctx, paging := c.Request().Context(), site.PagePaging(c)
	f := store.DatasetFilter{
		Status: site.PageChoice(c, "status", []string{store.DatasetActive, store.DatasetEnded}), Text: site.Clean(c.QueryParam("q")),
		Page: paging,
	}
	rows, total, err := p.Registry.Datasets.List(ctx, f)
	if err != nil {
		return err
	}
	v := view.DatasetsView{Status: f.Status, Search: f.Text, Total: total, Pager: site.Pager(c, paging, total), Now: p.Cfg.Now()}
	for _, d := range rows {
		row, err := p.datasetRow(ctx, site.Actor(c).Scope(), d)
		if err != nil {
			return err
		}
		v.Rows = append(v.Rows, row)
	}
	page := p.Frame(c, "Datasets")
	page.Lead = "Registers whose changes you deliver as files, so that others keep an exact copy."
	page.Actions = view.DatasetActions(datasetPages+"/new", "/admin/mutations/lint")
	return p.Render(c, http.StatusOK, view.DatasetsPage(page, v))
}

func (p *Pages) datasetRow(ctx context.Context, scope registry.Scope, d store.Dataset) (view.DatasetRow, error) {
	row := view.DatasetRow{ID: d.ID, Title: d.Title, Href: datasetHref(d.ID), State: d.Status}
	last, err := lastDelta(ctx, p.DB, d.ID)
	if err != nil {
		return row, err
	}
	row.Delta, row.Cut, row.DeltaHref, row.Waiting = last.Number, last.ToAt.Time, row.Href+"/deltas", waitingGroups(d, last)
	followers, err := p.Registry.Datasets.Followers(ctx, scope, d.ID)
	if err != nil {
		return row, err
	}
	row.Followers = len(followers)
	row.Failed, err = p.datasetTrouble(ctx, d.ID)
	return row, err
}

// datasetTrouble describes the latest failure of a dataset; empty when there is none.
func (p *Pages) datasetTrouble(ctx context.Context, id string) (string, error) {
	troubles, err := p.DB.MutationTroubles(ctx, id)
	if err != nil {
		return "", err
	}
	if len(troubles) > 0 {
		return map[string]string{store.TroubleDelta: "Delta failed", store.TroubleSnapshot: "Snapshot failed"}[troubles[0].Kind], nil
	}
	first := store.Page{Number: 1, Size: 1}
	snapshots, _, err := p.DB.MutationSnapshots(ctx, id, first)
	if err != nil {
		return "", err
	}
	if len(snapshots) > 0 && snapshots[0].Status == store.MutationFailed {
		return "Snapshot failed", nil
	}
	_, failed, err := p.DB.MutationDownloads(ctx, store.MutationDownloadFilter{DatasetID: id, Statuses: []string{store.MutationFailed}, There: true, Page: first})
	if err != nil || failed == 0 {
		return "", err
	}
	return ui.Plural(failed, "download failed", "downloads failed"), nil
}

// FailedDownloads is a tile about files of datasets that could not be made; none when there are no such files.
func (p *Pages) FailedDownloads(ctx context.Context) ([]ui.Tile, error) {
	counts, err := p.DB.CountMutationDownloads(ctx)
	if err != nil || counts[store.MutationFailed] == 0 {
		return nil, err
	}
	return []ui.Tile{{
		Label: "Files of datasets", Value: ui.Count(counts[store.MutationFailed]), Href: datasetPages, Kind: ui.KindError, Hint: "could not be made",
	}}, nil
}

// FailingDatasets is a tile about datasets of which a delta or a snapshot cannot be made now; none when there are none. It
// leads to the dataset when it is one.
func (p *Pages) FailingDatasets(ctx context.Context) ([]ui.Tile, error) {
	troubles, err := p.DB.MutationTroubles(ctx, "")
	if err != nil || len(troubles) == 0 {
		return nil, err
	}
	ids := map[string]bool{}
	for _, t := range troubles {
		ids[t.DatasetID] = true
	}
	href := datasetPages
	if len(ids) == 1 {
		href = datasetHref(troubles[0].DatasetID)
	}
	return []ui.Tile{{
		Label: "Datasets that fail", Value: ui.Count(len(ids)), Href: href, Kind: ui.KindError, Hint: "no delta or snapshot can be made",
	}}, nil
}

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
	if v.Deltas, v.Total, err = p.deltaRows(c.Request().Context(), d, paging); err != nil {
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
		Here: here, Filter: ui.StateOptions(c.Request().Context(), statuses...), Status: site.PageChoice(c, "status", statuses), Now: p.Cfg.Now(),
		Empty: ui.Empty{Text: "Nothing came in yet.", ActionLabel: "Import a file", ActionHref: datasetHref(d.ID) + "/import"},
	}
	if v.Status != "" {
		v.Empty = ui.Empty{Text: "Nothing matches this filter.", ActionLabel: "Show all that came in", ActionHref: here}
	}
	rows, total, err := p.DB.Publications(c.Request().Context(), store.PublicationFilter{
		DatasetID: d.ID, Status: v.Status, Page: paging,
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
		Here: here, Filter: ui.StateOptions(c.Request().Context(), statuses...), Status: site.PageChoice(c, "status", statuses), Now: p.Cfg.Now(),
		Empty: ui.Empty{Text: "Nobody follows this dataset yet."},
	}
	if v.Status != "" {
		v.Empty = ui.Empty{Text: "No follower matches this filter.", ActionLabel: "Show all followers", ActionHref: here}
		rows = slices.DeleteFunc(rows, func(r ui.FollowerRow) bool { return r.State != v.Status })
	}
	v.Total, v.Pager, v.Followers = len(rows), site.Pager(c, paging, len(rows)), site.OnPage(rows, paging)
	return p.Render(c, http.StatusOK, view.DatasetFollowersPage(page, v))
}
