// Package pdoktest plays download APIs like those of PDOK in tests: the list of deltas, custom downloads with their status, and
// predefined downloads of deltas and of the full state (MUT-50..53).
//
// Each dataset has the formats, feature types and file names that PDOK's API for it has. A request for anything else is refused
// with 400 and a text, as PDOK does. It keeps everything in memory and is safe for concurrent use.
package pdoktest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Delivery is a zip to download, by the id of its delta.
type Delivery struct {
	ID  string
	Zip []byte
}

// Request holds the members that a custom download was asked for with.
type Request struct {
	Path         string   `json:"-"` // delta or full
	Format       string   `json:"format"`
	FeatureTypes []string `json:"featuretypes"`
	GeoFilter    string   `json:"geofilter"`
	DeltaID      string   `json:"deltaId"`
}

// Server is one API. Its exported methods may be called while it serves.
type Server struct {
	URL string // of the API

	set      Dataset
	mu       sync.Mutex
	initial  Delivery
	full     []byte
	deltas   []Delivery
	accepted []Request
	refused  []Request
	jobs     map[string]*job
	prompt   bool
}

type job struct {
	zip   []byte
	polls int
}

// SetPrompt makes a download ready at the first question: nobody waits for it.
func (s *Server) SetPrompt() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.prompt = true
}

// New serves a dataset until the test ends.
func New(t testing.TB, set Dataset) *Server {
	t.Helper()
	s := &Server{set: set, jobs: map[string]*job{}}
	mux := http.NewServeMux()
	handle := func(method, path string, with http.HandlerFunc) { mux.HandleFunc(method+" "+set.Base+path, with) }
	handle("GET", "/dataset", s.timeliness)
	handle("GET", "/delta", s.list)
	for _, kind := range []string{"/delta", "/full"} {
		handle("POST", kind+"/custom", s.custom)
		handle("GET", kind+"/custom/{id}/status", s.status)
		handle("GET", kind+"/predefined/{name}", s.predefined)
	}
	handle("GET", "/extract/{id}/extract.zip", s.extract)
	handle("GET", "/openapi.json", s.describe)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	s.URL = server.URL + set.Base
	return s
}

// SetInitial sets what the newest initial delivery is.
func (s *Server) SetInitial(d Delivery) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.initial = d
}

// SetFull sets the zip of the full state.
func (s *Server) SetFull(zip []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.full = zip
}

// AddDelta adds the newest delta.
func (s *Server) AddDelta(d Delivery) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deltas = append(s.deltas, d)
}

// Requests lists the custom downloads that were accepted, and those that were refused.
func (s *Server) Requests() (accepted, refused []Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.accepted), slices.Clone(s.refused)
}

// Dataset sets where the API of one dataset differs from that of another.
type Dataset struct {
	Base          string   // path of the API
	DeltaFormats  []string // of custom downloads of deltas
	FullFormats   []string // of custom downloads of the full state
	DeltaTypes    []string // feature types in deltas
	FullTypes     []string // feature types of GET /dataset and in the full state
	DeltaZip      string   // name of the predefined download of deltas
	FullZip       string   // name of the predefined download of the full state
	Described     bool     // the API document is served beside the API
	PlainRefusals bool     // a refusal does not list the allowed values
}

// BGT is the large-scale topography: deltas as CityGML, the full state in three formats.
func BGT() Dataset {
	types := []string{"pand", "plaatsbepalingspunt", "waterdeel", "wegdeel"}
	return Dataset{
		Base: "/lv/bgt/download/v1_0", DeltaFormats: []string{"citygml"}, FullFormats: []string{"citygml", "gmllight", "stufgeo"},
		DeltaTypes: types, FullTypes: types, DeltaZip: "bgt-citygml-nl-delta.zip", FullZip: "bgt-citygml-nl-nopbp.zip",
	}
}

// DKK is the cadastral map: GML, with feature types in the full state that deltas do not have.
func DKK() Dataset {
	return Dataset{
		Base: "/kadaster/kadastralekaart/download/v5_0", DeltaFormats: []string{"gml"}, FullFormats: []string{"gml"},
		DeltaTypes: []string{"kadastralegrens", "perceel"}, FullTypes: []string{"kadastralegrens", "openbareruimtelabel", "pand", "perceel"},
		DeltaZip: "kadastralekaart-gml-nl.zip", FullZip: "kadastralekaart-gml-nl-nohist.zip", Described: true,
	}
}

// Only gives deltas in one format, with nothing that tells which one that is but the refusal of others.
func (d Dataset) Only(format string) Dataset {
	d.DeltaFormats, d.Described, d.DeltaTypes = []string{format}, false, d.FullTypes
	return d
}

// document is the API document, as far as a client can learn from it what it may ask for.
func (d Dataset) document() map[string]any {
	body := func(schema string) map[string]any {
		return map[string]any{"post": map[string]any{"requestBody": map[string]any{"content": map[string]any{
			"application/json": map[string]any{"schema": map[string]any{"$ref": "#/components/schemas/" + schema}},
		}}}}
	}
	request := func(formats, types []string) map[string]any {
		return map[string]any{"type": "object", "required": []string{"format", "featuretypes"}, "properties": map[string]any{
			"format":       map[string]any{"type": "string", "enum": formats},
			"featuretypes": map[string]any{"type": "array", "minItems": 1, "items": map[string]any{"type": "string", "enum": types}},
			"geofilter":    map[string]any{"type": "string"},
		}}
	}
	return map[string]any{
		"openapi": "3.0.0",
		"paths":   map[string]any{"/delta/custom": body("Delta"), "/full/custom": body("Full")},
		"components": map[string]any{"schemas": map[string]any{
			"Delta": request(d.DeltaFormats, d.DeltaTypes), "Full": request(d.FullFormats, d.FullTypes),
		}},
	}
}

// allowed finds what a request may not ask for; field is empty when it may ask for all of it.
func allowed(r Request, formats, types []string) (field string, values []string) {
	if !slices.Contains(formats, r.Format) {
		return "format", formats
	}
	for _, t := range r.FeatureTypes {
		if !slices.Contains(types, t) {
			return "featuretypes", types
		}
	}
	return "", nil
}

// firstDay begins the window of the first delta; each one takes a day.
var firstDay = time.Date(2019, 1, 1, 0, 0, 0, 0, time.UTC)

func answer(w http.ResponseWriter, status int, doc any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(doc)
}

func (s *Server) describe(w http.ResponseWriter, r *http.Request) {
	if !s.set.Described {
		http.NotFound(w, r)
		return
	}
	answer(w, http.StatusOK, s.set.document())
}

func (s *Server) timeliness(w http.ResponseWriter, _ *http.Request) {
	list := []map[string]string{}
	for _, name := range s.set.FullTypes {
		list = append(list, map[string]string{"datetimeTo": firstDay.Format(time.RFC3339), "featuretype": name})
	}
	answer(w, http.StatusOK, map[string]any{"timeliness": list})
}

// list gives pages of at most 10 deltas, as PDOK does unless it is asked for others. An id that is not known gives none.
func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	number := func(name string, value int) int {
		if n, err := strconv.Atoi(r.URL.Query().Get(name)); err == nil && n > 0 {
			return n
		}
		return value
	}
	page, count, from := number("page", 1), number("count", 10), 0
	if after := r.URL.Query().Get("after-delta-id"); after != "" {
		if from = s.index(after) + 1; from == 0 {
			from = len(s.deltas)
		}
	}
	items, links := []map[string]any{}, []map[string]string{}
	for n := from + (page-1)*count; n < min(len(s.deltas), from+page*count); n++ {
		day := firstDay.AddDate(0, 0, n)
		items = append(items, map[string]any{"id": s.deltas[n].ID, "timeWindow": map[string]time.Time{"from": day, "to": day.AddDate(0, 0, 1)}})
	}
	if from+page*count < len(s.deltas) {
		links = append(links, map[string]string{"href": fmt.Sprintf("delta?page=%d&count=%d", page+1, count), "rel": "next", "type": "application/json"})
	}
	answer(w, http.StatusOK, map[string]any{"deltas": items, "_links": links})
}

func (s *Server) index(id string) int {
	return slices.IndexFunc(s.deltas, func(d Delivery) bool { return d.ID == id })
}

// find gives the zip of a delta, of the newest initial delivery, or of the full state.
func (s *Server) find(kind, id string) (zip []byte, found bool) {
	switch {
	case kind == "full":
		return s.full, s.full != nil
	case id == "":
		return s.initial.Zip, s.initial.Zip != nil
	}
	n := s.index(id)
	if n < 0 {
		return nil, false
	}
	return s.deltas[n].Zip, true
}

// kind is delta or full.
func (s *Server) kind(r *http.Request) string {
	kind, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, s.set.Base+"/"), "/")
	return kind
}

func (s *Server) custom(w http.ResponseWriter, r *http.Request) {
	in := json.NewDecoder(r.Body)
	in.DisallowUnknownFields()
	ask := Request{Path: s.kind(r)}
	if err := in.Decode(&ask); err != nil || len(ask.FeatureTypes) == 0 {
		http.Error(w, "request body has an error", http.StatusBadRequest)
		return
	}
	formats, types := s.set.DeltaFormats, s.set.DeltaTypes
	if ask.Path == "full" {
		formats, types = s.set.FullFormats, s.set.FullTypes
	}
	if field, values := allowed(ask, formats, types); field != "" {
		s.refused = append(s.refused, ask)
		text := "request body has an error"
		if !s.set.PlainRefusals {
			text = fmt.Sprintf(`%s: Error at "/%s": value is not one of the allowed values ["%s"]`, text, field, strings.Join(values, `","`))
		}
		http.Error(w, text, http.StatusBadRequest)
		return
	}
	zip, found := s.find(ask.Path, ask.DeltaID)
	if !found {
		http.Error(w, "Interne server fout", http.StatusInternalServerError)
		return
	}
	s.accepted = append(s.accepted, ask)
	id := fmt.Sprintf("09bf3690-e0a1-43cc-7550-%012d", len(s.jobs))
	s.jobs[id] = &job{zip: zip}
	status := map[string]any{"href": s.set.Base + "/" + ask.Path + "/custom/" + id + "/status"}
	answer(w, http.StatusAccepted, map[string]any{"downloadRequestId": id, "_links": map[string]any{"status": status}})
}

// status answers 200 while a download is made, which takes two questions, and then 201.
func (s *Server) status(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	j := s.jobs[id]
	if j == nil {
		http.Error(w, "onbekend", http.StatusNotFound)
		return
	}
	if j.polls++; s.prompt {
		j.polls = 3
	}
	self := map[string]any{"self": map[string]any{"href": r.URL.Path}}
	switch j.polls {
	case 1:
		answer(w, http.StatusOK, map[string]any{"status": "PENDING", "progress": 0, "_links": self})
	case 2:
		answer(w, http.StatusOK, map[string]any{"status": "RUNNING", "progress": 23, "_links": self})
	default:
		download := map[string]any{"href": s.set.Base + "/extract/" + id + "/extract.zip"}
		answer(w, http.StatusCreated, map[string]any{"status": "COMPLETED", "progress": 100, "_links": map[string]any{"download": download}})
	}
}

func (s *Server) predefined(w http.ResponseWriter, r *http.Request) {
	kind, name := s.kind(r), s.set.DeltaZip
	if kind == "full" {
		name = s.set.FullZip
	}
	zip, found := s.find(kind, r.URL.Query().Get("delta-id"))
	if !found || r.PathValue("name") != name {
		http.NotFound(w, r)
		return
	}
	id := fmt.Sprintf("predefined-%d", len(s.jobs))
	s.jobs[id] = &job{zip: zip}
	w.Header().Set("Location", s.set.Base+"/extract/"+id+"/extract.zip")
	w.WriteHeader(http.StatusTemporaryRedirect)
}

func (s *Server) extract(w http.ResponseWriter, r *http.Request) {
	j := s.jobs[r.PathValue("id")]
	if j == nil {
		http.NotFound(w, r)
		return
	}
	http.ServeContent(w, r, "", firstDay, bytes.NewReader(j.zip))
}
