package event

import (
	"cmp"
	"slices"
	"strings"
)

// pair is an attribute with a string value, from a header or a caller.
type pair struct {
	name, value string
	broken      bool // the value could not be decoded; the problem is recorded
}

// New makes an event from strings, judged like one that comes in. specversion
// is filled in. Nil data means none; other data becomes JSON, text or binary by
// datacontenttype as in binary mode, and without datacontenttype JSON when it is JSON.
// Errors: *Invalid, *TooLarge.
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

// compose makes an event without data. The order is fixed, for maps have none:
// the required attributes, then the others by name.
func compose(pairs []pair, f *findings, limits Limits) Event {
	slices.SortFunc(pairs, func(a, b pair) int {
		return cmp.Or(cmp.Compare(rank(a.name), rank(b.name)), strings.Compare(a.name, b.name))
	})
	d := newDraft(512)
	for i, p := range pairs {
		switch {
		case i > 0 && pairs[i-1].name == p.name:
			f.add(noPlace, p.name, CodeDuplicate, quoted(p.name)+" is given twice; keep one")
		case i == limits.Attributes:
			f.add(noPlace, p.name, CodeCount, "the event has more attributes than are taken; move some into data")
		default:
			d.compose(p, f, limits)
		}
	}
	e := d.event()
	d.check(f, noPlace)
	return e
}

func (d *draft) compose(p pair, f *findings, limits Limits) {
	if code, detail := checkName([]byte(p.name), limits.NameLength); code != "" {
		f.add(noPlace, p.name, code, detail)
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
		f.add(noPlace, p.name, CodeCharacters, p.name+" holds a control character, a noncharacter or broken UTF-8; remove it")
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
	f.add(problem.off, "data", CodeDataNotJSON,
		"the content type is JSON but the data is not: "+problem.detail+"; correct one of them")
}

// The attributes that have rules of their own, in the order in which their
// absence or their problems are reported.
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
