package web

import (
	"net/http"
	"testing"
	"time"

	"schakel/delivery/mutation/export"
	"schakel/registry"
)

// What is another partner's is not there, by whatever address it is asked for, also for who follows the same dataset and for one
// with two subscriptions; and a client that was revoked gets nothing with the token it has.
//
// Rules: MUT-40, MUT-41, MUT-52.
func TestGuessedMutationAddresses(t *testing.T) {
	t.Parallel()
	w := newMutationWorld(t)
	d := w.publish(t, 30)
	_, err := w.exporter.Snapshot(t.Context(), testDataset)
	noError(t, err)
	theirs, err := w.reg.Datasets.Followers(t.Context(), registry.ScopeOf(w.partners[w.bounded].ID), testDataset)
	noError(t, err)
	sub, area := theirs[0].Subscription.ID, theirs[0].Follower.AreaID
	name := w.name(t, w.bounded, d)
	var asked struct{ DownloadRequestID string }
	w.bounded.do(t, "POST", under("/deltas/custom"), `{"format":"gml","featuretypes":["`+w.types(t)+`"],"deltaId":"`+name+`"}`, "Content-Type", "application/json").want(t, 202).decode(t, &asked)
	w.bounded.get(t, under("/snapshots/latest")).problem(t, http.StatusServiceUnavailable, "not-ready")
	w.work(t)
	id := asked.DownloadRequestID
	own := map[string]string{
		under("/areas/" + area): "GET", under("/deltas/custom/" + id + "/status"): "GET", under("/delta/custom/" + id + "/status"): "GET", under("/full/custom/" + id + "/status"): "GET",
		under("/downloads/" + id): "GET", under("/downloads/" + id + "/content"): "GET", "/mutations/v1/subscriptions/" + sub: "GET",
		under("?subscriptionId=" + sub): "GET", under("/deltas?subscriptionId=" + sub): "GET", under("/deltas/" + name + "/content?subscriptionId=" + sub): "GET", under("/snapshots/latest?subscriptionId=" + sub): "GET",
		under("/delta/predefined/" + testDataset + "-gml-nl.zip?delta-id=" + name + "&subscriptionId=" + sub): "GET",
	}
	for target, method := range own {
		if a := w.bounded.do(t, method, target, ""); a.status >= 400 {
			t.Errorf("%s of its own: %d %s", target, a.status, a.body)
		}
		if a := w.whole.do(t, method, target, ""); a.status != http.StatusNotFound {
			t.Errorf("%s of another: %d %s", target, a.status, a.body)
		}
	}
	w.whole.do(t, "DELETE", "/mutations/v1/subscriptions/"+sub, "", "Idempotency-Key", freshKey()).want(t, http.StatusNotFound)
	w.whole.do(t, "PUT", "/mutations/v1/subscriptions/"+sub+"/area", `{}`, "Idempotency-Key", freshKey(), "Content-Type", "application/json").want(t, http.StatusNotFound)

	noError(t, w.reg.Partners.Suspend(t.Context(), registry.SystemActor(), w.partners[w.bounded].ID, "because"))
	w.clock.Advance(time.Minute) // tokens are looked at again every few seconds
	for target, method := range own {
		if a := w.bounded.do(t, method, target, ""); a.status != http.StatusUnauthorized {
			t.Errorf("%s of a partner that is suspended: %d %s", target, a.status, a.body)
		}
	}
	_, err = w.exporter.MakeDelta(t.Context(), testDataset, export.Options{Empty: true})
	noError(t, err)
}

// types is one object type of the dataset.
func (w *mutationWorld) types(t *testing.T) string {
	t.Helper()
	set, err := w.db.Dataset(t.Context(), testDataset)
	noError(t, err)
	return set.ObjectTypes[0]
}
