// Package trace records spans of what the program does and exports them to an OpenTelemetry collector.
//
// A span begun by a caller's traceparent is recorded when the caller's own is (parent-based sampling of W3C Trace Context); without one a share
// of them begins a trace. Recording costs the paths of events a few hundred nanoseconds and never waits: a span that finds the buffer full is
// dropped and counted. What is in the buffer at a kill is lost, and what a collector refuses is not sent again after [tries].
//
// The exporter writes OTLP over HTTP in JSON, which the OpenTelemetry SDK for Go does only together with protobuf and gRPC, ten times this
// program's room for it. Only what a nil *Recorder and a nil *Span do is needed where traces are off: nothing.
package trace

import (
	"context"
	"encoding/hex"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Kind is the role of a span in OTLP.
type Kind int

// The kinds that the program records.
const (
	Server   Kind = 2 // a request that came in
	Client   Kind = 3 // a request that went out
	Producer Kind = 4 // a message that went to a queue
)

// Attr is an attribute of a span. Value is a string or an int64.
type Attr struct {
	Key   string
	Value any
}

// Span is one piece of work. A nil *Span records nothing.
type Span struct {
	recorder *Recorder
	kind     Kind
	name     string
	trace    string // 32 hexadecimal digits
	id       string // 16
	parent   string // 16, or ""
	links    []string
	began    time.Time
	ended    time.Time
	attrs    []Attr
	failed   bool
	problem  string
}

// Recorder records spans. A nil *Recorder records none.
type Recorder struct {
	ratio   float64
	now     func() time.Time
	spans   chan *Span
	dropped atomic.Int64
	sent    atomic.Int64
}

// Buffer bounds the spans that wait to be exported.
const Buffer = 4096

// NewRecorder makes a recorder that begins a trace for this share, 0 to 1, of what comes without one.
func NewRecorder(ratio float64, now func() time.Time) *Recorder {
	return &Recorder{ratio: ratio, now: now, spans: make(chan *Span, Buffer)}
}

// Dropped counts the spans that were lost: the buffer was full, or the collector did not take them.
func (r *Recorder) Dropped() int64 { return r.dropped.Load() }

// Sent counts the spans that the collector took.
func (r *Recorder) Sent() int64 { return r.sent.Load() }

// Start begins a span below the span of a traceparent; "" or one that is not valid begins a trace. It returns nil when the span is not sampled.
func (r *Recorder) Start(kind Kind, name, traceparent string) *Span {
	if r == nil {
		return nil
	}
	s := &Span{recorder: r, kind: kind, name: name}
	trace, parent, sampled, ok := parse(traceparent)
	switch {
	case ok && !sampled:
		return nil
	case ok:
		s.trace, s.parent = trace, parent
	case r.ratio < 1 && rand.Float64() >= r.ratio: // #nosec G404 -- which spans are seen is no secret
		return nil
	default:
		s.trace = newID(2)
	}
	s.id, s.began = newID(1), r.now()
	return s
}

// Link adds the span of a traceparent as one that led to this; one that is not valid is left out.
func (s *Span) Link(traceparent string) {
	if s == nil {
		return
	}
	if _, _, _, ok := parse(traceparent); ok {
		s.links = append(s.links, traceparent)
	}
}

// Set adds attributes; those without a value are left out.
func (s *Span) Set(attrs ...Attr) {
	if s == nil {
		return
	}
	for _, a := range attrs {
		if a.Value != "" {
			s.attrs = append(s.attrs, a)
		}
	}
}

// Rename gives the span another name, for what is only known at its end.
func (s *Span) Rename(name string) {
	if s != nil {
		s.name = name
	}
}

// TraceID is the trace that the span belongs to, 32 hexadecimal digits; "" for nil.
func (s *Span) TraceID() string {
	if s == nil {
		return ""
	}
	return s.trace
}

// Fail marks the span as failed. The problem is a code, or a sentence that names no secret.
func (s *Span) Fail(problem string) {
	if s != nil {
		s.failed, s.problem = true, problem
	}
}

// Parent returns the traceparent that goes with the requests of this span; "" for nil.
func (s *Span) Parent() string {
	if s == nil {
		return ""
	}
	return "00-" + s.trace + "-" + s.id + "-01"
}

// End ends the span and hands it over for export.
func (s *Span) End() {
	if s == nil {
		return
	}
	s.ended = s.recorder.now()
	select {
	case s.recorder.spans <- s:
	default:
		s.recorder.dropped.Add(1)
	}
}

type spanKey struct{}

// With returns a context that carries a span; the same context for nil.
func (s *Span) With(ctx context.Context) context.Context {
	if s == nil {
		return ctx
	}
	return context.WithValue(ctx, spanKey{}, s)
}

// From returns the span that a context carries; nil for none.
func From(ctx context.Context) *Span {
	s, _ := ctx.Value(spanKey{}).(*Span)
	return s
}

// ID returns the trace-id in a traceparent, 32 hexadecimal digits; "" when it is not valid.
func ID(traceparent string) string {
	trace, _, _, _ := parse(traceparent)
	return trace
}

// parse reads the header traceparent of W3C Trace Context, version 00: a trace-id, a parent-id and flags.
func parse(traceparent string) (trace, parent string, sampled, ok bool) {
	if len(traceparent) != 55 || traceparent[:3] != "00-" || traceparent[35] != '-' || traceparent[52] != '-' {
		return "", "", false, false
	}
	trace, parent = traceparent[3:35], traceparent[36:52]
	flags, err := strconv.ParseUint(traceparent[53:], 16, 8)
	if err != nil || !lowerHex(traceparent[53:]) || !lowerHex(trace) || !lowerHex(parent) || allZero(trace) || allZero(parent) {
		return "", "", false, false
	}
	return trace, parent, flags&1 == 1, true
}

func lowerHex(text string) bool { return strings.Trim(text, "0123456789abcdef") == "" }

func allZero(text string) bool { return strings.Trim(text, "0") == "" }

// newID returns 16 hexadecimal digits for each of n words, never all 0.
func newID(n int) string {
	b := make([]byte, 0, 16)
	for range n {
		word := rand.Uint64() | 1 // #nosec G404 -- it names a span, and opens nothing
		for shift := 56; shift >= 0; shift -= 8 {
			b = append(b, byte(word>>shift)) // #nosec G115 -- one byte of it
		}
	}
	return hex.EncodeToString(b)
}
