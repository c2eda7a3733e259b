package event

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// pair is an attribute with a string value, from a header or a caller.
type pair struct {
	name, value string
	broken      bool // the value could not be decoded; the problem is recorded
}

// New makes an event from strings, judged like one that comes in. specversion is filled in. Nil data means none; other data
// becomes JSON, text or binary by datacontenttype as in binary mode, and without datacontenttype JSON when it is JSON. Errors:
// *Invalid, *TooLarge.
func New(attributes map[string]string, data []byte, limits Limits) (Event, error) {
	limits = limits.withDefaults()
	pairs := make([]pair, 0, len(attributes)+1)
	size := len(data)
	for name, value := range attributes {
		pairs = append(pairs, pair{name: name, value: value})
		size += len(name) + len(value)
	}
	if _, ok := attributes["specversion"]; !ok {
		pairs = append(pairs, pair{name: "specversion", value: "1.0"})
	}
	if size > limits.EventBytes {
		return Event{}, &TooLarge{Limit: "event bytes", Index: -1, Max: limits.EventBytes, Got: size}
	}
	f := findings{index: -1}
	e := compose(pairs, &f, limits)
	if data != nil {
		e.takeBody(data, &f, limits)
	}
	if err := f.err(); err != nil {
		return Event{}, err
	}
	return e, nil
}

// compose makes an event without data. The order is fixed, for maps have none: the required attributes, then the others by name.
func compose(pairs []pair, f *findings, limits Limits) Event {
	slices.SortFunc(pairs, func(a, b pair) int {
		return cmp.Or(cmp.Compare(rank(a.name), rank(b.name)), strings.Compare(a.name, b.name))
	})
	d := newDraft(512)
	for i, p := range pairs {
		switch {
		case i > 0 && pairs[i-1].name == p.name:
			f.add(noPlace, p.name, CodeDuplicate, "events.mistake.given-twice", quoted(p.name))
		case i == limits.Attributes:
			f.add(noPlace, p.name, CodeCount, "events.mistake.too-many")
		default:
			d.compose(p, f, limits)
		}
	}
	e := d.event()
	d.check(f, noPlace)
	return e
}

func (d *draft) compose(p pair, f *findings, limits Limits) {
	if code, key, args := checkName([]byte(p.name), limits.NameLength); code != "" {
		f.add(noPlace, p.name, code, key, args...)
		return
	}
	at := slotOf([]byte(p.name))
	readable := !p.broken && validText(p.value)
	if at < slotCount {
		d.slots[at] = slot{given: true, readable: readable, off: noPlace, value: p.value}
	}
	if p.broken {
		return
	}
	if !readable {
		f.add(noPlace, p.name, CodeCharacters, "events.mistake.characters", p.name)
		return
	}
	d.begin([]byte(p.name))
	d.json = appendText(d.json, p.value)
}

func rank(name string) int { return min(slotOf([]byte(name)), slotType+1) }

// takeBody sets data that came as bytes and records a problem where it is not the JSON it should be.
func (e *Event) takeBody(data []byte, f *findings, limits Limits) {
	problem := e.setBytes(data, limits.Depth-1)
	if problem == nil || e.DataContentType == "" {
		return
	}
	f.add(problem.off, "data", CodeDataNotJSON, "events.mistake.data-not-json", problem.detail)
}

// The attributes that have rules of their own, in the order in which their absence or their problems are reported.
const (
	slotSpecVersion = iota
	slotID
	slotSource
	slotType
	slotSubject
	slotTime
	slotDataContentType
	slotDataSchema
	slotDataRef
	slotSequence
	slotCount
)

func slotOf(name []byte) int {
	switch string(name) {
	case "specversion":
		return slotSpecVersion
	case "id":
		return slotID
	case "source":
		return slotSource
	case "type":
		return slotType
	case "subject":
		return slotSubject
	case "time":
		return slotTime
	case "datacontenttype":
		return slotDataContentType
	case "dataschema":
		return slotDataSchema
	case "dataref":
		return slotDataRef
	case "sequence":
		return slotSequence
	default:
		return slotCount
	}
}

// slot holds one of those attributes while an event is read.
type slot struct {
	given    bool // present and not null
	readable bool // a string of allowed characters; no use checking it otherwise
	off      int  // where its value stands in the body
	from, to int  // where its value stands in draft.json when it needs no decoding
	value    string
}

// draft collects the attributes of one event, whatever the mode it came in.
type draft struct {
	json  []byte // the attributes as a JSON object that is still open
	count int
	slots [slotCount]slot
}

func newDraft(size int) draft {
	return draft{json: append(make([]byte, 0, min(size, 512)+1), '{')}
}

// begin writes a name; the value literal must be appended to d.json next.
func (d *draft) begin(name []byte) {
	if d.count > 0 {
		d.json = append(d.json, ',')
	}
	d.count++
	d.json = append(d.json, '"')
	d.json = append(d.json, name...)
	d.json = append(d.json, '"', ':')
}

// event closes the object and cuts the fields out of one copy of it.
func (d *draft) event() Event {
	d.json = append(d.json, '}')
	all := string(d.json)
	for i := range d.slots {
		if s := &d.slots[i]; s.to > 0 {
			s.value = all[s.from:s.to]
		}
	}
	return Event{
		ID:              d.slots[slotID].value,
		Source:          d.slots[slotSource].value,
		Type:            d.slots[slotType].value,
		Subject:         d.slots[slotSubject].value,
		Time:            d.slots[slotTime].value,
		DataContentType: d.slots[slotDataContentType].value,
		DataSchema:      d.slots[slotDataSchema].value,
		Attributes:      d.json,
	}
}

// rule is the rule of CE-01 and CE-09 to CE-22 for one attribute.
type rule struct {
	name     string
	required bool
	holds    func(string) bool
	code     string
	key      string // of the problem and its correction
}

// ruleOf returns the rule of a slot. A switch and not a table, so that it is immutable and costs nothing to make.
func ruleOf(slot int) rule {
	switch slot {
	case slotSpecVersion:
		return rule{"specversion", true, isSpecVersion, CodeSpecVersion, "events.mistake.specversion"}
	case slotID:
		return rule{name: "id", required: true}
	case slotSource:
		return rule{"source", true, isReference, CodeURIReference, "events.mistake.source"}
	case slotType:
		return rule{name: "type", required: true}
	case slotSubject:
		return rule{name: "subject"}
	case slotTime:
		return rule{"time", false, isTime, CodeTime, "events.mistake.time"}
	case slotDataContentType:
		return rule{"datacontenttype", false, isMediaType, CodeMediaType, "events.mistake.datacontenttype"}
	case slotDataSchema:
		return rule{"dataschema", false, isURI, CodeURI, "events.mistake.dataschema"}
	case slotDataRef:
		return rule{"dataref", false, isReference, CodeURIReference, "events.mistake.dataref"}
	default:
		return rule{name: "sequence"}
	}
}

// maxIdentity bounds id and source, in bytes: together they are a key of the database, which takes at most 2,704 bytes in one
// (CE-05). UUIDs and URNs stay far below it.
const maxIdentity = 1024

func (r rule) tooLong(value string) bool {
	return (r.name == "id" || r.name == "source") && len(value) > maxIdentity
}

func isSpecVersion(s string) bool { return s == "1.0" }

// check judges the attributes that have rules; start is the offset of the event.
func (d *draft) check(f *findings, start int) {
	for i := range d.slots {
		found := &d.slots[i]
		if !found.given {
			if i <= slotType {
				name := ruleOf(i).name
				f.add(start, name, CodeMissing, "events.mistake.missing", name)
			}
			continue
		}
		if found.readable {
			ruleOf(i).check(found, f)
		}
	}
}

func (r rule) check(found *slot, f *findings) {
	switch {
	case found.value == "":
		key := "events.mistake.empty"
		if r.required {
			key = "events.mistake.empty-required"
		}
		f.add(found.off, r.name, CodeEmpty, key, r.name)
	case r.tooLong(found.value):
		f.add(found.off, r.name, CodeLength, "events.mistake.too-long", r.name, strconv.Itoa(maxIdentity))
	case r.holds != nil && !r.holds(found.value):
		f.add(found.off, r.name, r.code, r.key)
	}
}

// checkName returns the problem of the name of an attribute (CE-02), with the key of its text and what stands in that; "" when there
// is none.
func checkName(name []byte, limit int) (code, key string, args []any) {
	if string(name) == "data" || len(name) == 0 {
		return CodeName, "events.mistake.name-data", []any{quoted(string(name))}
	}
	for _, c := range name {
		if (c < 'a' || c > 'z') && !isDigit(c) {
			if plain := plainName(name); plain != "" {
				return CodeName, "events.mistake.name-write", []any{quoted(string(name)), quoted(plain)}
			}
			return CodeName, "events.mistake.name-rename", []any{quoted(string(name))}
		}
	}
	if len(name) > limit {
		return CodeNameLength, "events.mistake.name-length", []any{quoted(string(name))}
	}
	return "", "", nil
}

// plainName leaves out of a name what an attribute may not hold.
func plainName(name []byte) string {
	var plain []byte
	for _, c := range name {
		switch {
		case 'A' <= c && c <= 'Z':
			plain = append(plain, c|0x20)
		case isLetter(c) || isDigit(c):
			plain = append(plain, c)
		}
	}
	return string(plain)
}
