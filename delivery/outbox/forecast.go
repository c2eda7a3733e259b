package outbox

import (
	"context"
	"fmt"
	"time"

	"schakel/store"
)

// The two periods that a forecast counts, and how many of the newest events it looks at: their number bounds what a page waits for.
const (
	ForecastShort  = 7 * 24 * time.Hour
	ForecastLong   = 30 * 24 * time.Hour
	ForecastEvents = 4_000
)

// Prospect asks what subscriptions would have got of stored events, whatever their states.
type Prospect struct {
	Subscriptions []store.Subscription
	// Route is one that is not open yet: only events received from its sender count, as if it was. Nil counts all events.
	Route *store.Route
}

// Forecast counts, for each subscription of a prospect and by event type, the stored events that it would have got.
type Forecast struct {
	Of []map[string]Expected
	// Back holds the acceptance of the oldest event read, where older ones of the period were left out; else zero.
	Back store.Time
}

// Expected counts the events of one type.
type Expected struct {
	Short, Long int
	Newest      store.Event // without its data; its id is empty when there is none
}

// Counted reports whether all events of the last d were looked at.
func (f Forecast) Counted(d time.Duration, now time.Time) bool {
	return f.Back.IsZero() || !f.Back.After(now.Add(-d))
}

// Forecast looks at the newest events of the last 30 days and decides on each as Accept does: by sender and routes (guarantee G3),
// audience, contract version and filter. It writes nothing.
func (e *Engine) Forecast(ctx context.Context, p Prospect) (Forecast, error) {
	q, now := &e.cfg.DB.Queries, e.cfg.Now()
	f := Forecast{Of: make([]map[string]Expected, len(p.Subscriptions))}
	own, err := q.OwnPartner(ctx)
	if err != nil {
		return f, fmt.Errorf("read own organisation: %w", err)
	}
	routes, err := q.Routes(ctx)
	if err != nil {
		return f, fmt.Errorf("read routes: %w", err)
	}
	if p.Route != nil {
		routes = append(routes, *p.Route)
	}
	var types []string
	takers := make([]*index, len(p.Subscriptions))
	for i, sub := range p.Subscriptions {
		f.Of[i], types = make(map[string]Expected), append(types, sub.Types...)
		if takers[i], err = soleIndex(ctx, q, sub, sub.Types, sub.PartnerID == own.ID, routes); err != nil {
			return f, err
		}
	}
	events, back, err := q.EventsBack(ctx, types, store.At(now.Add(-ForecastLong)), ForecastEvents)
	if err != nil {
		return f, fmt.Errorf("list newest events: %w", err)
	}
	f.Back = back
	for _, row := range events {
		if p.Route != nil && row.PartnerID != p.Route.FromPartnerID {
			continue
		}
		for i, taker := range takers {
			_, gets, err := taker.takes(row, own.ID)
			if err != nil {
				return f, err
			}
			if gets {
				f.Of[i][row.CEType] = f.Of[i][row.CEType].with(row, now)
			}
		}
	}
	return f, nil
}

// with counts one more event; the newest comes first.
func (x Expected) with(row store.Event, now time.Time) Expected {
	if x.Long == 0 {
		x.Newest = row
	}
	x.Long++
	if !row.AcceptedAt.Before(now.Add(-ForecastShort)) {
		x.Short++
	}
	return x
}
