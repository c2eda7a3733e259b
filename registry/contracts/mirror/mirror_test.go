package mirror_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"schakel/registry/contracts/mirror"
)

// serve answers paths with texts; what begins with "->" is a redirect.
func serve(t *testing.T, pages map[string]string) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := r.URL.Path
		if q := r.URL.RawQuery; q != "" {
			key += "?" + q
		}
		body, ok := pages[key]
		if !ok {
			body, ok = pages[r.URL.EscapedPath()]
		}
		switch to, redirect := strings.CutPrefix(body, "->"); {
		case !ok:
			w.WriteHeader(http.StatusNotFound)
		case redirect:
			http.Redirect(w, r, to, http.StatusFound)
		case r.Header.Get("If-None-Match") == `"1"`:
			w.WriteHeader(http.StatusNotModified)
		default:
			w.Header().Set("ETag", `"1"`)
			_, _ = w.Write([]byte(strings.ReplaceAll(body, "{auth}", r.Header.Get("Authorization"))))
		}
	}))
	t.Cleanup(s.Close)
	s.Client().CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return s
}

func open(t *testing.T, cfg mirror.Config) mirror.Driver {
	t.Helper()
	if cfg.HTTP == nil {
		cfg.HTTP = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	d, err := mirror.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// read lists contracts with their versions and first bytes.
func read(t *testing.T, d mirror.Driver) []string {
	t.Helper()
	contracts, err := d.Contracts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, c := range contracts {
		versions, _, err := d.Versions(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range versions {
			line := strings.Join([]string{c.ID, c.Title, v.Number, v.Status}, "|")
			if v.Status != mirror.Withdrawn {
				doc, err := d.Document(t.Context(), v, "")
				if err != nil {
					t.Fatal(err)
				}
				line += "|" + string(doc.Content)
			}
			all = append(all, line)
		}
	}
	return all
}

func want(t *testing.T, got []string, lines ...string) {
	t.Helper()
	if !reflect.DeepEqual(got, lines) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(lines, "\n"))
	}
}

// The shapes of an Apicurio Registry 3, as its own API description has them.
func TestApicurio(t *testing.T) {
	t.Parallel()
	const base = "/apis/registry/v3"
	s := serve(t, map[string]string{
		base + "/search/artifacts?limit=100&offset=0": `{"count":3,"artifacts":[
			{"groupId":"nl.noord","artifactId":"students api","artifactType":"OPENAPI","name":"Students","owner":"dev","createdOn":"2026-01-01T00:00:00Z","modifiedOn":"2026-01-01T00:00:00Z"},
			{"artifactId":"events","artifactType":"ASYNCAPI"},
			{"groupId":"x","artifactId":"row","artifactType":"AVRO"}]}`,
		base + "/groups/nl.noord/artifacts/students%20api/versions": `{"count":4,"versions":[
			{"version":"1","state":"DISABLED","globalId":1},{"version":"2","state":"DEPRECATED"},{"version":"3","state":"ENABLED"},{"version":"4","state":"DRAFT"}]}`,
		base + "/groups/nl.noord/artifacts/students%20api/versions/2/content": "two {auth}",
		base + "/groups/nl.noord/artifacts/students%20api/versions/3/content": "three",
		base + "/groups/default/artifacts/events/versions":                    `{"count":1,"versions":[{"version":"1.0.0"}]}`,
		base + "/groups/default/artifacts/events/versions/1.0.0/content":      "one",
	})
	for _, url := range []string{s.URL, s.URL + "/", s.URL + base} {
		got := read(t, open(t, mirror.Config{Kind: mirror.Apicurio, URL: url, Secret: "key"}))
		want(t, got, "nl.noord/students api|Students|1|withdrawn", "nl.noord/students api|Students|2|deprecated|two Bearer key",
			"nl.noord/students api|Students|3|published|three", "events||1.0.0|published|one")
	}
}

// A catalogue as RFC 9727 shows them, that leads to another on its host.
func TestCatalog(t *testing.T) {
	t.Parallel()
	other := serve(t, map[string]string{"/foreign.json": "foreign {auth}"})
	s := serve(t, map[string]string{
		"/.well-known/api-catalog": `{"linkset":[
			{"anchor":"/apis","item":[{"href":"/apis/foo","title":"Foo"},{"href":"/apis/none"}],"api-catalog":[{"href":"/more"},{"href":"https://elsewhere.example/catalog"}]},
			{"anchor":"/apis/foo","service-desc":[{"href":"/apis/foo/doc","type":"text/html"},{"href":"/apis/foo/openapi.yaml","type":"application/vnd.oai.openapi"}],"status":[{"href":"/x"}]},
			{"anchor":"` + other.URL + `","service-desc":[{"href":"` + other.URL + `/foreign.json"}]}]}`,
		"/more":                  `{"linkset":[{"anchor":"/apis/bar","service-desc":[{"href":"bar.json","title":"Bar"}]},{"anchor":"/apis/foo","service-desc":[{"href":"/apis/foo/openapi.yaml"}]},{"anchor":"/more","api-catalog":[{"href":"/more"}]}]}`,
		"/apis/foo/openapi.yaml": "foo {auth}",
		"/bar.json":              "bar",
	})
	got := read(t, open(t, mirror.Config{Kind: mirror.Catalog, URL: s.URL, Secret: "key"}))
	// The key goes to the register alone.
	want(t, got, "apis/foo|Foo||published|foo Bearer key", "127.0.0.1|||published|foreign ", "apis/bar|Bar||published|bar")
}

func TestList(t *testing.T) {
	t.Parallel()
	s, other := serve(t, map[string]string{"/a/v1.yaml": "a1", "/a/v2.yaml": "a2", "/openapi.json": "own {auth}"}), serve(t, map[string]string{"/": "foreign {auth}"})
	d := open(t, mirror.Config{Kind: mirror.URLs, Secret: "key", List: []string{s.URL + "/openapi.json", "a " + s.URL + "/a/v1.yaml", " ", "a " + s.URL + "/a/v2.yaml", other.URL}})
	want(t, read(t, d), "openapi|||published|own Bearer key", "a|||published|a1", "a|||published|a2", "127.0.0.1|||published|foreign ")
	doc, err := d.Document(t.Context(), mirror.Version{URL: s.URL + "/a/v1.yaml"}, `"1"`)
	if err != nil || !doc.Unchanged || doc.Tag != `"1"` {
		t.Errorf("with its tag: %+v, %v", doc, err)
	}
	for _, list := range [][]string{{"one two https://x.example"}, {"ftp://x.example"}, {"https://a:b@x.example"}, {"https://x.example/#a"}, {"x"}} {
		if _, err := mirror.Open(mirror.Config{Kind: mirror.URLs, List: list}); err == nil {
			t.Errorf("list %q is taken", list)
		}
	}
}

// What a register does wrong is told in words, and costs no more than its bounds.
func TestTrouble(t *testing.T) {
	t.Parallel()
	s := serve(t, map[string]string{"/elsewhere": "->http://169.254.169.254/", "/long": strings.Repeat("x", 2000), "/registry/v1/contracts": "<html>"})
	d := open(t, mirror.Config{Kind: mirror.URLs, List: []string{s.URL}, MaxDocument: 1000})
	for path, text := range map[string]string{"/elsewhere": "redirects are not followed", "/long": "larger than 1,000 bytes"} {
		if _, err := d.Document(t.Context(), mirror.Version{URL: s.URL + path}, ""); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := d.Document(t.Context(), mirror.Version{URL: s.URL + "/none"}, ""); !errors.Is(err, mirror.ErrGone) {
		t.Errorf("not there: %v", err)
	}
	if _, err := open(t, mirror.Config{Kind: mirror.Schakel, URL: s.URL}).Contracts(t.Context()); err == nil || !strings.Contains(err.Error(), "is the address right?") {
		t.Errorf("not a register: %v", err)
	}
	for status, text := range map[int]string{401: "another key", 403: "another key", 429: "cannot answer now", 503: "cannot answer now", 418: "answered 418", 304: "answered 304"} {
		refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		_, err := open(t, mirror.Config{Kind: mirror.Catalog, URL: refusing.URL}).Contracts(t.Context())
		if refusing.Close(); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("status %d: %v", status, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := open(t, mirror.Config{Kind: mirror.Schakel, URL: s.URL}).Contracts(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
}

// A register whose list has no end is left after a bounded number of pages.
func TestEndlessList(t *testing.T) {
	t.Parallel()
	page := `{"id":"c","title":"a\u0000b\u001b[31m","version":"1","status":"published"}`
	body := `[` + strings.Repeat(page+",", 99) + page + `]`
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"contracts":%s,"versions":%s}`, body, body)
	}))
	t.Cleanup(s.Close)
	d := open(t, mirror.Config{Kind: mirror.Schakel, URL: s.URL})
	if _, err := d.Contracts(t.Context()); err == nil || !strings.Contains(err.Error(), "more than 2,000 contracts") {
		t.Errorf("contracts: %v", err)
	}
	if _, _, err := d.Versions(t.Context(), mirror.Contract{ID: "c"}); err == nil || !strings.Contains(err.Error(), "more than 500 versions") {
		t.Errorf("versions: %v", err)
	}
}

func FuzzParseList(f *testing.F) {
	f.Add("a https://x.example/y.json\nhttps://z.example")
	f.Fuzz(func(t *testing.T, text string) {
		entries, err := mirror.ParseList(strings.Split(text, "\n"))
		for _, e := range entries {
			if err == nil && (e.ID == "" || !strings.HasPrefix(e.URL, "http")) {
				t.Errorf("entry %+v", e)
			}
		}
	})
}

// A catalogue is a stranger's: whatever it holds, reading it ends.
func FuzzCatalog(f *testing.F) {
	f.Add(`{"linkset":[{"anchor":"/a","service-desc":[{"href":"b"}],"item":[{"href":"/a"}],"api-catalog":[{"href":"?1"}]}]}`)
	f.Fuzz(func(t *testing.T, body string) {
		answers := doer(func(*http.Request) (*http.Response, error) {
			r := httptest.NewRecorder()
			_, _ = r.WriteString(body)
			return r.Result(), nil
		})
		d, err := mirror.Open(mirror.Config{Kind: mirror.Catalog, URL: "https://x.example", HTTP: answers})
		if err != nil {
			t.Fatal(err)
		}
		_, _ = d.Contracts(t.Context())
	})
}

type doer func(*http.Request) (*http.Response, error)

func (d doer) Do(r *http.Request) (*http.Response, error) { return d(r) }
