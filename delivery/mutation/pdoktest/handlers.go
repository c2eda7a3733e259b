package pdoktest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

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
	j.polls++
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
