package static

import (
	"net/http"
	"strconv"
	"strings"
)

// ServeHTTP answers GET and HEAD under Prefix. An address with the wrong hash
// is not found, so that a cache never keeps the wrong bytes for ever.
func (s *assets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	hash, name := split(strings.TrimPrefix(r.URL.Path, Prefix))
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
	if acceptsGzip(r.Header.Get("Accept-Encoding")) {
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

// acceptsGzip reads Accept-Encoding; a quality of zero is a refusal.
func acceptsGzip(header string) bool {
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
