package web

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"
	"schakel/web/site"
)

func TestRouting(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	h.app.API(10, "/events/v1").GET("/things", func(c echo.Context) error { return c.NoContent(http.StatusNoContent) })
	tests := []struct {
		method, path string
		status       int
		header, want string
	}{
		{"GET", "/login", 200, "", ""},
		{"HEAD", "/login", 200, "Content-Type", "text/html; charset=UTF-8"},
		{"DELETE", "/login", 405, "Allow", "OPTIONS, GET, POST"},
		{"GET", "/login/", 301, "Location", "/login"},
		{"GET", "/login/?next=%2Fx", 301, "Location", "/login?next=%2Fx"},
		{"GET", "//evil.example/", 301, "Location", "/evil.example"},
		{"GET", "/%5Cevil.example/", 301, "Location", "/evil.example"},
		{"POST", "/login/", 404, "", ""},
		{"GET", "/events/v1/things", 204, "", ""},
		{"HEAD", "/events/v1/things", 204, "API-Version", "1.0.0"},
		{"GET", "/events/v1/things/", 404, "Content-Type", "application/problem+json"},
		{"DELETE", "/events/v1/things", 405, "Allow", "OPTIONS, GET"},
		{"GET", "/events/v1", 404, "Content-Type", "application/problem+json"},
		{"GET", "/events/v12", 404, "Content-Type", "text/html; charset=UTF-8"},
		{"GET", "/nothing", 404, "Content-Type", "text/html; charset=UTF-8"},
	}
	for _, tt := range tests {
		t.Run(tt.method+" "+tt.path, func(t *testing.T) {
			t.Parallel()
			answer := h.browser().do(tt.method, "http://schakel.example.nl"+tt.path, "")
			wantStatus(t, answer, tt.status)
			if tt.header != "" && answer.Header.Get(tt.header) != tt.want {
				t.Errorf("%s: %q, want %q", tt.header, answer.Header.Get(tt.header), tt.want)
			}
		})
	}
}

func TestHeadHasNoBody(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(newHarness(t, nil).app.Handler())
	t.Cleanup(server.Close)
	answer, err := server.Client().Head(server.URL + "/login")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if b, err := io.ReadAll(answer.Body); answer.StatusCode != 200 || len(b) != 0 || err != nil {
		t.Errorf("status %d, %d bytes, %v", answer.StatusCode, len(b), err)
	}
}

func TestSecurityHeaders(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	for _, path := range []string{"/login", "/nothing", "/events/v1/nothing", "/account", "/login/"} {
		header := h.browser().get(path).Header
		for name, want := range map[string]string{
			"Content-Security-Policy":    "default-src 'none'",
			"X-Content-Type-Options":     "nosniff",
			"Referrer-Policy":            "same-origin",
			"Cross-Origin-Opener-Policy": "same-origin",
			"Permissions-Policy":         "camera=()",
			site.HeaderRequestID:         "req_",
		} {
			if !strings.HasPrefix(header.Get(name), want) {
				t.Errorf("%s: %s is %q", path, name, header.Get(name))
			}
		}
	}
}

func TestCrossOrigin(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		header http.Header
		want   int
	}{
		{"own form", http.Header{"Sec-Fetch-Site": {"same-origin"}}, 401},
		{"typed address", http.Header{"Sec-Fetch-Site": {"none"}}, 401},
		{"other site", http.Header{"Sec-Fetch-Site": {"cross-site"}}, 403},
		{"sibling host", http.Header{"Sec-Fetch-Site": {"same-site"}}, 403},
		{"old browser, own form", http.Header{"Origin": {"http://schakel.example.nl"}}, 401},
		{"old browser, other site", http.Header{"Origin": {"https://evil.example"}}, 403},
		{"old browser, hidden origin", http.Header{"Origin": {"null"}}, 403},
		{"not a browser", http.Header{}, 401},
	}
	h := newHarness(t, nil)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := h.browser()
			b.header = tt.header
			wantStatus(t, b.post("/login", url.Values{"email": {tt.name + "@example.nl"}, "password": {"x"}}), tt.want)
		})
	}
}

func TestBodyLimit(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	h.app.API(10, "/events/v1").POST("/echo", func(c echo.Context) error {
		b, err := io.ReadAll(c.Request().Body)
		if err != nil {
			return err
		}
		return c.String(http.StatusOK, string(b))
	})
	for body, want := range map[string]int{"0123456789": 200, "0123456789a": 413} {
		for _, length := range []int64{int64(len(body)), -1} {
			r := httptest.NewRequest(http.MethodPost, "/events/v1/echo", strings.NewReader(body))
			r.ContentLength = length
			w := httptest.NewRecorder()
			h.app.Handler().ServeHTTP(w, r)
			if w.Code != want {
				t.Errorf("%q with length %d: %d, want %d", body, length, w.Code, want)
			}
		}
	}
	answer := h.browser().post("/login", url.Values{"email": {strings.Repeat("a", site.MaxFormBytes)}})
	wantStatus(t, answer, http.StatusRequestEntityTooLarge)
}

func TestAccessLogKeepsSecrets(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	h.browser().get("/setup/s3cret?access_token=t0ken")
	h.browser().post("/login", url.Values{"email": {"pers0n@example.nl"}, "password": {"passw0rd"}})
	log := h.log.String()
	if !strings.Contains(log, "route=/setup/:token") {
		t.Errorf("no line for the request: %s", log)
	}
	for _, secret := range []string{"s3cret", "t0ken", "pers0n", "passw0rd"} {
		if strings.Contains(log, secret) {
			t.Errorf("the log holds %q", secret)
		}
	}
}

func TestClientAddress(t *testing.T) {
	t.Parallel()
	proxies := []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
	tests := []struct {
		name, remote, forwarded, want string
		proxies                       []netip.Prefix
	}{
		{"direct", "198.51.100.7:1", "", "198.51.100.7", proxies},
		{"through the proxy", "192.0.2.1:1", "203.0.113.9", "203.0.113.9", proxies},
		{"made up before the proxy", "192.0.2.1:1", "1.1.1.1, 203.0.113.9", "203.0.113.9", proxies},
		{"not through the proxy", "198.51.100.7:1", "203.0.113.9", "198.51.100.7", proxies},
		{"no proxy known", "192.0.2.1:1", "203.0.113.9", "192.0.2.1", nil},
		{"private, not told to believe", "10.0.0.1:1", "203.0.113.9", "10.0.0.1", proxies},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.RemoteAddr = tt.remote
			if tt.forwarded != "" {
				r.Header.Set("X-Forwarded-For", tt.forwarded)
			}
			if got := site.IpExtractor(tt.proxies)(r); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}
