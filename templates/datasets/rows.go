package datasets

import (
	"strconv"
	"time"

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

func (r DeltaRow) state() (ui.Kind, string) {
	switch {
	case r.Gone:
		return ui.KindNeutral, "Expired"
	case r.Old:
		return ui.KindNeutral, "Of an older lineage"
	case r.Failed != "":
		return ui.KindError, "Failed"
	case r.Making:
		return ui.KindInfo, "Not made yet"
	}
	return ui.KindOK, "Ready"
}

// counted reports whether the contents are counted: not while the file of this reader is missing.
func (r DeltaRow) counted() bool { return !r.Making && r.Failed == "" }

// kindWord names the kind of a publication.
func (r PublicationRow) kindWord() string {
	switch r.Kind {
	case "initial":
		return "Initial state"
	case "delta":
		return "Delta"
	}
	return "Groups"
}

func percent(part, whole int64) int64 {
	if whole <= 0 {
		return 0
	}
	return min(100, 100*part/whole)
}

func percentText(n int64) string { return strconv.FormatInt(n, 10) }

func (c DeliveryCounts) text() string {
	return ui.Count(int(c.Adds)) + " added, " + ui.Count(int(c.Changes)) + " changed, " + ui.Count(int(c.Deletes)) + " deleted"
}

func deltaTable(total int, pager *ui.Pager, empty ui.Empty) ui.TableView {
	return ui.TableView{
		ID: "deltas", Caption: "Deltas", Total: total, Noun: [2]string{"delta", "deltas"}, Pager: pager, Empty: empty,
		Columns: []ui.Column{{Label: "Delta"}, {Label: "Until"}, {Label: "State"}, {Label: "Groups", Numeric: true}, {Label: "Versions"}, {Label: "Size", Numeric: true}, {Label: "Expires"}},
	}
}

func snapshotTable(total int) ui.TableView {
	return ui.TableView{
		ID: "snapshots", Caption: "Snapshots", Total: total, Noun: [2]string{"snapshot", "snapshots"},
		Columns: []ui.Column{{Label: "Snapshot"}, {Label: "State"}, {Label: "Includes"}, {Label: "Versions", Numeric: true}, {Label: "Size", Numeric: true}},
		Empty:   ui.Empty{Text: "There is no snapshot yet. Who begins to follow needs one."},
	}
}

// unlocatedText warns of versions of objects that no follower of an area gets.
func unlocatedText(n int64) string {
	return ui.Plural(int(n), "version of an object was taken in and lies", "versions of objects were taken in and lie") +
		" in no area: followers who chose an area do not get " + map[bool]string{true: "it", false: "them"}[n == 1] + "."
}

func publicationTable(total int, pager *ui.Pager, empty ui.Empty) ui.TableView {
	return ui.TableView{
		ID: "publications", Caption: "What came in", Total: total, Noun: [2]string{"publication", "publications"}, Pager: pager, Empty: empty,
		Columns: []ui.Column{{Label: "Started"}, {Label: "What"}, {Label: "State"}, {Label: "Groups", Numeric: true}, {Label: "Versions"}, {Label: "By"}},
	}
}

func followerTable(total int, empty ui.Empty) ui.TableView {
	return ui.TableView{
		ID: "followers", Caption: "Followers", Total: total, Noun: [2]string{"follower", "followers"}, Empty: empty,
		Columns: []ui.Column{{Label: "Partner"}, {Label: "State"}, {Label: "Gets"}, {Label: "Its copy"}, {Label: "Last fetched"}},
	}
}
