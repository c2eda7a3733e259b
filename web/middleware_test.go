package web

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/labstack/echo/v4"
	"github.com/mattn/go-sqlite3"
	"schakel/delivery/event"
	"schakel/registry"
	"schakel/registry/identity"
	"schakel/registry/identity/token"
	"schakel/store"
	"schakel/store/storetest"
	"schakel/templates/i18n"
	"schakel/web/api"
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
	answer := must(server.Client().Head(server.URL + "/login"))(t)
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
	wantStatus(t, h.browser().post("/login", url.Values{"email": {strings.Repeat("a", site.MaxFormBytes)}}), http.StatusRequestEntityTooLarge)
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
	lacks(t, log, "s3cret", "t0ken", "pers0n", "passw0rd")
}

// A line of the log has the trace of who asked, when that is valid.
func TestAccessLogHasTheTrace(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	for _, parent := range []string{"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "00-0af7651916cd43dd8448eb211c80319d-x", ""} {
		b := h.browser()
		b.header = http.Header{"Traceparent": {parent}}
		wantStatus(t, b.get("/login"), http.StatusOK)
	}
	match(t, `route=/login status=200 .*trace_id=0af7651916cd43dd8448eb211c80319c`, h.log.String())
	if n := strings.Count(h.log.String(), "trace_id"); n != 1 {
		t.Errorf("%d lines have a trace: %s", n, h.log)
	}
}

// Who asked stands in the log, also when it was refused for want of a role or scope; of a visitor nothing does.
func TestAccessLogNamesWhoAsked(t *testing.T) {
	t.Parallel()
	h := newHarness(t, func(c *Config) {
		c.Tokens = verifierFunc(func(string) (token.Claims, error) {
			return token.Claims{ClientID: "cli_1", Scopes: []string{site.ScopeEventsPublish}}, nil
		})
	})
	h.administrator(t)
	account := must(h.db.AccountByEmail(t.Context(), testEmail))(t)
	h.app.Pages("", registry.ReadPartner).GET("/refused", func(c echo.Context) error { return c.NoContent(http.StatusOK) })
	h.app.API(10, "/events/v1").GET("/refused", func(c echo.Context) error { return c.NoContent(http.StatusOK) }, h.app.RequireScope(site.ScopeEventsConsume))
	wantStatus(t, h.browser().login(t, testEmail).get("/refused"), http.StatusForbidden)
	machine := h.browser()
	machine.header = http.Header{"Authorization": {"Bearer x"}}
	wantStatus(t, machine.get("/events/v1/refused"), http.StatusForbidden)
	h.browser().get("/login")
	for line := range strings.Lines(h.log.String()) {
		for route, want := range map[string]string{"route=/refused ": "actor=" + account.ID, "route=/events/v1/refused ": "actor=cli_1", "method=GET route=/login ": ""} {
			if strings.Contains(line, route) && (!strings.Contains(line, want) || want == "" && strings.Contains(line, "actor=")) {
				t.Errorf("no %q in %s", want, line)
			}
		}
	}
	wantWords(t, h.log.String(), "actor="+account.ID, "actor=cli_1")
	stranger := h.browser()
	stranger.header = http.Header{"Sec-Fetch-Site": {"cross-site"}, "Origin": {"https://evil.example"}}
	wantStatus(t, stranger.post("/login", nil), http.StatusForbidden)
	match(t, `route=/events/v1/refused status=403 .*problem=insufficient-scope`, h.log.String())
	match(t, `route=/login status=403 .*problem=`, h.log.String())
}

// Browsers are told to use https for a year where we have it, and for hosts below ours when that is asked for.
func TestStrictTransportSecurity(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		scheme string
		below  bool
		want   string
	}{
		{"https", false, "max-age=31536000"}, {"https", true, "max-age=31536000; includeSubDomains"}, {"http", true, ""},
	} {
		h := newHarness(t, func(c *Config) { c.BaseURL.Scheme, c.HSTSSubdomains = tt.scheme, tt.below })
		for _, path := range []string{"/login", "/nothing", "/events/v1/nothing"} {
			if got := h.browser().get(path).Header.Get("Strict-Transport-Security"); got != tt.want {
				t.Errorf("%s, %v, %s: %q, want %q", tt.scheme, tt.below, path, got, tt.want)
			}
		}
	}
}

// security.txt is there when a contact is configured, and else not.
func TestSecurityTxt(t *testing.T) {
	t.Parallel()
	const path = "/.well-known/security.txt"
	h := newHarness(t, func(c *Config) {
		c.Security = &site.SecurityContact{Addresses: []string{"mailto:security@example.nl", "https://example.nl/report"}, Policy: "https://example.nl/policy", Languages: []string{"nl", "en"}}
	})
	answer := h.browser().get(path)
	wantStatus(t, answer, http.StatusOK)
	expires := h.clock.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 90).Format(time.RFC3339)
	want := "Contact: mailto:security@example.nl\nContact: https://example.nl/report\nExpires: " + expires +
		"\nPreferred-Languages: nl, en\nCanonical: http://schakel.example.nl" + path + "\nPolicy: https://example.nl/policy\n"
	if got := text(answer); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := answer.Header.Get("Content-Type"); !strings.EqualFold(got, "text/plain; charset=utf-8") {
		t.Errorf("Content-Type %q", got)
	}
	least := newHarness(t, func(c *Config) { c.Security = &site.SecurityContact{Addresses: []string{"tel:112"}} })
	lacks(t, text(least.browser().get(path)), "Policy", "Preferred-Languages")
	wantStatus(t, newHarness(t, nil).browser().get(path), http.StatusNotFound)
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

// A page of another site that sends If-None-Match asks first whether it may: yes for public documents and catalogues, with the
// methods and headers that reading needs, and no for all else; a request that is no preflight is refused as before (EDU-03f).
//
// Rules: EDU-06e, EDU-03f
func TestPreflightOfPublicDocuments(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil)
	publishedContract(t, h.writer(t), "public")
	version := contractTarget + "/versions/1.0.0"
	ask := func(target, method, headers string) apiAnswer {
		t.Helper()
		return h.anyone().do(t, http.MethodOptions, target, "", "Origin", "https://docs.example", "Access-Control-Request-Method", method, "Access-Control-Request-Headers", headers)
	}
	for _, target := range []string{
		"/registry/v1/contracts", "/registry/v1/contracts?page=2", contractTarget, contractTarget + "/releases", contractTarget + "/versions", version,
		version + "/changes", version + "/original", version + "/content", version + "/content.json", version + "/content.yaml", contractTarget + "/versions/1.0.0%2Bbuild.5",
		"/.well-known/api-catalog", "/registry/v1/openapi.json", "/events/v1/openapi.yaml", "/oauth/openapi.json", "/mutations/v1/openapi.json",
	} {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			answer := ask(target, method, "if-none-match").want(t, http.StatusNoContent)
			for name, want := range map[string]string{"Access-Control-Allow-Origin": "*", "Access-Control-Allow-Methods": "GET, HEAD", "Access-Control-Max-Age": "86400", "Access-Control-Allow-Credentials": ""} {
				if got := answer.header.Get(name); got != want {
					t.Errorf("%s %s: %s is %q, want %q", method, target, name, got, want)
				}
			}
			if allowed := answer.header.Get("Access-Control-Allow-Headers"); !strings.Contains(allowed, "If-None-Match") || strings.Contains(allowed, "Authorization") || strings.Contains(allowed, "*") {
				t.Errorf("%s %s: allows %q", method, target, allowed)
			}
		}
		wantClosed(t, ask(target, http.MethodPost, "content-type"), target)
		wantClosed(t, h.anyone().do(t, http.MethodOptions, target, "", "WebHook-Request-Origin", "sender.example"), target)
	}
	for _, target := range []string{
		"/events/v1/events", "/events/v1/deliveries", "/events/v1/subscriptions", "/events/v1/quarantined-requests", "/registry/v1/mirrors", "/registry/v1/validations",
		version + "/withdrawal", version + "/publication", contractTarget + "/visibility", "/mutations/v1/datasets", "/oauth/token", "/oauth/jwks",
	} {
		wantClosed(t, ask(target, http.MethodGet, "authorization"), target)
		if answer := h.anyone().get(t, target); answer.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: any site may read it", target)
		}
	}
	if answer := ask("/registry/v1/nothing", http.MethodGet, ""); answer.status != http.StatusNotFound {
		t.Errorf("an unknown path: %d", answer.status)
	}
}

func wantClosed(t *testing.T, answer apiAnswer, target string) {
	t.Helper()
	if answer.status != http.StatusMethodNotAllowed || answer.header.Get("Allow") == "" {
		t.Errorf("%s: %d, Allow %q", target, answer.status, answer.header.Get("Allow"))
	}
	for name := range answer.header {
		if strings.HasPrefix(name, "Access-Control-") {
			t.Errorf("%s: %s: %s", target, name, answer.header.Get(name))
		}
	}
}

// The feeds and documents of the pages may be read from anywhere too, and what a login shows may not.
func TestPreflightOfPages(t *testing.T) {
	t.Parallel()
	o := newAdminHarness(t)
	for target, public := range map[string]bool{
		"/contracts/feed.atom": true, "/contracts/student-events/feed.atom": true, "/contracts/student-events/versions/1.0.0/original": true,
		"/contracts/student-events/versions/1.0.0/json": true, "/contracts": false, "/contracts/student-events": false, "/admin": false, "/login": false,
	} {
		r := httptest.NewRequest(http.MethodOptions, apiTestBase+target, nil)
		r.Header.Set("Origin", "https://docs.example")
		r.Header.Set("Access-Control-Request-Method", http.MethodGet)
		w := httptest.NewRecorder()
		o.app.Handler().ServeHTTP(w, r)
		if got := w.Header().Get("Access-Control-Allow-Methods"); (got == "GET, HEAD") != public {
			t.Errorf("%s: %q", target, got)
		}
	}
}

func TestProblemOf(t *testing.T) {
	t.Parallel()
	wrap := func(err error) error { return fmt.Errorf("do it: %w", err) }
	tests := []struct {
		name   string
		err    error
		status int
		logged bool
	}{
		{"invalid", wrap(&registry.Error{Code: registry.CodeInvalid}), 400, false},
		{"forbidden", wrap(&registry.Error{Code: registry.CodeForbidden}), 403, false},
		{"conflict", wrap(&registry.Error{Code: registry.CodeConflict}), 409, false},
		{"not found", wrap(&registry.Error{Code: registry.CodeNotFound}), 404, false},
		{"no row", wrap(store.ErrNotFound), 404, false},
		{"row conflict", wrap(store.ErrConflict), 409, false},
		{"too large", wrap(&http.MaxBytesError{Limit: 5}), 413, false},
		{"of echo", echo.ErrMethodNotAllowed, 405, false},
		{"own", wrap(site.NewProblem(http.StatusTeapot, "x", "y")), 418, false},
		{"client gone", wrap(context.Canceled), site.StatusClientGone, false},
		{"too slow", wrap(context.DeadlineExceeded), 503, true},
		{"database stops", wrap(&pgconn.PgError{Code: "57P01"}), 503, true},
		{"database is gone", wrap(&net.OpError{Op: "dial", Err: errors.New("refused")}), 503, true},
		{"disk is full", wrap(sqlite3.Error{Code: sqlite3.ErrFull}), 503, true},
		{"wrong SQL", wrap(&pgconn.PgError{Code: "42601"}), 500, true},
		{"unknown", errors.New("secret detail"), 500, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := site.ProblemOf(tt.err)
			if p.Status != tt.status || p.Logged != tt.logged || p.Detail == "" && tt.status != 400 && tt.status != 403 && tt.status != 409 && tt.status != 404 {
				t.Errorf("got %+v, want %d, logged %v", p, tt.status, tt.logged)
			}
		})
	}
}

// TestUnknownErrors checks that the text of an error nobody foresaw stays in the
// log, under the reference that the user gets.
func TestUnknownErrors(t *testing.T) {
	t.Parallel()
	for name, handler := range map[string]echo.HandlerFunc{
		"error": func(echo.Context) error { return errors.New("secret detail") },
		"panic": func(echo.Context) error { panic("secret detail") },
	} {
		for _, path := range []string{"/test/page", "/events/v1/test"} {
			t.Run(name+path, func(t *testing.T) {
				t.Parallel()
				h := newHarness(t, nil)
				h.app.Echo.GET(path, handler)
				answer := h.browser().get(path)
				wantStatus(t, answer, http.StatusInternalServerError)
				body, id := text(answer), answer.Header.Get(site.HeaderRequestID)
				if strings.Contains(body, "secret") || !strings.Contains(body, id) {
					t.Errorf("body %s", body)
				}
				if log := h.log.String(); !strings.Contains(log, "secret detail") || !strings.Contains(log, id) {
					t.Errorf("log %s", log)
				}
			})
		}
	}
}

func TestProblemJSON(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	h.app.Echo.POST("/registry/v1/test", func(echo.Context) error {
		return &registry.Error{Code: registry.CodeInvalid, Message: "Wrong.", Fields: map[string]i18n.Message{"name": "Too long."}}
	})
	answer := h.browser().post("/registry/v1/test", nil)
	wantStatus(t, answer, http.StatusBadRequest)
	if got := answer.Header.Get("Content-Type"); got != "application/problem+json" {
		t.Errorf("Content-Type %s", got)
	}
	if got := answer.Header.Get("API-Version"); got != "1.0.0" {
		t.Errorf("API-Version %q", got)
	}
	var got site.Problem
	noError(t, json.Unmarshal([]byte(text(answer)), &got))
	if got.Status != 400 || got.Title != "Bad Request" || got.Detail != "Wrong." || len(got.Errors) != 1 || got.Errors[0].Pointer != "/name" {
		t.Errorf("got %+v", got)
	}
}

func TestRetryLater(t *testing.T) {
	t.Parallel()
	for after, want := range map[time.Duration]string{0: "1", time.Millisecond: "1", 1500 * time.Millisecond: "2", time.Minute: "60"} {
		if got := site.RetryLater(429, "", "", after).Header.Get("Retry-After"); got != want {
			t.Errorf("%v: got %s, want %s", after, got, want)
		}
	}
}

// newServed is the harness behind a real server, whose deadlines are by the real clock: that of the harness is ahead of it.
func newServed(t *testing.T, change func(*api.Config)) (*apiHarness, *httptest.Server) {
	t.Helper()
	clock := storetest.NewClock()
	clock.Advance(time.Since(clock.Now()) + time.Hour)
	h := newAPIHarnessOn(t, storetest.SQLite(t, storetest.WithClock(clock)), clock, change)
	server := httptest.NewServer(h.app.Handler())
	t.Cleanup(server.Close)
	return h, server
}

// sendAll sends a request as a plain client does: all of the body first, and then it reads. What is over the limit of the
// kernel's buffers breaks where the server does not read it.
func sendAll(t *testing.T, server *httptest.Server, head string, size int) *http.Response {
	t.Helper()
	conn := must(net.Dial("tcp", server.Listener.Addr().String()))(t)
	t.Cleanup(func() { _ = conn.Close() })
	noError(t, conn.SetDeadline(time.Now().Add(2*time.Minute)))
	must(fmt.Fprintf(conn, "%sHost: schakel.example.nl\r\nContent-Length: %d\r\n\r\n", head, size))(t)
	if n, err := io.CopyN(conn, strings.NewReader(strings.Repeat(" ", size)), int64(size)); err != nil {
		t.Fatalf("broke off after %d bytes of %d: %v", n, size, err)
	}
	answer := must(http.ReadResponse(bufio.NewReader(conn), nil))(t)
	must(io.ReadAll(answer.Body))(t)
	return answer
}

// A client whose large body is refused gets to read why, whatever the reason.
// Rules: CE-32.
func TestRefusalOfALargeBodyArrives(t *testing.T) {
	t.Parallel()
	h, server := newServed(t, func(cfg *api.Config) { cfg.DocumentBytes = 1 << 20 })
	reader, publisher, writer := h.consumer(t, h.newPartner(t, "Reader").ID), h.publisher(t, h.newPartner(t, "Publisher").ID), h.writer(t)
	const upload, intake = "POST /registry/v1/contracts/some/versions HTTP/1.1\r\nContent-Type: application/json\r\n", "POST /events/v1/events HTTP/1.1\r\nContent-Type: " + event.MediaType + "\r\n"
	with := func(c *apiClient) string {
		return "Authorization: Bearer " + c.token + "\r\nIdempotency-Key: " + freshKey() + "\r\n"
	}
	const size = 12 << 20
	for _, tt := range []struct {
		name, head string
		status     int
	}{
		{"upload without a token", upload, 401},
		{"upload without the scope", upload + with(reader), 403},
		{"upload that is too large", upload + with(writer), 413},
		{"validation that is too large", "POST /registry/v1/validations HTTP/1.1\r\nContent-Type: application/json\r\n" + with(reader), 413},
		{"events without a token", intake, 401},
		{"events without the scope", intake + with(reader), 403},
		{"events without a key", intake + "Authorization: Bearer " + publisher.token + "\r\n", 400},
		{"events that are too large", intake + with(publisher), 413},
		{"no such address", "POST /registry/v1/nothing HTTP/1.1\r\n", 404},
		{"a page", "POST /login HTTP/1.1\r\nContent-Type: application/x-www-form-urlencoded\r\n", 413},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := sendAll(t, server, tt.head, size); got.StatusCode != tt.status {
				t.Errorf("status %d, want %d", got.StatusCode, tt.status)
			}
		})
	}
}

// The same while other uploads of the partner are under way.
func TestRefusalOfOneUploadTooManyArrives(t *testing.T) {
	t.Parallel()
	h, server := newServed(t, nil)
	partner := h.newPartner(t, "School").ID
	client := h.newClient(t, partner, identity.NewClient{Scopes: []string{site.ScopeRegistryRead}})
	release, done := make(chan struct{}), sync.WaitGroup{}
	for range site.UploadsPerPartner {
		body := &stalled{begun: make(chan struct{}), more: release, rest: strings.NewReader(sampleContract)}
		done.Go(func() {
			r := httptest.NewRequest(http.MethodPost, apiTestBase+"/registry/v1/validations", body)
			r.Header.Set("Authorization", "Bearer "+client.token)
			r.Header.Set("Content-Type", "application/yaml")
			h.app.Handler().ServeHTTP(httptest.NewRecorder(), r)
		})
		<-body.begun
	}
	answer := sendAll(t, server, "POST /registry/v1/validations HTTP/1.1\r\nContent-Type: application/yaml\r\nAuthorization: Bearer "+client.token+"\r\n", 12<<20)
	if answer.StatusCode != http.StatusTooManyRequests || answer.Header.Get("Retry-After") == "" {
		t.Errorf("status %d, %v", answer.StatusCode, answer.Header)
	}
	close(release)
	done.Wait()
}
