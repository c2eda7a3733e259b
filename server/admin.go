package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/pprof"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
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

// adminHandler serves GET /livez, /readyz and /metrics, and profiles of the process below /debug/pprof/ for go tool pprof.
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
	// The command line, which pprof would show too, may hold a password of the database.
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("GET /debug/pprof/cmdline", http.NotFound)
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

// smallHeap sets the size to which the heap may grow before it is collected, in bytes, as long as little of it lives. Under load the engine
// makes much garbage that lives for milliseconds; a collection at the usual twice of what lives would come fifty times a
// second. The whole process stays under 100 MB with this.
const smallHeap = 18 << 20

// usualPercent is Go's own pace of collection, maxPercent the slowest: what lives can grow between two collections, and
// the heap grows with it by so much.
const (
	usualPercent = 100
	maxPercent   = 300
)

// paceCollector keeps the heap from being collected more often than smallHeap asks, and lets the garbage collector keep its own
// pace when more lives. It does nothing when the operator set a pace with GOGC or GOMEMLIMIT. It follows every
// collection until the process ends.
func paceCollector() {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	pace(usualPercent)
}

// pace sets the percentage, which was last, for the next collection, and itself up to run after that.
func pace(last int) {
	// Setting the percentage stops the world for a moment, so small changes are let be.
	if percent := percentFor(liveHeap()); percent < last*9/10 || percent > last*11/10 {
		debug.SetGCPercent(percent)
		last = percent
	}
	runtime.AddCleanup(new([16]byte), pace, last)
}

// percentFor is the pace that lets a heap of which so many bytes live grow to smallHeap.
func percentFor(live uint64) int {
	if live == 0 {
		return usualPercent
	}
	free := int64(smallHeap) - int64(live)
	return int(min(max(free*100/int64(live), usualPercent), maxPercent))
}

// liveHeap returns the bytes that the last collection found alive.
func liveHeap() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return sample[0].Value.Uint64()
}
