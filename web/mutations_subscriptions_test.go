package web

import (
	"net/http"
	"strings"
	"testing"

	"schakel/delivery/mutation/export"
	"schakel/delivery/mutation/historytest"
	"schakel/registry"
	"schakel/registry/identity"
	"schakel/registry/partners"
	"schakel/store"
	webdatasets "schakel/web/datasets"
	"schakel/web/site"
)

const subscriptionsPath = "/mutations/v1/subscriptions"

// A partner asks for a dataset, reads it once that is approved, and changes its area: that waits for approval again, and
// has another lineage.
//
// Rules: MUT-40, MUT-41, MUT-49.
func TestDatasetSubscriptionByAPI(t *testing.T) {
	t.Parallel()
	w := newMutationWorld(t)
	w.publish(t, 5)
	c := w.reader(t, "Gemeente West")
	body := `{"dataset":"bgt","endpointId":"` + w.files(t, c).ID + `","purpose":"keep a copy","objectTypes":["` + strings.ToLower(historytest.Types()[0]) + `"],` +
		`"area":{"name":"Ring","text":"` + w.ring.WKT() + `"}}`
	key := freshKey()
	made := c.do(t, "POST", subscriptionsPath, body, "Content-Type", "application/json", "Idempotency-Key", key).want(t, 201)
	again := c.do(t, "POST", subscriptionsPath, body, "Content-Type", "application/json", "Idempotency-Key", key).want(t, 201)
	sub := decoded[webdatasets.DatasetSubscriptionAnswer](t, made)
	if string(again.body) != string(made.body) || sub.Status != store.SubscriptionRequested || sub.AreaID == "" || len(sub.ObjectTypes) != 1 {
		t.Fatalf("%s\n%s", made.body, again.body)
	}
	here := made.header.Get("Location")
	c.get(t, under("/deltas")).problem(t, http.StatusForbidden, "forbidden")
	noError(t, w.reg.Subscriptions.Approve(t.Context(), registry.SystemActor(), sub.ID))
	c.get(t, under("/deltas")).want(t, 200)
	lineage := func() string {
		t.Helper()
		text, _ := c.get(t, under("")).want(t, 200).member(t, "lineage").(string)
		return text
	}
	before := lineage()

	put := func(area string) apiAnswer {
		t.Helper()
		return c.do(t, http.MethodPut, here+"/area", area, "Content-Type", "application/json")
	}
	p := put(`{"text":"POLYGON((155000 463000,156000 464000,156000 463000,155000 464000,155000 463000))"}`).problem(t, 400, "invalid")
	if len(p.Errors) != 1 || p.Errors[0].Pointer != "/text" {
		t.Errorf("%+v", p.Errors)
	}
	changed := decoded[webdatasets.DatasetSubscriptionAnswer](t, put(`{"text":"POLYGON((155000 463000,156000 463000,156000 464000,155000 463000))"}`).want(t, 200))
	if changed.Status != store.SubscriptionRequested || changed.AreaID == sub.AreaID || len(changed.ObjectTypes) != 0 {
		t.Errorf("%+v", changed)
	}
	if now := lineage(); now != before {
		t.Errorf("while the change waits, the lineage is %s and not %s", now, before)
	}
	noError(t, w.reg.Subscriptions.Approve(t.Context(), registry.SystemActor(), sub.ID))
	if after := lineage(); after == before || after == "" {
		t.Errorf("the lineage was %s and is %s", before, after)
	}

	var listed struct {
		Subscriptions []webdatasets.DatasetSubscriptionAnswer
	}
	c.get(t, subscriptionsPath).want(t, 200).decode(t, &listed)
	if len(listed.Subscriptions) != 1 || listed.Subscriptions[0].ID != sub.ID {
		t.Errorf("listed %+v", listed)
	}
	w.whole.get(t, here).problem(t, 404, "not-found")
	w.whole.do(t, http.MethodDelete, here, "").problem(t, 404, "not-found")
	for range 2 {
		c.do(t, http.MethodDelete, here, "").want(t, http.StatusNoContent)
	}
	if now := c.get(t, here).want(t, 200).member(t, "status"); now != store.SubscriptionEnded {
		t.Errorf("it is %s", now)
	}
}

// The fields of a refusal have the names of the request.
func TestDatasetSubscriptionInput(t *testing.T) {
	t.Parallel()
	w := newMutationWorld(t)
	c := w.reader(t, "Gemeente West")
	files := w.files(t, c).ID
	webhook := w.newEndpoint(t, w.partners[c].ID).ID
	for name, tt := range map[string]struct{ body, pointer string }{
		"dataset":  {`{"dataset":"x","endpointId":"` + files + `","purpose":"keep"}`, "/dataset"},
		"endpoint": {`{"dataset":"bgt","endpointId":"` + webhook + `","purpose":"keep"}`, "/endpointId"},
		"purpose":  {`{"dataset":"bgt","endpointId":"` + files + `"}`, "/purpose"},
		"types":    {`{"dataset":"bgt","endpointId":"` + files + `","purpose":"keep","objectTypes":["x"]}`, "/objectTypes"},
		"area":     {`{"dataset":"bgt","endpointId":"` + files + `","purpose":"keep","area":{"text":"CIRCLE(1)"}}`, "/area/text"},
		"crs":      {`{"dataset":"bgt","endpointId":"` + files + `","purpose":"keep","area":{"text":"POLYGON((0 0,1 0,1 1,0 0))","crs":3857}}`, "/area/crs"},
		"keys":     {`{"dataset":"bgt","endpointId":"` + files + `","purpose":"keep","area":{"keys":["0307"]}}`, "/area/keys"},
	} {
		p := c.postJSON(t, subscriptionsPath, tt.body).problem(t, 400, "invalid")
		if len(p.Errors) != 1 || p.Errors[0].Pointer != tt.pointer {
			t.Errorf("%s: %+v", name, p.Errors)
		}
	}
}

// Subscriptions to datasets are of this API alone, and those to event types of the other.
func TestSubscriptionsStayApart(t *testing.T) {
	t.Parallel()
	w := newMutationWorld(t)
	w.withCatalogue(t)
	p := w.newPartner(t, "Gemeente West")
	c := w.newClient(t, p.ID, identity.NewClient{Scopes: []string{site.ScopeMutationsRead, site.ScopeSubscriptionsWrite}})
	w.partners[c] = p
	events := w.approvedSubscription(t, p.ID)
	files := w.files(t, c)
	made := c.postJSON(t, subscriptionsPath, `{"dataset":"bgt","endpointId":"`+files.ID+`","purpose":"keep a copy"}`).want(t, 201)
	id := made.member(t, "id").(string)
	for _, list := range []string{"/events/v1/subscriptions", subscriptionsPath} {
		listed := decoded[struct{ Subscriptions []struct{ ID string } }](t, c.get(t, list).want(t, 200))
		if len(listed.Subscriptions) != 1 || (listed.Subscriptions[0].ID == id) != (list == subscriptionsPath) {
			t.Errorf("%s lists %+v", list, listed)
		}
	}
	c.get(t, subscriptionsPath+"/"+events.ID).problem(t, 404, "not-found")
	there := c.get(t, "/events/v1/subscriptions/"+id).problem(t, 404, "not-found")
	if !strings.Contains(string(there.Detail), subscriptionsPath+"/"+id) {
		t.Error(there.Detail)
	}
	c.do(t, http.MethodPatch, "/events/v1/subscriptions/"+id, `{"status":"paused"}`, "Content-Type", "application/json").problem(t, 404, "not-found")
	refused := c.postJSON(t, "/events/v1/subscriptions", `{"endpointId":"`+files.ID+`","types":["nl.example.student.enrolled"],"purpose":"know"}`).problem(t, 400, "invalid")
	if len(refused.Errors) != 1 || refused.Errors[0].Pointer != "/endpointId" {
		t.Errorf("%+v", refused.Errors)
	}
}

// A partner with two subscriptions reads by the one it names.
func TestOneOfSeveralSubscriptions(t *testing.T) {
	t.Parallel()
	w := newMutationWorld(t)
	d := w.publish(t, 40)
	c := w.whole
	sub := must(w.reg.Subscriptions.RequestDataset(t.Context(), registry.SystemActor(), partners.DatasetRequest{
		Dataset: testDataset, EndpointID: w.files(t, c).ID, Purpose: "a part of it", ObjectTypes: historytest.Types()[:1],
	}))(t)
	noError(t, w.reg.Subscriptions.Approve(t.Context(), registry.SystemActor(), sub.ID))
	part := "?subscriptionId=" + sub.ID
	named := decoded[struct{ Deltas []struct{ ID string } }](t, c.get(t, under("/deltas"+part)).want(t, 200))
	name := named.Deltas[0].ID
	c.get(t, under("/deltas/"+name+part)).problem(t, http.StatusServiceUnavailable, "not-ready")
	w.work(t)
	all, some := c.get(t, under("/deltas/"+d.ID)).want(t, 200), c.get(t, under("/deltas/"+name+part)).want(t, 200)
	if all.member(t, "lineage") == some.member(t, "lineage") {
		t.Error("both have one lineage")
	}
	moved := c.get(t, under("/delta/predefined/bgt.zip"+part+"&delta-id="+name)).want(t, http.StatusTemporaryRedirect)
	if !strings.HasSuffix(moved.header.Get("Location"), part) {
		t.Errorf("it leads to %s", moved.header.Get("Location"))
	}
	list := c.get(t, under("/deltas"+part+"&count=1")).want(t, 200)
	if !strings.Contains(string(list.body), `"lineage":"`+some.member(t, "lineage").(string)) || !strings.Contains(string(list.body), "/content"+part) {
		t.Errorf("listed %s", list.body)
	}
	for named, lineage := range map[string]any{"": all.member(t, "lineage"), part: some.member(t, "lineage")} {
		set := decoded[webdatasets.DatasetAnswer](t, c.get(t, under("")+named).want(t, 200))
		if set.Lineage != lineage || (set.Subscription.ID == sub.ID) != (named != "") || set.Links["deltas"].Href != under("/deltas")+named {
			t.Errorf("by %q the dataset is %+v", named, set)
		}
	}
}

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
	got := decoded[struct{ Deltas []listedDelta }](t, f.get(t, under("/delta?after-delta-id="+id)).want(t, http.StatusOK))
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
			must(w.exporter.Snapshot(t.Context(), testDataset))(t)
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
				_, err := w.exporter.Snapshot(t.Context(), testDataset) // of the last delta of the old area, and later behind that
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
	must(w.exporter.Snapshot(t.Context(), testDataset))(t)
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
		list := decoded[struct{ Deltas []struct{ ID string } }](t, c.get(t, under("/deltas?after-delta-id="+w.name(t, c, first))).want(t, 200))
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
	list := must(w.reg.Datasets.Followers(t.Context(), registry.ScopeOf(w.partners[w.bounded].ID), testDataset))(t)
	noError(t, w.db.Write(t.Context(), func(tx *store.Tx) error {
		return tx.SetMutationFollower(t.Context(), list[0].Subscription.ID, "mar_lost", nil)
	}))
	d := w.publish(t, 10)
	must(w.exporter.Snapshot(t.Context(), testDataset))(t)
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
	must(w.exporter.MakeDelta(t.Context(), testDataset, export.Options{Empty: true}))(t)
}
