package datasets

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
	"schakel/delivery/mutation/export"
	"schakel/store"
	view "schakel/templates/datasets"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

// How much of each list the page of a dataset shows, and how often it looks again.
const (
	shownDeltas       = 8
	shownSnapshots    = 4
	shownPublications = 6
	shownFollowers    = 25
	datasetEvery      = 5 * time.Second
)

// datasetRefusal is an action on a dataset that was refused, with the reason that was typed.
type datasetRefusal struct {
	verb, typed string
	wrong       i18n.Message
}

// datasetPage shows a dataset to an administrator.
func (p *Pages) datasetPage(c echo.Context) error {
	return p.showDataset(c, http.StatusOK, datasetRefusal{})
}

func (p *Pages) showDataset(c echo.Context, status int, r datasetRefusal) error {
	ctx := c.Request().Context()
	d, err := p.Registry.Datasets.Get(ctx, c.Param("dataset"))
	if err != nil {
		return err
	}
	v := view.AdminDatasetView{
		DatasetFacts: datasetFacts(d), Href: datasetHref(d.ID), Active: d.Status == store.DatasetActive, Groups: d.LastSeq,
		Checked: d.CheckedAt.Time, Created: d.CreatedAt.Time, CreatedBy: d.CreatedBy, DeltaAsked: d.DeltaAskedAt.Time, SnapshotAsked: d.SnapshotAskedAt.Time,
		LineageReason: d.LineageReason, LineageAt: d.LineageAt.Time, Now: p.Cfg.Now(), Every: datasetEvery,
	}
	switch r.verb {
	case "lineage":
		v.LineageTyped, v.LineageError = r.typed, r.wrong
	case "end":
		v.EndTyped, v.EndError = r.typed, r.wrong
	}
	if v.Ended, err = p.datasetEnd(ctx, d); err != nil {
		return err
	}
	if v.Troubles, err = p.datasetTroubles(ctx, d.ID); err != nil {
		return err
	}
	v.NextDelta, v.NextSnapshot = p.Registry.Datasets.Next(d)
	if err := p.fillDataset(ctx, d, &v); err != nil {
		return err
	}
	if err := p.fillFollowers(c, d, &v); err != nil {
		return err
	}
	if v.History, err = p.History(ctx, store.AuditFilter{ObjectKind: "dataset", ObjectID: d.ID}, ""); err != nil {
		return err
	}
	page := p.Frame(c, d.Title, ui.Crumb{Label: i18n.T(ctx, "datasets.title"), Href: datasetPages})
	page.Badge, page.Invalid = ui.State(d.Status), r.wrong != ""
	if v.Active {
		page.Actions = view.DatasetButtons(v.Href)
	}
	return p.Render(c, status, view.AdminDatasetPage(page, v))
}

// fillDataset adds what went out and what came in.
func (p *Pages) fillDataset(ctx context.Context, d store.Dataset, v *view.AdminDatasetView) error {
	last, err := lastDelta(ctx, p.DB, d.ID)
	if err != nil {
		return err
	}
	v.Waiting = waitingGroups(d, last)
	if v.Deltas, v.DeltaTotal, err = p.deltaRows(ctx, d, store.Page{Number: 1, Size: shownDeltas}); err != nil {
		return err
	}
	snapshots, total, err := p.DB.MutationSnapshots(ctx, d.ID, store.Page{Number: 1, Size: shownSnapshots})
	if err != nil {
		return err
	}
	v.SnapshotTotal = total
	for _, s := range snapshots {
		v.Snapshots = append(v.Snapshots, snapshotRow(s, v.Href+"/snapshots/"+s.ID+"/content"))
	}
	publications, total, err := p.DB.Publications(ctx, store.PublicationFilter{DatasetID: d.ID, Page: store.Page{Number: 1, Size: shownPublications}})
	v.PublicationTotal = total
	for _, one := range publications {
		v.Publications = append(v.Publications, publicationRow(ctx, one))
	}
	return err
}

// deltaRows are deltas of a dataset as an administrator gets them, newest first.
func (p *Pages) deltaRows(ctx context.Context, d store.Dataset, page store.Page) ([]view.DeltaRow, int, error) {
	deltas, total, err := p.DB.MutationDeltas(ctx, store.MutationDeltaFilter{DatasetID: d.ID, NewestFirst: true, Page: page})
	var rows []view.DeltaRow
	for _, one := range deltas {
		rows = append(rows, DeltaRow(d, one, p.Cfg.Now(), datasetHref(d.ID)+"/deltas/"+one.ID))
	}
	return rows, total, err
}

// fillFollowers adds who follows the dataset, with their areas on one map.
func (p *Pages) fillFollowers(c echo.Context, d store.Dataset, v *view.AdminDatasetView) error {
	rows, areas, err := p.followerRows(c, d)
	if err != nil {
		return err
	}
	v.FollowerTotal, v.Followers = len(rows), rows[:min(shownFollowers, len(rows))]
	for _, row := range rows {
		if row.Behind > 0 || row.Lost {
			v.Behind++
		}
	}
	ctx := c.Request().Context()
	v.Map = datasetMap(ctx, d, "map", i18n.T(ctx, "datasets.map.title", d.Title), areas)
	return nil
}

// followerRows are all followers of a dataset, and the areas of those that have one.
func (p *Pages) followerRows(c echo.Context, d store.Dataset) ([]ui.FollowerRow, []mapArea, error) {
	ctx := c.Request().Context()
	last, err := lastDelta(ctx, p.DB, d.ID)
	if err != nil {
		return nil, nil, err
	}
	followers, err := p.Registry.Datasets.Followers(ctx, site.Actor(c).Scope(), d.ID)
	if err != nil {
		return nil, nil, err
	}
	var rows []ui.FollowerRow
	var areas []mapArea
	for _, f := range followers {
		row, err := p.followerRow(ctx, d, last, f, "/admin")
		if err != nil {
			return nil, nil, err
		}
		rows = append(rows, row)
		if f.Area != nil && f.Area.Kind == store.AreaGeometry && len(areas) < mostMapAreas {
			areas = append(areas, mapArea{label: i18n.T(ctx, "datasets.map.layer", f.Partner.Name, areaName(ctx, *f.Area)), href: row.Area.Href, wkt: f.Area.WKT})
		}
	}
	return rows, areas, nil
}

// availableUntil is the last moment at which something of a dataset that ended can be fetched; last is its newest delta.
func availableUntil(d store.Dataset, last store.MutationDelta) time.Time {
	until := d.EndedAt.Time
	if last.ToAt.After(until) {
		until = last.ToAt.Time
	}
	return until.Add(export.Retention)
}

// datasetEnd describes the end of a dataset; nothing for one that has not ended.
func (p *Pages) datasetEnd(ctx context.Context, d store.Dataset) (view.DatasetEnd, error) {
	if d.EndedAt.IsZero() {
		return view.DatasetEnd{}, nil
	}
	last, err := lastDelta(ctx, p.DB, d.ID)
	return view.DatasetEnd{At: d.EndedAt.Time, Reason: d.EndReason, Until: availableUntil(d, last)}, err
}

// shownFailedFiles limits the failed downloads on the page of a dataset.
const shownFailedFiles = 5

// datasetTroubles lists the deltas and snapshots of a dataset that cannot be made now, and the newest files for one follower that failed.
func (p *Pages) datasetTroubles(ctx context.Context, id string) ([]view.DatasetTrouble, error) {
	troubles, err := p.DB.MutationTroubles(ctx, id)
	if err != nil {
		return nil, err
	}
	var list []view.DatasetTrouble
	for _, t := range troubles {
		list = append(list, view.DatasetTrouble{Kind: t.Kind, Error: t.Error, Times: t.Times, Since: t.Since.Time, Last: t.LastAt.Time})
	}
	failed, total, err := p.DB.MutationDownloads(ctx, store.MutationDownloadFilter{
		DatasetID: id, Statuses: []string{store.MutationFailed}, There: true, Page: store.Page{Number: 1, Size: shownFailedFiles},
	})
	for _, d := range failed {
		t := view.DatasetTrouble{Kind: "file", Error: i18n.Message(d.Error).In(ctx), Times: 1, Since: d.FinishedAt.Time, More: max(0, total-shownFailedFiles)}
		partner, err := p.DB.Partner(ctx, d.PartnerID)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return nil, err
		}
		t.For = ui.Named{Name: cmp.Or(partner.Name, d.PartnerID), Href: "/admin/partners/" + d.PartnerID}
		list, total = append(list, t), 0
	}
	return list, err
}

// endAnswer describes the end of a dataset in the API.
type endAnswer struct {
	At             time.Time `json:"at"`
	Reason         string    `json:"reason,omitempty"`
	Complete       bool      `json:"complete"`              // all its changes are in deltas
	LastDeltaID    string    `json:"lastDeltaId,omitempty"` // when it is complete
	AvailableUntil time.Time `json:"availableUntil"`
}

// ended describes the end of a dataset; nil for one that has not ended.
func (m *handlers) ended(ctx context.Context, d store.Dataset) (*endAnswer, error) {
	if d.EndedAt.IsZero() {
		return nil, nil
	}
	last, err := lastDelta(ctx, m.DB, d.ID)
	if err != nil {
		return nil, err
	}
	a := &endAnswer{At: utc(d.EndedAt), Reason: d.EndReason, Complete: waitingGroups(d, last) <= 0, AvailableUntil: availableUntil(d, last).UTC()}
	if a.Complete {
		a.LastDeltaID = last.ID
	}
	return a, nil
}
