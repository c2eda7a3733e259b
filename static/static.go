// Package static holds the style sheets, scripts and images of the portal,
// embedded in the program, and serves them under addresses that carry a hash
// of their content.
//
// A hashed address never changes its bytes, so browsers may keep it for ever;
// the plain address /static/{name} works too and is checked again each time.
// Vendored files stand unchanged under vendor/, each folder with its licence
// and an ORIGIN.md. The package imports nothing else of the product.
package static

import (
	"embed"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// Prefix is the path under which Handler serves.
const Prefix = "/static/"

// ContentSecurityPolicy is the header value that the pages of the portal are
// written for: nothing inline, nothing from elsewhere.
const ContentSecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
	"connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

//go:embed css js img vendor
var files embed.FS

// load builds the assets once; the embedded files cannot change afterwards.
var load = sync.OnceValue(func() *assets { return build(files) })

// Path gives the hashed address of a file, such as
// "/static/4f1c…/schakel.css". It panics for a name that does not exist: that
// is a mistake in a template, seen the first time the page is drawn.
func Path(name string) string {
	address := load().path(name)
	if address == "" {
		panic("static: no file " + name)
	}
	return address
}

func (s *assets) path(name string) string {
	a, ok := s.byName[name]
	if !ok {
		return ""
	}
	return s.prefix + a.hash + "/" + a.name
}

// Handler serves all files under Prefix, for GET and HEAD.
func Handler() http.Handler {
	return load()
}

// ServeHTTP answers GET and HEAD under the prefix. An address with the wrong hash
// is not found, so that a cache never keeps the wrong bytes for ever.
func (s *assets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	hash, name := split(strings.TrimPrefix(r.URL.Path, s.prefix))
	a := s.byName[name]
	if a == nil || (hash != "" && hash != a.hash) {
		http.NotFound(w, r)
		return
	}
	a.headers(w.Header(), hash != "")
	a.write(w, r)
}

func (a *asset) headers(h http.Header, hashed bool) {
	h.Set("Content-Type", a.contentType)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Vary", "Accept-Encoding")
	if hashed {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	} else {
		h.Set("Cache-Control", "no-cache")
	}
	// An SVG opened by itself is a document: it may run and load nothing.
	if a.contentType == "image/svg+xml" {
		h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	}
}

func (a *asset) write(w http.ResponseWriter, r *http.Request) {
	var body []byte
	tag := `"` + a.hash + `"`
	if AcceptsGzip(r.Header.Get("Accept-Encoding")) {
		body = a.zipped()
	}
	if body != nil {
		tag = `"` + a.hash + `-gzip"`
		w.Header().Set("Content-Encoding", "gzip")
	} else {
		body = a.body()
	}
	w.Header().Set("ETag", tag)
	if matches(r.Header.Get("If-None-Match"), tag) {
		w.Header().Del("Content-Encoding")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	if r.Method == http.MethodHead {
		return
	}
	// A failed write means that the client has gone; there is nobody to tell.
	_, _ = w.Write(body)
}

// matches compares an If-None-Match list with a tag, weakly as RFC 9110 asks.
func matches(list, tag string) bool {
	for candidate := range strings.SplitSeq(list, ",") {
		candidate = strings.TrimPrefix(strings.TrimSpace(candidate), "W/")
		if candidate == tag || candidate == "*" {
			return true
		}
	}
	return false
}

// AcceptsGzip reports whether an Accept-Encoding header takes gzip; a quality of zero is a refusal.
func AcceptsGzip(header string) bool {
	for part := range strings.SplitSeq(header, ",") {
		name, params, _ := strings.Cut(strings.TrimSpace(part), ";")
		if !strings.EqualFold(strings.TrimSpace(name), "gzip") {
			continue
		}
		q, given := strings.CutPrefix(strings.ReplaceAll(params, " ", ""), "q=")
		if !given {
			return true
		}
		value, err := strconv.ParseFloat(q, 64)
		return err == nil && value > 0
	}
	return false
}
