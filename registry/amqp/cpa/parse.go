package cpa

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"schakel/registry/xmlscan"
)

// Bounds of a document. An agreement about all processes of the exchange is some 300 KB.
const (
	maxBytes    = 4 << 20
	maxDepth    = 64
	maxElements = 100_000
	maxFindings = 100
)

const namespace = "http://www.oasis-open.org/committees/ebxml-cppa/schema/cpp-cpa-2_0.xsd"

// Parse reads a document. Errors wrap ErrNotXML, ErrNotProfile, ErrNoHerID or ErrNoChannel; with the last two the
// Document holds what could be read.
func Parse(doc []byte) (Document, error) {
	if len(doc) > maxBytes {
		return Document{}, fmt.Errorf("%w: it is larger than %d MiB", ErrNotXML, maxBytes>>20)
	}
	if start := bytes.TrimLeft(bytes.TrimPrefix(doc, []byte("\xEF\xBB\xBF")), " \t\r\n"); bytes.HasPrefix(start, []byte("{")) {
		return parseREST(start)
	}
	root, err := tree(doc)
	if err != nil {
		return Document{}, err
	}
	r := &reader{}
	switch {
	case root.Name.Space == namespace && root.Name.Local == "CollaborationProtocolAgreement":
		r.agreement(root)
	case root.Name.Space == namespace && root.Name.Local == "CollaborationProtocolProfile":
		r.profile(root)
	case strings.HasPrefix(root.Name.Space, "http://register.nhn.no/") && root.FindLocal("HerId") != nil:
		r.communication(root)
	default:
		return Document{}, ErrNotProfile
	}
	return r.doc, r.doc.useful()
}

// tree reads a document in UTF-8.
func tree(doc []byte) (*xmlscan.Node, error) {
	if !utf8.Valid(doc) {
		return nil, fmt.Errorf("%w: it is not in UTF-8", ErrNotXML)
	}
	text, err := xmlscan.Decode(doc)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotXML, err)
	}
	root, err := xmlscan.ParseWithin(text, xmlscan.Limits{Depth: maxDepth, Elements: maxElements})
	if syntax, ok := errors.AsType[*xmlscan.SyntaxError](err); ok {
		return nil, fmt.Errorf("%w: line %d: %w", ErrNotXML, syntax.Line, syntax.Err)
	}
	return root, err
}

// lineOf gives the line of an element, 0 for a nil one.
func lineOf(n *xmlscan.Node) int {
	if n == nil {
		return 0
	}
	return n.Line
}

// useful reports whether anybody can be reached by a document.
func (d Document) useful() error {
	if len(d.Parties) == 0 {
		return ErrNoHerID
	}
	for _, party := range d.Parties {
		if party.HerID == 0 {
			return ErrNoHerID
		}
	}
	for _, party := range d.Parties {
		if party.Queues != (Queues{}) {
			return nil
		}
	}
	return ErrNoChannel
}

// reader gathers what a document says.
type reader struct{ doc Document }

// note adds a finding, up to a bound.
func (r *reader) note(line int, format string, args ...any) {
	if len(r.doc.Findings) < maxFindings {
		r.doc.Findings = append(r.doc.Findings, Finding{Line: line, Text: fmt.Sprintf(format, args...)})
	}
}

// herID reads a HER-id and notes when there is none.
func (r *reader) herID(n *xmlscan.Node, text string) int {
	if len(text) > 0 && len(text) < 10 && strings.Trim(text, "0123456789") == "" {
		if id, err := strconv.Atoi(text); err == nil && id > 0 {
			return id
		}
	}
	r.note(lineOf(n), "the party has no HER-id that is a number")
	return 0
}

// moment reads a time; an empty text is no time, and so is the end of all time, by which registers mean no end. A time
// without a zone is taken for UTC.
func (r *reader) moment(n *xmlscan.Node, text string) time.Time {
	if text == "" {
		return time.Time{}
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		at, err = time.Parse("2006-01-02T15:04:05.999999999", text)
	}
	if err != nil {
		r.note(lineOf(n), "%s is no time", n.Name.Local)
		return time.Time{}
	}
	if at.Year() == 9999 {
		return time.Time{}
	}
	return at
}
