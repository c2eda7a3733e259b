package trace_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"schakel/delivery/trace"
)

const (
	sampled   = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	unsampled = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"
)

// What a caller records is recorded, and what it does not is not; of the rest a share is.
func TestSampling(t *testing.T) {
	t.Parallel()
	none, all := trace.NewRecorder(0, time.Now), trace.NewRecorder(1, time.Now)
	var off *trace.Recorder
	for _, c := range []struct {
		recorder *trace.Recorder
		parent   string
		want     bool
	}{
		{off, sampled, false},
		{none, sampled, true},
		{all, sampled, true},
		{all, unsampled, false},
		{none, "", false},
		{all, "", true},
		{all, "00-00000000000000000000000000000000-00f067aa0ba902b7-01", true}, // not valid: a trace of its own
		{none, "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01", false},
		{none, "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0", false},
		{none, sampled + "-more", false},
	} {
		s := c.recorder.Start(trace.Server, "name", c.parent)
		if got := s != nil; got != c.want {
			t.Errorf("%q: recorded %v", c.parent, got)
		}
		if s == nil {
			if s.Parent() != "" || s.TraceID() != "" || trace.From(s.With(t.Context())) != nil {
				t.Error("a span that is not recorded has a trace")
			}
			s.Link(sampled)
			s.Set(trace.Attr{Key: "a", Value: "b"})
			s.Rename("other")
			s.Fail("no")
			s.End()
			continue
		}
		if again := all.Start(trace.Client, "child", s.Parent()); again.TraceID() != s.TraceID() || again.Parent() == s.Parent() {
			t.Errorf("%q: a child of %s is %s", c.parent, s.Parent(), again.Parent())
		}
	}
	const begun = 20_000
	some, few := trace.NewRecorder(0.1, time.Now), 0
	for range begun {
		if some.Start(trace.Server, "", "") != nil {
			few++
		}
	}
	if few < begun/20 || few > begun/5 {
		t.Errorf("of %d a tenth is %d", begun, few)
	}
}

// collector keeps what it got.
type collector struct {
	*httptest.Server
	mu       sync.Mutex
	body     string           // of its answers
	got      []map[string]any // spans
	requests int
	header   http.Header
	path     string
}

func startCollector(t *testing.T) *collector {
	t.Helper()
	c := new(collector)
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.header, c.path = r.Header, r.URL.Path
		c.requests++
		body, _ := io.ReadAll(r.Body)
		var request struct {
			ResourceSpans []struct {
				ScopeSpans []struct{ Spans []map[string]any }
			}
		}
		if err := json.Unmarshal(body, &request); err != nil {
			t.Error(err)
		}
		for _, rs := range request.ResourceSpans {
			for _, ss := range rs.ScopeSpans {
				c.got = append(c.got, ss.Spans...)
			}
		}
		_, _ = io.WriteString(w, c.body)
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *collector) exporter(r *trace.Recorder) *trace.Exporter {
	return &trace.Exporter{
		Recorder: r, URL: c.URL, Client: c.Client(), Header: http.Header{"Authorization": {"Bearer x"}},
		Resource: []trace.Attr{{Key: "service.name", Value: "schakel"}}, Log: slog.New(slog.DiscardHandler),
	}
}

// stopped runs an exporter to its end: what is in the buffer is exported when it stops.
func stopped(t *testing.T, e *trace.Exporter) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() { e.Run(ctx) })
	cancel()
	done.Wait()
}

func TestExport(t *testing.T) {
	t.Parallel()
	c := startCollector(t)
	c.body = `{"partialSuccess":{"rejectedSpans":"1","errorMessage":"too old"}}`
	at := time.Unix(1_700_000_000, 5)
	r := trace.NewRecorder(1, func() time.Time { at = at.Add(time.Millisecond); return at })
	s := r.Start(trace.Client, "deliver a", sampled)
	s.Set(trace.Attr{Key: "text", Value: "é\"\n"}, trace.Attr{Key: "number", Value: int64(9_007_199_254_740_993)}, trace.Attr{Key: "none", Value: ""})
	s.Link(unsampled)
	s.Link("nothing")
	s.Fail("refused")
	s.End()
	r.Start(trace.Producer, "other", "").End()
	stopped(t, c.exporter(r))
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.got) != 2 || c.path != "/v1/traces" || c.header.Get("Content-Type") != "application/json" || c.header.Get("Authorization") != "Bearer x" {
		t.Fatalf("%v %v %v", c.path, c.header, c.got)
	}
	got, _ := json.Marshal(c.got[0])
	want := `{"attributes":[{"key":"text","value":{"stringValue":"é\"\n"}},{"key":"number","value":{"intValue":"9007199254740993"}}],` +
		`"endTimeUnixNano":"1700000000002000005","flags":1,"kind":3,"links":[{"spanId":"00f067aa0ba902b7","traceId":"4bf92f3577b34da6a3ce929d0e0e4736"}],"name":"deliver a",` +
		`"parentSpanId":"00f067aa0ba902b7","spanId":"` + s.Parent()[36:52] + `","startTimeUnixNano":"1700000000001000005","status":{"code":2,"message":"refused"},"traceId":"4bf92f3577b34da6a3ce929d0e0e4736"}`
	if string(got) != want {
		t.Errorf("span\n%s\nnot\n%s", got, want)
	}
	if _, has := c.got[1]["parentSpanId"]; has {
		t.Error("a span without a parent has one")
	}
	if r.Sent() != 1 || r.Dropped() != 1 {
		t.Errorf("sent %d, dropped %d", r.Sent(), r.Dropped())
	}
}

// A collector that is busy gets the same spans again; what it refuses is dropped. Spans that find the buffer full are dropped, and nobody waits.
func TestWhatACollectorRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		answers       []int
		sent, dropped int64
	}{
		{[]int{503}, 1, 0},
		{[]int{429, 502}, 1, 0},
		{[]int{503, 503, 503}, 0, 1},
		{[]int{400}, 0, 1},
		{[]int{301}, 0, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			to := &answers{statuses: c.answers}
			r := trace.NewRecorder(1, time.Now)
			e := &trace.Exporter{Recorder: r, URL: "http://127.0.0.1:4318/v1/traces/", Client: &http.Client{Transport: to}, Log: slog.New(slog.DiscardHandler)}
			e.Client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go e.Run(ctx)
			r.Start(trace.Server, "a", "").End()
			time.Sleep(time.Minute)
			synctest.Wait()
			if r.Sent() != c.sent || r.Dropped() != c.dropped || to.path != "/v1/traces" {
				t.Errorf("%v: sent %d, dropped %d, at %v", c.answers, r.Sent(), r.Dropped(), to.path)
			}
		})
	}
	r := trace.NewRecorder(1, time.Now)
	for range trace.Buffer + 7 {
		r.Start(trace.Server, "", "").End()
	}
	if r.Dropped() != 7 {
		t.Errorf("dropped %d", r.Dropped())
	}
	to := startCollector(t)
	stopped(t, to.exporter(r))
	if r.Sent() != trace.Buffer || to.requests != trace.Buffer/512 {
		t.Errorf("%d spans in %d requests when it stopped", r.Sent(), to.requests)
	}
}

// answers is a collector without a network: it answers with statuses, and 200 after them.
type answers struct {
	statuses []int
	last     time.Time
	path     string
}

func (f *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	f.last, f.path = time.Now(), r.URL.Path
	answer := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Location": {"/"}}, Body: http.NoBody, Request: r}
	if len(f.statuses) > 0 {
		answer.StatusCode, f.statuses = f.statuses[0], f.statuses[1:]
	}
	return answer, nil
}

// A span waits five seconds for others.
func TestSpansAreExportedTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := new(answers)
		r := trace.NewRecorder(1, time.Now)
		e := &trace.Exporter{Recorder: r, URL: "http://127.0.0.1:4318", Client: &http.Client{Transport: to}, Log: slog.New(slog.DiscardHandler)}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go e.Run(ctx)
		time.Sleep(time.Hour)
		began := time.Now()
		r.Start(trace.Server, "a", "").End()
		time.Sleep(3 * time.Second)
		r.Start(trace.Server, "b", "").End()
		time.Sleep(time.Minute)
		synctest.Wait()
		if to.last.Sub(began) != 5*time.Second || r.Sent() != 2 {
			t.Errorf("%d spans were exported, the last after %v", r.Sent(), to.last.Sub(began))
		}
	})
}

// BenchmarkSpan measures what a recorded attempt costs, and one that is not.
func BenchmarkSpan(b *testing.B) {
	r := trace.NewRecorder(0, time.Now)
	var off *trace.Recorder
	for name, c := range map[string]struct {
		r      *trace.Recorder
		parent string
	}{"recorded": {r, sampled}, "unsampled": {r, unsampled}, "off": {off, sampled}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s := c.r.Start(trace.Client, "deliver", c.parent)
				s.Set(trace.Attr{Key: "a", Value: "b"}, trace.Attr{Key: "c", Value: int64(3)})
				_ = s.Parent()
				s.End()
			}
		})
	}
}
