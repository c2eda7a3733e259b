package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"schakel/server/demo"
	"schakel/server/trial"
)

// otlpSpan is a span as a collector gets it.
type otlpSpan struct {
	TraceID, SpanID, ParentSpanID, Name string
	Kind                                int
	Attributes                          []struct {
		Key   string
		Value struct{ StringValue, IntValue string }
	}
}

func (s otlpSpan) attribute(key string) string {
	for _, a := range s.Attributes {
		if a.Key == key {
			return a.Value.StringValue + a.Value.IntValue
		}
	}
	return ""
}

// TestTraces follows one trace: a publisher's, through the request in which it publishes and the attempt that delivers, to the receiver. What
// waits when the program stops is exported before it ends.
func TestTraces(t *testing.T) {
	t.Parallel()
	const trace, caller, producer = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7", "b7ad6b7169203331"
	var mu sync.Mutex
	var spans []otlpSpan
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		var request struct {
			ResourceSpans []struct{ ScopeSpans []struct{ Spans []otlpSpan } }
		}
		if err != nil || json.Unmarshal(raw, &request) != nil || r.URL.Path != "/v1/traces" {
			t.Errorf("%s %s: %v", r.URL, raw, err)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		spans = append(spans, request.ResourceSpans[0].ScopeSpans[0].Spans...)
	}))
	t.Cleanup(collector.Close)

	p := trial.NewPKI(t)
	r := trial.NewReceiver(t, p)
	s := trial.NewProgram(t, p, demo.OwnA(), trial.SQLitePath(t), "--trace-endpoint", collector.URL, "--trace-ratio", "0")
	publisher := slowReceiver(t, s, r)
	s.Start(t)
	got := make(chan string, 2)
	r.Before(func(q *http.Request) {
		if q.URL.Path == "/slow" {
			got <- q.Header.Get("Traceparent")
		}
	})
	token := s.Token(t, publisher, "events.publish")
	id, body := trial.NewEvent(s.Own, demo.TypeEnrolled)
	body = strings.Replace(body, `{`, `{"traceparent":"00-`+trace+`-`+producer+`-01",`, 1)
	header := trial.EventHeader("application/cloudevents+json")
	header["Traceparent"] = "00-" + trace + "-" + caller + "-01"
	s.Call(t, http.MethodPost, "/events/v1/events", token, header, body).Want(t, http.StatusAccepted)
	parent := <-got
	r.WaitFor(t, "/slow", id)
	r.Before(nil)
	_, untraced := trial.NewEvent(s.Own, demo.TypeEnrolled)
	s.Publish(t, token, untraced)
	s.Stop(t)

	mu.Lock()
	defer mu.Unlock()
	if len(spans) != 2 {
		t.Fatalf("%d spans: %+v", len(spans), spans)
	}
	by := map[int]otlpSpan{}
	for _, span := range spans {
		by[span.Kind] = span
	}
	request, attempt := by[2], by[3]
	if request.TraceID != trace || request.ParentSpanID != caller || request.Name != "POST /events/v1/events" || request.attribute("http.response.status_code") != "202" {
		t.Errorf("request: %+v", request)
	}
	if attempt.TraceID != trace || attempt.ParentSpanID != producer || attempt.attribute("cloudevents.event_id") != id || attempt.attribute("schakel.delivery.status") != "delivered" {
		t.Errorf("attempt: %+v", attempt)
	}
	if want := "00-" + trace + "-" + attempt.SpanID + "-01"; parent != want {
		t.Errorf("the receiver got %s, not %s", parent, want)
	}
	if !strings.Contains(s.Output.String(), `trace_id=`+trace) && !strings.Contains(s.Output.String(), `"trace_id":"`+trace) {
		t.Error("the log does not name the trace")
	}
}
