package event

import (
	"fmt"
	"net/http"
	"strings"
)

// ParseJSON reads one event in structured JSON (CE-40 to CE-44). The event's
// data may share memory with body. Errors: *Invalid, *TooLarge.
func ParseJSON(body []byte, limits Limits) (Event, error) {
	limits = limits.withDefaults()
	if len(body) > limits.EventBytes {
		return Event{}, &TooLarge{Limit: "event bytes", Index: -1, Max: limits.EventBytes, Got: len(body)}
	}
	r := newReader(body, limits)
	ok := r.begin()
	var e Event
	if ok {
		e, ok = r.event()
	}
	if err := r.err(ok && r.AtEnd()); err != nil {
		return Event{}, err
	}
	return e, nil
}

// ParseBatch reads a JSON batch (CE-56). One bad event rejects the whole batch, with the problems of every event as far as the
// JSON can be read (CE-57). An empty batch returns no events. Errors: *Invalid, *TooLarge.
func ParseBatch(body []byte, limits Limits) ([]Event, error) {
	limits = limits.withDefaults()
	if len(body) > limits.BatchBytes {
		return nil, &TooLarge{Limit: "batch bytes", Index: -1, Max: limits.BatchBytes, Got: len(body)}
	}
	b := batch{reader: newReader(body, limits)}
	b.Depth++ // the array is a level of its own
	b.events = make([]Event, 0, min(limits.BatchEvents, len(body)/256+1))
	ok := b.begin() && b.read()
	if b.tooLarge != nil {
		return nil, b.tooLarge
	}
	if err := b.err(ok); err != nil {
		return nil, err
	}
	return b.events, nil
}

type batch struct {
	*reader
	events   []Event
	tooLarge *TooLarge
}

func (b *batch) read() bool {
	start := b.Pos
	if b.Peek() != '[' {
		if !b.Value() || !b.AtEnd() {
			return false
		}
		b.add(start, "", CodeNotArray, "events.mistake.batch-not-array")
		return true
	}
	if !b.Open() {
		return false
	}
	if b.Peek() == ']' {
		return b.Close() && b.AtEnd()
	}
	for b.index = 0; ; b.index++ {
		if !b.one() {
			return false
		}
		if more, ok := b.Next(']'); !more {
			b.index = -1
			return ok && b.AtEnd()
		}
		b.Peek()
	}
}

// one reads the next event and holds it against the limits.
func (b *batch) one() bool {
	if b.index >= b.limits.BatchEvents {
		b.tooLarge = &TooLarge{Limit: "batch events", Index: -1, Max: b.limits.BatchEvents, Got: b.index + 1}
		return false
	}
	start := b.Pos
	e, ok := b.event()
	if size := b.Pos - start; size > b.limits.EventBytes {
		b.tooLarge = &TooLarge{Limit: "event bytes", Index: b.index, Max: b.limits.EventBytes, Got: size}
		return false
	}
	b.events = append(b.events, e)
	return ok
}

// Mode is the way an HTTP request carries events (CE-51, CE-52).
type Mode uint8

// The three modes of the HTTP binding.
const (
	Structured Mode = iota + 1 // one event in JSON
	Binary                     // one event in headers and body
	Batch                      // a JSON array of events
)

// String names the mode.
func (m Mode) String() string {
	switch m {
	case Structured:
		return "structured"
	case Binary:
		return "binary"
	case Batch:
		return "batch"
	default:
		return "unknown"
	}
}

// The media types of the JSON format.
const (
	MediaType      = "application/cloudevents+json"
	BatchMediaType = "application/cloudevents-batch+json"
)

// Detect returns the mode by the Content-Type of a request: a type that starts with application/cloudevents-batch is a batch,
// one that starts with application/cloudevents is structured, all else is binary (CE-52). A format other than JSON in UTF-8
// gives ErrUnsupportedFormat.
func Detect(contentType string) (Mode, error) {
	base := essence(contentType)
	mode, want := Binary, base
	switch {
	case strings.HasPrefix(base, "application/cloudevents-batch"):
		mode, want = Batch, BatchMediaType
	case strings.HasPrefix(base, "application/cloudevents"):
		mode, want = Structured, MediaType
	}
	if base != want {
		return 0, fmt.Errorf("%w: use %s", ErrUnsupportedFormat, want)
	}
	if mode != Binary && !isUTF8Charset(charset(contentType)) {
		return 0, fmt.Errorf("%w: JSON must be in UTF-8", ErrUnsupportedFormat)
	}
	return mode, nil
}

// Read reads the events of an HTTP request whose body has been read whole. In structured and batch mode ce- headers are not
// looked at (CE-55). The events' data may share memory with body. Errors: *Invalid (400), ErrTooLarge (413),
// ErrUnsupportedFormat (415).
func Read(header http.Header, body []byte, limits Limits) (Mode, []Event, error) {
	contentTypes := header.Values(contentTypeHeader)
	if len(contentTypes) > 1 {
		return 0, nil, fmt.Errorf("%w: send one Content-Type", ErrUnsupportedFormat)
	}
	if isEncoded(header) {
		return 0, nil, fmt.Errorf("%w: send the body without Content-Encoding", ErrUnsupportedFormat)
	}
	mode, err := Detect(strings.Join(contentTypes, ""))
	if err != nil {
		return 0, nil, err
	}
	if mode == Batch {
		events, err := ParseBatch(body, limits)
		return mode, events, err
	}
	e, err := readOne(mode, header, body, limits)
	if err != nil {
		return mode, nil, err
	}
	return mode, []Event{e}, nil
}

// isEncoded reports whether the body has a content coding. In binary mode any bytes are data: compressed ones would be passed
// on as if they were the data itself.
func isEncoded(header http.Header) bool {
	for _, coding := range header.Values("Content-Encoding") {
		if coding != "" && !strings.EqualFold(coding, "identity") {
			return true
		}
	}
	return false
}

func readOne(mode Mode, header http.Header, body []byte, limits Limits) (Event, error) {
	if mode == Structured {
		return ParseJSON(body, limits)
	}
	if !hasAttributes(header) {
		return Event{}, fmt.Errorf("%w: use %s, %s or ce- headers", ErrUnsupportedFormat, MediaType, BatchMediaType)
	}
	return ParseBinary(header, body, limits)
}
