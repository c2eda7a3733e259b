package datasets

import (
	"context"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/store"
	view "schakel/templates/datasets"
	"schakel/templates/i18n"
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
	page := p.Frame(c, i18n.T(ctx, "datasets.title"))
	page.Lead = i18n.T(ctx, "datasets.list.lead")
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
		if troubles[0].Kind == store.TroubleDelta {
			return i18n.T(ctx, "datasets.list.delta-failed"), nil
		}
		return i18n.T(ctx, "datasets.list.snapshot-failed"), nil
	}
	first := store.Page{Number: 1, Size: 1}
	snapshots, _, err := p.DB.MutationSnapshots(ctx, id, first)
	if err != nil {
		return "", err
	}
	if len(snapshots) > 0 && snapshots[0].Status == store.MutationFailed {
		return i18n.T(ctx, "datasets.list.snapshot-failed"), nil
	}
	_, failed, err := p.DB.MutationDownloads(ctx, store.MutationDownloadFilter{DatasetID: id, Statuses: []string{store.MutationFailed}, There: true, Page: first})
	if err != nil || failed == 0 {
		return "", err
	}
	return i18n.T(ctx, "datasets.list.downloads-failed", failed), nil
}

// FailedDownloads is a tile about files of datasets that could not be made; none when there are no such files.
func (p *Pages) FailedDownloads(ctx context.Context) ([]ui.Tile, error) {
	counts, err := p.DB.CountMutationDownloads(ctx)
	if err != nil || counts[store.MutationFailed] == 0 {
		return nil, err
	}
	return []ui.Tile{{
		Label: i18n.T(ctx, "datasets.overview.files"), Value: i18n.Count(ctx, counts[store.MutationFailed]), Href: datasetPages, Kind: ui.KindError, Hint: i18n.T(ctx, "datasets.overview.files-hint"),
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
		Label: i18n.T(ctx, "datasets.overview.failing"), Value: i18n.Count(ctx, len(ids)), Href: href, Kind: ui.KindError, Hint: i18n.T(ctx, "datasets.overview.failing-hint"),
	}}, nil
}

// datasetOf finds the dataset of an address, with the frame of a page about it.
func (p *Pages) datasetOf(c echo.Context, title i18n.Message) (store.Dataset, ui.Page, error) {
	ctx := c.Request().Context()
	d, err := p.Registry.Datasets.Get(ctx, c.Param("dataset"))
	if err != nil {
		return d, ui.Page{}, err
	}
	return d, p.Frame(c, title.In(ctx), ui.Crumb{Label: i18n.T(ctx, "datasets.title"), Href: datasetPages}, ui.Crumb{Label: d.Title, Href: datasetHref(d.ID)}), nil
}

// datasetDeltasPage lists all deltas of a dataset, gone ones included.
func (p *Pages) datasetDeltasPage(c echo.Context) error {
	d, page, err := p.datasetOf(c, "datasets.deltas")
	if err != nil {
		return err
	}
	ctx, paging := c.Request().Context(), site.PagePaging(c)
	v := view.DatasetListView{Now: p.Cfg.Now(), Empty: ui.Empty{Text: i18n.T(ctx, "datasets.list.no-delta")}}
	if v.Deltas, v.Total, err = p.deltaRows(ctx, d, paging); err != nil {
		return err
	}
	v.Pager = site.Pager(c, paging, v.Total)
	return p.Render(c, http.StatusOK, view.DatasetDeltasPage(page, v))
}

// datasetPublicationsPage lists all that came in.
func (p *Pages) datasetPublicationsPage(c echo.Context) error {
	d, page, err := p.datasetOf(c, "datasets.came-in")
	if err != nil {
		return err
	}
	ctx, paging, here := c.Request().Context(), site.PagePaging(c), datasetHref(d.ID)+"/publications"
	statuses := []string{store.MutationRunning, store.MutationDone, store.MutationFailed, store.MutationCancelled}
	v := view.DatasetListView{
		Here: here, Filter: ui.StateOptions(ctx, statuses...), Status: site.PageChoice(c, "status", statuses), Now: p.Cfg.Now(),
		Empty: ui.Empty{Text: i18n.T(ctx, "datasets.admin.nothing-in"), ActionLabel: i18n.T(ctx, "datasets.admin.import"), ActionHref: datasetHref(d.ID) + "/import"},
	}
	if v.Status != "" {
		v.Empty = ui.Empty{Text: i18n.T(ctx, "datasets.list.no-publication-match"), ActionLabel: i18n.T(ctx, "datasets.list.show-all-publications"), ActionHref: here}
	}
	rows, total, err := p.DB.Publications(ctx, store.PublicationFilter{
		DatasetID: d.ID, Status: v.Status, Page: paging,
	})
	if err != nil {
		return err
	}
	v.Total, v.Pager = total, site.LongPager(c, paging, total)
	for _, one := range rows {
		v.Publications = append(v.Publications, publicationRow(ctx, one))
	}
	return p.Render(c, http.StatusOK, view.DatasetPublicationsPage(page, v))
}

// datasetFollowersPage lists all who follow a dataset.
func (p *Pages) datasetFollowersPage(c echo.Context) error {
	d, page, err := p.datasetOf(c, "datasets.followers")
	if err != nil {
		return err
	}
	rows, _, err := p.followerRows(c, d)
	if err != nil {
		return err
	}
	ctx, paging, here := c.Request().Context(), site.PagePaging(c), datasetHref(d.ID)+"/followers"
	statuses := []string{store.SubscriptionRequested, store.SubscriptionApproved, store.SubscriptionPaused, store.SubscriptionSuspended}
	v := view.DatasetListView{
		Here: here, Filter: ui.StateOptions(ctx, statuses...), Status: site.PageChoice(c, "status", statuses), Now: p.Cfg.Now(),
		Empty: ui.Empty{Text: i18n.T(ctx, "datasets.list.no-followers")},
	}
	if v.Status != "" {
		v.Empty = ui.Empty{Text: i18n.T(ctx, "datasets.list.no-follower-match"), ActionLabel: i18n.T(ctx, "datasets.list.show-all-followers"), ActionHref: here}
		rows = slices.DeleteFunc(rows, func(r ui.FollowerRow) bool { return r.State != v.Status })
	}
	v.Total, v.Pager, v.Followers = len(rows), site.Pager(c, paging, len(rows)), site.OnPage(rows, paging)
	return p.Render(c, http.StatusOK, view.DatasetFollowersPage(page, v))
}
