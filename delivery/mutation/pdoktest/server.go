package pdoktest

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
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
}

type job struct {
	zip   []byte
	polls int
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
