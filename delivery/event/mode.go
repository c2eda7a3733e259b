package event

import (
	"fmt"
	"net/http"
	"strings"
)

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
