package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"schakel/delivery/mutation/export"
	"schakel/delivery/mutation/format"
	"schakel/delivery/mutation/historytest"
	"schakel/registry"
	"schakel/store"
	"schakel/store/needs"
	"schakel/web/api"
	webdatasets "schakel/web/datasets"
)

// pdokClient is a client made by hand from DownloadApi.json: it knows no other address than those in it, and every answer
// is held against it. Object types and the names of files come from the dataset.
type pdokClient struct {
	*apiClient
	doc  *openapi3.T
	base string
}

func newPDOKClient(t *testing.T, c *apiClient) *pdokClient {
	t.Helper()
	doc := must(openapi3.NewLoader().LoadFromData(needs.File(t, "mutation", "DownloadApi.json")))(t)
	var types []any
	for _, name := range historytest.Types() {
		types = append(types, name)
	}
	schemas := doc.Components.Schemas
	schemas["timeliness"].Value.Properties["featuretype"].Value.Enum = types
	for _, name := range []string{"DeltaCustomDownloadRequest", "FullCustomDownloadRequest"} {
		schemas[name].Value.Properties["featuretypes"].Value.Items.Value.Enum = types
	}
	return &pdokClient{apiClient: c, doc: doc, base: under("")}
}

// call sends a request of the description; target is below its server.
func (p *pdokClient) call(t *testing.T, method, path, target, body string) apiAnswer {
	t.Helper()
	pairs := []string{}
	if body != "" {
		pairs = []string{"Content-Type", "application/json"}
	}
	answer := p.do(t, method, p.base+target, body, pairs...)
	item := p.doc.Paths.Find(path)
	r := httptest.NewRequest(method, apiTestBase+p.base+target, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	route := &routers.Route{Spec: p.doc, Path: path, PathItem: item, Method: method, Operation: item.Operations()[method]}
	input := &openapi3filter.RequestValidationInput{Request: r, Route: route}
	err := openapi3filter.ValidateResponse(t.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: input, Status: answer.status, Header: answer.header, Body: io.NopCloser(bytes.NewReader(answer.body)),
		Options: &openapi3filter.Options{IncludeResponseStatus: true, MultiError: true},
	})
	if err != nil {
		t.Errorf("%s %s is not as PDOK describes it: %v\n%s", method, target, err, answer.body)
	}
	return answer
}

// href reads a link of an answer.
func (p *pdokClient) href(t *testing.T, a apiAnswer, name string) string {
	t.Helper()
	var got struct {
		Links map[string]webdatasets.HalLink `json:"_links"`
	}
	a.decode(t, &got)
	if got.Links[name].Href == "" {
		t.Fatalf("no link %s in %s", name, a.body)
	}
	return got.Links[name].Href
}

// custom asks for a download, asks its status until it is there, and fetches it.
func (p *pdokClient) custom(t *testing.T, w *mutationWorld, path, body string) []byte {
	t.Helper()
	asked := p.call(t, "POST", path, path, body).want(t, http.StatusAccepted)
	status := p.href(t, asked, "status")
	below, ok := strings.CutPrefix(status, p.base)
	if !ok {
		t.Fatalf("the status is at %s", status)
	}
	statusPath := path + "/{downloadRequestId}/status"
	first := p.call(t, "GET", statusPath, below, "")
	if first.status == http.StatusOK && first.header.Get("Retry-After") == "" {
		t.Error("it is not told when to ask again")
	}
	w.work(t)
	done := p.call(t, "GET", statusPath, below, "").want(t, http.StatusCreated)
	return p.get(t, p.href(t, done, "download")).want(t, http.StatusOK).body
}

// A client that knows PDOK's description alone walks all of it: how far the data is, the deltas, a download of one and of the
// initial state with its status, and the files that are there without asking.
//
// Rules: MUT-50, MUT-51, MUT-52, MUT-53.
func TestPDOKClientWalksThrough(t *testing.T) {
	t.Parallel()
	w := newMutationWorld(t)
	p := newPDOKClient(t, w.whole)
	var ids []string
	for range 3 {
		ids = append(ids, w.publish(t, 15).ID)
	}
	must(w.exporter.Snapshot(t.Context(), testDataset))(t)

	p.call(t, "GET", "/dataset", "/dataset", "").want(t, 200)
	var listed []string
	for page := "?count=2"; page != ""; {
		answer := p.call(t, "GET", "/delta", "/delta"+page, "").want(t, 200)
		var got struct {
			Deltas []struct{ ID string }
			Links  []webdatasets.HalLink `json:"_links"`
		}
		answer.decode(t, &got)
		for _, d := range got.Deltas {
			listed = append(listed, d.ID)
		}
		page = ""
		for _, l := range got.Links {
			if l.Rel == "next" {
				page = strings.TrimPrefix(l.Href, "delta")
			}
		}
	}
	if !slices.Equal(listed, ids) {
		t.Errorf("listed %v, want %v", listed, ids)
	}

	types := must(json.Marshal(historytest.Types()))(t)
	head, groups := readDelivery(t, p.custom(t, w, "/delta/custom", `{"format":"gml","featuretypes":`+string(types)+`,"deltaId":"`+ids[1]+`"}`))
	if head.Type != format.Delta || len(groups) != 15 {
		t.Errorf("the second delta is %s of %d groups", head.Type, len(groups))
	}
	one := strings.ToLower(historytest.Types()[0])
	head, groups = readDelivery(t, p.custom(t, w, "/full/custom", `{"format":"gml","featuretypes":["`+one+`"],"geofilter":"`+w.ring.WKT()+`"}`))
	for _, g := range groups {
		for _, m := range g.Mutations {
			if head.Type != format.Initial || m.Was != nil || !strings.EqualFold(m.Type(), one) || !w.ring.Inside(m.Wordt) {
				t.Errorf("what was asked for has %s of %s", m.Type(), m.ObjectID)
			}
		}
	}
	if len(groups) == 0 {
		t.Error("nothing of that type is in the area")
	}

	for name, to := range map[string]string{"/delta/predefined/bgt-gml-nl.zip?delta-id=" + ids[2]: "delta", "/delta/predefined/bgt-gml-nl.zip": "initial"} {
		moved := p.call(t, "GET", "/delta/predefined/dkk-gml-nl.zip", name, "").want(t, http.StatusTemporaryRedirect)
		head, _ := readDelivery(t, p.get(t, moved.header.Get("Location")).want(t, 200).body)
		if string(head.Type) != to {
			t.Errorf("%s leads to %s", name, head.Type)
		}
	}
	moved := p.call(t, "GET", "/full/predefined/dkk-gml-nl-nohist.zip", "/full/predefined/bgt.zip", "").want(t, http.StatusTemporaryRedirect)
	if head, _ := readDelivery(t, p.get(t, moved.header.Get("Location")).want(t, 200).body); head.Type != format.Initial {
		t.Errorf("the full one is %s", head.Type)
	}
	p.call(t, "GET", "/delta/predefined/dkk-gml-nl.zip", "/delta/predefined/other.zip", "").want(t, 404)
	p.call(t, "GET", "/delta/custom/{downloadRequestId}/status", "/delta/custom/09bf3690-e0a1-43cc-8550-f689936d374d/status", "").want(t, 404)
}

// What is wrong with a request is told where it is.
//
// Rules: MUT-51.
func TestCustomDownloadInput(t *testing.T) {
	t.Parallel()
	w := newMutationWorld(t)
	w.publish(t, 3)
	types := historytest.Types()
	for name, tt := range map[string]struct{ body, pointer string }{
		"format":        {`{"format":"shape","featuretypes":["` + types[0] + `"]}`, "/format"},
		"no types":      {`{"format":"gml","featuretypes":[]}`, "/featuretypes"},
		"unknown type":  {`{"format":"gml","featuretypes":["` + types[0] + `","bridge"]}`, "/featuretypes/1"},
		"type twice":    {`{"format":"gml","featuretypes":["` + types[0] + `","` + types[0] + `"]}`, "/featuretypes/1"},
		"invalid WKT":   {`{"format":"gml","featuretypes":["` + types[0] + `"],"geofilter":"POLYGON((1 2,3))"}`, "/geofilter"},
		"crossing ring": {`{"format":"gml","featuretypes":["` + types[0] + `"],"geofilter":"POLYGON((155000 463000,156000 464000,156000 463000,155000 464000,155000 463000))"}`, "/geofilter"},
		"unknown":       {`{"format":"gml","featuretypes":["` + types[0] + `"],"area":1}`, "/area"},
	} {
		p := w.whole.postJSON(t, under("/deltas/custom"), tt.body).problem(t, 400, "invalid")
		if len(p.Errors) != 1 || p.Errors[0].Pointer != tt.pointer {
			t.Errorf("%s: %+v", name, p.Errors)
		}
	}
	large := "POLYGON((155000 463000" + strings.Repeat(",155001 463001", 5000)
	p := w.whole.postJSON(t, under("/full/custom"), `{"format":"gml","featuretypes":["`+types[0]+`"],"geofilter":"`+large+`"}`).problem(t, 400, "invalid")
	if len(p.Errors) != 1 || p.Errors[0].Pointer != "/geofilter" || strings.Contains(string(p.Errors[0].Detail), "\n") {
		t.Errorf("large: %+v", p.Errors)
	}
	unknown := `{"format":"gml","featuretypes":["` + types[0] + `"],"deltaId":"09bf3690-e0a1-43cc-8550-f689936d374d"}`
	w.whole.postJSON(t, under("/deltas/custom"), unknown).problem(t, 404, "delta-unknown")
	none := `{"format":"gml","featuretypes":["` + types[0] + `"]}`
	w.whole.postJSON(t, under("/full/custom"), none).problem(t, 404, "no-snapshot")
}

// What is kept for a partner of what it asked for is bounded; it is told when the oldest makes room.
func TestFewCustomBytesAreKept(t *testing.T) {
	t.Parallel()
	var w *mutationWorld
	w = newMutationWorldWith(t, func(cfg *api.Config) {
		cfg.Exporter = export.New(export.Config{DB: cfg.DB, Now: func() time.Time { return w.clock.Now() }, MostCustomBytes: 1})
	})
	id := w.publish(t, 3).ID
	ask := func(n int) apiAnswer {
		body := fmt.Sprintf(`{"format":"gml","featuretypes":["%s"],"deltaId":"%s","geofilter":"POLYGON((155000 463000,156000 463000,156000 %d,155000 463000))"}`,
			historytest.Types()[0], id, 464000+n)
		return w.whole.postJSON(t, under("/delta/custom"), body)
	}
	first := ask(1).want(t, 202).member(t, "downloadRequestId").(string)
	w.work(t)
	refused := ask(2)
	refused.problem(t, 429, "too-large-downloads")
	if got := refused.header.Get("Retry-After"); got != "3600" {
		t.Errorf("Retry-After %s", got)
	}
	w.whole.get(t, under("/downloads/"+first)).want(t, 200)
	w.clock.Advance(export.FreshCustom)
	w.whole.token = w.whole.newToken(t, "")
	ask(2).want(t, 202)
	w.whole.get(t, under("/downloads/"+first)).problem(t, 410, "download-gone")
}

// A partner waits for a bounded number of downloads; others are not kept from theirs.
func TestFewCustomDownloadsWait(t *testing.T) {
	t.Parallel()
	w := newMutationWorld(t)
	d := w.publish(t, 3)
	body := func(id string, i int) string {
		return fmt.Sprintf(`{"format":"gml","featuretypes":["%s"],"deltaId":"%s","geofilter":"POLYGON((155000 463000,156000 463000,156000 %d,155000 463000))"}`,
			historytest.Types()[0], id, 464000+i)
	}
	for i := range export.MostWaiting {
		w.whole.postJSON(t, under("/delta/custom"), body(d.ID, i)).want(t, 202)
	}
	refused := w.whole.postJSON(t, under("/delta/custom"), body(d.ID, 99))
	refused.problem(t, 429, "too-many-downloads")
	if refused.header.Get("Retry-After") == "" {
		t.Error("not said when to ask again")
	}
	w.bounded.postJSON(t, under("/delta/custom"), body(w.name(t, w.bounded, d), 99)).want(t, 202)
}

// TestDownloadFormats: a client made for PDOK's BGT asks for citygml, and gets it of a dataset whose objects are that. A
// format that a dataset does not have is refused with those that it has.
//
// Rules: MUT-25, MUT-51.
func TestDownloadFormats(t *testing.T) {
	t.Parallel()
	w := newMutationWorld(t)
	delta := w.publish(t, 3).ID
	ask := func(format string) apiAnswer {
		t.Helper()
		return w.whole.postJSON(t, under("/deltas/custom"), `{"format":"`+format+`","deltaId":"`+delta+`","featuretypes":["`+historytest.Types()[0]+`"]}`)
	}
	formats := func(want string) {
		t.Helper()
		got := decoded[struct{ Formats []string }](t, w.whole.get(t, under("")).want(t, 200))
		if strings.Join(got.Formats, " ") != want {
			t.Errorf("formats %v, want %s", got.Formats, want)
		}
	}
	formats("gml")
	if p := ask("citygml").problem(t, 400, "invalid"); len(p.Errors) != 1 || p.Errors[0].Pointer != "/format" || !strings.Contains(string(p.Errors[0].Detail), "delivered as gml,") {
		t.Errorf("%+v", p.Errors)
	}
	noError(t, w.db.Write(t.Context(), func(tx *store.Tx) error {
		d, err := tx.Dataset(t.Context(), testDataset)
		if err != nil {
			return err
		}
		d.Namespaces = `{"bui":"http://www.opengis.net/citygml/building/2.0","city":"http://www.opengis.net/citygml/2.0"}`
		return tx.UpdateDataset(t.Context(), &d)
	}))
	formats("gml citygml")
	ask("citygml").want(t, 202)
	ask("gml").want(t, 202)
	if p := ask("stufgeo").problem(t, 400, "invalid"); !strings.Contains(string(p.Errors[0].Detail), "gml, citygml") {
		t.Errorf("%+v", p.Errors)
	}
}

// What is another partner's is not there, by whatever address it is asked for, also for who follows the same dataset and for one
// with two subscriptions; and a client that was revoked gets nothing with the token it has.
//
// Rules: MUT-40, MUT-41, MUT-52.
func TestGuessedMutationAddresses(t *testing.T) {
	t.Parallel()
	w := newMutationWorld(t)
	d := w.publish(t, 30)
	must(w.exporter.Snapshot(t.Context(), testDataset))(t)
	theirs := must(w.reg.Datasets.Followers(t.Context(), registry.ScopeOf(w.partners[w.bounded].ID), testDataset))(t)
	sub, area := theirs[0].Subscription.ID, theirs[0].Follower.AreaID
	name := w.name(t, w.bounded, d)
	asked := decoded[struct{ DownloadRequestID string }](t, w.bounded.do(t, "POST", under("/deltas/custom"), `{"format":"gml","featuretypes":["`+w.types(t)+`"],"deltaId":"`+name+`"}`, "Content-Type", "application/json").want(t, 202))
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
	must(w.exporter.MakeDelta(t.Context(), testDataset, export.Options{Empty: true}))(t)
}

// types is one object type of the dataset.
func (w *mutationWorld) types(t *testing.T) string {
	t.Helper()
	set := must(w.db.Dataset(t.Context(), testDataset))(t)
	return set.ObjectTypes[0]
}
