package event

import (
	"bytes"
	"errors"
	"iter"

	"schakel/registry/strictjson"
)

// DataKind is the form of the data of an event in JSON.
type DataKind uint8

// The kinds of data. The numbers are stored, so they are fixed.
const (
	DataNone   DataKind = iota // the event has no data
	DataJSON                   // a JSON value, carried as it is
	DataText                   // UTF-8 text, carried as a JSON string
	DataBinary                 // any bytes, carried in base64
)

// String names the kind.
func (k DataKind) String() string {
	switch k {
	case DataNone:
		return "none"
	case DataJSON:
		return "json"
	case DataText:
		return "text"
	case DataBinary:
		return "binary"
	default:
		return "unknown"
	}
}

// Event is a CloudEvent as accepted. It is immutable.
type Event struct {
	ID              string
	Source          string
	Type            string
	Subject         string // "" when absent, as in the fields below
	Time            string // as received; ParseTime gives the instant
	DataContentType string // as received; absent means JSON when DataKind is DataJSON
	DataSchema      string

	// Attributes is a compact JSON object of all context attributes, those above included, in the order received and each value
	// the literal that was received. Nulls are dropped (CE-41); data is not in it.
	Attributes []byte
	DataKind   DataKind
	// Data is the raw JSON value, the text, or the bytes. It may share memory with the body it was read from.
	Data []byte
}

// Extension returns the canonical string of a context attribute: the value of a string, the literal of an integer or a
// boolean. It finds the attributes of the core specification too.
func (e *Event) Extension(name string) (string, bool) {
	if !bytes.Contains(e.Attributes, []byte(`"`+name+`"`)) { // few events have any
		return "", false
	}
	for attribute, value := range e.All() {
		if attribute == name {
			return value, true
		}
	}
	return "", false
}

// All iterates over the context attributes in the order received, with their canonical strings. It stops at the first byte
// that is not as this package writes it.
func (e *Event) All() iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		walk(e.Attributes, func(name, value string, _ literal) bool { return yield(name, value) })
	}
}

var errAttributes = errors.New("attributes are not a compact JSON object")

// FromParts rebuilds an event from its stored parts. The attributes must have come from an Event; they are read but not judged.
func FromParts(attributes []byte, kind DataKind, data []byte) (Event, error) {
	e := Event{Attributes: attributes, DataKind: kind, Data: data}
	ok := walk(attributes, func(name, value string, _ literal) bool {
		if field := e.field(name); field != nil {
			*field = value
		}
		return true
	})
	if !ok {
		return Event{}, errAttributes
	}
	return e, nil
}

func (e *Event) field(name string) *string {
	switch name {
	case "id":
		return &e.ID
	case "source":
		return &e.Source
	case "type":
		return &e.Type
	case "subject":
		return &e.Subject
	case "time":
		return &e.Time
	case "datacontenttype":
		return &e.DataContentType
	case "dataschema":
		return &e.DataSchema
	default:
		return nil
	}
}

type literal uint8

const (
	literalString literal = iota
	literalInteger
	literalBoolean
)

// walk reads stored attributes until yield says stop; false when they are broken.
func walk(attributes []byte, yield func(name, value string, kind literal) bool) bool {
	s := strictjson.Scanner{Buf: attributes, Depth: 1}
	all := string(attributes) // one copy, of which names and values are parts
	if s.Peek() != '{' || !s.Open() {
		return false
	}
	if s.Peek() == '}' {
		return s.Close() && s.AtEnd()
	}
	for {
		name, ok := s.Name()
		if !ok {
			return false
		}
		value, kind, ok := scalar(&s, all)
		if !ok {
			return false
		}
		if !yield(all[name.From:name.To], value, kind) {
			return true
		}
		if more, ok := s.Next('}'); !more {
			return ok && s.AtEnd()
		}
	}
}

// scalar takes the value of a stored attribute; all is the buffer as a string.
func scalar(s *strictjson.Scanner, all string) (value string, kind literal, ok bool) {
	start := s.Pos
	switch c := s.Peek(); {
	case c == '"':
		found, ok := s.Text()
		if found.Plain || !ok {
			return all[found.From:found.To], literalString, ok
		}
		decoded, ok := strictjson.Unescape(nil, s.Buf[found.From:found.To])
		return string(decoded), literalString, ok
	case c == '-' || isDigit(c):
		_, ok = s.Number()
		return all[start:s.Pos], literalInteger, ok
	default:
		word := s.Word()
		return all[start:s.Pos], literalBoolean, word == 't' || word == 'f'
	}
}

// MinEventBytes is the size every party must be able to take and pass on (CE-31): 64 KiB on the wire. No limit goes below it.
const MinEventBytes = 65536

// Limits bounds the input of a reader. A field left zero has its default.
type Limits struct {
	// EventBytes is the largest single event in bytes: the body of a structured request, one element of a batch, or the ce-
	// headers plus the body of a binary request. Default MinEventBytes; lower values are raised to it (CE-32).
	EventBytes int
	// BatchEvents is the most events in one batch. Default 100 (CE-56).
	BatchEvents int
	// BatchBytes is the largest batch in bytes. Default 1 MiB; never below EventBytes + 2.
	BatchBytes int
	// Depth bounds the nesting of JSON, the event itself being the first level. Default 128; deeper input is rejected as
	// invalid (CE-44).
	Depth int
	// Attributes is the most context attributes of one event. Default 64.
	Attributes int
	// NameLength is the longest attribute name in bytes. Default 64; the profile advises at most 20 (CE-02), see Advice.
	NameLength int
}

func (l Limits) withDefaults() Limits {
	l.EventBytes = max(l.EventBytes, MinEventBytes)
	l.BatchEvents = orDefault(l.BatchEvents, 100)
	l.BatchBytes = max(orDefault(l.BatchBytes, 1<<20), l.EventBytes+2)
	l.Depth = orDefault(l.Depth, 128)
	l.Attributes = orDefault(l.Attributes, 64)
	l.NameLength = orDefault(l.NameLength, 64)
	return l
}

func orDefault(value, standard int) int {
	if value <= 0 {
		return standard
	}
	return value
}
