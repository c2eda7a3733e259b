package web

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"schakel/delivery/mutation/archive"
	"schakel/delivery/mutation/format"
	"schakel/delivery/mutation/historytest"
	"schakel/registry"
	"schakel/registry/identity"
	"schakel/store"
	"schakel/store/needs"
	webdatasets "schakel/web/datasets"
	"schakel/web/site"
)

// jsonGroups writes groups in the JSON form, one text each.
func jsonGroups(t testing.TB, groups []*format.Group) []string {
	t.Helper()
	state := func(s *format.State) any {
		if s == nil {
			return nil
		}
		return map[string]string{"id": s.ID, "xml": string(s.Standalone())}
	}
	var texts []string
	for _, g := range groups {
		var mutations []map[string]any
		for _, m := range g.Mutations {
			one := map[string]any{"objectType": m.ObjectType, "objectId": m.ObjectID}
			for name, s := range map[string]any{"was": state(m.Was), "wordt": state(m.Wordt)} {
				if s != nil {
					one[name] = s
				}
			}
			mutations = append(mutations, one)
		}
		text := must(json.Marshal(map[string]any{"mutations": mutations}))(t)
		texts = append(texts, string(text))
	}
	return texts
}

// delivery is a zip of groups.
func (w *mutationWorld) delivery(t testing.TB, groups []*format.Group) []byte {
	t.Helper()
	var b bytes.Buffer
	dw := must(archive.NewDeliveryWriter(&b, w.source.Header(testDataset, format.Delta, "request"), archive.DeliveryOptions{PerFile: 4}))(t)
	for _, g := range groups {
		noError(t, dw.WriteGroup(g))
	}
	must(dw.Close())(t)
	return b.Bytes()
}

// Each form of publishing takes the same groups in, and the next goes on where it ended: a WAS names what the publisher
// called the version. The same request again changes nothing.
//
// Rules: MUT-05, MUT-12, MUT-22.
func TestPublishInEachForm(t *testing.T) {
	t.Parallel()
	w := newMutationWorld(t)
	seq := int64(0)
	for _, tt := range []struct {
		media string
		body  func([]*format.Group) []byte
	}{
		{"application/xml", func(g []*format.Group) []byte { return w.file(t, format.Delta, g) }},
		{"application/zip", func(g []*format.Group) []byte { return w.delivery(t, g) }},
		{"application/json", func(g []*format.Group) []byte {
			return []byte(`{"groups":[` + strings.Join(jsonGroups(t, g), ",") + `]}`)
		}},
		{"application/x-ndjson", func(g []*format.Group) []byte { return []byte(strings.Join(jsonGroups(t, g), "\n") + "\n") }},
	} {
		groups, key := w.groups(12), freshKey()
		body := tt.body(groups)
		sent := w.send(t, groupsPath, tt.media, key, body).want(t, 201)
		got := decoded[webdatasets.PublicationAnswer](t, sent)
		if got.Groups != 12 || got.Status != store.MutationDone || got.FirstSeq != seq+1 || got.LastSeq != seq+12 || len(got.States) == 0 || got.Replayed {
			t.Fatalf("%s: %s", tt.media, sent.body)
		}
		seq = got.LastSeq
		var again, shown webdatasets.PublicationAnswer
		w.send(t, groupsPath, tt.media, key, body).want(t, 201).decode(t, &again)
		w.publisher.get(t, sent.header.Get("Location")).want(t, 200).decode(t, &shown)
		if !again.Replayed || again.ID != got.ID || again.LastSeq != seq || shown.Groups != 12 {
			t.Errorf("%s again: %+v, shown %+v", tt.media, again, shown)
		}
		w.send(t, groupsPath, tt.media, key, tt.body(groups[1:])).problem(t, 422, "key-reused")
	}
	head, groups := readDelivery(t, w.publisher.get(t, under("/deltas/"+w.cut(t).ID+"/content")).want(t, 200).body)
	if head.Dataset != testDataset || int64(len(groups)) != seq {
		t.Errorf("the delta has %d groups, want %d", len(groups), seq)
	}
}

// A request that is cut anywhere leaves whole groups, and goes on behind them under the same key.
//
// Rules: MUT-22, MUT-29.
func TestPublishGoesOnAfterACut(t *testing.T) {
	t.Parallel()
	w := newMutationWorld(t)
	body, key := w.file(t, format.Delta, w.groups(60)), freshKey()
	for _, part := range []int{3, 5, 8} {
		p := w.send(t, groupsPath, "application/xml", key, body[:len(body)*part/10]).problem(t, 400, "body-broken")
		if p.Publication == nil || p.Publication.Groups == 0 || p.Publication.Groups >= 60 {
			t.Errorf("after %d tenths: %+v", part, p.Publication)
		}
	}
	got := decoded[webdatasets.PublicationAnswer](t, w.send(t, groupsPath, "application/xml", key, body).want(t, 201))
	if got.Groups != 60 || got.FirstSeq != 1 || got.LastSeq != 60 {
		t.Errorf("%+v", got)
	}
	if p := w.send(t, groupsPath, "application/xml", freshKey(), nil).problem(t, 400, "body-broken"); !strings.Contains(string(p.Detail), "nothing of it is in") || !strings.Contains(string(p.Detail), "complete it first") {
		t.Errorf("nothing at all: %s", p.Detail)
	}
}

// A body that is broken on its way, such as by a chunk that is none, broke off: that is no failure of ours.
//
// Rules: MUT-29.
func TestPublishOfABrokenBody(t *testing.T) {
	t.Parallel()
	w := newMutationWorld(t)
	lines := func() string { return strings.Join(jsonGroups(t, w.groups(4)), "\n") }
	for _, c := range []struct{ media, body string }{
		{"application/xml", string(w.file(t, format.Delta, w.groups(4)))},
		{"application/x-ndjson", lines()},
		{"application/json", `{"groups":[` + strings.ReplaceAll(lines(), "\n", ",") + `]}`},
		{"application/zip", "PK\x03\x04"},
	} {
		broken := io.MultiReader(strings.NewReader(c.body[:len(c.body)/4]), iotest.ErrReader(errors.New("invalid byte in chunk length")))
		r := httptest.NewRequest(http.MethodPost, apiTestBase+groupsPath+"?kind=delta", broken)
		r.Header.Set("Authorization", "Bearer "+w.publisher.token)
		r.Header.Set("Content-Type", c.media)
		r.Header.Set("Idempotency-Key", freshKey())
		answer := httptest.NewRecorder()
		w.app.Handler().ServeHTTP(answer, r)
		if answer.Code != http.StatusBadRequest || !strings.Contains(answer.Body.String(), "body-broken") {
			t.Errorf("%s: %d %s", c.media, answer.Code, answer.Body)
		}
	}
}

// A mistake is told with file, line, group and mutation; what came before it is in.
//
// Rules: MUT-05, MUT-12, MUT-26, MUT-30.
func TestPublishTellsWhere(t *testing.T) {
	t.Parallel()
	w := newMutationWorld(t)
	good := jsonGroups(t, w.groups(2))
	school := historytest.Types()[0]
	state := `{"id":"%","xml":"<r:` + school + ` xmlns:r=\"` + historytest.Namespace + `\"><r:naam>x</r:naam></r:` + school + `>"}`
	add := func(id string) string {
		return `{"mutations":[{"objectType":"` + school + `","objectId":"NL.9","wordt":` + strings.ReplaceAll(state, "%", id) + `}]}`
	}
	geometry := `{"mutations":[` + strings.TrimSuffix(strings.TrimPrefix(add("g1"), `{"mutations":[`), "]}") + `,{"objectType":"` + school + `","objectId":"NL.10","wordt":{"id":"g2","xml":"<r:` +
		school + ` xmlns:r=\"` + historytest.Namespace + `\" xmlns:gml=\"http://www.opengis.net/gml/3.2\"><gml:Point><gml:pos>twelve 463050</gml:pos></gml:Point></r:` + school + `>"}}]}`
	remove := func(id string) string {
		return `{"mutations":[{"objectType":"` + school + `","objectId":"NL.9","was":` + strings.ReplaceAll(state, "%", id) + `}]}`
	}
	w.send(t, groupsPath, "application/x-ndjson", freshKey(), []byte(strings.Join(append(good, add("a")), "\n"))).want(t, 201)
	for name, tt := range map[string]struct {
		lines        []string
		status       int
		code, detail string
		in           int64
	}{
		"unknown":     {[]string{add("b"), remove("never")}, 422, "mutations-refused", "unknown-was", 1},
		"forward":     {[]string{remove("later"), add("later")}, 422, "mutations-refused", "", 0},
		"dead":        {[]string{add("d"), remove("d"), remove("d")}, 422, "mutations-refused", "dead-was", 2},
		"id again":    {[]string{add("a")}, 422, "mutations-refused", "id-used", 0},
		"no XML":      {[]string{`{"mutations":[{"objectType":"` + school + `","objectId":"1","wordt":{"id":"z","xml":"<a>"}}]}`}, 422, "mutations-refused", "payload", 0},
		"other type":  {[]string{strings.ReplaceAll(add("q"), `"objectType":"`+school, `"objectType":"Bridge`)}, 422, "mutations-refused", "object-type", 0},
		"geometry":    {[]string{add("h"), geometry}, 422, "mutations-refused", "geometry", 1},
		"no JSON":     {[]string{add("e"), `{"mutations":`}, 400, "", "", 1},
		"two objects": {[]string{`{"groups":[]} x`}, 400, "", "", 0},
	} {
		answer := w.send(t, groupsPath, "application/x-ndjson", freshKey(), []byte(strings.Join(tt.lines, "\n")+"\n")).want(t, tt.status)
		p := decoded[site.Problem](t, answer)
		if tt.code != "" && p.Code != tt.code || tt.detail != "" && p.Errors[0].Code != tt.detail {
			t.Errorf("%s: %s", name, answer.body)
		}
		if tt.in > 0 && (p.Publication == nil || p.Publication.Groups != tt.in) {
			t.Errorf("%s: in is %+v", name, p.Publication)
		}
		if name == "geometry" && (p.Errors[0].Group != 2 || p.Errors[0].Mutation != 2 || !strings.Contains(string(p.Errors[0].Detail), "element pos: ")) {
			t.Errorf("the place of the geometry is not told: %+v", p.Errors)
		}
		if tt.status == 422 && (p.Errors[0].Group == 0 || p.Errors[0].Line == 0) {
			t.Errorf("%s: no place in %+v", name, p.Errors)
		}
	}
}

// A body in a coding is not guessed at.
func TestPublishTakesNoContentEncoding(t *testing.T) {
	t.Parallel()
	w := newMutationWorld(t)
	answer := w.publisher.do(t, "POST", groupsPath, "x", "Content-Type", "application/json", "Idempotency-Key", freshKey(), "Content-Encoding", "gzip")
	answer.problem(t, 415, "not-mutations")
	if answer.header.Get("Accept-Encoding") != "identity" {
		t.Error("not said what is taken")
	}
}

// What would eat memory or disk is refused early, with nothing half in.
//
// Rules: MUT-30.
func TestPublishRefusesBombs(t *testing.T) {
	needs.Unraced(t)
	t.Parallel()
	w := newMutationWorld(t)
	var bomb bytes.Buffer
	zw := zip.NewWriter(&bomb)
	entry := must(zw.Create("000001-bgt.xml"))(t)
	must(io.CopyN(entry, zeros{}, 64<<20))(t)
	noError(t, zw.Close())
	entities := `<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "bbbbbbbbbb"><!ENTITY c "&b;&b;&b;&b;">]><a>&c;</a>`
	deep := string(w.file(t, format.Delta, w.groups(1)))
	deep = strings.Replace(deep, "<r:naam>", "<r:naam>"+strings.Repeat("<r:n>", 5000), 1)
	for name, tt := range map[string]struct {
		media string
		body  []byte
	}{
		"zip":           {"application/zip", bomb.Bytes()},
		"no zip":        {"application/zip", []byte("PK\x03\x04 this is none")},
		"entities":      {"application/xml", []byte(entities)},
		"depth":         {"application/xml", []byte(deep)},
		"depth of JSON": {"application/json", []byte(`{"groups":[{"mutations":` + strings.Repeat("[", 100_000))},
	} {
		answer := w.send(t, groupsPath, tt.media, freshKey(), tt.body)
		if answer.status != 400 && answer.status != 413 && answer.status != 422 {
			t.Errorf("%s: %d %.300s", name, answer.status, answer.body)
		}
	}
	if row, err := w.reg.Datasets.Get(t.Context(), testDataset); err != nil || row.LastSeq != 0 {
		t.Errorf("%d groups are in, %v", row.LastSeq, err)
	}
}

type zeros struct{}

// Read implements io.Reader.
func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestWhoPublishes(t *testing.T) {
	t.Parallel()
	w := newMutationWorld(t)
	body := string(w.file(t, format.Delta, w.groups(1)))
	pairs := []string{"Content-Type", "application/xml", "Idempotency-Key", freshKey()}
	w.whole.do(t, "POST", groupsPath, body, pairs...).problem(t, http.StatusForbidden, "insufficient-scope")
	stranger := w.newClient(t, w.newPartner(t, "Gemeente Oost").ID, identity.NewClient{Scopes: []string{site.ScopeMutationsPublish}})
	stranger.do(t, "POST", groupsPath, body, pairs...).problem(t, http.StatusForbidden, "forbidden")
	stranger.get(t, under("/publications/mpb_x")).problem(t, http.StatusForbidden, "forbidden")
	w.publisher.do(t, "POST", groupsPath, body, "Content-Type", "application/xml").problem(t, 400, "key-missing")
	w.send(t, groupsPath, "text/plain", freshKey(), nil).problem(t, http.StatusUnsupportedMediaType, "not-mutations")
	w.send(t, groupsPath+"?kind=all", "application/xml", freshKey(), nil).problem(t, 400, "invalid")
	w.send(t, "/mutations/v1/datasets/none/mutation-groups", "application/xml", freshKey(), []byte(body)).problem(t, 404, "not-found")
	w.send(t, groupsPath, "application/xml", freshKey(), []byte(body)).want(t, 201)
	initial := []byte(`{"groups":[` + jsonGroups(t, w.groups(1))[0] + `]}`)
	w.send(t, groupsPath+"?kind=initial", "application/json", freshKey(), initial).problem(t, 409, "dataset-not-empty")
	noError(t, w.reg.Datasets.End(t.Context(), registry.SystemActor(), testDataset, "the source has ended"))
	w.send(t, groupsPath, "application/xml", freshKey(), []byte(body)).problem(t, 409, "conflict")
}

// slowBody is a body of which a piece comes every minute and a half.
type slowBody struct {
	w    *mutationWorld
	rest []byte
}

// Read implements io.Reader.
func (b *slowBody) Read(p []byte) (int, error) {
	b.w.clock.Advance(90 * time.Second)
	if len(b.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p, b.rest[:min(len(b.rest), 512)])
	b.rest = b.rest[n:]
	return n, nil
}

// deadlines is a connection that remembers until when it may be still.
type deadlines struct {
	*httptest.ResponseRecorder
	read, write time.Time
}

// SetReadDeadline implements the method that http.ResponseController looks for.
func (d *deadlines) SetReadDeadline(t time.Time) error { d.read = t; return nil }

// SetWriteDeadline implements the method that http.ResponseController looks for.
func (d *deadlines) SetWriteDeadline(t time.Time) error { d.write = t; return nil }

// slowLine is a connection that takes a minute and a half for each piece.
type slowLine struct {
	*deadlines
	w    *mutationWorld
	late error
}

// Write implements io.Writer.
func (s *slowLine) Write(p []byte) (int, error) {
	now := s.w.clock.Advance(90 * time.Second)
	if !s.write.After(now) || !s.read.After(now) {
		s.late = errors.New("the connection would be cut")
	}
	return s.deadlines.Write(p)
}

// A publication and a download may take hours as long as something comes: the times of the server do not cut them.
//
// Rules: MUT-54.
func TestLargeBodiesAreNotCut(t *testing.T) {
	t.Parallel()
	w := newMutationWorld(t)
	start := w.clock.Now()
	r := httptest.NewRequest("POST", apiTestBase+groupsPath, &slowBody{w: w, rest: w.file(t, format.Delta, w.groups(80))})
	r.Header.Set("Authorization", "Bearer "+w.publisher.token)
	r.Header.Set("Content-Type", "application/xml")
	r.Header.Set("Idempotency-Key", freshKey())
	line := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	w.app.Handler().ServeHTTP(line, r)
	now := w.clock.Now()
	if line.Code != 201 || now.Sub(start) < time.Hour || !line.read.After(now) || !line.write.After(now) {
		t.Errorf("after %s: %d, deadlines %s and %s: %s", now.Sub(start), line.Code, line.read, line.write, line.Body)
	}
	d := w.cut(t)
	w.renew(t)
	get := httptest.NewRequest("GET", apiTestBase+under("/deltas/"+d.ID+"/content"), nil)
	get.Header.Set("Authorization", "Bearer "+w.whole.token)
	out := &slowLine{deadlines: &deadlines{ResponseRecorder: httptest.NewRecorder()}, w: w}
	w.app.Handler().ServeHTTP(out, get)
	if out.Code != 200 || strconv.Itoa(out.Body.Len()) != out.Header().Get("Content-Length") || out.late != nil {
		t.Errorf("download: %d, %d bytes, %v", out.Code, out.Body.Len(), out.late)
	}
}

// A version without geometry, in a dataset whose followers choose an area, is taken in with a warning: the receipt, and what is told
// of the publication later, count such versions and name the first.
//
// Rules: MUT-42.
func TestUnlocatedIsToldToThePublisher(t *testing.T) {
	t.Parallel()
	w := newMutationWorld(t)
	body := `{"groups":[{"mutations":[{"objectType":"` + w.groups(1)[0].Mutations[0].Type() + `","objectId":"7","wordt":{"id":"x","xml":"<a/>"}}]}]}`
	sent := w.send(t, groupsPath, "application/json", freshKey(), []byte(body)).want(t, 201)
	for _, answer := range []apiAnswer{sent, w.publisher.get(t, sent.header.Get("Location")).want(t, 200)} {
		got := decoded[webdatasets.PublicationAnswer](t, answer)
		if got.Unlocated == nil || got.Unlocated.Versions != 1 || !strings.HasSuffix(got.Unlocated.First, "group 1, mutation 1, object 7: no geometry") {
			t.Errorf("%s", answer.body)
		}
	}
	body = strings.Replace(strings.Replace(body, `"id":"x"`, `"id":"y"`, 1), "<a/>", `<a><gml:Point xmlns:gml='http://www.opengis.net/gml/3.2'><gml:pos>155000 463000</gml:pos></gml:Point></a>`, 1)
	if fine := w.send(t, groupsPath, "application/json", freshKey(), []byte(body)).want(t, 201); strings.Contains(string(fine.body), "unlocated") {
		t.Errorf("%s", fine.body)
	}
}

// The page of a publication, and the list, tell of versions that lie in no area.
//
// Rules: MUT-42.
func TestUnlocatedIsToldOnThePage(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t)
	b := h.browser().login(t, testEmail)
	wantStatus(t, b.post("/admin/datasets", housesForm()), http.StatusSeeOther)
	nowhere := houseState(t, "s-two", 2, 0, 0)
	nowhere.XML = []byte(`<h:House><h:number>2</h:number><h:at><gml:Blob/></h:at></h:House>`)
	zip := housesZip(t, format.Initial,
		format.Mutation{ObjectID: "1", Wordt: houseState(t, "s-one", 1, 207000, 474000)}, format.Mutation{ObjectID: "2", Wordt: nowhere})
	answer := b.uploadFile("/admin/datasets/houses/import", "file", "houses.zip", zip, "key", "k1")
	wantStatus(t, answer, http.StatusSeeOther)
	wantWords(t, text(b.get(answer.Header.Get("Location"))), "1 version of an object was taken in and lies in no area: followers who chose an area do not get it.", "object 2: no geometry that is known (gml:Blob is not).")
	wantWords(t, text(b.get("/admin/datasets/houses/publications")), "1 in no area")
}

// A history that is replaced through the API stands in the audit trail, once, under the name of the client; what is
// published else does not.
//
// Rules: MUT-38.
func TestReplacedHistoryIsAudited(t *testing.T) {
	t.Parallel()
	w := newMutationWorld(t)
	w.publish(t, 2)
	load := w.file(t, format.Initial, w.groups(2))
	target := groupsPath + "?replaceReason=" + url.QueryEscape("Measured anew")
	key := freshKey()
	for range 2 {
		w.send(t, target, "application/xml", key, load).want(t, 201)
	}
	rows, total, err := w.reg.Audit.List(t.Context(), registry.Scope{All: true}, store.AuditFilter{ObjectKind: "dataset", ObjectID: testDataset, Action: registry.ActionHistoryReplaced, Page: store.Page{Size: 10}})
	if err != nil || total != 1 {
		t.Fatalf("%d entries, %v", total, err)
	}
	want := " replaced the whole history of dataset " + rows[0].ObjectName + ", so that every copy begins anew: “Measured anew”"
	if got := registry.Sentence(t.Context(), rows[0]); rows[0].ActorKind != registry.ActorClient || rows[0].ActorName == "" || !strings.HasSuffix(got, want) {
		t.Errorf("%+v: %s", rows[0], got)
	}
}
