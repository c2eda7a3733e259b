package event

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
