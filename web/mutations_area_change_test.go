package web

import (
	"net/http"
	"strings"
	"testing"

	"schakel/delivery/mutation/historytest"
	"schakel/registry"
	"schakel/store"
)

// pdokFollower is a client that knows deltas by the ids in answers and files alone.
type pdokFollower struct {
	*apiClient
	world *mutationWorld
}

type listedDelta struct {
	ID         string `json:"id"`
	PreviousID string `json:"previousId"`
}

// initial fetches the newest initial state, and gives the id of the delta that it says it is.
func (f pdokFollower) initial(t *testing.T) string {
	t.Helper()
	moved := f.get(t, under("/delta/predefined/bgt-gml-nl.zip")).want(t, http.StatusTemporaryRedirect).header.Get("Location")
	if answer := f.get(t, moved); answer.status != http.StatusOK {
		f.world.work(t) // it is made when it is asked for
	}
	head, _ := readDelivery(t, f.get(t, moved).want(t, http.StatusOK).body)
	return head.DeliveryID
}

// after lists the deltas behind one, as PDOK's API names that.
func (f pdokFollower) after(t *testing.T, id string) []listedDelta {
	t.Helper()
	var got struct{ Deltas []listedDelta }
	f.get(t, under("/delta?after-delta-id="+id)).want(t, http.StatusOK).decode(t, &got)
	return got.Deltas
}

// follow goes on behind a delta until there is no other, and gives the last one.
func (f pdokFollower) follow(t *testing.T, id string) string {
	t.Helper()
	for _, d := range f.after(t, id) {
		if d.PreviousID != id {
			t.Fatalf("behind %s comes %+v", id, d)
		}
		f.world.work(t)
		moved := f.get(t, under("/delta/predefined/bgt-gml-nl.zip?delta-id="+d.ID)).want(t, http.StatusTemporaryRedirect).header.Get("Location")
		if head, _ := readDelivery(t, f.get(t, moved).want(t, http.StatusOK).body); head.DeliveryID != d.ID {
			t.Fatalf("delta %s calls itself %s", d.ID, head.DeliveryID)
		}
		id = d.ID
	}
	return id
}

// After a change of area a client that knows no lineages is told to begin again, whichever delta it asks for next: it never gets
// those of the new area as if they came behind those of the old one. Until the change is approved it goes on with the old area.
//
// Rules: MUT-34, MUT-35, MUT-38, MUT-49.
func TestAreaChangeIsSeen(t *testing.T) {
	t.Parallel()
	other := "POLYGON((155000 463000,156000 463000,156000 464000,155000 463000))"
	for name, tt := range map[string]struct{ from, to string }{
		"another area": {"ring", other}, "less": {"", other}, "everything": {"ring", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newMutationWorld(t)
			f := pdokFollower{w.reader(t, "Gemeente West"), w}
			area := tt.from
			if area != "" {
				area = w.ring.WKT()
			}
			made := f.postJSON(t, subscriptionsPath, `{"dataset":"bgt","endpointId":"`+w.files(t, f.apiClient).ID+`","purpose":"keep a copy","area":{"text":"`+area+`"}}`).want(t, 201)
			id, _ := made.member(t, "id").(string)
			noError(t, w.reg.Subscriptions.Approve(t.Context(), registry.SystemActor(), id))
			w.publish(t, 5)
			_, err := w.exporter.Snapshot(t.Context(), testDataset)
			noError(t, err)
			first := f.initial(t)
			w.publish(t, 5)
			last := f.follow(t, first)

			asked := f.do(t, http.MethodPut, made.header.Get("Location")+"/area", `{"text":"`+tt.to+`"}`, "Content-Type", "application/json").want(t, 200)
			if asked.member(t, "status") != store.SubscriptionRequested || asked.member(t, "reads") == nil {
				t.Errorf("a change that waits: %s", asked.body)
			}
			w.publish(t, 5)
			waiting := f.follow(t, last)
			if waiting == last {
				t.Fatal("nothing came while the change waited")
			}
			if fetched := f.get(t, made.header.Get("Location")).want(t, 200); !strings.Contains(string(fetched.body), `"deltaId":"`+waiting+`"`) {
				t.Errorf("fetched %s, told: %s", waiting, fetched.body)
			}
			noError(t, w.reg.Subscriptions.Approve(t.Context(), registry.SystemActor(), id))
			for range 2 {
				for _, old := range []string{first, last, waiting} {
					f.get(t, under("/delta?after-delta-id="+old)).problem(t, http.StatusGone, "lineage-changed")
					f.get(t, under("/deltas/"+old+"/content")).problem(t, http.StatusGone, "lineage-changed")
					f.get(t, under("/delta/predefined/bgt-gml-nl.zip?delta-id="+old)).problem(t, http.StatusGone, "lineage-changed")
					body := `{"format":"gml","featuretypes":["` + historytest.Types()[0] + `"],"deltaId":"` + old + `"}`
					f.postJSON(t, under("/delta/custom"), body).problem(t, http.StatusGone, "lineage-changed")
				}
				_, err = w.exporter.Snapshot(t.Context(), testDataset) // of the last delta of the old area, and later behind that
				noError(t, err)
				last := f.follow(t, f.initial(t))
				w.publish(t, 5)
				if now := f.follow(t, last); now == last {
					t.Error("nothing came of the new area")
				}
			}
			f.get(t, under("/delta?after-delta-id=09bf3690-e0a1-43cc-8550-f689936d374d")).problem(t, http.StatusNotFound, "delta-unknown")
		})
	}
}

// A change that is rejected, or taken back, leaves the subscription as it was, also for a client in the middle of it.
//
// Rules: MUT-38, MUT-49.
func TestAreaChangeComesToNothing(t *testing.T) {
	t.Parallel()
	w := newMutationWorld(t)
	f := pdokFollower{w.reader(t, "Gemeente West"), w}
	ring := `{"text":"` + w.ring.WKT() + `"}`
	made := f.postJSON(t, subscriptionsPath, `{"dataset":"bgt","endpointId":"`+w.files(t, f.apiClient).ID+`","purpose":"keep a copy","area":`+ring+`}`).want(t, 201)
	id, _ := made.member(t, "id").(string)
	noError(t, w.reg.Subscriptions.Approve(t.Context(), registry.SystemActor(), id))
	w.publish(t, 5)
	_, err := w.exporter.Snapshot(t.Context(), testDataset)
	noError(t, err)
	at := f.initial(t)
	put := func(area string) apiAnswer {
		t.Helper()
		return f.do(t, http.MethodPut, made.header.Get("Location")+"/area", area, "Content-Type", "application/json").want(t, 200)
	}
	for name, undo := range map[string]func(){
		"rejected": func() {
			noError(t, w.reg.Subscriptions.Reject(t.Context(), registry.SystemActor(), id, "not yours"))
			if why, _ := f.get(t, made.header.Get("Location")).want(t, 200).member(t, "statusReason").(string); !strings.Contains(why, "not yours") {
				t.Errorf("the partner is told %q", why)
			}
		},
		"taken back": func() { put(ring) },
	} {
		put(`{"text":"POLYGON((155000 463000,156000 463000,156000 464000,155000 463000))"}`)
		put(`{"text":"POLYGON((155000 463000,157000 463000,156000 464000,155000 463000))"}`)
		w.publish(t, 5)
		at = f.follow(t, at)
		undo()
		sub := f.get(t, made.header.Get("Location")).want(t, 200)
		if sub.member(t, "status") != store.SubscriptionApproved || strings.Contains(string(sub.body), `"reads"`) {
			t.Errorf("%s: %s", name, sub.body)
		}
		w.publish(t, 5)
		if now := f.follow(t, at); now == at {
			t.Errorf("%s: nothing comes", name)
		} else {
			at = now
		}
	}
}
