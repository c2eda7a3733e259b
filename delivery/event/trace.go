package event

import "regexp"

// traceParent is version 00 of the header traceparent of W3C Trace Context: a trace-id, a parent-id and flags.
var traceParent = regexp.MustCompile(`^00-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}$`)

// TraceID returns the trace-id in a traceparent, 32 hexadecimal digits; "" when it is not valid.
func TraceID(traceparent string) string {
	m := traceParent.FindStringSubmatch(traceparent)
	if m == nil || m[1] == "00000000000000000000000000000000" {
		return ""
	}
	return m[1]
}

// TraceContext returns the extensions traceparent and tracestate of the event, as the HTTP headers of these names carry them (CE-24);
// "" and "" when traceparent is absent or not valid.
func (e *Event) TraceContext() (parent, state string) {
	parent, _ = e.Extension("traceparent")
	if TraceID(parent) == "" {
		return "", ""
	}
	state, _ = e.Extension("tracestate")
	for _, c := range []byte(state) {
		if c < ' ' || c > '~' {
			return parent, ""
		}
	}
	return parent, state
}
