package event

import (
	"bytes"
	"unicode/utf8"

	"schakel/registry/strictjson"
)

// reader reads events in the JSON format (CE-40 to CE-44) from one body. Breaches of the JSON
// grammar end the reading; breaches of CloudEvents are collected.
type reader struct {
	strictjson.Scanner
	findings
	limits Limits
	draft  draft
	names  [][]byte // names of the event at hand, to find duplicates
	start  int      // where that event begins
	data   payload
	stop   *fault // ended the reading, where the grammar did not
}

// payload holds the positions of the data members of an event; to is 0 when absent.
type payload struct {
	from, to       int // the raw value of data
	offBase64      int
	base64         strictjson.Text
	base64Given    bool
	base64Readable bool
}

func newReader(body []byte, limits Limits) *reader {
	return &reader{
		Scanner:  strictjson.Scanner{Buf: body, Depth: limits.Depth},
		findings: findings{body: body, index: -1},
		limits:   limits,
		names:    make([][]byte, 0, 16),
	}
}

// begin rejects input that no JSON text may be.
func (r *reader) begin() bool {
	if len(r.Buf) == 0 {
		return r.fail(noPlace, CodeEmptyBody, "the request has no body; send the event in it")
	}
	if bytes.HasPrefix(r.Buf, []byte("\xEF\xBB\xBF")) {
		return r.fail(0, CodeSyntax, "the JSON starts with a byte order mark; remove it")
	}
	if !utf8.Valid(r.Buf) {
		return r.fail(firstBroken(r.Buf), CodeUTF8, "the bytes are not UTF-8; encode the JSON in UTF-8")
	}
	r.Peek()
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
		f := r.stop
		if f == nil {
			f = syntaxFault(&r.Scanner)
		}
		r.add(f.off, attribute, f.code, f.detail)
	}
	return r.findings.err()
}

// event reads one event; false when reading cannot go on.
func (r *reader) event() (Event, bool) {
	r.start = r.Pos
	if r.Peek() != '{' {
		if !r.Value() {
			return Event{}, false
		}
		r.add(r.start, "", CodeNotObject, "an event must be a JSON object; put its attributes between { and }")
		return Event{}, true
	}
	r.draft = newDraft(len(r.Buf) - r.Pos)
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
	if !r.Open() {
		return false
	}
	if r.Peek() == '}' {
		return r.Close()
	}
	for {
		off := r.Pos
		name, ok := r.Name()
		if !ok || !r.member(name, off) {
			return false
		}
		if more, ok := r.Next('}'); !more {
			return ok
		}
		r.Peek()
	}
}

func (r *reader) member(found strictjson.Text, off int) bool {
	name := r.Buf[found.From:found.To]
	if !found.Plain {
		// A name with a lone surrogate stays as written and fails as a name.
		if decoded, ok := strictjson.Unescape(nil, name); ok {
			name = decoded
		}
	}
	if r.seen(name) {
		r.add(off, string(name), CodeDuplicate, quoted(string(name))+" stands twice in the event; keep one")
		return r.Value()
	}
	if len(r.names) > r.limits.Attributes+2 {
		return r.fail(off, CodeCount, "the event has more attributes than are taken; move some into data")
	}
	switch string(name) {
	case "data":
		r.data.from = r.Pos
		ok := r.Value()
		r.data.to = r.Pos
		return ok
	case "data_base64":
		return r.base64()
	}
	if code, detail := checkName(name, r.limits.NameLength); code != "" {
		r.add(off, string(name), code, detail)
		return r.Value()
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
	r.data.offBase64 = r.Pos
	if c := r.Peek(); c != '"' {
		r.data.base64Given = c != 'n' // null is unset, as in the JSON Schema of CloudEvents
		return r.Value()
	}
	found, ok := r.Text()
	r.data.base64, r.data.base64Given, r.data.base64Readable = found, true, true
	return ok
}

// fail ends the reading for another reason than the grammar.
func (r *reader) fail(off int, code, detail string) bool {
	r.stop = &fault{off, code, detail}
	return false
}
