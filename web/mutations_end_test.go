package web

import (
	"net/http"
	"strings"
	"testing"

	"schakel/delivery/mutation/export"
	"schakel/registry"
	"schakel/store"
)

// Who followed a dataset that ended fetches its last delta, and is told that no other one comes; who did not cannot begin.
//
// Rules: MUT-33, MUT-35.
func TestEndedDataset(t *testing.T) {
	t.Parallel()
	w := newMutationWorld(t)
	first := w.publish(t, 10)
	w.send(t, groupsPath, "application/xml", freshKey(), w.file(t, "delta", w.groups(5))).want(t, 201)
	stranger := w.reader(t, "Gemeente West")
	noError(t, w.reg.Datasets.End(t.Context(), registry.SystemActor(), testDataset, "It moved."))
	var told struct {
		Status string
		Ended  struct {
			At, Reason, LastDeltaID, AvailableUntil string
			Complete                                bool
		}
	}
	w.whole.get(t, under("")).want(t, 200).decode(t, &told)
	if told.Status != "ended" || told.Ended.Complete || told.Ended.LastDeltaID != "" || told.Ended.Reason != "It moved." {
		t.Errorf("before the last delta it tells %+v", told)
	}
	last := w.cut(t)
	w.work(t)
	for _, c := range []*apiClient{w.whole, w.bounded} {
		var list struct{ Deltas []struct{ ID string } }
		c.get(t, under("/deltas?after-delta-id="+w.name(t, c, first))).want(t, 200).decode(t, &list)
		if len(list.Deltas) != 1 || list.Deltas[0].ID != w.name(t, c, last) {
			t.Errorf("listed %+v", list)
		}
		c.get(t, under("/deltas/"+w.name(t, c, last)+"/content")).want(t, 200)
	}
	if w.bounded.get(t, under("")).want(t, 200).decode(t, &told); told.Ended.LastDeltaID != w.name(t, w.bounded, last) {
		t.Errorf("a part ends with %+v", told)
	}
	w.whole.get(t, under("")).want(t, 200).decode(t, &told)
	if !told.Ended.Complete || told.Ended.LastDeltaID != last.ID || told.Ended.AvailableUntil <= told.Ended.At {
		t.Errorf("after the last delta it tells %+v", told)
	}
	for c, want := range map[*apiClient]int{w.whole: 1, stranger: 0} {
		var sets struct{ Datasets []struct{ ID, Status string } }
		if c.get(t, "/mutations/v1/datasets").want(t, 200).decode(t, &sets); len(sets.Datasets) != want {
			t.Errorf("listed are %+v", sets)
		}
	}
	w.send(t, groupsPath, "application/xml", freshKey(), w.file(t, "delta", w.groups(1))).want(t, http.StatusConflict)
	stranger.get(t, under("/deltas")).want(t, http.StatusForbidden)
	body := `{"dataset":"` + testDataset + `","endpointId":"` + w.files(t, stranger).ID + `","purpose":"keep a copy"}`
	if a := stranger.do(t, "POST", "/mutations/v1/subscriptions", body, "Idempotency-Key", freshKey(), "Content-Type", "application/json"); a.status != http.StatusUnprocessableEntity && a.status != http.StatusBadRequest || !strings.Contains(string(a.body), "Choose a dataset that is delivered here") {
		t.Errorf("a subscription to it: %d %s", a.status, a.body)
	}
}

// A follower whose area cannot be read is told so where that matters; it sees the rest, and others get theirs.
//
// Rules: MUT-40.
func TestUnreadableArea(t *testing.T) {
	t.Parallel()
	w := newMutationWorld(t)
	list, err := w.reg.Datasets.Followers(t.Context(), registry.ScopeOf(w.partners[w.bounded].ID), testDataset)
	noError(t, err)
	noError(t, w.db.Write(t.Context(), func(tx *store.Tx) error {
		return tx.SetMutationFollower(t.Context(), list[0].Subscription.ID, "mar_lost", nil)
	}))
	d := w.publish(t, 10)
	_, err = w.exporter.Snapshot(t.Context(), testDataset)
	noError(t, err)
	w.work(t)
	content := under("/deltas/" + d.ID + "/content")
	w.whole.get(t, content).want(t, 200)
	for _, target := range []string{"/mutations/v1/datasets", under(""), under("/deltas"), under("/dataset")} {
		w.bounded.get(t, target).want(t, 200)
	}
	for _, target := range []string{content, under("/snapshots/latest")} {
		a := w.bounded.get(t, target)
		a.problem(t, http.StatusInternalServerError, "download-failed")
		if !strings.Contains(string(a.body), "the area of the subscription cannot be read") {
			t.Errorf("%s says %s", target, a.body)
		}
	}
	w.bounded.do(t, "POST", under("/deltas/custom"), `{"format":"gml","featuretypes":["Pand"],"deltaId":"`+d.ID+`"}`, "Content-Type", "application/json").problem(t, http.StatusConflict, "area-unreadable")
	_, err = w.exporter.MakeDelta(t.Context(), testDataset, export.Options{Empty: true})
	noError(t, err)
}
