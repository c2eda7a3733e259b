package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestProfiles: the admin address serves profiles, but not the command line, which may hold a password.
func TestProfiles(t *testing.T) {
	t.Parallel()
	handler := adminHandler(func(context.Context) []Readiness { return nil }, newMetrics())
	for path, want := range map[string]int{
		"/debug/pprof/": http.StatusOK, "/debug/pprof/heap?debug=1": http.StatusOK, "/debug/pprof/symbol": http.StatusOK,
		"/debug/pprof/cmdline": http.StatusNotFound, "/debug/vars": http.StatusNotFound,
	} {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		if w.Code != want {
			t.Errorf("%s: %d, want %d", path, w.Code, want)
		}
	}
}
