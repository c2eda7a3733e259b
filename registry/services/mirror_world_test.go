package services

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"schakel/registry"
	"schakel/registry/contracts"
	"schakel/store"
)

// otherRegister is a register with the API of a Schakel that can lie.
type otherRegister struct {
	*httptest.Server
	mu        sync.Mutex
	contracts map[string]map[string]otherVersion
	copyOf    map[string]string
	texts     map[string][2]string // titles and descriptions, of those that have their own
	key       string
}

type otherVersion struct{ body, status, digest string }

func newOtherRegister(t *testing.T) *otherRegister {
	o := &otherRegister{contracts: map[string]map[string]otherVersion{}, copyOf: map[string]string{}, texts: map[string][2]string{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /registry/v1/contracts", o.locked(o.list))
	mux.HandleFunc("GET /registry/v1/contracts/{id}/versions", o.locked(o.versions))
	mux.HandleFunc("GET /registry/v1/contracts/{id}/versions/{v}/original", o.locked(o.original))
	o.Server = httptest.NewTLSServer(mux)
	t.Cleanup(o.Close)
	o.Client().CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return o
}

func (o *otherRegister) locked(fn http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.key != "" && r.Header.Get("Authorization") != "Bearer "+o.key {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fn(w, r)
	}
}

func (o *otherRegister) list(w http.ResponseWriter, _ *http.Request) {
	list := []map[string]any{}
	for id := range o.contracts {
		row := map[string]any{"id": id, "title": "Contract " + id, "owner": "Noord"}
		if text, ok := o.texts[id]; ok {
			row["title"], row["description"] = text[0], text[1]
		}
		if o.copyOf[id] != "" {
			row["copyOf"] = map[string]any{"url": o.copyOf[id]}
		}
		list = append(list, row)
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"contracts": list})
}

func (o *otherRegister) versions(w http.ResponseWriter, r *http.Request) {
	list := []map[string]any{}
	all := o.contracts[r.PathValue("id")]
	for _, number := range slices.Sorted(maps.Keys(all)) {
		v := all[number]
		list = append(list, map[string]any{"version": number, "status": v.status, "digest": "sha256:" + v.digest})
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"versions": list})
}

func (o *otherRegister) original(w http.ResponseWriter, r *http.Request) {
	v, ok := o.contracts[r.PathValue("id")][r.PathValue("v")]
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	tag := `"` + hexDigest([]byte(v.body)) + `"`
	w.Header().Set("ETag", tag)
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	_, _ = w.Write([]byte(v.body))
}

// put offers a version; a body of one word is put in a valid document.
func (o *otherRegister) put(id, number, status, word string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	body := fmt.Sprintf(`{"openapi":"3.1.0","info":{"title":"T","version":%q,"description":%q},"paths":{}}`, number, word)
	if strings.HasPrefix(word, "raw:") {
		body = word[4:]
	}
	if o.contracts[id] == nil {
		o.contracts[id] = map[string]otherVersion{}
	}
	o.contracts[id][number] = otherVersion{body, status, hexDigest([]byte(body))}
}

// describe gives a contract another title and description.
func (o *otherRegister) describe(id, title, description string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.texts[id] = [2]string{title, description}
}

func (o *otherRegister) drop(id, number string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if delete(o.contracts[id], number); number == "" {
		delete(o.contracts, id)
	}
}

// mirrors adds a mirror of a register.
func (w *world) mirrors(t *testing.T, o *otherRegister, edit func(*contracts.MirrorInput)) store.MirrorSource {
	t.Helper()
	w.configure(t, func(c *registry.Config) { c.MirrorHTTP = o.Client() })
	in := contracts.MirrorInput{Name: "Noord", Kind: store.MirrorSchakel, URL: o.URL, Schedule: "@every 6h", Enabled: true}
	if edit != nil {
		edit(&in)
	}
	s, err := w.Mirrors.Create(t.Context(), w.admin, in)
	must(t, err)
	return s
}

// mirrored runs a mirror and wants these counts: new, unchanged, changed, refused, marked, failed.
func (w *world) mirrored(t *testing.T, s store.MirrorSource, cause string, want ...int) []contracts.MirrorLine {
	t.Helper()
	run, err := w.Mirrors.Run(t.Context(), s.ID, cause)
	must(t, err)
	got := []int{run.Added, run.Unchanged, run.Changed, run.Refused, run.Marked, run.Failed}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("run found %v, want %v: %s %s", got, want, run.Error, run.Lines)
	}
	lines, err := contracts.MirrorLines(run)
	must(t, err)
	return lines
}
