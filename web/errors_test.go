package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/labstack/echo/v4"
	"github.com/mattn/go-sqlite3"
	"schakel/registry"
	"schakel/store"
	"schakel/web/site"
)

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
		return &registry.Error{Code: registry.CodeInvalid, Message: "Wrong.", Fields: map[string]string{"name": "Too long."}}
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
	if err := json.Unmarshal([]byte(text(answer)), &got); err != nil {
		t.Fatal(err)
	}
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
