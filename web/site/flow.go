package site

import (
	"context"
	"time"

	"schakel/delivery/filter"
	"schakel/delivery/outbox"
	"schakel/registry/partners"
	"schakel/store"
	"schakel/templates/i18n"
	"schakel/templates/ui"
)

// Flow asks the engine what subscriptions would have got of stored events, and prepares a view of it without rows but with the attributes of
// a sample. Its data stays out: whoever opens the event reads that, and only then the audit trail says so.
// Only administrators may see it: it counts events of others.
func (p *Portal) Flow(ctx context.Context, of outbox.Prospect) (*ui.FlowView, outbox.Forecast, error) {
	f, err := p.Engine.Forecast(ctx, of)
	if err != nil {
		return nil, f, err
	}
	v := &ui.FlowView{Now: p.Cfg.Now(), Looked: outbox.ForecastEvents, Back: f.Back.Time}
	newest := store.Event{}
	for _, types := range f.Of {
		for _, x := range types {
			if x.Newest.ID > newest.ID {
				newest = x.Newest
			}
		}
	}
	if newest.ID == "" {
		return v, f, nil
	}
	whole, err := p.DB.Event(ctx, newest.ID)
	if err != nil {
		return nil, f, err
	}
	v.SampleHref = "/admin/events/" + whole.ID
	v.Sample = EventView(ctx, whole, "").Attributes
	return v, f, nil
}

// FlowRow counts what a forecast expects of some types.
func (p *Portal) FlowRow(ctx context.Context, f outbox.Forecast, of map[string]outbox.Expected, types ...string) ui.FlowRow {
	short, long, newest := 0, 0, time.Time{}
	for _, name := range types {
		x := of[name]
		short, long = short+x.Short, long+x.Long
		if x.Newest.AcceptedAt.After(newest) {
			newest = x.Newest.AcceptedAt.Time
		}
	}
	count := func(n int, period time.Duration) string {
		if f.Counted(period, p.Cfg.Now()) {
			return i18n.Count(ctx, n)
		}
		return i18n.T(ctx, "site.flow.at-least", n)
	}
	return ui.FlowRow{Short: count(short, outbox.ForecastShort), Long: count(long, outbox.ForecastLong), Newest: newest}
}

// EndpointFacts describe where events go: kind, host, and what keeps them waiting there.
func (p *Portal) EndpointFacts(ctx context.Context, e store.Endpoint, host string) []ui.Item {
	items := []ui.Item{{Label: i18n.T(ctx, "site.flow.kind"), Text: KindLabel(ctx, e.Kind)}}
	if host != "" && e.Kind != store.EndpointPull {
		items = append(items, ui.Item{Label: i18n.T(ctx, "site.flow.host"), Text: host})
	}
	if stop := StopOf(ctx, e, p.Cfg.Now()); stop.Why != "" && e.Status != store.EndpointEnded {
		items = append(items, ui.Item{Label: i18n.T(ctx, "site.flow.now"), Text: stop.Why})
	}
	return items
}

// SourceWords names where a publisher's events come from: a source, or what stands in place of one.
func SourceWords(ctx context.Context, source string) string {
	switch source {
	case partners.AnySource:
		return i18n.T(ctx, "partners.source.any")
	case partners.OverAMQP:
		return i18n.T(ctx, "partners.source.amqp")
	case partners.BySchakel:
		return i18n.T(ctx, "partners.source.schakel")
	}
	return source
}

// FilterWords describes stored filters, for people.
func FilterWords(filters string) []string {
	f, err := filter.Parse([]byte(filters))
	if err != nil {
		return []string{Shown(filters)}
	}
	words := f.Words()
	for i, w := range words {
		words[i] = Shown(w)
	}
	return words
}
