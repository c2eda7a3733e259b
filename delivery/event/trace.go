package event

import "schakel/delivery/trace"

// TraceContext returns the extensions traceparent and tracestate of the event, as the HTTP headers of these names carry them (CE-24);
// "" and "" when traceparent is absent or not valid.
func (e *Event) TraceContext() (parent, state string) {
	parent, _ = e.Extension("traceparent")
	if trace.ID(parent) == "" {
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
