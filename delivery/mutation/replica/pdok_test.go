package replica_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"schakel/delivery/mutation/format"
	"schakel/delivery/mutation/pdoktest"
	"schakel/delivery/mutation/replica"
	"schakel/store/needs"
)

// fakePDOK is a download API as DownloadApi.json describes: list, request, status with 200 and at the end 201, and
// download; no manifests, no previous deltas.
type fakePDOK struct {
	t        testing.TB
	mu       sync.Mutex
	initial  func() zipped
	deltas   []zipped
	perPage  int
	requests map[string]*pdokRequest
	bodies   []map[string]any
	busy     int // answers 500 so often before each status
	types    string
	handler  http.Handler
}

type pdokRequest struct {
	zip   zipped
	polls int
}

func newPDOK(t *testing.T) (*fakePDOK, replica.RemoteOptions) {
	t.Helper()
	s := &fakePDOK{t: t, perPage: 2, requests: map[string]*pdokRequest{}}
	s.types = `{"datetimeTo":"2019-01-26T00:00:00Z","featuretype":"perceel"},{"datetimeTo":"2019-01-26T00:00:00Z","featuretype":"kadastralegrens"}`
	mux := http.NewServeMux()
	const base = "/kadastralekaart/api/v4_0"
	mux.HandleFunc("GET "+base+"/dataset", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"timeliness":[%s]}`, s.types)
	})
	mux.HandleFunc("GET "+base+"/delta", s.list)
	mux.HandleFunc("POST "+base+"/delta/custom", s.custom)
	mux.HandleFunc("GET "+base+"/delta/custom/{id}/status", s.status)
	mux.HandleFunc("GET "+base+"/delta/predefined/dkk-gml-nl.zip", s.predefined)
	mux.HandleFunc("GET "+base+"/extract/{id}/extract.zip", s.extract)
	s.handler = mux
	server := httptest.NewServer(locked{s, mux})
	t.Cleanup(server.Close)
	return s, replica.RemoteOptions{URL: server.URL + base, Wait: noWait}
}

type locked struct {
	*fakePDOK
	to http.Handler
}

func (l locked) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.to.ServeHTTP(w, r)
}

func (s *fakePDOK) list(w http.ResponseWriter, r *http.Request) {
	page := 1
	_, _ = fmt.Sscan(r.URL.Query().Get("page"), &page)
	var items, links []string
	for n := (page - 1) * s.perPage; n < min(len(s.deltas), page*s.perPage); n++ {
		items = append(items, fmt.Sprintf(`{"id":%q,"timeWindow":{"from":"2019-01-01T00:00:00Z","to":"2019-01-02T00:00:00Z"}}`, s.deltas[n].DeliveryID))
	}
	if page*s.perPage < len(s.deltas) {
		links = append(links, fmt.Sprintf(`{"href":"delta?page=%d&count=%d","rel":"next","type":"application/json"}`, page+1, s.perPage))
	}
	fmt.Fprintf(w, `{"deltas":[%s],"_links":[%s]}`, strings.Join(items, ","), strings.Join(links, ","))
}

func (s *fakePDOK) find(id string) (zipped, bool) {
	if id == "" {
		return s.initial(), true
	}
	n := slices.IndexFunc(s.deltas, func(z zipped) bool { return z.DeliveryID == id })
	if n < 0 {
		return zipped{}, false
	}
	return s.deltas[n], true
}

func (s *fakePDOK) custom(w http.ResponseWriter, r *http.Request) {
	var body map[string]any
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || len(body["featuretypes"].([]any)) == 0 {
		s.t.Errorf("a request of %v, %v", body, err)
	}
	if body["format"] != "gml" {
		http.Error(w, "request body has an error", http.StatusBadRequest)
		return
	}
	s.bodies = append(s.bodies, body)
	delta, _ := body["deltaId"].(string)
	z, _ := s.find(delta)
	id := fmt.Sprintf("09bf3690-%d", len(s.requests))
	s.requests[id] = &pdokRequest{zip: z}
	w.WriteHeader(http.StatusAccepted)
	fmt.Fprintf(w, `{"downloadRequestId":%q,"_links":{"status":{"href":"/kadastralekaart/api/v4_0/delta/custom/%s/status"}}}`, id, id)
}

func (s *fakePDOK) status(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	q := s.requests[id]
	if q == nil {
		http.Error(w, "onbekend", http.StatusNotFound)
		return
	}
	q.polls++
	self := fmt.Sprintf(`"_links":{"self":{"href":%q}}`, r.URL.Path)
	switch {
	case q.polls <= s.busy:
		http.Error(w, "Interne server fout", http.StatusInternalServerError)
	case q.polls <= s.busy+1:
		fmt.Fprintf(w, `{"status":"PENDING","progress":0,%s}`, self)
	case q.polls <= s.busy+3:
		w.Header().Set("Retry-After", "2")
		fmt.Fprintf(w, `{"status":"RUNNING","progress":%d,%s}`, 20*q.polls, self)
	default:
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, `{"status":"COMPLETED","progress":100,"_links":{"download":{"href":"/kadastralekaart/api/v4_0/extract/%s/extract.zip"}}}`, id)
	}
}

func (s *fakePDOK) predefined(w http.ResponseWriter, r *http.Request) {
	z, found := s.find(r.URL.Query().Get("delta-id"))
	if !found {
		http.NotFound(w, r)
		return
	}
	id := "predefined-" + z.DeliveryID
	s.requests[id] = &pdokRequest{zip: z}
	w.Header().Set("Location", "/kadastralekaart/api/v4_0/extract/"+id+"/extract.zip")
	w.WriteHeader(http.StatusTemporaryRedirect)
}

func (s *fakePDOK) extract(w http.ResponseWriter, r *http.Request) {
	http.ServeContent(w, r, "", time.Unix(1e9, 0), bytes.NewReader(s.requests[r.PathValue("id")].zip.raw))
}

// TestFollowPDOK follows an API like PDOK's, by custom downloads and by predefined ones. The initial delivery calls itself
// by a delta that is not the last one in it; what overlaps does no harm, and afterwards the order is kept strictly. A copy
// whose delta is no longer listed must be rebuilt.
//
// Rules: MUT-33, MUT-35, MUT-36, MUT-50, MUT-51, MUT-52, MUT-53.
func TestFollowPDOK(t *testing.T) {
	t.Parallel()
	for _, predefined := range []string{"", "dkk-gml-nl"} {
		t.Run("predefined "+predefined, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, database string) {
				s, o := newPDOK(t)
				o.Predefined = predefined
				w := newWorld(t, 31)
				w.groups(30)
				for n := range 5 {
					s.deltas = append(s.deltas, pack(t, format.Delta, fmt.Sprint("d-", n), "", w.groups(20)))
				}
				half := w.groups(10)
				now := pack(t, format.Initial, "d-2", "", w.whole()) // it says d-2 and has d-4 and a half of d-5 in it
				s.initial = func() zipped { return now }
				s.deltas = append(s.deltas, pack(t, format.Delta, "d-5", "", append(half, w.groups(10)...)))
				s.busy = 2
				f := open(t, database, replica.Options{Mutations: 9})
				r, err := run(t, f, o, replica.RebuildNever)
				if err != nil || r.DeltaID != "d-5" || len(r.Deliveries) != 4 || r.Counts.Again == 0 || len(r.Notes) != 3 {
					t.Fatalf("%v: %s", err, asJSON(r))
				}
				w.check(t, database)
				if predefined == "" && (len(s.bodies) != 4 || s.bodies[0]["deltaId"] != nil || s.bodies[1]["deltaId"] != "d-3" || len(s.bodies[1]["featuretypes"].([]any)) != 2) {
					t.Errorf("%v", s.bodies)
				}
				s.deltas = append(s.deltas, pack(t, format.Delta, "d-6", "", w.groups(10)))
				if r, err = run(t, f, o, replica.RebuildNever); err != nil || len(r.Deliveries) != 1 || r.Counts.Again != 0 || len(r.Notes) != 0 {
					t.Errorf("%v: %s", err, asJSON(r))
				}
				w.check(t, database)
				lost := w.change(0)
				lost.Was.ID = "not-there"
				s.deltas = append(s.deltas[5:], pack(t, format.Delta, "d-7", "", one(lost)))
				if _, err = run(t, f, o, replica.RebuildNever); !errors.Is(err, replica.ErrUnknown) {
					t.Errorf("an unknown WAS: %v", err)
				}
				s.deltas = []zipped{pack(t, format.Delta, "d-90", "", nil)}
				if _, err = run(t, f, o, replica.RebuildNever); !errors.Is(err, replica.ErrReinitialise) {
					t.Errorf("too late: %v", err)
				}
				now = pack(t, format.Initial, "d-90", "", w.whole())
				if _, err = run(t, f, o, replica.RebuildNeeded); err != nil {
					t.Error(err)
				}
				w.check(t, database)
			})
		})
	}
}

// TestPDOKRequest sends what is asked for: feature types and a polygon; and keeps to the area itself, since what comes is
// more than that.
//
// Rules: MUT-48, MUT-51.
func TestPDOKRequest(t *testing.T) {
	t.Parallel()
	s, o := newPDOK(t)
	o.Kind, o.FeatureTypes, o.GeoFilter = replica.PDOK, []string{"perceel"}, "POLYGON((0 0,1 0,1 1,0 0))"
	s.initial = func() zipped {
		return pack(t, format.Initial, "d-1", "", append(one(add(t, "a-1", "a", 1)), one(add(t, "b-1", "b", 90))...))
	}
	database := sqlitePath(t)
	r, err := run(t, open(t, database, replica.Options{Area: below(50)}), o, replica.RebuildNever)
	if err != nil || r.Counts.Outside != 1 || places(t, database, "dingen") != "a 1" {
		t.Errorf("%v: %s", err, asJSON(r))
	}
	if b := s.bodies[0]; asJSON(b) != `{"featuretypes":["perceel"],"format":"gml","geofilter":"POLYGON((0 0,1 0,1 1,0 0))"}` {
		t.Errorf("%s", asJSON(b))
	}
}

// downloadAPI is PDOK's description of its API: the responses of each path and method, with their required fields.
type downloadAPI struct {
	Paths map[string]map[string]struct {
		Responses map[string]struct {
			Content map[string]struct{ Schema struct{ Required []string } }
		}
	}
}

func readDownloadAPI(t *testing.T) (api downloadAPI) {
	t.Helper()
	must(t, json.Unmarshal(needs.File(t, "mutation", "DownloadApi.json"), &api))
	return api
}

// ask sends a request, reports whether the API describes the status for the path and method, and checks that the answer has
// the required fields.
func (api downloadAPI) ask(t *testing.T, path, method, url, body string) (status int, known bool, doc map[string]any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	must(t, err)
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	must(t, err)
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Errorf("%s %s: %v", method, url, err)
	}
	described, known := api.Paths[path][strings.ToLower(method)].Responses[fmt.Sprint(resp.StatusCode)]
	for _, field := range described.Content["application/json"].Schema.Required {
		if json.Unmarshal(answer, &doc) != nil || doc[field] == nil {
			t.Errorf("%s %s: %s is missing in %s", method, url, field, answer)
		}
	}
	return resp.StatusCode, known, doc
}

// TestFakeIsFaithful holds the paths, statuses and fields of the fake against the description of the API.
//
// Rules: MUT-50, MUT-51, MUT-52, MUT-53.
func TestFakeIsFaithful(t *testing.T) {
	t.Parallel()
	api := readDownloadAPI(t)
	s, o := newPDOK(t)
	s.initial = func() zipped { return pack(t, format.Initial, "d-1", "", nil) }
	s.deltas = []zipped{pack(t, format.Delta, "d-1", "", nil)}
	ask := func(path, method, real, body string) {
		if status, known, _ := api.ask(t, path, method, o.URL+real, body); !known {
			t.Errorf("%s %s: status %d is not described", method, path, status)
		}
	}
	ask("/dataset", http.MethodGet, "/dataset", "")
	ask("/delta", http.MethodGet, "/delta?page=1&count=10", "")
	ask("/delta/custom", http.MethodPost, "/delta/custom", `{"format":"gml","featuretypes":["perceel"]}`)
	for range 5 {
		ask("/delta/custom/{downloadRequestId}/status", http.MethodGet, "/delta/custom/09bf3690-0/status", "")
	}
	ask("/delta/custom/{downloadRequestId}/status", http.MethodGet, "/delta/custom/none/status", "")
	ask("/delta/predefined/dkk-gml-nl.zip", http.MethodGet, "/delta/predefined/dkk-gml-nl.zip?delta-id=d-1", "")
	ask("/delta/predefined/dkk-gml-nl.zip", http.MethodGet, "/delta/predefined/dkk-gml-nl.zip?delta-id=none", "")
}

// TestFormatIsFound follows sources of each format. Which one that is, is described by the source, said by its refusals, found by
// asking for one after the other, or given; deltas are asked for in the one that the copy was made with.
//
// Rules: MUT-01, MUT-50, MUT-51, MUT-52.
func TestFormatIsFound(t *testing.T) {
	t.Parallel()
	plain := func(d pdoktest.Dataset) pdoktest.Dataset {
		d.PlainRefusals = true
		return d
	}
	bgtDescribed := pdoktest.BGT()
	bgtDescribed.Described = true
	several := pdoktest.BGT()
	several.DeltaFormats = []string{"stufgeo", "gmllight"}
	own := pdoktest.BGT().Only("imgeo3")
	own.Described = true
	for name, tt := range map[string]struct {
		set     pdoktest.Dataset
		format  string
		want    string
		refused int
	}{
		"BGT":                  {set: pdoktest.BGT(), want: "citygml"},
		"BGT described":        {set: bgtDescribed, want: "citygml"},
		"cadastral map":        {set: pdoktest.DKK(), want: "gml"},
		"gml":                  {set: plain(pdoktest.BGT().Only("gml")), want: "gml", refused: 1},
		"gmllight":             {set: plain(pdoktest.BGT().Only("gmllight")), want: "gmllight", refused: 2},
		"stufgeo":              {set: plain(pdoktest.BGT().Only("stufgeo")), want: "stufgeo", refused: 3},
		"stufgeo, said":        {set: pdoktest.BGT().Only("stufgeo"), want: "stufgeo", refused: 1},
		"stufgeo, given":       {set: pdoktest.BGT().Only("stufgeo"), format: "stufgeo", want: "stufgeo"},
		"several":              {set: several, want: "gmllight", refused: 1},
		"unheard of":           {set: own, want: "imgeo3"},
		"unheard of and given": {set: pdoktest.BGT().Only("imgeo3"), format: "imgeo3", want: "imgeo3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			database := sqlitePath(t)
			s, w := pdoktest.New(t, tt.set), newWorld(t, 12)
			w.groups(10)
			s.SetInitial(pdokDelivery(pack(t, format.Initial, "d-0", "", w.whole())))
			s.AddDelta(pdokDelivery(pack(t, format.Delta, "d-0", "", nil)))
			s.AddDelta(pdokDelivery(pack(t, format.Delta, "d-1", "", w.groups(5))))
			o := replica.RemoteOptions{URL: s.URL, Wait: noWait, Format: tt.format}
			if r, err := run(t, open(t, database, replica.Options{}), o, replica.RebuildNever); err != nil || r.DeltaID != "d-1" {
				t.Fatalf("%v: %s", err, asJSON(r))
			}
			s.AddDelta(pdokDelivery(pack(t, format.Delta, "d-2", "", w.groups(5))))
			o.Format = ""
			if r, err := run(t, open(t, database, replica.Options{}), o, replica.RebuildNever); err != nil || r.DeltaID != "d-2" {
				t.Fatalf("%v: %s", err, asJSON(r))
			}
			w.check(t, database)
			accepted, refused := s.Requests()
			for _, r := range accepted {
				if r.Path != "delta" || r.Format != tt.want || !slices.Equal(r.FeatureTypes, tt.set.DeltaTypes) {
					t.Errorf("asked for %+v", r)
				}
			}
			if len(accepted) != 3 || len(refused) != tt.refused {
				t.Errorf("%d requests were accepted and %d refused: %+v", len(accepted), len(refused), refused)
			}
			other := o
			other.Format = "shape"
			if _, err := run(t, open(t, database, replica.Options{}), other, replica.RebuildNever); !errors.Is(err, replica.ErrSettings) {
				t.Errorf("another format: %v", err)
			}
		})
	}
}

func pdokDelivery(z zipped) pdoktest.Delivery { return pdoktest.Delivery{ID: z.DeliveryID, Zip: z.raw} }

// A source that takes none of the formats says why, for each.
//
// Rules: MUT-51.
func TestNoFormatIsTaken(t *testing.T) {
	t.Parallel()
	set := pdoktest.BGT().Only("imgeo3")
	set.PlainRefusals = true
	s := pdoktest.New(t, set)
	_, err := run(t, open(t, sqlitePath(t), replica.Options{}), replica.RemoteOptions{URL: s.URL, Wait: noWait}, replica.RebuildNever)
	for _, says := range []string{"--format", "as citygml", "as gml:", "as gmllight", "as stufgeo", "with status 400"} {
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q is not in: %v", says, err)
		}
	}
}

// A copy that was made before there was a choice of formats goes on with gml.
//
// Rules: MUT-49, MUT-51.
func TestCopyOfOldKeepsItsFormat(t *testing.T) {
	t.Parallel()
	database := sqlitePath(t)
	set := pdoktest.DKK()
	set.DeltaFormats = []string{"citygml", "gml"}
	s, w := pdoktest.New(t, set), newWorld(t, 12)
	w.groups(10)
	s.SetInitial(pdokDelivery(pack(t, format.Initial, "d-0", "", w.whole())))
	s.AddDelta(pdokDelivery(pack(t, format.Delta, "d-0", "", nil)))
	o := replica.RemoteOptions{URL: s.URL, Wait: noWait, Format: "gml"}
	if _, err := run(t, open(t, database, replica.Options{}), o, replica.RebuildNever); err != nil {
		t.Fatal(err)
	}
	if got := rows(t, connect(t, database), `SELECT settings FROM follow_copy`); strings.Contains(got, "format") {
		t.Errorf("copies of old do not remember a format: %s", got)
	}
	s.AddDelta(pdokDelivery(pack(t, format.Delta, "d-1", "", w.groups(5))))
	o.Format = ""
	if _, err := run(t, open(t, database, replica.Options{}), o, replica.RebuildNever); err != nil {
		t.Fatal(err)
	}
	w.check(t, database)
	if accepted, _ := s.Requests(); len(accepted) != 2 || accepted[1].Format != "gml" {
		t.Errorf("asked for %+v", accepted)
	}
}

// TestPDOKTestIsFaithful holds all that the played API answers against PDOK's description of one.
//
// Rules: MUT-50, MUT-51, MUT-52, MUT-53.
func TestPDOKTestIsFaithful(t *testing.T) {
	t.Parallel()
	api := readDownloadAPI(t)
	for name, set := range map[string]pdoktest.Dataset{"BGT": pdoktest.BGT(), "DKK": pdoktest.DKK()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := pdoktest.New(t, set)
			s.SetInitial(pdokDelivery(pack(t, format.Initial, "d-1", "", nil)))
			s.SetFull([]byte("full"))
			s.AddDelta(pdokDelivery(pack(t, format.Delta, "d-1", "", nil)))
			ask := func(want int, path, method, real, body string) map[string]any {
				t.Helper()
				status, known, doc := api.ask(t, path, method, s.URL+real, body)
				if !known && status != http.StatusBadRequest || status != want { // a refusal is not described
					t.Errorf("%s %s: status %d, want %d", method, real, status, want)
				}
				return doc
			}
			ask(200, "/dataset", http.MethodGet, "/dataset", "")
			ask(200, "/delta", http.MethodGet, "/delta?page=1&count=10&after-delta-id=d-0", "")
			for kind, formats := range map[string][]string{"delta": set.DeltaFormats, "full": set.FullFormats} {
				for _, f := range formats {
					body := `{"format":"` + f + `","featuretypes":["` + set.DeltaTypes[0] + `"]}`
					id, _ := ask(202, "/"+kind+"/custom", http.MethodPost, "/"+kind+"/custom", body)["downloadRequestId"].(string)
					for _, status := range []int{200, 200, 201} {
						ask(status, "/"+kind+"/custom/{downloadRequestId}/status", http.MethodGet, "/"+kind+"/custom/"+id+"/status", "")
					}
				}
				ask(400, "/"+kind+"/custom", http.MethodPost, "/"+kind+"/custom", `{"format":"shape","featuretypes":["`+set.DeltaTypes[0]+`"]}`)
				ask(400, "/"+kind+"/custom", http.MethodPost, "/"+kind+"/custom", `{"format":"`+formats[0]+`","featuretypes":["brug"]}`)
				ask(404, "/"+kind+"/custom/{downloadRequestId}/status", http.MethodGet, "/"+kind+"/custom/none/status", "")
			}
			ask(307, "/delta/predefined/dkk-gml-nl.zip", http.MethodGet, "/delta/predefined/"+set.DeltaZip+"?delta-id=d-1", "")
			ask(404, "/delta/predefined/dkk-gml-nl.zip", http.MethodGet, "/delta/predefined/"+set.DeltaZip+"?delta-id=none", "")
			ask(307, "/full/predefined/dkk-gml-nl-nohist.zip", http.MethodGet, "/full/predefined/"+set.FullZip, "")
			ask(404, "/full/predefined/dkk-gml-nl-nohist.zip", http.MethodGet, "/full/predefined/other.zip", "")
		})
	}
}
