package web

import (
	"encoding/base64"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"
	"schakel/registry/contracts/contract"
	"schakel/registry/identity"
	"schakel/store"
	"schakel/store/needs"
	"schakel/store/storetest"
	"schakel/web/api"
	webpartners "schakel/web/partners"
	"schakel/web/site"
)

func contextFor(target string) echo.Context {
	return echo.New().NewContext(httptest.NewRequest(http.MethodGet, target, nil), httptest.NewRecorder())
}

func TestPaging(t *testing.T) {
	t.Parallel()
	tests := []struct {
		query string
		want  store.Page
		ok    bool
	}{
		{"", store.Page{Number: 1, Size: 25}, true},
		{"page=3&perPage=100", store.Page{Number: 3, Size: 100}, true},
		{"page=0", store.Page{Number: 1, Size: 25}, false},
		{"page=-1", store.Page{Number: 1, Size: 25}, false},
		{"page=1.5", store.Page{Number: 1, Size: 25}, false},
		{"page=99999999999999999999", store.Page{Number: 1, Size: 25}, false},
		{"perPage=101", store.Page{Number: 1, Size: 25}, false},
		{"page=2&perPage=x", store.Page{Number: 2, Size: 25}, false},
	}
	for _, tt := range tests {
		t.Run(tt.query, func(t *testing.T) {
			t.Parallel()
			c := contextFor("/x?" + tt.query)
			got, err := site.APIPaging(c)
			if (err == nil) != tt.ok || (tt.ok && got != tt.want) {
				t.Errorf("API: got %v, %v", got, err)
			}
			if got := site.PagePaging(c); got != tt.want {
				t.Errorf("page: got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestPagingHeaders(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	link := func(page, rel string) string {
		return `<http://schakel.example.nl/registry/v1/contracts?page=` + page + `&q=a+b>; rel="` + rel + `"`
	}
	tests := []struct {
		page, total int
		want        []string
	}{
		{1, 0, []string{link("1", "first"), link("1", "last")}},
		{1, 50, []string{link("1", "first"), link("2", "next"), link("2", "last")}},
		{2, 51, []string{link("1", "first"), link("1", "prev"), link("3", "next"), link("3", "last")}},
		{9, 50, []string{link("1", "first"), link("2", "prev"), link("2", "last")}},
	}
	for _, tt := range tests {
		c := contextFor("/registry/v1/contracts?q=a+b")
		h.app.SetPagingHeaders(c, store.Page{Number: tt.page, Size: 25}, tt.total)
		if got, want := c.Response().Header().Get("Link"), strings.Join(tt.want, ", "); got != want {
			t.Errorf("page %d of %d: got %s, want %s", tt.page, tt.total, got, want)
		}
	}
}

func TestForm(t *testing.T) {
	t.Parallel()
	f := must(site.NewForm(url.Values{"a": {"  x\x00y\r\nz "}, "p": {" secret "}, "l": {"1", " ", "2"}, "c": {"on"}}))(t)
	if got := f.Get("a"); got != "xy\nz" {
		t.Errorf("Get %q", got)
	}
	if got := f.Raw("p"); got != " secret " {
		t.Errorf("Raw %q", got)
	}
	if got := f.List("l"); len(got) != 2 || got[1] != "2" {
		t.Errorf("List %q", got)
	}
	if !f.Checked("c") || f.Checked("none") {
		t.Error("Checked")
	}
	if _, err := site.NewForm(url.Values{"a": {"\xff"}}); err == nil {
		t.Error("took what is not UTF-8")
	}
	if _, err := site.NewForm(url.Values{"a": make([]string, site.MaxFormFields+1)}); err == nil {
		t.Error("took too many fields")
	}
}

func TestFormContentType(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	for kind, want := range map[string]int{
		"application/x-www-form-urlencoded":                401,
		"application/x-www-form-urlencoded; charset=utf-8": 401,
		"application/json":                                 415,
		"multipart/form-data":                              415,
		"text/plain; charset=bogus":                        415,
	} {
		b := h.browser()
		b.header.Set("Content-Type", kind)
		wantStatus(t, b.post("/login", url.Values{"email": {kind}, "password": {"x"}}), want)
	}
	wantStatus(t, h.browser().do(http.MethodPost, "/login", "a=%zz"), http.StatusBadRequest)
}

// FuzzLocalPath checks that what is taken for an address of ours cannot lead a
// browser elsewhere.
func FuzzLocalPath(f *testing.F) {
	for _, seed := range []string{"/", "/a?b=c#d", "//x", "/\\x", "/\t/x", "http://x", "/%2fx", "", "javascript:x", "/a//b"} {
		f.Add(seed)
	}
	base, _ := url.Parse("https://schakel.example.nl/login")
	f.Fuzz(func(t *testing.T, raw string) {
		got := site.LocalPath(raw)
		if got == "" {
			return
		}
		// Browsers drop tabs and line ends, and take a backslash for a slash.
		seen := strings.NewReplacer("\t", "", "\r", "", "\n", "", `\`, "/").Replace(got)
		u, err := base.Parse(seen)
		if err != nil || u.Host != base.Host || u.Scheme != base.Scheme || strings.HasPrefix(seen, "//") {
			t.Errorf("%q leads to %v, %v", raw, u, err)
		}
	})
}

// A word that a filter of an API does not know is refused with those that it does; it is not a list of nothing.
func TestUnknownFilterWords(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil)
	caller := h.newClient(t, "", identity.NewClient{Scopes: []string{site.ScopeEventsConsume, site.ScopeSubscriptionsWrite, site.ScopeRegistryRead, site.ScopeRegistryWrite}})
	for target, known := range map[string]string{
		"/events/v1/subscriptions?status=":        "requested, approved, paused, suspended, ended or rejected",
		"/events/v1/deliveries?status=":           "pending, retrying, delivered, held, dead or discarded",
		"/events/v1/resends?status=":              "running, done, cancelled or stopped",
		"/events/v1/amqp-messages?direction=":     "in or out",
		"/events/v1/amqp-messages?kind=":          "business, apprec, error, request, answer or event",
		"/events/v1/quarantined-requests?status=": "open, released or discarded",
		"/registry/v1/contracts?status=":          "draft, published, deprecated or withdrawn",
		"/registry/v1/contracts?kind=":            "openapi or asyncapi",
	} {
		for _, word := range []string{"xx", "Approved", "%20"} {
			p := caller.get(t, target+word).problem(t, http.StatusBadRequest, "invalid")
			if len(p.Errors) != 1 || !strings.Contains(string(p.Errors[0].Detail), known) {
				t.Errorf("%s%s: %+v", target, word, p.Errors)
			}
		}
		first, _, _ := strings.Cut(known, " ")
		caller.get(t, target+strings.TrimSuffix(first, ",")).want(t, http.StatusOK)
	}
}

// On a page such a word narrows nothing: the list is whole, and the form says so.
func TestUnknownFilterWordsOnPages(t *testing.T) {
	t.Parallel()
	w := newQueueWorld(t)
	for path, row := range map[string]string{
		"/admin/partners":        "/admin/partners/" + w.first.id,
		"/admin/endpoints":       "/admin/endpoints/" + w.first.endpoint,
		"/admin/subscriptions":   "/admin/subscriptions/" + w.first.subscription,
		"/partner/endpoints":     "/partner/endpoints/" + w.first.endpoint,
		"/partner/subscriptions": "/partner/subscriptions/" + w.first.subscription,
	} {
		b := w.admin
		if strings.HasPrefix(path, "/partner") {
			b = w.first.browser
		}
		page := text(b.get(path + "?status=xx"))
		if !strings.Contains(page, row) || strings.Contains(page, `value="xx"`) {
			t.Errorf("%s under an unknown state does not show all", path)
		}
	}
	for _, path := range []string{"/admin/quarantine?state=xx", "/contracts?status=xx&kind=xx", "/event-types?status=xx", "/partner/clients?status=xx"} {
		b := w.admin
		if strings.HasPrefix(path, "/partner") {
			b = w.first.browser
		}
		answer := b.get(path)
		wantStatus(t, answer, http.StatusOK)
		if strings.Contains(text(answer), `value="xx"`) {
			t.Errorf("%s keeps the unknown word", path)
		}
	}
}

// A body that says something twice, or in other letters, or nothing at all, is refused with the place: whoever sent it
// meant something else than what would be read.
func TestJSONThatSaysSomethingElse(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil)
	c := h.newClient(t, "", identity.NewClient{Scopes: []string{site.ScopeEventsConsume, site.ScopeSubscriptionsWrite, site.ScopeRegistryRead, site.ScopeRegistryWrite}})
	const subscriptions, resends, previews, contracts = "/events/v1/subscriptions", "/events/v1/resends", "/events/v1/resend-previews", "/registry/v1/contracts"
	for _, tt := range []struct{ name, target, body, pointer string }{
		{"twice", subscriptions, `{"name":"a","name":"b"}`, "/name"},
		{"twice in other letters", subscriptions, `{"name":"a","Name":"b"}`, "/Name"},
		{"in other letters", resends, `{"EndpointID":"end_1"}`, "/EndpointID"},
		{"unknown", resends, `{"a/b~c":1}`, "/a~1b~0c"},
		{"retry twice", subscriptions, `{"retry":{"waits":["5s"],"waits":["1m"]}}`, "/retry/waits"},
		{"retry in other letters", subscriptions, `{"retry":{"waits":["5s"],"maxattempts":3}}`, "/retry/maxattempts"},
		{"retry with null", subscriptions, `{"retry":{"waits":[null]}}`, "/retry/waits/0"},
		{"version twice", subscriptions, `{"versions":{"nl.a":"1","nl.A":"1","nl.a":"2"}}`, "/versions/nl.a"},
		{"in a filter", subscriptions, `{"filters":[{"exact":{"type":"a","type":"b"}}]}`, "/filters/0/exact"},
		{"in an object in ours", contracts, `{"contact":{"name":"a","Name":"b"}}`, "/contact/Name"},
		{"null selects all", resends, `{"deliveryIds":null}`, "/deliveryIds"},
		{"null text selects all", previews, `{"eventId":null}`, "/eventId"},
		{"no object", resends, `null`, ""},
		{"a list", previews, `[]`, ""},
		{"deep", subscriptions, `{"filters":` + strings.Repeat("[", 30_000), ""},
		{"more behind it", previews, `{}{}`, ""},
		{"broken off", previews, `{"reason":`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.pointer == "" {
				c.postJSON(t, tt.target, tt.body).problem(t, http.StatusBadRequest, "json-syntax")
				return
			}
			p := c.postJSON(t, tt.target, tt.body).problem(t, http.StatusBadRequest, "invalid")
			if !slices.ContainsFunc(p.Errors, func(e site.ProblemError) bool { return e.Pointer == tt.pointer }) {
				t.Errorf("%+v, want %s", p.Errors, tt.pointer)
			}
		})
	}
	c.postJSON(t, previews, ` {} `).want(t, http.StatusOK)
}

func FuzzCheckMembers(f *testing.F) {
	for _, seed := range []string{`{"retry":{"waits":[]},"versions":{"a":"b"}}`, `{"types":[null]}`, `[[`, `{"a":1,"A":2}`, `null`, `{}{`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var in webpartners.SubscriptionRequest
		if err := api.CheckMembers(body, reflect.TypeOf(&in), ""); err == nil {
			_ = api.DecodeStrict(body, &in)
		}
	})
}

// sameDocument converts a document there and back and wants the same values.
func sameDocument(t *testing.T, name string, content []byte) {
	t.Helper()
	original, _, err := contract.Parse(content, contract.Limits{})
	noError(t, err)
	if original == nil {
		return
	}
	asJSON := must(api.DocumentToJSON(content))(t)
	asYAML := must(api.DocumentToYAML(asJSON))(t)
	for form, made := range map[string][]byte{"json": asJSON, "yaml": asYAML} {
		again, findings, err := contract.Parse(made, contract.Limits{})
		noError(t, err)
		if again == nil {
			t.Errorf("%s: the %s cannot be read: %v", name, form, findings)
		} else if !reflect.DeepEqual(again.Root, original.Root) {
			t.Errorf("%s: the %s has other values", name, form)
		}
	}
	if parsed, _, _ := contract.Parse(asYAML, contract.Limits{}); parsed != nil && parsed.Format != contract.FormatYAML {
		t.Errorf("%s: YAML came out as JSON", name)
	}
}

func TestConvertKeepsOrderAndValues(t *testing.T) {
	t.Parallel()
	const source = `# a comment
openapi: 3.1.0
info: &info
  version: "1.10"
  title: 'yes'
  description: |
    Two lines,
      one of them indented: "quoted" # not a comment
  x-numbers: [1.50, 1e3, 0x1F, 100000000000000000000, -0.0]
  x-words: ["no", "on", "null", "1_000", "2026-05-01", "12:30", "~", "", " ", "é\t", "a: b", "- c", "*d", "trailing "]
paths: {}
x-copy: *info
x-keys: {200: a, "true": b, 1.5: c}
`
	asJSON := must(api.DocumentToJSON([]byte(source)))(t)
	last := -1
	for _, name := range []string{`"openapi"`, `"info"`, `"version"`, `"title"`, `"x-numbers"`, `"paths"`, `"x-copy"`, `"x-keys"`} {
		at := strings.Index(string(asJSON), name)
		if at <= last {
			t.Errorf("%s does not stand in its place:\n%s", name, asJSON)
		}
		last = at
	}
	if !strings.Contains(string(asJSON), "1.50") || !strings.Contains(string(asJSON), "100000000000000000000") {
		t.Errorf("numbers changed:\n%s", asJSON)
	}
	sameDocument(t, "sample", []byte(source))
}

// TestConvertSamples converts real contracts.
func TestConvertSamples(t *testing.T) {
	needs.Unraced(t)
	t.Parallel()
	err := filepath.WalkDir(needs.Shared(t, "contracts"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err != nil || info.Size() > 300<<10 {
			return err // the largest would only take time
		}
		content, err := os.ReadFile(path)
		if err == nil && len(content) > 0 {
			sameDocument(t, path, content)
		}
		return err
	})
	noError(t, err)
}

// FuzzConvert looks for documents that change when they are converted.
func FuzzConvert(f *testing.F) {
	f.Add([]byte(sampleContract))
	f.Add([]byte(`{"openapi":"3.1.0","info":{"title":"\u2028\u0085 yes","version":"1"},"x":[1e5,-0,"0o7",".inf","a\n\n b\n"]}`))
	f.Add([]byte("openapi: 3.1.0\ninfo: {title: &a '~', version: *a}\nx: {? 0x1F : 1, <: 2}\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		if len(content) > 4096 || content == nil {
			return
		}
		original, _, err := contract.Parse(content, contract.Limits{})
		noError(t, err)
		if original == nil {
			return
		}
		asJSON := must(api.DocumentToJSON(content))(t)
		asYAML := must(api.DocumentToYAML(asJSON))(t)
		for _, made := range [][]byte{asJSON, asYAML} {
			again, _, err := contract.Parse(made, contract.Limits{})
			noError(t, err)
			if again == nil || !reflect.DeepEqual(again.Root, original.Root) {
				t.Fatalf("%q became %q", content, made)
			}
		}
	})
}

// Text that PostgreSQL does not take is refused before it, the same on both databases.
func TestTextThatNoDatabaseTakes(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		h := newAPIHarnessOn(t, db, clock, nil)
		c := h.everything(t)
		for path, want := range map[string]int{
			"/events/v1/events/%00": 404, "/events/v1/objects/a%00b": 404, "/events/v1/quarantined-requests/%C3%28": 404,
			"/events/v1/subscriptions/%00": 404, "/registry/v1/contracts/%00": 404, "/registry/v1/contracts/%ff/releases": 404,
			"/events/v1/subscriptions?status=%00": 400, "/events/v1/deliveries?eventId=%ff": 400, "/registry/v1/contracts?q=a%00": 400,
			"/registry/v1/contracts?q=%2500": 200,
		} {
			c.get(t, path).want(t, want)
		}
		for path, body := range map[string]string{
			"/events/v1/resends":         `{"endpointId":"\u0000"}`,
			"/events/v1/resend-previews": `{"eventId":"a\\\u0000"}`,
			"/events/v1/subscriptions":   `{"name":"\u0000"}`,
		} {
			c.postJSON(t, path, body).problem(t, http.StatusBadRequest, "json-syntax")
		}
		c.postJSON(t, "/events/v1/resend-previews", `{"eventId":"\\u0000"}`).want(t, http.StatusOK)
	}, storetest.WithClock(clock))
}

// A client that cannot be is none: no failure of ours, which would have it try again.
func TestTokenForTextThatNoDatabaseTakes(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		h := newAPIHarnessOn(t, db, clock, nil)
		for _, id := range []string{"\x00", "a\x00b", "\xff"} {
			r := httptest.NewRequest(http.MethodPost, apiTestBase+"/oauth/token", strings.NewReader("grant_type=client_credentials"))
			r.Header = http.Header{
				"Content-Type":  {"application/x-www-form-urlencoded"},
				"Authorization": {"Basic " + base64.StdEncoding.EncodeToString([]byte(id+":secret"))},
			}
			w := httptest.NewRecorder()
			h.app.Handler().ServeHTTP(w, r)
			if w.Code != http.StatusUnauthorized {
				t.Errorf("%q: status %d: %s", id, w.Code, w.Body)
			}
		}
	}, storetest.WithClock(clock))
}

func FuzzEscapesNUL(f *testing.F) {
	for _, s := range []string{`"\u0000"`, `"\\u0000"`, `"\\\u0000"`, `"\u0000\\u0000"`, `"\\u0000\u0000"`, `""`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var got any
		if api.DecodeStrict([]byte(s), &got) != nil {
			return
		}
		text, ok := got.(string)
		if ok && strings.Contains(text, "\x00") != site.EscapesNUL([]byte(s)) {
			t.Errorf("%s: %v", s, site.EscapesNUL([]byte(s)))
		}
	})
}
