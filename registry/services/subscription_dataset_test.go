package services

import (
	"slices"
	"strings"
	"testing"

	"schakel/registry"
	"schakel/registry/datasets"
	"schakel/registry/partners"
	"schakel/store"
)

// files makes an endpoint of kind files, which has no address.
func (w *world) files(t *testing.T, actor registry.Actor) store.Endpoint {
	t.Helper()
	e, err := w.Endpoints.Create(t.Context(), actor, "", partners.EndpointInput{Name: "Files", Kind: store.EndpointFiles})
	must(t, err)
	return e
}

const square = "POLYGON((1 1,2 1,2 2,1 1))"

// Rules: MUT-40.
func TestDatasetRequest(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		p, actor, _, stranger := w.twoPartners(t)
		w.catalogue(t)
		w.dataset(t, buildings())
		schools := buildings()
		schools.ID, schools.AreaKind, schools.CRS, schools.KeyElements = "schools", store.AreaKeys, 0, []string{"code"}
		w.dataset(t, schools)
		e, events, theirs := w.files(t, actor), w.endpoint(t, actor), w.files(t, stranger)
		good := partners.DatasetRequest{Dataset: "buildings", EndpointID: e.ID, Purpose: "plan visits", ObjectTypes: []string{"school"}, Area: partners.AreaInput{Name: "North", Text: square, CRS: 4326}}
		for name, tt := range map[string]struct {
			field string
			spoil func(*partners.DatasetRequest)
		}{
			"unknown dataset":   {"dataset", func(r *partners.DatasetRequest) { r.Dataset = "x" }},
			"no purpose":        {"purpose", func(r *partners.DatasetRequest) { r.Purpose = "" }},
			"no endpoint":       {"endpoint", func(r *partners.DatasetRequest) { r.EndpointID = "" }},
			"for events":        {"endpoint", func(r *partners.DatasetRequest) { r.EndpointID = events.ID }},
			"another's":         {"endpoint", func(r *partners.DatasetRequest) { r.EndpointID = theirs.ID }},
			"object type":       {"objectTypes", func(r *partners.DatasetRequest) { r.ObjectTypes = []string{"Bridge"} }},
			"no polygon":        {"area", func(r *partners.DatasetRequest) { r.Area.Text = "CIRCLE" }},
			"coordinate system": {"areaCrs", func(r *partners.DatasetRequest) { r.Area.CRS = 3857 }},
			"keys for geometry": {"keys", func(r *partners.DatasetRequest) { r.Area = partners.AreaInput{Keys: []string{"01AB"}} }},
			"polygon for keys":  {"area", func(r *partners.DatasetRequest) { r.Dataset = "schools" }},
			"a key too long": {"keys", func(r *partners.DatasetRequest) {
				r.Dataset, r.Area = "schools", partners.AreaInput{Keys: []string{strings.Repeat("x", 201)}}
			}},
			"a name of two lines": {"areaName", func(r *partners.DatasetRequest) { r.Area.Name = "a\nb" }},
		} {
			in := good
			tt.spoil(&in)
			_, err := w.Subscriptions.RequestDataset(ctx, actor, in)
			wantOneField(t, name, tt.field, err)
		}
		sub, err := w.Subscriptions.RequestDataset(ctx, actor, good)
		must(t, err)
		if sub.Status != store.SubscriptionRequested || sub.PartnerID != p.ID || len(sub.Types) != 0 {
			t.Errorf("got %+v", sub)
		}
		if m := w.mailsTo(t, "admin@example.nl")[0]; !strings.Contains(m.Body, "dataset buildings") || strings.Contains(m.Body, "event types") {
			t.Errorf("administrators read %q", m.Body)
		}
		if _, err = w.Subscriptions.RequestDataset(ctx, actor, good); fieldsOf(err)["dataset"] == "" {
			t.Errorf("twice at one endpoint: %v", err)
		}
		g, err := w.Subscriptions.Grant(ctx, w.admin.Scope(), sub.ID)
		must(t, err)
		if g.Dataset == nil || g.Dataset.Area == nil || g.Dataset.Area.WKT == "" || g.Dataset.Area.Given != square || !slices.Equal(g.Dataset.Follower.ObjectTypes, []string{"School"}) {
			t.Errorf("the grant shows %+v", g.Dataset)
		}
		must(t, w.Subscriptions.Approve(ctx, w.admin, sub.ID))
		if got, want := w.lastSentence(t), "Admin approved the subscription of Scholengroep Noord to dataset buildings at endpoint Files."; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		keyed, err := w.Subscriptions.RequestDataset(ctx, actor, partners.DatasetRequest{Dataset: "schools", EndpointID: e.ID, Purpose: "our schools", Area: partners.AreaInput{Keys: []string{" 02CD", "01AB", "02CD"}}})
		must(t, err)
		if g, err = w.Subscriptions.Grant(ctx, actor.Scope(), keyed.ID); err != nil || !slices.Equal(g.Dataset.Area.Keys, []string{"01AB", "02CD"}) {
			t.Errorf("keys %+v, %v", g.Dataset, err)
		}
		_, err = w.Subscriptions.Request(ctx, actor, partners.SubscriptionRequest{EndpointID: e.ID, Types: []string{enrolled}, Purpose: "keep our records right"})
		wantField(t, "endpoint", err) // events at an endpoint of kind files
		filters := `[{"exact":{"subject":"1"}}]`
		wantCode(t, "filters", registry.CodeConflict, w.Subscriptions.Change(ctx, actor, sub.ID, partners.SubscriptionChange{Filters: &filters}))
	})
}

// Who may read: a partner with an approved subscription, and the own organisation.
//
// Rules: MUT-40, MUT-41, MUT-49.
func TestDatasetAccessAndAreas(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		p, actor, other, eve := w.twoPartners(t)
		w.dataset(t, buildings())
		access := func() (datasets.DatasetAccess, error) { return w.Datasets.Access(ctx, p, "buildings", "") }
		_, err := access()
		wantCode(t, "without a subscription", registry.CodeForbidden, err)
		sub, err := w.Subscriptions.RequestDataset(ctx, actor, partners.DatasetRequest{Dataset: "buildings", EndpointID: w.files(t, actor).ID, Purpose: "plan visits", Area: partners.AreaInput{Text: square}})
		must(t, err)
		_, err = access()
		wantCode(t, "requested", registry.CodeForbidden, err)
		must(t, w.Subscriptions.Approve(ctx, w.admin, sub.ID))
		got, err := access()
		must(t, err)
		area := got.Follower.Area
		if got.Own || area == nil || got.Follower.Subscription.ID != sub.ID {
			t.Fatalf("got %+v", got)
		}
		must(t, w.Subscriptions.Pause(ctx, actor, sub.ID, ""))
		_, err = access()
		wantCode(t, "paused", registry.CodeForbidden, err)
		must(t, w.Subscriptions.Unpause(ctx, actor, sub.ID))
		for _, reason := range []string{"the bill is not paid", "The bill is not paid."} {
			must(t, w.Subscriptions.Suspend(ctx, w.admin, sub.ID, reason))
			if _, err = access(); err == nil || !strings.Contains(err.Error(), "is suspended. The reason: "+strings.TrimSuffix(reason, ".")+". Ask the") {
				t.Errorf("suspended: %v", err)
			}
			must(t, w.Subscriptions.Resume(ctx, w.admin, sub.ID))
		}
		_, err = w.Datasets.Area(ctx, eve.Scope(), "buildings", area.ID)
		wantCode(t, "another's area", registry.CodeNotFound, err)
		_, err = w.Datasets.Access(ctx, other, "buildings", sub.ID)
		wantCode(t, "another's subscription", registry.CodeNotFound, err)
		if own, err := w.Datasets.Access(ctx, w.own, "buildings", ""); err != nil || !own.Own || own.Follower != nil {
			t.Errorf("own organisation: %+v, %v", own, err)
		}
		if list, err := w.Datasets.Followers(ctx, eve.Scope(), "buildings"); err != nil || len(list) != 0 {
			t.Errorf("another sees followers %+v, %v", list, err)
		}

		same, err := w.Subscriptions.ChangeArea(ctx, actor, sub.ID, partners.AreaChange{Area: partners.AreaInput{Text: square}})
		if err != nil || same.Status != store.SubscriptionApproved {
			t.Errorf("the same area: %+v, %v", same, err)
		}
		changed, err := w.Subscriptions.ChangeArea(ctx, actor, sub.ID, partners.AreaChange{Area: partners.AreaInput{Text: "POLYGON((5 5,6 5,6 6,5 5))"}})
		if err != nil || changed.Status != store.SubscriptionRequested {
			t.Errorf("a partner's change: %+v, %v", changed, err)
		}
		if m := w.mailsTo(t, "admin@example.nl")[0]; !strings.Contains(m.Subject, "another area") || !strings.Contains(m.Body, "dataset buildings") {
			t.Errorf("administrators read %q: %q", m.Subject, m.Body)
		}
		if s := w.lastSentence(t); !strings.Contains(s, "changed the area or object types") {
			t.Errorf("told as %q", s)
		}
		readsOld := func(when string) {
			t.Helper()
			got, err := access()
			if err != nil || got.Follower.Follower.Reading().AreaID != area.ID || got.Follower.Area.ID == area.ID {
				t.Errorf("%s: %+v, %v", when, got.Follower, err)
			}
		}
		readsOld("a changed area waits")
		shown, err := w.Subscriptions.Grant(ctx, w.admin.Scope(), sub.ID)
		must(t, err)
		_, err = w.Subscriptions.ChangeArea(ctx, actor, sub.ID, partners.AreaChange{})
		must(t, err)
		wantCode(t, "another area than was shown", registry.CodeConflict, w.Subscriptions.ApproveSeen(ctx, w.admin, sub.ID, shown.Seen()))
		if got, err := access(); err != nil || got.Follower.Follower.Reading().AreaID != area.ID || got.Follower.Area != nil {
			t.Errorf("what nobody saw: %+v, %v", got.Follower, err)
		}
		_, err = w.Subscriptions.ChangeArea(ctx, actor, sub.ID, partners.AreaChange{Area: partners.AreaInput{Text: "POLYGON((5 5,6 5,6 6,5 5))"}})
		must(t, err)
		shown, err = w.Subscriptions.Grant(ctx, w.admin.Scope(), sub.ID)
		must(t, err)
		must(t, w.Subscriptions.ApproveSeen(ctx, w.admin, sub.ID, shown.Seen()))
		after, err := access()
		if err != nil || after.Follower.Area.ID == area.ID || after.Follower.Area.WKT == area.WKT {
			t.Errorf("got %+v, %v", after, err)
		}
		if old, err := w.Datasets.Area(ctx, actor.Scope(), "buildings", area.ID); err != nil || old.WKT != area.WKT {
			t.Errorf("the old area is %+v, %v", old, err)
		}
		wider, err := w.Subscriptions.ChangeArea(ctx, w.admin, sub.ID, partners.AreaChange{})
		if err != nil || wider.Status != store.SubscriptionApproved {
			t.Errorf("an administrator's change: %+v, %v", wider, err)
		}
		must(t, w.Datasets.End(ctx, w.admin, "buildings", "the source has ended"))
		if row, _ := w.db.Subscription(ctx, sub.ID); row.Status != store.SubscriptionApproved {
			t.Errorf("the subscription of a dataset that ended just now is %s", row.Status)
		}
	})
}
