package static

import (
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"strings"
	"testing"

	"schakel/templates/i18n/texts"
)

func get(t *testing.T, method, target string, headers ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequest(method, target, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	Handler().ServeHTTP(w, r)
	return w.Result()
}

func body(t *testing.T, r *http.Response) []byte {
	t.Helper()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestHashedAddressesMayBeKeptForEver(t *testing.T) {
	t.Parallel()
	types := map[string]string{
		"schakel.css": "text/css; charset=utf-8", "app.js": "text/javascript; charset=utf-8",
		"htmx.min.js": "text/javascript; charset=utf-8", "icon.svg": "image/svg+xml",
	}
	for name, contentType := range types {
		target := Path(name)
		if !regexp.MustCompile(`^/static/[0-9a-f]{16}/`).MatchString(target) {
			t.Errorf("Path(%s) = %s", name, target)
		}
		r := get(t, "GET", target)
		want := map[string]string{
			"Content-Type": contentType, "X-Content-Type-Options": "nosniff",
			"Cache-Control": "public, max-age=31536000, immutable", "Vary": "Accept-Encoding",
		}
		for key, value := range want {
			if got := r.Header.Get(key); got != value {
				t.Errorf("%s: %s = %q, want %q", name, key, got, value)
			}
		}
		if r.StatusCode != http.StatusOK || len(body(t, r)) == 0 {
			t.Errorf("%s: status %d", name, r.StatusCode)
		}
	}
}

func TestPlainAddressesAreCheckedAgain(t *testing.T) {
	t.Parallel()
	r := get(t, "GET", "/static/app.js")
	if got := r.Header.Get("Cache-Control"); got != "no-cache" {
		t.Errorf("Cache-Control = %q", got)
	}
	again := get(t, "GET", "/static/app.js", "If-None-Match", r.Header.Get("ETag"))
	if again.StatusCode != http.StatusNotModified || len(body(t, again)) != 0 {
		t.Errorf("a known tag answers %d", again.StatusCode)
	}
}

func TestGzipHoldsTheSameBytes(t *testing.T) {
	t.Parallel()
	plain := get(t, "GET", Path("schakel.css"))
	zipped := get(t, "GET", Path("schakel.css"), "Accept-Encoding", "br;q=1, gzip")
	if zipped.Header.Get("Content-Encoding") != "gzip" || zipped.Header.Get("ETag") == plain.Header.Get("ETag") {
		t.Fatalf("encoding %q, tag %s", zipped.Header.Get("Content-Encoding"), zipped.Header.Get("ETag"))
	}
	reader, err := gzip.NewReader(zipped.Body)
	if err != nil {
		t.Fatal(err)
	}
	unzipped, err := io.ReadAll(reader)
	if err != nil || !bytes.Equal(unzipped, body(t, plain)) {
		t.Errorf("the unpacked bytes differ (%v)", err)
	}
	if got := get(t, "GET", Path("schakel.css"), "Accept-Encoding", "gzip;q=0").Header.Get("Content-Encoding"); got != "" {
		t.Errorf("a refused encoding is used: %s", got)
	}
}

// A file that is embedded compressed is served under its own name, compressed and not.
func TestCompressedFilesHaveTheirOwnName(t *testing.T) {
	t.Parallel()
	plain := get(t, "GET", Path("redoc.standalone.js"))
	if got := plain.Header.Get("Content-Type"); got != "text/javascript; charset=utf-8" || plain.Header.Get("Content-Encoding") != "" {
		t.Errorf("type %q, encoding %q", got, plain.Header.Get("Content-Encoding"))
	}
	zipped := get(t, "GET", Path("redoc.standalone.js"), "Accept-Encoding", "gzip")
	if zipped.Header.Get("Content-Encoding") != "gzip" {
		t.Fatalf("encoding %q", zipped.Header.Get("Content-Encoding"))
	}
	if sent := body(t, zipped); !bytes.Equal(texts.Unpack(sent), body(t, plain)) {
		t.Error("the unpacked bytes differ")
	}
	if got := get(t, "GET", "/static/redoc.standalone.js.gz").StatusCode; got != http.StatusNotFound {
		t.Errorf("the compressed name answers %d", got)
	}
}

func TestWhatIsNotThere(t *testing.T) {
	t.Parallel()
	for target, want := range map[string]int{
		"/static/": 404, "/static/none.css": 404, "/static/0000000000000000/app.js": 404,
		"/static/vendor/htmx/LICENSE": 404, "/static/../static.go": 404, "/static/a/b/app.js": 404,
	} {
		if got := get(t, "GET", target).StatusCode; got != want {
			t.Errorf("%s: %d, want %d", target, got, want)
		}
	}
	r := get(t, "POST", "/static/app.js")
	if r.StatusCode != http.StatusMethodNotAllowed || r.Header.Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: %d, Allow %q", r.StatusCode, r.Header.Get("Allow"))
	}
	if head := get(t, "HEAD", "/static/app.js"); head.StatusCode != 200 || len(body(t, head)) != 0 || head.Header.Get("Content-Length") == "" {
		t.Errorf("HEAD: %d with length %q", head.StatusCode, head.Header.Get("Content-Length"))
	}
}

func TestPathPanicsForAnUnknownName(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	Path("none.css")
}

func TestStylesAndScriptsNeedNothingFromElsewhere(t *testing.T) {
	t.Parallel()
	css := string(body(t, get(t, "GET", Path("schakel.css"))))
	for _, bad := range []string{"@import", "http:", "https:", "@font-face", "//fonts"} {
		if strings.Contains(css, bad) {
			t.Errorf("the style sheet contains %q", bad)
		}
	}
	js := string(body(t, get(t, "GET", Path("app.js"))))
	for _, bad := range []string{"eval(", "innerHTML", "document.write", "http:", "https:"} {
		if strings.Contains(js, bad) {
			t.Errorf("the script contains %q", bad)
		}
	}
}

func TestVendoredFoldersCarryLicenceAndOrigin(t *testing.T) {
	t.Parallel()
	folders, err := fs.Glob(files, "vendor/*")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no vendored folders: %v", err)
	}
	for _, folder := range folders {
		licences, _ := fs.Glob(files, path.Join(folder, "LICENSE*"))
		origins, _ := fs.Glob(files, path.Join(folder, "ORIGIN.md"))
		if len(licences) == 0 || len(origins) == 0 {
			t.Errorf("%s lacks a licence or its origin", folder)
		}
	}
}

func FuzzRequestHeaders(f *testing.F) {
	f.Add("gzip, deflate;q=0.5", `W/"abc", "def"`)
	f.Add("gzip;q=,*;q=0", ",,\"")
	f.Fuzz(func(t *testing.T, encoding, tags string) {
		r := httptest.NewRequest("GET", "/static/app.js", nil)
		r.Header["Accept-Encoding"] = []string{encoding}
		r.Header["If-None-Match"] = []string{tags}
		w := httptest.NewRecorder()
		Handler().ServeHTTP(w, r)
		if w.Code != http.StatusOK && w.Code != http.StatusNotModified {
			t.Errorf("status %d", w.Code)
		}
	})
}
