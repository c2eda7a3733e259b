package outbox

import (
	"context"
	"fmt"
	"sync"

	"schakel/store"
)

// index tells which subscriptions an event goes to, as of one epoch of the database.
type index struct {
	epoch  string
	byType map[string][]store.FanoutTarget
	routes map[route]struct{}
}

// route is what an administrator allowed to pass from one partner to another.
type route struct{ from, to, eventType string }

// match lists the targets of an event. An event of the own organisation goes to every subscription; one received from a
// partner goes to the own organisation's subscriptions and the sender's own, and to another partner only along a route
// (guarantee G3).
func (x *index) match(eventType, from string, fromOwn bool) []store.FanoutTarget {
	all := x.byType[eventType]
	if fromOwn {
		return all
	}
	var allowed []store.FanoutTarget
	for _, t := range all {
		_, routed := x.routes[route{from, t.PartnerID, eventType}]
		if t.Own || routed || t.PartnerID == from {
			allowed = append(allowed, t)
		}
	}
	return allowed
}

// fanout keeps the index of the newest epoch seen.
type fanout struct {
	mu    sync.Mutex
	index *index
	fresh freshness
}

// in returns the index that is valid in the transaction: what was approved when the transaction began.
func (f *fanout) in(ctx context.Context, tx *store.Tx) (*index, error) {
	epoch, err := tx.FanoutEpoch(ctx)
	if err != nil {
		return nil, fmt.Errorf("read fan-out epoch: %w", err)
	}
	f.mu.Lock()
	known := f.index
	f.mu.Unlock()
	if known != nil && known.epoch == epoch {
		return known, nil
	}
	read, err := readIndex(ctx, tx, epoch)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	f.index = read
	f.mu.Unlock()
	return read, nil
}

func readIndex(ctx context.Context, tx *store.Tx, epoch string) (*index, error) {
	targets, err := tx.FanoutTargets(ctx)
	if err != nil {
		return nil, fmt.Errorf("read fan-out: %w", err)
	}
	routes, err := tx.Routes(ctx)
	if err != nil {
		return nil, fmt.Errorf("read routes: %w", err)
	}
	x := &index{epoch: epoch, byType: make(map[string][]store.FanoutTarget), routes: make(map[route]struct{}, len(routes))}
	for _, t := range targets {
		x.byType[t.EventType] = append(x.byType[t.EventType], t)
	}
	for _, r := range routes {
		x.routes[route{r.FromPartnerID, r.ToPartnerID, r.EventType}] = struct{}{}
	}
	return x, nil
}
