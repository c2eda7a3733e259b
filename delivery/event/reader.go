package event

import (
	"bytes"
	"unicode/utf8"

	"schakel/registry/strictjson"
	"schakel/templates/i18n"
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
		return r.fail(noPlace, CodeEmptyBody, "events.mistake.empty-body")
	}
	if bytes.HasPrefix(r.Buf, []byte("\xEF\xBB\xBF")) {
		return r.fail(0, CodeSyntax, "events.mistake.byte-order-mark")
	}
	if !utf8.Valid(r.Buf) {
		return r.fail(firstBroken(r.Buf), CodeUTF8, "events.mistake.utf8")
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
		r.list = r.list[:min(len(r.list), maxProblems-1)]
		f := r.stop
		if f == nil {
			f = syntaxFault(&r.Scanner)
			if f.off >= len(r.Buf) {
				f.detail = i18n.M("events.json.breaks-off", f.detail)
			}
		}
		r.addFault(f)
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
		r.add(r.start, "", CodeNotObject, "events.mistake.not-object")
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
		r.add(off, string(name), CodeDuplicate, "events.mistake.stands-twice", quoted(string(name)))
		return r.Value()
	}
	if len(r.names) > r.limits.Attributes+2 {
		return r.fail(off, CodeCount, "events.mistake.too-many")
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
	if code, key, args := checkName(name, r.limits.NameLength); code != "" {
		r.add(off, string(name), code, key, args...)
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
func (r *reader) fail(off int, code string, detail i18n.Message) bool {
	r.stop = &fault{off, code, detail}
	return false
}

// attribute takes the value of a context attribute (CE-03, CE-04, CE-41).
func (r *reader) attribute(name []byte) bool {
	off := r.Pos
	switch c := r.Peek(); {
	case c == '"':
		return r.textAttribute(name, off)
	case c == '{' || c == '[':
		r.rejectType(name, off, "events.mistake.type-object")
		return r.Value()
	case c == '-' || isDigit(c):
		return r.numberAttribute(name, off)
	default:
		return r.wordAttribute(name, off)
	}
}

func (r *reader) textAttribute(name []byte, off int) bool {
	found, ok := r.Text()
	if !ok {
		return false
	}
	at := slotOf(name)
	var value string
	if !found.Plain {
		decoded, whole := strictjson.Unescape(nil, r.Buf[found.From:found.To])
		if value = string(decoded); !whole || !allowed(value) {
			r.given(at, off)
			r.add(off, string(name), CodeCharacters, "events.mistake.characters-json", string(name))
			return true
		}
	}
	r.draft.begin(name)
	start := len(r.draft.json)
	r.draft.json = append(r.draft.json, r.Buf[found.From-1:found.To+1]...)
	if at == slotCount {
		return true
	}
	slot := slot{given: true, readable: true, off: off, value: value}
	if found.Plain {
		slot.from, slot.to = start+1, len(r.draft.json)-1
	}
	r.draft.slots[at] = slot
	return true
}

func (r *reader) numberAttribute(name []byte, off int) bool {
	found, ok := r.Number()
	if !ok {
		return false
	}
	raw := r.Buf[found.From:found.To]
	switch {
	case r.mustBeText(name, off):
	case !found.Whole || !isInt32(string(raw)):
		r.add(off, string(name), CodeInteger, "events.mistake.integer", string(name))
	default:
		r.draft.begin(name)
		r.draft.json = append(r.draft.json, raw...)
	}
	return true
}

func (r *reader) wordAttribute(name []byte, off int) bool {
	word := r.Word()
	switch {
	case word == 0:
		return false
	case word == 'n' || r.mustBeText(name, off):
	default:
		r.draft.begin(name)
		r.draft.json = append(r.draft.json, r.Buf[off:r.Pos]...)
	}
	return true
}

// mustBeText rejects a number or a boolean where the specification requires a string.
func (r *reader) mustBeText(name []byte, off int) bool {
	if slotOf(name) == slotCount {
		return false
	}
	r.rejectType(name, off, "events.mistake.type-text")
	return true
}

func (r *reader) rejectType(name []byte, off int, key string) {
	r.given(slotOf(name), off)
	r.add(off, string(name), CodeType, key, string(name))
}

// given marks an attribute that is present but unusable, so that it is not reported missing as well.
func (r *reader) given(at, off int) {
	if at < slotCount {
		r.draft.slots[at] = slot{given: true, off: off}
	}
}
