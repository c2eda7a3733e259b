package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"schakel/server/release"
)

// readyTimeout bounds how long /readyz waits for all components together.
const readyTimeout = 2 * time.Second

// newMetrics makes the program's own Prometheus registry.
func newMetrics() *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(newBuildInfo(release.Current()))
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}

// newBuildInfo is always 1: what counts are its labels, to join others with or to see which nodes run an old build.
func newBuildInfo(b release.Build) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "schakel_build_info", Help: "Version, commit and commit date of the program that runs. The value is always 1.",
		ConstLabels: prometheus.Labels{"version": b.Version, "commit": b.Commit, "date": b.Date, "goversion": runtime.Version()},
	}, func() float64 { return 1 })
}

// adminHandler serves GET /livez, /readyz and /metrics.
func adminHandler(ready func(context.Context) []Readiness, metrics *prometheus.Registry) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) {
		writeText(w, http.StatusOK, "ok\n")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
		defer cancel()
		status, body := readyAnswer(ready(ctx))
		writeText(w, status, body)
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
	return mux
}

// readyAnswer is a line a component, and 503 as soon as one is not ready. A warning
// is for people, and takes nobody's traffic away.
func readyAnswer(states []Readiness) (int, string) {
	status := http.StatusOK
	var b strings.Builder
	for _, s := range states {
		if s.Err == nil {
			fmt.Fprintf(&b, "%s ok\n", s.Name)
			continue
		}
		if w, ok := errors.AsType[warning](s.Err); ok {
			fmt.Fprintf(&b, "%s warning: %s\n", s.Name, w)
			continue
		}
		status = http.StatusServiceUnavailable
		fmt.Fprintf(&b, "%s failed: %s\n", s.Name, strings.ReplaceAll(s.Err.Error(), "\n", " "))
	}
	return status, b.String()
}

func writeText(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(body))
}
