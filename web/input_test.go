package web

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"
	"schakel/web/site"
)

func contextFor(target string) echo.Context {
	return echo.New().NewContext(httptest.NewRequest(http.MethodGet, target, nil), httptest.NewRecorder())
}

func TestPaging(t *testing.T) {
	t.Parallel()
	tests := []struct {
		query string
		want  site.Paging
		ok    bool
	}{
		{"", site.Paging{Page: 1, PerPage: 25}, true},
		{"page=3&perPage=100", site.Paging{Page: 3, PerPage: 100}, true},
		{"page=0", site.Paging{Page: 1, PerPage: 25}, false},
		{"page=-1", site.Paging{Page: 1, PerPage: 25}, false},
		{"page=1.5", site.Paging{Page: 1, PerPage: 25}, false},
		{"page=99999999999999999999", site.Paging{Page: 1, PerPage: 25}, false},
		{"perPage=101", site.Paging{Page: 1, PerPage: 25}, false},
		{"page=2&perPage=x", site.Paging{Page: 2, PerPage: 25}, false},
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
		h.app.SetPagingHeaders(c, site.Paging{Page: tt.page, PerPage: 25}, tt.total)
		if got, want := c.Response().Header().Get("Link"), strings.Join(tt.want, ", "); got != want {
			t.Errorf("page %d of %d: got %s, want %s", tt.page, tt.total, got, want)
		}
	}
}

func TestForm(t *testing.T) {
	t.Parallel()
	f, err := site.NewForm(url.Values{"a": {"  x\x00y\r\nz "}, "p": {" secret "}, "l": {"1", " ", "2"}, "c": {"on"}})
	if err != nil {
		t.Fatal(err)
	}
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
