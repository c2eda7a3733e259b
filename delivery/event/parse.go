package event

// ParseJSON reads one event in structured JSON (CE-40 to CE-44). The event's
// data may share memory with body. Errors: *Invalid, *TooLarge.
func ParseJSON(body []byte, limits Limits) (Event, error) {
	limits = limits.withDefaults()
	if len(body) > limits.EventBytes {
		return Event{}, &TooLarge{Limit: "event bytes", Index: -1, Max: limits.EventBytes, Got: len(body)}
	}
	r := newReader(body, limits)
	ok := r.begin()
	var e Event
	if ok {
		e, ok = r.event()
	}
	if err := r.err(ok && r.AtEnd()); err != nil {
		return Event{}, err
	}
	return e, nil
}

// ParseBatch reads a JSON batch (CE-56). One bad event rejects the whole batch, with the problems of every event as far as the
// JSON can be read (CE-57). An empty batch returns no events. Errors: *Invalid, *TooLarge.
func ParseBatch(body []byte, limits Limits) ([]Event, error) {
	limits = limits.withDefaults()
	if len(body) > limits.BatchBytes {
		return nil, &TooLarge{Limit: "batch bytes", Index: -1, Max: limits.BatchBytes, Got: len(body)}
	}
	b := batch{reader: newReader(body, limits)}
	b.Depth++ // the array is a level of its own
	b.events = make([]Event, 0, min(limits.BatchEvents, len(body)/256+1))
	ok := b.begin() && b.read()
	if b.tooLarge != nil {
		return nil, b.tooLarge
	}
	if err := b.err(ok); err != nil {
		return nil, err
	}
	return b.events, nil
}

type batch struct {
	*reader
	events   []Event
	tooLarge *TooLarge
}

func (b *batch) read() bool {
	start := b.Pos
	if b.Peek() != '[' {
		if !b.Value() || !b.AtEnd() {
			return false
		}
		b.add(start, "", CodeNotArray, "a batch must be a JSON array of events; put them between [ and ]")
		return true
	}
	if !b.Open() {
		return false
	}
	if b.Peek() == ']' {
		return b.Close() && b.AtEnd()
	}
	for b.index = 0; ; b.index++ {
		if !b.one() {
			return false
		}
		if more, ok := b.Next(']'); !more {
			b.index = -1
			return ok && b.AtEnd()
		}
		b.Peek()
	}
}

// one reads the next event and holds it against the limits.
func (b *batch) one() bool {
	if b.index >= b.limits.BatchEvents {
		b.tooLarge = &TooLarge{Limit: "batch events", Index: -1, Max: b.limits.BatchEvents, Got: b.index + 1}
		return false
	}
	start := b.Pos
	e, ok := b.event()
	if size := b.Pos - start; size > b.limits.EventBytes {
		b.tooLarge = &TooLarge{Limit: "event bytes", Index: b.index, Max: b.limits.EventBytes, Got: size}
		return false
	}
	b.events = append(b.events, e)
	return ok
}
