package web

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
)

// BenchmarkPublish is one event through the whole router until it is on disk, from
// many clients at once.
func BenchmarkPublish(b *testing.B) {
	h := newAPIHarness(b, nil).withCatalogue(b)
	c := h.publisher(b, "")
	handler := h.app.Handler()
	var count atomic.Int64
	b.SetParallelism(64)
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			body := sampleEvent("bench-" + strconv.FormatInt(count.Add(1), 10))
			r := httptest.NewRequest(http.MethodPost, "/events/v1/events", strings.NewReader(body))
			r.Header.Set("Authorization", "Bearer "+c.token)
			r.Header.Set("Content-Type", "application/cloudevents+json")
			r.Header.Set("Idempotency-Key", `"`+uuid.NewString()+`"`)
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			if w.Code != http.StatusAccepted {
				b.Errorf("%d %s", w.Code, w.Body)
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}
