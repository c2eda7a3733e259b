package web

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"schakel/delivery/mutation/archive"
	"schakel/delivery/mutation/export"
	"schakel/delivery/mutation/format"
	"schakel/delivery/mutation/historytest"
	"schakel/registry"
	"schakel/registry/datasets"
	"schakel/registry/identity"
	"schakel/registry/partners"
	"schakel/store"
	"schakel/web/api"
	webdatasets "schakel/web/datasets"
	"schakel/web/site"
)

// A zip is fetched in parts that make the whole; it is only fetched when its last byte went out.
//
// Rules: MUT-53, MUT-54.
func TestFileInParts(t *testing.T) {
	t.Parallel()
	w := newMutationWorld(t)
	d := w.publish(t, 40)
	target := under("/deltas/" + d.ID + "/content")
	fetched := func() int64 {
		t.Helper()
		list := must(w.reg.Datasets.Followers(t.Context(), registry.ScopeOf(w.partners[w.whole].ID), testDataset))(t)
		return list[0].Follower.DeltaNumber
	}
	head := w.whole.do(t, http.MethodHead, target, "").want(t, 200)
	size := must(strconv.Atoi(head.header.Get("Content-Length")))(t)
	tag := head.header.Get("ETag")
	if tag != `"sha256:`+d.SHA256+`"` || int64(size) != d.Bytes || len(head.body) != 0 {
		t.Fatalf("HEAD answers %v with %d bytes", head.header, len(head.body))
	}
	half := "bytes=0-" + strconv.Itoa(size/2-1)
	first := w.whole.do(t, "GET", target, "", "Range", half).want(t, http.StatusPartialContent)
	w.whole.do(t, "GET", target, "", "If-None-Match", tag).want(t, http.StatusNotModified)
	w.whole.do(t, "GET", target, "", "Range", "bytes="+strconv.Itoa(size)+"-").problem(t, http.StatusRequestedRangeNotSatisfiable, "range-refused")
	if n := fetched(); n != 0 {
		t.Errorf("after half of it the copy is at delta %d", n)
	}
	rest := w.whole.do(t, "GET", target, "", "Range", "bytes="+strconv.Itoa(size/2)+"-", "If-Range", tag).want(t, http.StatusPartialContent)
	if n := fetched(); n != d.Number {
		t.Errorf("after the last byte the copy is at delta %d", n)
	}
	whole := w.whole.do(t, "GET", target, "", "Range", half, "If-Range", `"other"`).want(t, 200)
	if !bytes.Equal(append(first.body, rest.body...), whole.body) || len(whole.body) != size {
		t.Error("the parts are not the whole")
	}
	if _, groups := readDelivery(t, whole.body); len(groups) != 40 {
		t.Errorf("%d groups", len(groups))
	}
}

// A subscription with an area gets its own files, in a lineage of its own; while one is made, it is told to wait.
//
// Rules: MUT-41, MUT-49.
func TestBoundedSubscription(t *testing.T) {
	t.Parallel()
	w := newMutationWorld(t)
	d := w.publish(t, 60)
	must(w.exporter.Snapshot(t.Context(), testDataset))(t)
	name := w.name(t, w.bounded, d)
	wait := w.bounded.get(t, under("/deltas/"+name+"/content"))
	wait.problem(t, http.StatusServiceUnavailable, "not-ready")
	if wait.header.Get("Retry-After") == "" {
		t.Error("it is not told when to ask again")
	}
	w.bounded.get(t, under("/snapshots/latest")).problem(t, http.StatusServiceUnavailable, "not-ready")
	w.work(t)
	var mine, all struct {
		Lineage, SHA256, Area string
		Includes              string `json:"includesDeltaId"`
	}
	w.bounded.get(t, under("/snapshots/latest")).want(t, 200).decode(t, &mine)
	w.whole.get(t, under("/snapshots/latest")).want(t, 200).decode(t, &all)
	if p := w.whole.get(t, under("/snapshots/none")).problem(t, http.StatusNotFound, "no-snapshot"); !strings.Contains(string(p.Detail), "/snapshots/latest") {
		t.Errorf("a snapshot that is not there: %s", p.Detail)
	}
	if mine.Lineage == all.Lineage || mine.SHA256 == all.SHA256 || mine.Includes != name || name == d.ID || all.Area != "" {
		t.Errorf("bounded %+v, whole %+v", mine, all)
	}
	head, groups := readDelivery(t, w.bounded.get(t, under("/deltas/"+name+"/content")).want(t, 200).body)
	for _, g := range groups {
		for _, m := range g.Mutations {
			if !(m.Was != nil && w.ring.Inside(m.Was)) && !(m.Wordt != nil && w.ring.Inside(m.Wordt)) {
				t.Errorf("%s %s lies outside", m.Kind(), m.ObjectID)
			}
		}
	}
	list := must(w.reg.Datasets.Followers(t.Context(), registry.ScopeOf(w.partners[w.bounded].ID), testDataset))(t)
	target := under("/areas/" + list[0].Follower.AreaID)
	area := decoded[webdatasets.AreaAnswer](t, w.bounded.get(t, target).want(t, 200))
	plain := w.bounded.do(t, "GET", target, "", "Accept", "text/plain").want(t, 200)
	if area.WKT == "" || area.WKT != head.Area || string(plain.body) != area.WKT || mine.Area != area.WKT || area.CRS != 28992 {
		t.Errorf("the area is %s, in the files %s", area.WKT, head.Area)
	}
	for accept, want := range map[string]string{
		"application/json, text/plain, */*": "application/json", "text/plain;q=0.5, application/geo+json": webdatasets.GeoJSONType, "*/*": "application/json",
		"text/html, text/*;q=0.9, */*;q=0.8": "text/plain; charset=utf-8", "application/pdf": "application/json",
	} {
		if got := w.bounded.do(t, "GET", target, "", "Accept", accept).want(t, 200).header.Get("Content-Type"); got != want {
			t.Errorf("%s: %s", accept, got)
		}
	}
	feature := w.bounded.do(t, "GET", target, "", "Accept", webdatasets.GeoJSONType).want(t, 200)
	if again := w.bounded.do(t, "GET", target, "", "Accept", webdatasets.GeoJSONType); !bytes.Equal(again.body, feature.body) || !json.Valid(feature.body) || !bytes.Contains(feature.body, []byte(`"Polygon"`)) {
		t.Errorf("GeoJSON %s", feature.body)
	}
	w.bounded.do(t, "GET", target, "", "If-None-Match", w.bounded.get(t, target).header.Get("ETag")).want(t, http.StatusNotModified)
	w.whole.get(t, target).problem(t, 404, "not-found")
}

// What is over says so, and the way back; what never was does not.
//
// Rules: MUT-33, MUT-38.
func TestGoneTellsTheWayBack(t *testing.T) {
	t.Parallel()
	w := newMutationWorld(t)
	old := w.publish(t, 5)
	w.clock.Advance(20 * 24 * time.Hour)
	later := w.publishAgain(t, 5)
	w.renew(t)
	w.whole.get(t, under("/deltas?after-delta-id="+later.ID)).want(t, 200)
	w.whole.get(t, under("/deltas?after-delta-id=09bf3690-e0a1-43cc-8550-f689936d374d")).problem(t, 404, "delta-unknown")
	w.clock.Advance(export.Retention - 20*24*time.Hour)
	w.renew(t)
	w.whole.get(t, under("/deltas/"+old.ID+"/content")).want(t, 200) // the last moment
	w.clock.Advance(time.Second)
	for _, target := range []string{"/deltas/" + old.ID, "/deltas/" + old.ID + "/content", "/delta/predefined/bgt.zip?delta-id=" + old.ID} {
		p := w.whole.get(t, under(target)).problem(t, http.StatusGone, "delta-expired")
		if !strings.Contains(string(p.Detail), "/snapshots/latest") || !strings.Contains(string(p.Detail), "includesDeltaId") {
			t.Errorf("%s: %s", target, p.Detail)
		}
	}
	w.whole.get(t, under("/deltas?after-delta-id="+old.ID)).want(t, 200) // what comes after it is there
	must(w.reg.Datasets.ResetLineage(t.Context(), registry.SystemActor(), testDataset, "deltas of May were wrong"))(t)
	p := w.whole.get(t, under("/deltas?after-delta-id="+later.ID)).problem(t, http.StatusGone, "lineage-changed")
	var seen webdatasets.DatasetAnswer
	if w.whole.get(t, under("")).want(t, 200).decode(t, &seen); seen.LatestDelta != nil {
		t.Errorf("a delta of the replaced history is told: %+v", seen.LatestDelta)
	}
	if !strings.Contains(string(p.Detail), "deltas of May were wrong") || !strings.Contains(string(p.Detail), "/snapshots/latest") {
		t.Error(p.Detail)
	}
}

// publishAgain is publish after the tokens ran out.
func (w *mutationWorld) publishAgain(t *testing.T, n int) store.MutationDelta {
	t.Helper()
	w.renew(t)
	return w.publish(t, n)
}

func (w *mutationWorld) renew(t *testing.T) {
	t.Helper()
	for _, c := range []*apiClient{w.publisher, w.whole, w.bounded} {
		c.token = c.newToken(t, "")
	}
}

// Who may read, and what others learn of it (guarantee G7).
//
// Rules: MUT-40.
func TestWhoReadsADataset(t *testing.T) {
	t.Parallel()
	w := newMutationWorld(t)
	d := w.publish(t, 4)
	stranger := w.reader(t, "Gemeente West")
	for _, target := range []string{"/deltas", "/delta", "/deltas/" + d.ID, "/deltas/" + d.ID + "/content", "/snapshots/latest", "/full/predefined/bgt.zip"} {
		if p := stranger.get(t, under(target)).problem(t, http.StatusForbidden, "forbidden"); !strings.Contains(string(p.Detail), "POST /mutations/v1/subscriptions") {
			t.Errorf("%s: no remedy in %s", target, p.Detail)
		}
	}
	listed := decoded[struct{ Datasets []webdatasets.DatasetAnswer }](t, stranger.get(t, "/mutations/v1/datasets").want(t, 200))
	if len(listed.Datasets) != 1 || listed.Datasets[0].Lineage != "" || listed.Datasets[0].LatestDelta != nil || listed.Datasets[0].Subscription != nil {
		t.Errorf("a stranger sees %+v", listed.Datasets)
	}
	mine := decoded[webdatasets.DatasetAnswer](t, w.whole.get(t, under("")).want(t, 200))
	if mine.Lineage != d.Lineage || mine.LatestDelta == nil || mine.LatestDelta.ID != d.ID || mine.Subscription.Status != store.SubscriptionApproved || mine.RetentionDays != 31 {
		t.Errorf("a follower sees %+v", mine)
	}
	w.publisher.get(t, under("/deltas")).want(t, 200) // the own organisation

	asked := w.whole.postJSON(t, under("/deltas/custom"), `{"format":"gml","featuretypes":["`+mine.ObjectTypes[0]+`"],"deltaId":"`+d.ID+`"}`).want(t, 202)
	id := asked.member(t, "downloadRequestId").(string)
	w.whole.get(t, under("/downloads/"+id)).problem(t, http.StatusServiceUnavailable, "not-ready")
	w.work(t)
	w.whole.get(t, under("/downloads/"+id)).want(t, 200)
	w.bounded.get(t, under("/deltas/custom/"+id+"/status")).problem(t, 404, "not-found")
	w.bounded.get(t, under("/downloads/"+id+"/content")).problem(t, 404, "not-found")
	w.whole.get(t, "/mutations/v1/datasets/other/deltas").problem(t, 404, "not-found")

	sub := mine.Subscription.ID
	noError(t, w.reg.Subscriptions.Pause(t.Context(), registry.SystemActor(), sub, ""))
	if p := w.whole.get(t, under("/deltas")).problem(t, http.StatusForbidden, "forbidden"); !strings.Contains(string(p.Detail), "paused") {
		t.Error(p.Detail)
	}
	w.whole.get(t, under("/deltas?subscriptionId=sub_x")).problem(t, 404, "not-found")
}

// Nothing but the files and the receipt of a publisher has an id of a state.
//
// Rules: MUT-18.
func TestNoStateIDsOutsideFiles(t *testing.T) {
	t.Parallel()
	w := newMutationWorld(t)
	sent := w.send(t, groupsPath, "application/xml", freshKey(), w.file(t, format.Delta, w.groups(20))).want(t, 201)
	receipt := decoded[webdatasets.PublicationAnswer](t, sent)
	d := w.cut(t)
	must(w.exporter.Snapshot(t.Context(), testDataset))(t)
	if len(receipt.States) == 0 {
		t.Fatal("the publisher is not told the ids of states")
	}
	for _, target := range []string{
		"/mutations/v1/datasets", under(""), under("/dataset"), under("/deltas"), under("/deltas/" + d.ID), under("/snapshots/latest"),
		"/mutations/v1/subscriptions", under("/deltas/other"), under("/areas/other"),
	} {
		body := string(w.whole.get(t, target).body)
		for _, s := range receipt.States {
			if strings.Contains(body, s.ID) || s.SourceID != "" && strings.Contains(body, `"`+s.SourceID+`"`) {
				t.Errorf("%s shows state %s", target, s.ID)
			}
		}
	}
}

const testDataset = "bgt"

// mutationWorld is a dataset with who publishes it and who follows it.
type mutationWorld struct {
	*apiHarness
	source    *historytest.History
	publisher *apiClient
	whole     *apiClient // of a partner that gets everything
	bounded   *apiClient // of a partner with an area
	ring      historytest.Ring
	partners  map[*apiClient]store.Partner
}

func newMutationWorld(t testing.TB) *mutationWorld {
	t.Helper()
	return newMutationWorldWith(t, nil)
}

func newMutationWorldWith(t testing.TB, change func(*api.Config)) *mutationWorld {
	t.Helper()
	w := &mutationWorld{
		apiHarness: newAPIHarness(t, change), source: historytest.New(11, historytest.BAG, ""), partners: map[*apiClient]store.Partner{},
		ring: historytest.Ring{
			Outer: historytest.Frame{Left: 155200, Bottom: 463200, Right: 155800, Top: 463800},
			Hole:  historytest.Frame{Left: 155400, Bottom: 463400, Right: 155600, Top: 463600},
		},
	}
	must(w.reg.Datasets.Create(t.Context(), registry.SystemActor(), datasets.DatasetInput{
		ID: testDataset, Title: "Topography", RootPrefix: "r", RootSpace: historytest.Namespace, RootLocal: "mutaties",
		ObjectTypes: historytest.Types(), CRS: 28992, AreaKind: store.AreaGeometry, PerFile: 20,
	}))(t)
	w.publisher = w.newClient(t, "", identity.NewClient{Scopes: []string{site.ScopeMutationsPublish, site.ScopeMutationsRead}})
	w.whole = w.follower(t, "Gemeente Noord", "")
	w.bounded = w.follower(t, "Gemeente Zuid", w.ring.WKT())
	return w
}

// reader makes a partner with a client that reads datasets and asks for subscriptions.
func (w *mutationWorld) reader(t testing.TB, name string) *apiClient {
	t.Helper()
	p := w.newPartner(t, name)
	c := w.newClient(t, p.ID, identity.NewClient{Scopes: []string{site.ScopeMutationsRead, site.ScopeSubscriptionsWrite}})
	w.partners[c] = p
	return c
}

// follower makes a partner with an approved subscription; an empty area is everything.
func (w *mutationWorld) follower(t testing.TB, name, area string) *apiClient {
	t.Helper()
	c := w.reader(t, name)
	sub := must(w.reg.Subscriptions.RequestDataset(t.Context(), registry.SystemActor(), partners.DatasetRequest{
		Dataset: testDataset, EndpointID: w.files(t, c).ID, Purpose: "keep a copy", Area: partners.AreaInput{Text: area},
	}))(t)
	noError(t, w.reg.Subscriptions.Approve(t.Context(), registry.SystemActor(), sub.ID))
	return c
}

// files makes an endpoint of kind files.
func (w *mutationWorld) files(t testing.TB, c *apiClient) store.Endpoint {
	t.Helper()
	return must(w.reg.Endpoints.Create(t.Context(), registry.SystemActor(), w.partners[c].ID, partners.EndpointInput{Name: "Files", Kind: store.EndpointFiles}))(t)
}

// groups makes the next n groups of the source.
func (w *mutationWorld) groups(n int) []*format.Group {
	list := make([]*format.Group, n)
	for i := range list {
		list[i] = w.source.Group()
	}
	return list
}

// file is a file of the format with groups.
func (w *mutationWorld) file(t testing.TB, kind format.DeliveryType, groups []*format.Group) []byte {
	t.Helper()
	var b bytes.Buffer
	fw := must(format.NewWriter(&b, w.source.Header(testDataset, kind, "request")))(t)
	for _, g := range groups {
		noError(t, fw.WriteGroup(g))
	}
	noError(t, fw.Close())
	return b.Bytes()
}

const groupsPath = "/mutations/v1/datasets/" + testDataset + "/mutation-groups"

// send publishes a body.
func (w *mutationWorld) send(t testing.TB, target, media, key string, body []byte) apiAnswer {
	t.Helper()
	return w.publisher.do(t, "POST", target, string(body), "Content-Type", media, "Idempotency-Key", key)
}

// publish publishes groups, and cuts a delta of them.
func (w *mutationWorld) publish(t testing.TB, n int) store.MutationDelta {
	t.Helper()
	w.send(t, groupsPath, "application/xml", freshKey(), w.file(t, format.Delta, w.groups(n))).want(t, 201)
	return w.cut(t)
}

func (w *mutationWorld) cut(t testing.TB) store.MutationDelta {
	t.Helper()
	return must(w.exporter.MakeDelta(t.Context(), testDataset, export.Options{}))(t)
}

// name gives a delta its id for a reader.
func (w *mutationWorld) name(t testing.TB, c *apiClient, d store.MutationDelta) string {
	t.Helper()
	var list struct {
		Deltas []struct {
			ID     string
			Number int64
		}
	}
	c.get(t, under("/deltas?count=100")).want(t, 200).decode(t, &list)
	for _, listed := range list.Deltas {
		if listed.Number == d.Number {
			return listed.ID
		}
	}
	t.Fatalf("delta %d is not listed", d.Number)
	return ""
}

// work makes all downloads that wait.
func (w *mutationWorld) work(t testing.TB) {
	t.Helper()
	for more := true; more; {
		more = must(w.exporter.Work(t.Context()))(t)
	}
}

// read reads a zip to its end.
func readDelivery(t testing.TB, zip []byte) (format.Header, []*format.Group) {
	t.Helper()
	r := archive.NewDeliveryReader(bytes.NewReader(zip), archive.Limits{}, format.Limits{})
	head := must(r.Header())(t)
	var groups []*format.Group
	for {
		g, _, err := r.Next()
		if err == io.EOF {
			return head, groups
		}
		noError(t, err)
		groups = append(groups, g)
	}
}

// under is an address below the dataset.
func under(rest string) string { return "/mutations/v1/datasets/" + testDataset + rest }
