package datasets

import (
	"context"
	"net/http"

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
		Page: store.Page{Number: paging.Page, Size: paging.PerPage},
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
