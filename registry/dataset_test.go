package registry

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"schakel/store"
)

// squares takes any text that begins with POLYGON for a boundary.
func squares(given string, crs, target int) (string, error) {
	if !strings.HasPrefix(given, "POLYGON") {
		return "", errors.New("polygon 1, ring 1, vertex 3: this is no point; write x and y")
	}
	return strings.ToUpper(given) + itoa(int64(crs)) + ">" + itoa(int64(target)), nil
}

func buildings() DatasetInput {
	return DatasetInput{
		ID: "buildings", Title: "School buildings", RootPrefix: "sb", RootSpace: "http://www.example.nl/schemas/buildings/1.0", RootLocal: "mutaties",
		Namespaces: map[string]string{"gml": "http://www.opengis.net/gml/3.2"}, ObjectTypes: []string{"School", "Annex"}, CRS: 28992,
		AreaKind: store.AreaGeometry, DeltaSchedule: "*/5 * * * *", SnapshotSchedule: "@daily",
	}
}

func (w *world) dataset(t *testing.T, in DatasetInput) store.Dataset {
	t.Helper()
	row, err := w.Datasets.Create(t.Context(), w.admin, in)
	must(t, err)
	return row
}

func TestDatasetInput(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		for name, tt := range map[string]struct {
			field string
			spoil func(*DatasetInput)
		}{
			"no id":                {"id", func(in *DatasetInput) { in.ID = "" }},
			"capitals":             {"id", func(in *DatasetInput) { in.ID = "Buildings" }},
			"no title":             {"title", func(in *DatasetInput) { in.Title = "" }},
			"no root":              {"rootLocal", func(in *DatasetInput) { in.RootLocal = "a:b" }},
			"no letter of XML":     {"rootLocal", func(in *DatasetInput) { in.RootLocal = "a²" }},
			"type no name":         {"objectTypes", func(in *DatasetInput) { in.ObjectTypes = []string{"ª"} }},
			"space of the format":  {"rootSpace", func(in *DatasetInput) { in.RootSpace = takenSpaces[1] }},
			"space of XML":         {"namespaces", func(in *DatasetInput) { in.Namespaces = map[string]string{"x": takenSpaces[2]} }},
			"prefix of XML":        {"rootPrefix", func(in *DatasetInput) { in.RootPrefix = "xmlns" }},
			"relative namespace":   {"rootSpace", func(in *DatasetInput) { in.RootSpace = "buildings" }},
			"namespace":            {"namespaces", func(in *DatasetInput) { in.Namespaces = map[string]string{"x": "no address"} }},
			"namespace of root":    {"namespaces", func(in *DatasetInput) { in.Namespaces = map[string]string{"sb": "urn:other"} }},
			"no types":             {"objectTypes", func(in *DatasetInput) { in.ObjectTypes = nil }},
			"type twice":           {"objectTypes", func(in *DatasetInput) { in.ObjectTypes = []string{"School", "school"} }},
			"type with a space":    {"objectTypes", func(in *DatasetInput) { in.ObjectTypes = []string{"a<b"} }},
			"coordinate system":    {"crs", func(in *DatasetInput) { in.CRS = 3857 }},
			"geometry without":     {"crs", func(in *DatasetInput) { in.CRS = 0 }},
			"kind of area":         {"areaKind", func(in *DatasetInput) { in.AreaKind = "circle" }},
			"keys without element": {"keyElements", func(in *DatasetInput) { in.AreaKind = store.AreaKeys }},
			"too many in a file":   {"perFile", func(in *DatasetInput) { in.PerFile = 100_001 }},
			"no cron":              {"deltaSchedule", func(in *DatasetInput) { in.DeltaSchedule = "often" }},
			"too often":            {"deltaSchedule", func(in *DatasetInput) { in.DeltaSchedule = "@every 10s" }},
			"snapshots too often":  {"snapshotSchedule", func(in *DatasetInput) { in.SnapshotSchedule = "*/5 * * * *" }},
		} {
			in := buildings()
			tt.spoil(&in)
			_, err := w.Datasets.Create(t.Context(), w.admin, in)
			if f := fieldsOf(err); len(f) != 1 || f[tt.field] == "" {
				t.Errorf("%s: got %v %v", name, err, f)
			}
		}
	})
}

func TestDatasetLife(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		_, actor := w.partner(t, "Noord", goodOIN, "anna@noord.example")
		_, err := w.Datasets.Create(ctx, actor, buildings())
		wantCode(t, "create by a partner", CodeForbidden, err)
		row := w.dataset(t, buildings())
		if row.PerFile != defaultPerFile || row.Lineage == "" || w.lastSentence(t) != "Admin created dataset School buildings." {
			t.Errorf("got %+v, %s", row, w.lastSentence(t))
		}
		if _, err = w.Datasets.Create(ctx, w.admin, buildings()); fieldsOf(err)["id"] == "" {
			t.Errorf("the same id twice: %v", err)
		}
		changed, err := w.Datasets.Update(ctx, w.admin, row.ID, func(in *DatasetInput) { in.Title, in.ID = "Buildings of schools", "other" })
		must(t, err)
		if got, err := w.Datasets.Get(ctx, row.ID); err != nil || got.Title != "Buildings of schools" || changed.ID != row.ID || InputOfDataset(got).Namespaces["gml"] == "" {
			t.Errorf("got %+v, %v", got, err)
		}
		must(t, w.Datasets.AskDelta(ctx, w.admin, row.ID))
		must(t, w.Datasets.AskSnapshot(ctx, w.admin, row.ID))
		if got, _ := w.Datasets.Get(ctx, row.ID); got.DeltaAskedAt.IsZero() || got.SnapshotAskedAt.IsZero() {
			t.Errorf("nothing is asked: %+v", got)
		}
		if delta, snapshot := w.Datasets.Next(row); !delta.After(w.clock.Now()) || !snapshot.After(delta) {
			t.Errorf("next %v and %v", delta, snapshot)
		}
		wantCode(t, "end without a reason", CodeInvalid, w.Datasets.End(ctx, w.admin, row.ID, ""))
		must(t, w.Datasets.End(ctx, w.admin, row.ID, "the source has ended"))
		_, err = w.Datasets.Access(ctx, store.Partner{ID: "ptn_1"}, row.ID, "")
		if wantCode(t, "reading an ended one", CodeForbidden, err); err == nil || !strings.Contains(err.Error(), "has ended") {
			t.Errorf("told %v", err)
		}
		wantCode(t, "delta of an ended one", CodeConflict, w.Datasets.AskDelta(ctx, w.admin, row.ID))
		_, err = w.Datasets.Get(ctx, "other")
		wantCode(t, "unknown", CodeNotFound, err)
		rows, n, err := w.Datasets.List(ctx, store.DatasetFilter{})
		if err != nil || n != 1 || rows[0].Status != store.DatasetEnded {
			t.Errorf("got %+v, %v", rows, err)
		}
	})
}

// A new lineage is told with its reason, and has a snapshot made to begin from.
//
// Rules: MUT-38.
func TestLineageStartsAnew(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		row := w.dataset(t, buildings())
		_, err := w.Datasets.ResetLineage(t.Context(), w.admin, row.ID, "")
		wantCode(t, "without a reason", CodeInvalid, err)
		next, err := w.Datasets.ResetLineage(t.Context(), w.admin, row.ID, "deltas of May were wrong")
		must(t, err)
		if next.Lineage == row.Lineage || next.LineageReason != "deltas of May were wrong" || next.SnapshotAskedAt.IsZero() {
			t.Errorf("got %+v", next)
		}
		if got := w.lastSentence(t); !strings.Contains(got, "every copy begins anew") || !strings.Contains(got, "deltas of May were wrong") {
			t.Errorf("told as %q", got)
		}
	})
}

// What would give old deliveries another meaning is refused.
func TestDatasetKeepsItsMeaning(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		_, actor := w.partner(t, "Noord", goodOIN, "anna@noord.example")
		row := w.dataset(t, buildings())
		_, err := w.Subscriptions.RequestDataset(ctx, actor, DatasetRequest{
			Dataset: row.ID, EndpointID: w.files(t, actor).ID, Purpose: "plan visits", Area: AreaInput{Text: "POLYGON((1 1,2 1,2 2,1 1))"},
		})
		must(t, err)
		_, err = w.Datasets.Update(ctx, w.admin, row.ID, func(in *DatasetInput) {
			in.CRS, in.GeometryElements, in.KeyElements, in.AreaKind = 4326, []string{"geometry"}, []string{"code"}, store.AreaKeys
		})
		if f := fieldsOf(err); len(f) != 4 {
			t.Errorf("got %v", f)
		}
		wrong := problems{}
		in := buildings()
		in.ObjectTypes, in.CRS = []string{"School"}, 0
		row.LastSeq = 5
		in.checkKept(row, 0, wrong)
		if got := slices.Sorted(keysOf(wrong)); !slices.Equal(got, []string{"crs", "objectTypes"}) {
			t.Errorf("of what was published: %v", got)
		}
	})
}
