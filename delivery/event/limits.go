package event

// MinEventBytes is the size every party must be able to take and pass on
// (CE-31): 64 KiB on the wire. No limit goes below it.
const MinEventBytes = 65536

// Limits bounds the input of a reader. A field left zero has its default.
type Limits struct {
	// EventBytes is the largest single event in bytes: the body of a structured
	// request, one element of a batch, or the ce- headers plus the body of a
	// binary request. Default MinEventBytes; lower values are raised to it (CE-32).
	EventBytes int
	// BatchEvents is the most events in one batch. Default 100 (CE-56).
	BatchEvents int
	// BatchBytes is the largest batch in bytes. Default 1 MiB; never below EventBytes + 2.
	BatchBytes int
	// Depth bounds the nesting of JSON, the event itself being the first level. Default 128; deeper input is rejected as
	// invalid (CE-44).
	Depth int
	// Attributes is the most context attributes of one event. Default 64.
	Attributes int
	// NameLength is the longest attribute name in bytes. Default 64; the
	// profile advises at most 20 (CE-02), see Advice.
	NameLength int
}

func (l Limits) withDefaults() Limits {
	l.EventBytes = max(l.EventBytes, MinEventBytes)
	l.BatchEvents = orDefault(l.BatchEvents, 100)
	l.BatchBytes = max(orDefault(l.BatchBytes, 1<<20), l.EventBytes+2)
	l.Depth = orDefault(l.Depth, 128)
	l.Attributes = orDefault(l.Attributes, 64)
	l.NameLength = orDefault(l.NameLength, 64)
	return l
}

func orDefault(value, standard int) int {
	if value <= 0 {
		return standard
	}
	return value
}
