package cpa

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"
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
	root, err := parseTree(doc)
	if err != nil {
		return Document{}, err
	}
	r := &reader{}
	switch {
	case root.name.Space == namespace && root.name.Local == "CollaborationProtocolAgreement":
		r.agreement(root)
	case root.name.Space == namespace && root.name.Local == "CollaborationProtocolProfile":
		r.profile(root)
	case strings.HasPrefix(root.name.Space, "http://register.nhn.no/") && root.find("HerId") != nil:
		r.communication(root)
	default:
		return Document{}, ErrNotProfile
	}
	return r.doc, r.doc.useful()
}

// useful tells whether anybody can be reached by a document.
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
func (r *reader) herID(n *node, text string) int {
	if len(text) > 0 && len(text) < 10 && strings.Trim(text, "0123456789") == "" {
		if id, err := strconv.Atoi(text); err == nil && id > 0 {
			return id
		}
	}
	r.note(n.at(), "the party has no HER-id that is a number")
	return 0
}

// moment reads a time; an empty text is no time, and so is the end of all time, by which registers mean no end. A time
// without a zone is taken for UTC.
func (r *reader) moment(n *node, text string) time.Time {
	if text == "" {
		return time.Time{}
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		at, err = time.Parse("2006-01-02T15:04:05.999999999", text)
	}
	if err != nil {
		r.note(n.at(), "%s is no time", n.name.Local)
		return time.Time{}
	}
	if at.Year() == 9999 {
		return time.Time{}
	}
	return at
}
