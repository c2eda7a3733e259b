package datasets

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"time"

	"schakel/delivery/mutation/export"
	"schakel/registry"
	"schakel/store"
	view "schakel/templates/datasets"
	"schakel/templates/i18n"
	"schakel/templates/ui"
)

const datasetPages = "/admin/datasets"

func datasetHref(id string) string { return datasetPages + "/" + url.PathEscape(id) }

// areaHref is the page of an area below a base such as /partner.
func areaHref(base, datasetID, areaID string) string {
	return base + "/datasets/" + url.PathEscape(datasetID) + "/areas/" + url.PathEscape(areaID)
}

// datasetFacts builds the view of a dataset.
func datasetFacts(d store.Dataset) view.DatasetFacts {
	return view.DatasetFacts{
		ID: d.ID, Title: d.Title, Description: d.Description, ObjectTypes: d.ObjectTypes, CRS: systemName(d.CRS), AreaKind: d.AreaKind,
		Root:             d.RootPrefix + ":" + d.RootLocal + " (" + d.RootSpace + ")",
		GeometryElements: d.GeometryElements, KeyElements: d.KeyElements, PerFile: d.PerFile,
		DeltaSchedule: d.DeltaSchedule, SnapshotSchedule: d.SnapshotSchedule, Lineage: d.Lineage,
	}
}

// systemName names a coordinate system by its EPSG code; 0 has no name.
func systemName(crs int64) string {
	switch crs {
	case 28992:
		return "EPSG:28992 (RD New)"
	case 4326:
		return "EPSG:4326 (WGS 84)"
	}
	return ""
}

// DeltaRow is a delta as the dataset has it, whole; href is the address of its page, and empty when it cannot be fetched.
func DeltaRow(set store.Dataset, d store.MutationDelta, now time.Time, href string) view.DeltaRow {
	row := view.DeltaRow{
		Number: d.Number, From: d.FromAt.Time, To: d.ToAt.Time, Bytes: d.Bytes, Expires: d.ToAt.Add(export.Retention),
		Gone: !d.GoneAt.IsZero() || now.After(d.ToAt.Add(export.Retention)), Old: d.Lineage != set.Lineage,
	}
	if m, err := export.Manifest(d.Manifest); err == nil {
		row.DeliveryCounts = view.DeliveryCounts{Groups: m.Counts.Groups, Adds: m.Counts.Adds, Changes: m.Counts.Changes, Deletes: m.Counts.Deletes}
	}
	if href != "" && !row.Gone {
		row.Href = href + "/content"
		if !row.Old {
			row.ChangesHref = href
		}
	}
	return row
}

func snapshotRow(s store.MutationSnapshot, href string) view.SnapshotRow {
	row := view.SnapshotRow{
		State: s.Status, Error: s.Error, Delta: s.DeltaNumber, Done: s.Done, Total: s.Total, Bytes: s.Bytes,
		Created: s.CreatedAt.Time, Finished: s.FinishedAt.Time,
	}
	switch {
	case !s.GoneAt.IsZero():
		row.State = "removed"
	case s.Status == store.MutationDone:
		row.Href = href
	}
	return row
}

func publicationRow(ctx context.Context, p store.MutationPublication) view.PublicationRow {
	href := datasetHref(p.DatasetID) + "/publications/" + url.PathEscape(p.ID)
	return view.PublicationRow{
		Name: p.Name, Href: href, Kind: p.Kind, State: p.Status, Error: i18n.Message(p.Error).In(ctx), Bytes: p.Bytes, BytesTotal: p.BytesTotal, By: p.CreatedBy,
		DeliveryCounts: view.DeliveryCounts{Groups: p.Groups, Adds: p.Adds, Changes: p.Changes, Deletes: p.Deletes},
		Started:        p.CreatedAt.Time, Finished: p.FinishedAt.Time, CancelAction: href + "/cancel",
		Unlocated: p.Unlocated, UnlocatedFirst: i18n.Message(p.UnlocatedFirst).In(ctx),
	}
}

// followerRow describes the selection and the progress of a follower; last is the newest delta of the dataset. Its links
// start with base.
func (p *Pages) followerRow(ctx context.Context, set store.Dataset, last store.MutationDelta, f registry.DatasetFollower, base string) (ui.FollowerRow, error) {
	row := ui.FollowerRow{
		Partner:      ui.Named{Name: f.Partner.Name, Href: "/admin/partners/" + f.Partner.ID},
		Subscription: ui.Named{Name: cmp.Or(f.Subscription.Name, set.Title), Href: base + "/subscriptions/" + f.Subscription.ID},
		Types:        f.Follower.ObjectTypes, State: f.Subscription.Status, Delta: f.Follower.DeltaNumber,
		Fetched: f.Follower.FetchedAt.Time, Snapshot: f.Follower.SnapshotID != "",
	}
	if f.Area != nil {
		row.Area = ui.Named{Name: areaName(ctx, *f.Area), Href: areaHref(base, set.ID, f.Area.ID)}
	}
	if row.Fetched.IsZero() || last.Number <= row.Delta {
		return row, nil
	}
	row.Behind = last.Number - row.Delta
	next, _, err := p.DB.MutationDeltas(ctx, store.MutationDeltaFilter{DatasetID: set.ID, After: row.Delta, Page: store.Page{Number: 1, Size: 1}})
	if err != nil || len(next) == 0 {
		return row, err
	}
	row.Since = next[0].ToAt.Time
	expired := p.Cfg.Now().After(next[0].ToAt.Add(export.Retention))
	row.Lost = expired || !next[0].GoneAt.IsZero() || next[0].PreviousID != f.Follower.DeltaID && row.Delta > 0
	return row, nil
}

// areaName returns the name of an area for people.
func areaName(ctx context.Context, a store.MutationArea) string {
	switch {
	case a.Name != "":
		return a.Name
	case a.Kind == store.AreaKeys:
		return i18n.T(ctx, "datasets.area.named-keys", len(a.Keys))
	}
	return i18n.T(ctx, "datasets.area.unnamed")
}

// lastDelta is the newest delta of a dataset; the zero delta when there is none.
func lastDelta(ctx context.Context, db *store.DB, datasetID string) (store.MutationDelta, error) {
	last, err := db.LastMutationDelta(ctx, datasetID)
	if errors.Is(err, store.ErrNotFound) {
		return store.MutationDelta{}, nil
	}
	return last, err
}

// waitingGroups counts the groups that are in no delta yet.
func waitingGroups(d store.Dataset, last store.MutationDelta) int64 {
	return d.LastSeq - max(d.LineageSeq, last.ToSeq)
}
