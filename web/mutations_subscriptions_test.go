package web

import (
	"net/http"
	"strings"
	"testing"

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
	var sub webdatasets.DatasetSubscriptionAnswer
	made.decode(t, &sub)
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
	var changed webdatasets.DatasetSubscriptionAnswer
	put(`{"text":"POLYGON((155000 463000,156000 463000,156000 464000,155000 463000))"}`).want(t, 200).decode(t, &changed)
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
		var listed struct{ Subscriptions []struct{ ID string } }
		c.get(t, list).want(t, 200).decode(t, &listed)
		if len(listed.Subscriptions) != 1 || (listed.Subscriptions[0].ID == id) != (list == subscriptionsPath) {
			t.Errorf("%s lists %+v", list, listed)
		}
	}
	c.get(t, subscriptionsPath+"/"+events.ID).problem(t, 404, "not-found")
	there := c.get(t, "/events/v1/subscriptions/"+id).problem(t, 404, "not-found")
	if !strings.Contains(there.Detail, subscriptionsPath+"/"+id) {
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
	sub, err := w.reg.Subscriptions.RequestDataset(t.Context(), registry.SystemActor(), partners.DatasetRequest{
		Dataset: testDataset, EndpointID: w.files(t, c).ID, Purpose: "a part of it", ObjectTypes: historytest.Types()[:1],
	})
	noError(t, err)
	noError(t, w.reg.Subscriptions.Approve(t.Context(), registry.SystemActor(), sub.ID))
	part := "?subscriptionId=" + sub.ID
	var named struct{ Deltas []struct{ ID string } }
	c.get(t, under("/deltas"+part)).want(t, 200).decode(t, &named)
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
		var set webdatasets.DatasetAnswer
		c.get(t, under("")+named).want(t, 200).decode(t, &set)
		if set.Lineage != lineage || (set.Subscription.ID == sub.ID) != (named != "") || set.Links["deltas"].Href != under("/deltas")+named {
			t.Errorf("by %q the dataset is %+v", named, set)
		}
	}
}
