package outbox

import (
	"net/url"
	"strconv"

	"schakel/delivery/event"
	"schakel/delivery/trace"
	"schakel/store"
)

// span begins the span of an attempt, below the one that the event names in its extension traceparent (CE-24). A batch belongs to the trace of its
// first member and has links to the others. Subjects may name a person, so they are left out.
func (e *Engine) span(ep *store.Endpoint, members ...*store.Claimed) *trace.Span {
	if e.cfg.Traces == nil {
		return nil
	}
	first := members[0]
	kind := trace.Client
	if ep.Kind == store.EndpointAMQP {
		kind = trace.Producer
	}
	s := e.cfg.Traces.Start(kind, "deliver "+first.EventType, traceParent(first))
	if s == nil {
		return nil
	}
	s.Set(
		trace.Attr{Key: "cloudevents.event_type", Value: first.EventType},
		trace.Attr{Key: "schakel.endpoint.id", Value: ep.ID},
		trace.Attr{Key: "schakel.endpoint.kind", Value: ep.Kind},
	)
	if to, err := url.Parse(ep.URL); err == nil {
		s.Set(trace.Attr{Key: "server.address", Value: to.Hostname()})
	}
	if len(members) > 1 {
		s.Set(trace.Attr{Key: "messaging.batch.message_count", Value: int64(len(members))})
		for _, c := range members[1:] {
			s.Link(traceParent(c))
		}
		return s
	}
	s.Set(
		trace.Attr{Key: "cloudevents.event_id", Value: first.Event.CEID},
		trace.Attr{Key: "cloudevents.event_source", Value: first.Event.CESource},
		trace.Attr{Key: "schakel.delivery.id", Value: first.ID},
		trace.Attr{Key: "schakel.delivery.attempt", Value: first.Attempts + 1},
	)
	return s
}

func traceParent(c *store.Claimed) string {
	parent, _ := (&event.Event{Attributes: c.Event.Attributes}).TraceContext()
	return parent
}

// endSpan ends the span of an attempt with its result. What was not sent after all is no failure.
func endSpan(s *trace.Span, r *Result) {
	if s == nil {
		return
	}
	if r.Attempt.StatusCode > 0 {
		s.Set(trace.Attr{Key: "http.response.status_code", Value: r.Attempt.StatusCode})
	}
	if !r.Untried {
		s.Set(trace.Attr{Key: "schakel.delivery.status", Value: r.Status})
		if r.Status != store.DeliveryDelivered {
			problem := r.Attempt.ErrorKind
			if problem == "" {
				problem = strconv.FormatInt(r.Attempt.StatusCode, 10)
			}
			s.Set(trace.Attr{Key: "error.type", Value: problem})
			s.Fail(r.Reason)
		}
	}
	s.End()
}
