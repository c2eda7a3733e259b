package web

import (
	"bytes"
	"io"
	"testing"

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
	"schakel/web/site"
)

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
	_, err := w.reg.Datasets.Create(t.Context(), registry.SystemActor(), datasets.DatasetInput{
		ID: testDataset, Title: "Topography", RootPrefix: "r", RootSpace: historytest.Namespace, RootLocal: "mutaties",
		ObjectTypes: historytest.Types(), CRS: 28992, AreaKind: store.AreaGeometry, PerFile: 20,
	})
	noError(t, err)
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
	sub, err := w.reg.Subscriptions.RequestDataset(t.Context(), registry.SystemActor(), partners.DatasetRequest{
		Dataset: testDataset, EndpointID: w.files(t, c).ID, Purpose: "keep a copy", Area: partners.AreaInput{Text: area},
	})
	noError(t, err)
	noError(t, w.reg.Subscriptions.Approve(t.Context(), registry.SystemActor(), sub.ID))
	return c
}

// files makes an endpoint of kind files.
func (w *mutationWorld) files(t testing.TB, c *apiClient) store.Endpoint {
	t.Helper()
	e, err := w.reg.Endpoints.Create(t.Context(), registry.SystemActor(), w.partners[c].ID, partners.EndpointInput{Name: "Files", Kind: store.EndpointFiles})
	noError(t, err)
	return e
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
	fw, err := format.NewWriter(&b, w.source.Header(testDataset, kind, "request"))
	noError(t, err)
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
	d, err := w.exporter.MakeDelta(t.Context(), testDataset, export.Options{})
	noError(t, err)
	return d
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
		var err error
		more, err = w.exporter.Work(t.Context())
		noError(t, err)
	}
}

// read reads a zip to its end.
func readDelivery(t testing.TB, zip []byte) (format.Header, []*format.Group) {
	t.Helper()
	r := archive.NewDeliveryReader(bytes.NewReader(zip), archive.Limits{}, format.Limits{})
	head, err := r.Header()
	noError(t, err)
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
