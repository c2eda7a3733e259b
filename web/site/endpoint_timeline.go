package site

import (
	"context"
	"time"

	"schakel/delivery/window"
	"schakel/store"
	"schakel/templates/i18n"
	"schakel/templates/ui"
)

// windowsShown bounds the periods in which delivery windows are drawn: in longer ones a day is a few units wide.
const windowsShown = 7 * 24 * time.Hour

// EndpointTimeline shows the status, the circuit and the delivery windows of an endpoint in a period up to now. It reads the changes
// that were written when they came. The windows shown are of today: earlier ones are not kept.
func (p *Portal) EndpointTimeline(ctx context.Context, e store.Endpoint, word string) (*ui.LanesView, error) {
	now := p.Cfg.Now()
	from := now.Add(-TrafficPeriod(word).Length)
	changes, err := p.DB.EndpointChanges(ctx, e.ID, store.At(from))
	if err != nil {
		return nil, err
	}
	begin := from
	if e.CreatedAt.After(from) {
		begin = e.CreatedAt.Time
	}
	v := &ui.LanesView{ID: "chart-states", Title: i18n.T(ctx, "site.timeline"), Note: i18n.T(ctx, "site.timeline-note"), From: from, Until: now}
	v.Lanes = append(v.Lanes, ui.Lane{Label: i18n.T(ctx, "site.timeline-status"), Spans: stateSpans(ctx, changes, store.ChangeStatus, e.Status, begin, now)})
	if e.Kind == store.EndpointWebhook || e.Kind == store.EndpointAMQP {
		v.Lanes = append(v.Lanes, ui.Lane{Label: i18n.T(ctx, "site.timeline-circuit"), Spans: stateSpans(ctx, changes, store.ChangeCircuit, store.CircuitClosed, begin, now)})
		if probes := probeMarks(ctx, changes, begin); len(probes) > 0 {
			v.Lanes = append(v.Lanes, ui.Lane{Label: i18n.T(ctx, "site.timeline-probes"), Spans: probes})
		}
	}
	if spans := windowSpans(ctx, e, from, now); len(spans) > 0 {
		v.Lanes = append(v.Lanes, ui.Lane{Label: i18n.T(ctx, "site.timeline-windows"), Spans: spans})
	}
	return v, nil
}

// stateSpans turns changes of a kind into spans. Before the first change it was otherwise, in an unknown state.
func stateSpans(ctx context.Context, changes []store.EndpointChange, kind, otherwise string, from, now time.Time) []ui.LaneSpan {
	var spans []ui.LaneSpan
	state, since := otherwise, from
	first := true
	for _, c := range changes {
		if c.Kind != kind {
			continue
		}
		if first && kind == store.ChangeStatus && c.At.After(from) {
			state = store.EndpointActive // an endpoint begins active, and every change from then on is written
		}
		first = false
		if c.At.After(since) {
			spans = follow(spans, stateSpan(ctx, state, since, c.At.Time))
			since = c.At.Time
		}
		state = c.State
	}
	return follow(spans, stateSpan(ctx, state, since, now))
}

// follow adds a span after others. One of the same state as the last makes that longer: a change may leave a state as it was, or be
// undone at the same moment.
func follow(spans []ui.LaneSpan, next ui.LaneSpan) []ui.LaneSpan {
	if n := len(spans) - 1; n >= 0 && spans[n].Kind == next.Kind && spans[n].Label == next.Label && spans[n].Until.Equal(next.From) {
		spans[n].Until = next.Until
		return spans
	}
	return append(spans, next)
}

func stateSpan(ctx context.Context, state string, from, until time.Time) ui.LaneSpan {
	return ui.LaneSpan{From: from, Until: until, Kind: ui.StateKind(state), Label: ui.StateLabel(ctx, state)}
}

// probeMarks marks the requests that an open circuit let through and that failed: at these moments it was half open.
func probeMarks(ctx context.Context, changes []store.EndpointChange, from time.Time) []ui.LaneSpan {
	var marks []ui.LaneSpan
	for _, c := range changes {
		if c.Kind == store.ChangeProbe && !c.At.Before(from) {
			marks = append(marks, ui.LaneSpan{From: c.At.Time, Until: c.At.Time, Kind: ui.KindInfo, Label: i18n.T(ctx, "site.timeline-probe")})
		}
	}
	return marks
}

// windowSpans computes the times at which the delivery windows were open. They open and close at whole minutes.
func windowSpans(ctx context.Context, e store.Endpoint, from, now time.Time) []ui.LaneSpan {
	week, err := window.Parse(e.Windows)
	if err != nil || week.Always() || now.Sub(from) > windowsShown {
		return nil
	}
	span := func(open bool, from, until time.Time) ui.LaneSpan {
		if open {
			return ui.LaneSpan{From: from, Until: until, Kind: ui.KindOK, Label: i18n.T(ctx, "site.timeline-open")}
		}
		return ui.LaneSpan{From: from, Until: until, Kind: ui.KindWarning, Label: i18n.T(ctx, "site.timeline-closed")}
	}
	var spans []ui.LaneSpan
	open, since := week.Open(from), from
	for at := from.Truncate(time.Minute).Add(time.Minute); at.Before(now); at = at.Add(time.Minute) {
		if is := week.Open(at); is != open {
			spans = append(spans, span(open, since, at))
			open, since = is, at
		}
	}
	return append(spans, span(open, since, now))
}
