package event

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"schakel/registry/strictjson"
	"schakel/templates/i18n"
)

// Codes of problems: stable words for machines, one for each kind of mistake.
const (
	CodeEmptyBody      = "body-empty"            // CE-60: a request has a payload
	CodeSyntax         = "json-syntax"           // CE-44: not JSON, or bytes after it
	CodeDepth          = "json-depth"            // CE-44: nested deeper than the limit
	CodeUTF8           = "utf8"                  // CE-44: bytes that are not UTF-8
	CodeNotObject      = "event-not-object"      // CE-40: an event is a JSON object
	CodeNotArray       = "batch-not-array"       // CE-56: a batch is a JSON array
	CodeMissing        = "attribute-missing"     // CE-01: required attribute absent or null
	CodeEmpty          = "attribute-empty"       // CE-01, CE-17 to CE-19, CE-22: present but ""
	CodeType           = "attribute-type"        // CE-03: value of a type that is not allowed here
	CodeInteger        = "attribute-integer"     // CE-03: number with a fraction, an exponent or beyond 32 bits
	CodeLength         = "attribute-length"      // CE-05: id or source over 1,024 bytes
	CodeCharacters     = "attribute-characters"  // CE-04: control, noncharacter or lone surrogate
	CodeName           = "attribute-name"        // CE-02: name with other than a-z and 0-9, or reserved
	CodeNameLength     = "attribute-name-length" // CE-02: name over the limit, or over the advised 20
	CodeDuplicate      = "attribute-duplicate"   // CE-44, CE-53: the same name twice
	CodeCount          = "attribute-count"       // more attributes than the limit
	CodeSpecVersion    = "specversion"           // CE-11: other than "1.0"
	CodeURIReference   = "uri-reference"         // CE-09, CE-21
	CodeURI            = "uri"                   // CE-18: not an absolute URI
	CodeTime           = "time"                  // CE-20: not RFC 3339
	CodeMediaType      = "media-type"            // CE-17: not RFC 2046
	CodeDataTwice      = "data-twice"            // CE-42: data and data_base64
	CodeDataBase64     = "data-base64"           // CE-42: not a base64 string
	CodeDataNotText    = "data-not-text"         // CE-43: other than a JSON string under a type that is not JSON
	CodeDataNotJSON    = "data-not-json"         // CE-43: content type says JSON, bytes do not
	CodeHeaderEncoding = "header-encoding"       // CE-54: quotes, percent coding or UTF-8 broken
	CodeHeaderRefused  = "header-not-allowed"    // CE-53: ce-datacontenttype
)

// maxProblems bounds an answer; who has fifty mistakes has seen enough.
const maxProblems = 50

// ErrUnsupportedFormat: a request is not in a CloudEvents format that is read; it is answered with 415 (CE-52, CE-66).
var ErrUnsupportedFormat = errors.New("not a supported CloudEvents format")

// ErrTooLarge matches every *TooLarge in errors.Is.
var ErrTooLarge = errors.New("too large")

// TooLarge reports the limit that was passed; it is answered with 413 (CE-32, CE-56).
type TooLarge struct {
	Limit string // "event bytes", "batch bytes", "batch events" or "bytes of body"
	Index int    // position of the event in a batch, -1 when not about one event
	Max   int    // the limit
	Got   int    // the size; for "batch events" the count at which reading stopped
}

// Error names the limit and the size.
func (t *TooLarge) Error() string {
	return fmt.Sprintf("too large: %d %s, at most %d are taken", t.Got, t.Limit, t.Max)
}

// Message is the error for people.
func (t *TooLarge) Message() i18n.Message {
	got, most := strconv.Itoa(t.Got), strconv.Itoa(t.Max)
	switch t.Limit {
	case "batch bytes":
		return i18n.M("events.too-large.batch-bytes", got, most)
	case "batch events":
		return i18n.M("events.too-large.batch-events", got, most)
	case "bytes of body":
		return i18n.M("events.too-large.body-bytes", got, most)
	}
	return i18n.M("events.too-large.event-bytes", got, most)
}

// Is makes errors.Is(err, ErrTooLarge) true.
func (t *TooLarge) Is(target error) bool { return target == ErrTooLarge }

// Problem is one mistake in an event, or one piece of advice about it. It never
// repeats an attribute's value, so it may be logged (EDU-26).
type Problem struct {
	Index     int          // position in the batch from 0, -1 when not a batch
	Attribute string       // name of the attribute, "data", "data_base64", or "" for the whole
	Pointer   string       // RFC 6901 pointer into the body, such as "/id" or "/3/time"
	Code      string       // one of the Code constants
	Detail    i18n.Message // the problem and its correction
	Line      int          // line in the body from 1, 0 when there is no place in the body
	Column    int          // column in characters from 1, 0 when there is no place in the body
}

// Invalid is the error for an event or a batch that breaks rules (400).
type Invalid struct {
	Problems []Problem // at least one, at most 50, in the order found
}

// Error returns the first problem and the number of the others.
func (e *Invalid) Error() string {
	if len(e.Problems) == 0 {
		return "invalid event"
	}
	text := "invalid event: " + e.Problems[0].Detail.String()
	if more := len(e.Problems) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	return text
}

// noPlace is the offset of a finding without a place in the body.
const noPlace = -1

type findings struct {
	body  []byte
	index int // event of the batch being read, -1 outside a batch
	list  []Problem
}

// add records a problem with the key of its text and what stands in it, unless there are enough.
func (f *findings) add(off int, attribute, code, key string, args ...any) {
	if !f.full() {
		f.record(off, attribute, code, i18n.M(key, args...))
	}
}

// addFault records why the text cannot be read on.
func (f *findings) addFault(found *fault) { f.record(found.off, "", found.code, found.detail) }

func (f *findings) record(off int, attribute, code string, detail i18n.Message) {
	problem := Problem{
		Index: f.index, Attribute: shown(attribute), Pointer: f.pointer(attribute), Code: code, Detail: detail,
	}
	if off >= 0 {
		problem.Line, problem.Column = place(f.body, off)
	}
	f.list = append(f.list, problem)
}

func (f *findings) full() bool { return len(f.list) >= maxProblems }

func (f *findings) err() error {
	if len(f.list) == 0 {
		return nil
	}
	return &Invalid{Problems: f.list}
}

func (f *findings) pointer(attribute string) string {
	var pointer string
	if f.index >= 0 {
		pointer = "/" + strconv.Itoa(f.index)
	}
	if attribute != "" {
		pointer += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(shown(attribute))
	}
	return pointer
}

// shown bounds a name that came from outside, for problems are shown and logged.
func shown(name string) string {
	const most = 64
	if len(name) <= most {
		return strings.ToValidUTF8(name, "\uFFFD")
	}
	return strings.ToValidUTF8(name[:most], "") + "…"
}

func quoted(name string) string { return strconv.Quote(shown(name)) }

// place converts an offset to a line and a column in characters, both from 1.
func place(body []byte, off int) (line, column int) {
	head := body[:min(off, len(body))]
	line = bytes.Count(head, []byte{'\n'}) + 1
	return line, utf8.RuneCount(head[bytes.LastIndexByte(head, '\n')+1:]) + 1
}

// fault is why JSON text cannot be read, and where.
type fault struct {
	off    int
	code   string
	detail i18n.Message
}

func syntaxFault(s *strictjson.Scanner) *fault {
	f := &fault{off: s.Fault.Offset, code: CodeSyntax}
	switch s.Fault.Kind {
	case strictjson.TooDeep:
		f.code, f.detail = CodeDepth, "events.json.depth"
		return f
	case strictjson.NoValue:
		f.detail = "events.json.value"
	case strictjson.NoName:
		f.detail = "events.json.name"
	case strictjson.NoColon:
		f.detail = "events.json.colon"
	case strictjson.NoComma:
		f.detail = i18n.M("events.json.comma", string(s.Fault.Closing))
	case strictjson.NoDigit:
		f.detail = "events.json.digit"
	case strictjson.NoQuote:
		f.detail = "events.json.quote"
	case strictjson.BadEscape:
		f.detail = "events.json.escape"
	case strictjson.BareControl:
		f.detail = "events.json.control"
	case strictjson.Trailing:
		f.detail = "events.json.trailing"
	}
	return f
}
