package event

import (
	"bytes"
	"unicode/utf8"
)

// reader reads events in the JSON format (CE-40 to CE-44) from one body. Breaches of the JSON
// grammar end the reading; breaches of CloudEvents are collected.
type reader struct {
	scanner
	findings
	limits Limits
	draft  draft
	names  [][]byte // names of the event at hand, to find duplicates
	start  int      // where that event begins
	data   payload
}

// payload holds the positions of the data members of an event; to is 0 when absent.
type payload struct {
	from, to       int // the raw value of data
	offBase64      int
	base64         text
	base64Given    bool
	base64Readable bool
}

func newReader(body []byte, limits Limits) *reader {
	return &reader{
		scanner:  scanner{buf: body, depth: limits.Depth},
		findings: findings{body: body, index: -1},
		limits:   limits,
		names:    make([][]byte, 0, 16),
	}
}

// begin rejects input that no JSON text may be.
func (r *reader) begin() bool {
	if len(r.buf) == 0 {
		return r.fail(noPlace, CodeEmptyBody, "the request has no body; send the event in it")
	}
	if bytes.HasPrefix(r.buf, []byte("\xEF\xBB\xBF")) {
		return r.fail(0, CodeSyntax, "the JSON starts with a byte order mark; remove it")
	}
	if !utf8.Valid(r.buf) {
		return r.fail(firstBroken(r.buf), CodeUTF8, "the bytes are not UTF-8; encode the JSON in UTF-8")
	}
	r.peek()
	return true
}

func firstBroken(b []byte) int {
	for i := 0; i < len(b); {
		r, size := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return len(b)
}

// err returns all findings, the one that ended the reading last.
func (r *reader) err(ok bool) error {
	if !ok {
		attribute := ""
		r.list = r.list[:min(len(r.list), maxProblems-1)]
		r.add(r.fault.off, attribute, r.fault.code, r.fault.detail)
	}
	return r.findings.err()
}

// event reads one event; false when reading cannot go on.
func (r *reader) event() (Event, bool) {
	r.start = r.pos
	if r.peek() != '{' {
		if !r.value() {
			return Event{}, false
		}
		r.add(r.start, "", CodeNotObject, "an event must be a JSON object; put its attributes between { and }")
		return Event{}, true
	}
	r.draft = newDraft(len(r.buf) - r.pos)
	r.names = r.names[:0]
	r.data = payload{}
	if !r.members() {
		return Event{}, false
	}
	e := r.draft.event()
	r.draft.check(&r.findings, r.start)
	r.takeData(&e)
	return e, true
}

func (r *reader) members() bool {
	if !r.open() {
		return false
	}
	if r.peek() == '}' {
		return r.close()
	}
	for {
		off := r.pos
		name, ok := r.name()
		if !ok || !r.member(name, off) {
			return false
		}
		if more, ok := r.next('}'); !more {
			return ok
		}
		r.peek()
	}
}

func (r *reader) member(found text, off int) bool {
	name := r.buf[found.from:found.to]
	if !found.plain {
		// A name with a lone surrogate stays as written and fails as a name.
		if decoded, ok := unescape(nil, name); ok {
			name = decoded
		}
	}
	if r.seen(name) {
		r.add(off, string(name), CodeDuplicate, quoted(string(name))+" stands twice in the event; keep one")
		return r.value()
	}
	if len(r.names) > r.limits.Attributes+2 {
		return r.fail(off, CodeCount, "the event has more attributes than are taken; move some into data")
	}
	switch string(name) {
	case "data":
		r.data.from = r.pos
		ok := r.value()
		r.data.to = r.pos
		return ok
	case "data_base64":
		return r.base64()
	}
	if code, detail := checkName(name, r.limits.NameLength); code != "" {
		r.add(off, string(name), code, detail)
		return r.value()
	}
	return r.attribute(name)
}

func (r *reader) seen(name []byte) bool {
	for _, other := range r.names {
		if len(other) == len(name) && string(other) == string(name) {
			return true
		}
	}
	r.names = append(r.names, name)
	return false
}

func (r *reader) base64() bool {
	r.data.offBase64 = r.pos
	if c := r.peek(); c != '"' {
		r.data.base64Given = c != 'n' // null is unset, as in the JSON Schema of CloudEvents
		return r.value()
	}
	found, ok := r.text()
	r.data.base64, r.data.base64Given, r.data.base64Readable = found, true, true
	return ok
}
