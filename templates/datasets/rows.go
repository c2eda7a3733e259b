package datasets

import (
	"context"
	"strconv"
	"time"

	"schakel/templates/i18n"
	"schakel/templates/ui"
)

// DeltaRow is a delta as somebody gets it.
type DeltaRow struct {
	Number   int64
	From, To time.Time
	DeliveryCounts
	Bytes int64
	// Expires is its last moment; Gone is set when that is over.
	Expires time.Time
	Gone    bool
	// Old is set for one of a lineage that was replaced.
	Old bool
	// Making is set when the file of this reader is not there yet; who asks for it has it made. Failed says why that did not
	// work.
	Making bool
	Failed string
	Href   string // of the zip; empty when it cannot be had
	// ChangesHref is the page that shows what it changes; empty while its file is not there.
	ChangesHref string
}

// DeliveryCounts counts the groups and the changes in a delivery.
type DeliveryCounts struct{ Groups, Adds, Changes, Deletes int64 }

// SnapshotRow is an initial state.
type SnapshotRow struct {
	State, Error      string
	Delta             int64 // the last that it includes
	Done, Total       int64 // states
	Bytes             int64
	Created, Finished time.Time
	Href              string
}

// PublicationRow counts the groups stored by one request or one import.
type PublicationRow struct {
	Name, Href, Kind, State, Error string
	DeliveryCounts
	Bytes, BytesTotal int64
	By                string
	Started, Finished time.Time
	CancelAction      string
	// Unlocated counts versions of objects that lie in no area, where followers choose one; UnlocatedFirst is the place of the first.
	Unlocated      int64
	UnlocatedFirst string
}

func (r DeltaRow) state(ctx context.Context) (ui.Kind, string) {
	switch {
	case r.Gone:
		return ui.KindNeutral, i18n.T(ctx, "datasets.delta-state.expired")
	case r.Old:
		return ui.KindNeutral, i18n.T(ctx, "datasets.delta-state.old")
	case r.Failed != "":
		return ui.KindError, i18n.T(ctx, "datasets.delta-state.failed")
	case r.Making:
		return ui.KindInfo, i18n.T(ctx, "datasets.delta-state.making")
	}
	return ui.KindOK, i18n.T(ctx, "datasets.delta-state.ready")
}

// counted reports whether the contents are counted: not while the file of this reader is missing.
func (r DeltaRow) counted() bool { return !r.Making && r.Failed == "" }

// kindWord names the kind of a publication.
func (r PublicationRow) kindWord(ctx context.Context) string {
	return i18n.Of(ctx, "datasets.publication-kind", r.Kind)
}

func percent(part, whole int64) int64 {
	if whole <= 0 {
		return 0
	}
	return min(100, 100*part/whole)
}

func percentText(n int64) string { return strconv.FormatInt(n, 10) }

func (c DeliveryCounts) text(ctx context.Context) string {
	return i18n.T(ctx, "datasets.counts", c.Adds, c.Changes, c.Deletes)
}

func deltaTable(ctx context.Context, total int, pager *ui.Pager, empty ui.Empty) ui.TableView {
	return ui.TableView{
		ID: "deltas", Caption: i18n.T(ctx, "datasets.deltas"), Total: total, Noun: [2]string{i18n.T(ctx, "datasets.noun.delta-one"), i18n.T(ctx, "datasets.noun.delta-other")}, Pager: pager, Empty: empty,
		Columns: []ui.Column{{Label: i18n.T(ctx, "datasets.delta")}, {Label: i18n.T(ctx, "datasets.until")}, {Label: i18n.T(ctx, "datasets.state")}, {Label: i18n.T(ctx, "datasets.groups"), Numeric: true}, {Label: i18n.T(ctx, "datasets.versions")}, {Label: i18n.T(ctx, "datasets.size"), Numeric: true}, {Label: i18n.T(ctx, "datasets.expires")}},
	}
}

func snapshotTable(ctx context.Context, total int) ui.TableView {
	return ui.TableView{
		ID: "snapshots", Caption: i18n.T(ctx, "datasets.snapshots"), Total: total, Noun: [2]string{i18n.T(ctx, "datasets.noun.snapshot-one"), i18n.T(ctx, "datasets.noun.snapshot-other")},
		Columns: []ui.Column{{Label: i18n.T(ctx, "datasets.snapshot")}, {Label: i18n.T(ctx, "datasets.state")}, {Label: i18n.T(ctx, "datasets.includes")}, {Label: i18n.T(ctx, "datasets.versions"), Numeric: true}, {Label: i18n.T(ctx, "datasets.size"), Numeric: true}},
		Empty:   ui.Empty{Text: i18n.T(ctx, "datasets.no-snapshot")},
	}
}

func publicationTable(ctx context.Context, total int, pager *ui.Pager, empty ui.Empty) ui.TableView {
	return ui.TableView{
		ID: "publications", Caption: i18n.T(ctx, "datasets.came-in"), Total: total, Noun: [2]string{i18n.T(ctx, "datasets.noun.publication-one"), i18n.T(ctx, "datasets.noun.publication-other")}, Pager: pager, Empty: empty,
		Columns: []ui.Column{{Label: i18n.T(ctx, "datasets.started")}, {Label: i18n.T(ctx, "datasets.what")}, {Label: i18n.T(ctx, "datasets.state")}, {Label: i18n.T(ctx, "datasets.groups"), Numeric: true}, {Label: i18n.T(ctx, "datasets.versions")}, {Label: i18n.T(ctx, "datasets.by")}},
	}
}

func followerTable(ctx context.Context, total int, empty ui.Empty) ui.TableView {
	return ui.TableView{
		ID: "followers", Caption: i18n.T(ctx, "datasets.followers"), Total: total, Noun: [2]string{i18n.T(ctx, "datasets.noun.follower-one"), i18n.T(ctx, "datasets.noun.follower-other")}, Empty: empty,
		Columns: []ui.Column{{Label: i18n.T(ctx, "datasets.partner")}, {Label: i18n.T(ctx, "datasets.state")}, {Label: i18n.T(ctx, "datasets.gets")}, {Label: i18n.T(ctx, "datasets.its-copy")}, {Label: i18n.T(ctx, "datasets.last-fetched")}},
	}
}
