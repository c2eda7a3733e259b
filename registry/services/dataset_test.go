package services

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"schakel/registry"
	"schakel/registry/datasets"
	"schakel/registry/partners"
	"schakel/store"
)

// squares takes any text that begins with POLYGON for a boundary.
func squares(given string, crs, target int) (string, error) {
	if !strings.HasPrefix(given, "POLYGON") {
		return "", errors.New("polygon 1, ring 1, vertex 3: this is no point; write x and y")
	}
	return strings.ToUpper(given) + strconv.Itoa(crs) + ">" + strconv.Itoa(target), nil
}

func buildings() datasets.DatasetInput {
	return datasets.DatasetInput{
		ID: "buildings", Title: "School buildings", RootPrefix: "sb", RootSpace: "http://www.example.nl/schemas/buildings/1.0", RootLocal: "mutaties",
		Namespaces: map[string]string{"gml": "http://www.opengis.net/gml/3.2"}, ObjectTypes: []string{"School", "Annex"}, CRS: 28992,
		AreaKind: store.AreaGeometry, DeltaSchedule: "*/5 * * * *", SnapshotSchedule: "@daily",
	}
}

func (w *world) dataset(t *testing.T, in datasets.DatasetInput) store.Dataset {
	t.Helper()
	row, err := w.Datasets.Create(t.Context(), w.admin, in)
	must(t, err)
	return row
}

func TestDatasetInput(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		for name, tt := range map[string]struct {
			field string
			spoil func(*datasets.DatasetInput)
		}{
			"no id":            {"id", func(in *datasets.DatasetInput) { in.ID = "" }},
			"capitals":         {"id", func(in *datasets.DatasetInput) { in.ID = "Buildings" }},
			"no title":         {"title", func(in *datasets.DatasetInput) { in.Title = "" }},
			"no root":          {"rootLocal", func(in *datasets.DatasetInput) { in.RootLocal = "a:b" }},
			"no letter of XML": {"rootLocal", func(in *datasets.DatasetInput) { in.RootLocal = "a²" }},
			"type no name":     {"objectTypes", func(in *datasets.DatasetInput) { in.ObjectTypes = []string{"ª"} }},
			"space of the format": {"rootSpace", func(in *datasets.DatasetInput) {
				in.RootSpace = "http://www.kadaster.nl/schemas/mutatielevering-generiek/2.0"
			}},
			"space of XML": {"namespaces", func(in *datasets.DatasetInput) {
				in.Namespaces = map[string]string{"x": "http://www.w3.org/XML/1998/namespace"}
			}},
			"prefix of XML":        {"rootPrefix", func(in *datasets.DatasetInput) { in.RootPrefix = "xmlns" }},
			"relative namespace":   {"rootSpace", func(in *datasets.DatasetInput) { in.RootSpace = "buildings" }},
			"namespace":            {"namespaces", func(in *datasets.DatasetInput) { in.Namespaces = map[string]string{"x": "no address"} }},
			"namespace of root":    {"namespaces", func(in *datasets.DatasetInput) { in.Namespaces = map[string]string{"sb": "urn:other"} }},
			"no types":             {"objectTypes", func(in *datasets.DatasetInput) { in.ObjectTypes = nil }},
			"type twice":           {"objectTypes", func(in *datasets.DatasetInput) { in.ObjectTypes = []string{"School", "school"} }},
			"type with a space":    {"objectTypes", func(in *datasets.DatasetInput) { in.ObjectTypes = []string{"a<b"} }},
			"coordinate system":    {"crs", func(in *datasets.DatasetInput) { in.CRS = 3857 }},
			"geometry without":     {"crs", func(in *datasets.DatasetInput) { in.CRS = 0 }},
			"kind of area":         {"areaKind", func(in *datasets.DatasetInput) { in.AreaKind = "circle" }},
			"keys without element": {"keyElements", func(in *datasets.DatasetInput) { in.AreaKind = store.AreaKeys }},
			"too many in a file":   {"perFile", func(in *datasets.DatasetInput) { in.PerFile = 100_001 }},
			"no cron":              {"deltaSchedule", func(in *datasets.DatasetInput) { in.DeltaSchedule = "often" }},
			"too often":            {"deltaSchedule", func(in *datasets.DatasetInput) { in.DeltaSchedule = "@every 10s" }},
			"snapshots too often":  {"snapshotSchedule", func(in *datasets.DatasetInput) { in.SnapshotSchedule = "*/5 * * * *" }},
		} {
			in := buildings()
			tt.spoil(&in)
			_, err := w.Datasets.Create(t.Context(), w.admin, in)
			wantOneField(t, name, tt.field, err)
		}
	})
}

func TestDatasetLife(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		_, actor := w.partner(t, "Noord", goodOIN, "anna@noord.example")
		_, err := w.Datasets.Create(ctx, actor, buildings())
		wantCode(t, "create by a partner", registry.CodeForbidden, err)
		row := w.dataset(t, buildings())
		if row.PerFile != 5000 || row.Lineage == "" || w.lastSentence(t) != "Admin created dataset School buildings." {
			t.Errorf("got %+v, %s", row, w.lastSentence(t))
		}
		if _, err = w.Datasets.Create(ctx, w.admin, buildings()); fieldsOf(err)["id"] == "" {
			t.Errorf("the same id twice: %v", err)
		}
		changed, err := w.Datasets.Update(ctx, w.admin, row.ID, func(in *datasets.DatasetInput) { in.Title, in.ID = "Buildings of schools", "other" })
		must(t, err)
		if got, err := w.Datasets.Get(ctx, row.ID); err != nil || got.Title != "Buildings of schools" || changed.ID != row.ID || datasets.InputOfDataset(got).Namespaces["gml"] == "" {
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
		wantCode(t, "end without a reason", registry.CodeInvalid, w.Datasets.End(ctx, w.admin, row.ID, ""))
		must(t, w.Datasets.End(ctx, w.admin, row.ID, "the source has ended"))
		_, err = w.Datasets.Access(ctx, store.Partner{ID: "ptn_1"}, row.ID, "")
		if wantCode(t, "reading an ended one", registry.CodeForbidden, err); err == nil || !strings.Contains(err.Error(), "has ended") {
			t.Errorf("told %v", err)
		}
		wantCode(t, "delta of an ended one", registry.CodeConflict, w.Datasets.AskDelta(ctx, w.admin, row.ID))
		_, err = w.Datasets.Get(ctx, "other")
		wantCode(t, "unknown", registry.CodeNotFound, err)
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
		wantCode(t, "without a reason", registry.CodeInvalid, err)
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
		_, err := w.Subscriptions.RequestDataset(ctx, actor, partners.DatasetRequest{
			Dataset: row.ID, EndpointID: w.files(t, actor).ID, Purpose: "plan visits", Area: partners.AreaInput{Text: "POLYGON((1 1,2 1,2 2,1 1))"},
		})
		must(t, err)
		_, err = w.Datasets.Update(ctx, w.admin, row.ID, func(in *datasets.DatasetInput) {
			in.CRS, in.GeometryElements, in.KeyElements, in.AreaKind = 4326, []string{"geometry"}, []string{"code"}, store.AreaKeys
		})
		if f := fieldsOf(err); len(f) != 4 {
			t.Errorf("got %v", f)
		}
	})
}

// What fails is told once, until it works again.
func TestDatasetFails(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		row := w.dataset(t, buildings())
		before := len(w.mailsTo(t, "admin@example.nl"))
		fail := func() { must(t, w.Datasets.Failed(ctx, row.ID, store.TroubleDelta, "the disk is full.")) }
		told := func(want int) {
			t.Helper()
			if got := len(w.mailsTo(t, "admin@example.nl")) - before; got != want {
				t.Errorf("%d mails, want %d", got, want)
			}
		}
		fail()
		fail()
		told(1)
		if m := w.mailsTo(t, "admin@example.nl")[0]; !strings.Contains(m.Body, "the disk is full.") || !strings.Contains(m.Body, "/admin/datasets/"+row.ID) {
			t.Errorf("told as %q", m.Body)
		}
		troubles, err := w.db.MutationTroubles(ctx, row.ID)
		if err != nil || len(troubles) != 1 || troubles[0].Times != 2 {
			t.Errorf("kept %+v, %v", troubles, err)
		}
		must(t, w.Datasets.Worked(ctx, row.ID, store.TroubleDelta))
		told(1)
		fail()
		told(2)
		wantCode(t, "unknown", registry.CodeNotFound, w.Datasets.Failed(ctx, "other", store.TroubleDelta, "x"))
	})
}

// Who may read a dataset when it ends does so until what was cut is over, 31 days after the last delta; who waits for approval
// is turned down, and all are told.
//
// Rules: MUT-33, MUT-35.
func TestDatasetEnds(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		p, actor, q, stranger := w.twoPartners(t)
		row := w.dataset(t, buildings())
		ask := func(a registry.Actor) store.Subscription {
			sub, err := w.Subscriptions.RequestDataset(ctx, a, partners.DatasetRequest{Dataset: row.ID, EndpointID: w.files(t, a).ID, Purpose: "plan visits"})
			must(t, err)
			return sub
		}
		follows, waits, paused := ask(actor), ask(stranger), ask(actor)
		must(t, w.Subscriptions.Approve(ctx, w.admin, follows.ID))
		must(t, w.Subscriptions.Approve(ctx, w.admin, paused.ID))
		must(t, w.Subscriptions.Pause(ctx, actor, paused.ID, ""))
		must(t, w.Datasets.End(ctx, w.admin, row.ID, "the source has ended"))
		for _, one := range []store.Partner{p, q} {
			if m := w.mailsTo(t, one.ContactEmail)[0]; !strings.Contains(m.Subject, "has ended") || !strings.Contains(m.Body, "the source has ended") {
				t.Errorf("told as %q", m.Body)
			}
		}
		row, err := w.Datasets.Get(ctx, row.ID)
		if must(t, err); row.DeltaAskedAt.IsZero() || row.EndReason != "the source has ended" {
			t.Errorf("its last delta is not asked for: %+v", row)
		}
		_, err = w.Datasets.Access(ctx, p, row.ID, "")
		must(t, err)
		must(t, w.Subscriptions.Unpause(ctx, actor, paused.ID))
		_, err = w.Datasets.Access(ctx, p, row.ID, paused.ID)
		must(t, err)
		_, err = w.Datasets.Access(ctx, q, row.ID, "")
		wantCode(t, "who was not approved", registry.CodeForbidden, err)
		wantCode(t, "approve after the end", registry.CodeConflict, w.Subscriptions.Approve(ctx, w.admin, waits.ID))
		_, err = w.Subscriptions.ChangeArea(ctx, actor, follows.ID, partners.AreaChange{Area: partners.AreaInput{Text: square}})
		wantCode(t, "another area", registry.CodeConflict, err)

		over := func(want int) {
			t.Helper()
			if n, err := w.Datasets.EndFollowing(ctx, w.clock.Now().Add(-31*24*time.Hour)); err != nil || n != want {
				t.Errorf("%d datasets are over, %v; want %d", n, err, want)
			}
		}
		w.clock.Advance(24 * time.Hour)
		last := store.MutationDelta{
			ID: "d1", DatasetID: row.ID, Number: 1, Lineage: row.Lineage, FromAt: row.LineageAt, ToAt: store.At(w.clock.Now()), Manifest: "{}", FileID: "f",
		}
		must(t, w.db.Write(ctx, func(tx *store.Tx) error { return tx.InsertMutationDelta(ctx, &last) }))
		w.clock.Advance(31 * 24 * time.Hour)
		over(0)
		_, err = w.Datasets.Access(ctx, p, row.ID, "")
		must(t, err)
		w.clock.Advance(time.Second)
		over(1)
		over(0)
		for _, named := range []string{"", follows.ID} {
			_, err = w.Datasets.Access(ctx, p, row.ID, named)
			if wantCode(t, "after all is over", registry.CodeForbidden, err); err == nil || !strings.Contains(err.Error(), "has ended") {
				t.Errorf("by %q told %v", named, err)
			}
		}
		_, err = w.Datasets.Access(ctx, q, row.ID, follows.ID)
		wantCode(t, "what was another's", registry.CodeNotFound, err)
	})
}

// However many subscriptions there were, those that are open count: who follows is told that it ends, and an area keeps what
// decides what is in it.
func TestDatasetOfManyFollowers(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		p, actor := w.partner(t, "Noord", goodOIN, "anna@noord.example")
		row := w.dataset(t, buildings())
		asked := partners.DatasetRequest{Dataset: row.ID, EndpointID: w.files(t, actor).ID, Purpose: "plan visits", Area: partners.AreaInput{Text: square}}
		first, err := w.Subscriptions.RequestDataset(ctx, actor, asked)
		must(t, err)
		w.clock.Advance(time.Second)
		must(t, w.db.Write(ctx, func(tx *store.Tx) error {
			for range 1000 {
				sub := first
				sub.ID, sub.Status = "", store.SubscriptionEnded
				if err := tx.InsertSubscription(ctx, &sub); err != nil {
					return err
				}
			}
			return nil
		}))
		if list, err := w.Datasets.Followers(ctx, registry.ScopeOf(p.ID), row.ID); err != nil || len(list) != 1 {
			t.Errorf("%d follow: %v", len(list), err)
		}
		_, err = w.Datasets.Update(ctx, w.admin, row.ID, func(in *datasets.DatasetInput) { in.GeometryElements = []string{"geometry"} })
		if f := fieldsOf(err); len(f) != 1 {
			t.Errorf("what decides about areas changed: %v", err)
		}
		_, err = w.Subscriptions.RequestDataset(ctx, actor, asked)
		if f := fieldsOf(err); f["dataset"] == "" {
			t.Errorf("a second subscription at an endpoint: %v", err)
		}
		must(t, w.Datasets.End(ctx, w.admin, row.ID, "the source has ended"))
		if sub, err := w.Subscriptions.Get(ctx, registry.ScopeOf(p.ID), first.ID); err != nil || sub.Status != store.SubscriptionEnded {
			t.Errorf("the request is %s: %v", sub.Status, err)
		}
		if m := w.mailsTo(t, p.ContactEmail)[0]; !strings.Contains(m.Subject, "has ended") {
			t.Errorf("told %q", m.Subject)
		}
	})
}
