package outbox

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"schakel/delivery/event"
	"schakel/delivery/filter"
	"schakel/store"
)

// index finds the subscriptions an event goes to, as of one epoch of the database.
type index struct {
	epoch  string
	byType map[string]*targets
	routes store.Passages
}

// targets are the subscriptions to one event type. Those to a single subject are found by it; the filters of the others are
// evaluated one by one. A hundred thousand subscriptions to one subject each cost an event one look-up.
type targets struct {
	bySubject map[string][]target
	rest      []target
}

// target is a subscription with its compiled filters.
type target struct {
	store.FanoutTarget
	filter filter.Filter
}

// match lists the targets of an event. An event of the own organisation goes to every subscription; one received from a
// partner goes to the own organisation's subscriptions, and to a partner only along a route (guarantee G3). That holds for the
// sender too: two intermediaries that subscribe to the same types at each other would send every event back, and reject it
// there as not the sender's own. Filters narrow that down, and so do the contract versions that the event fits: a subscription
// to one line of versions gets no other (EDU-08). An event with an audience goes to no other partner.
func (x *index) match(ev *event.Event, row *store.Event, fromOwn bool) []store.FanoutTarget {
	t := x.byType[ev.Type]
	if t == nil {
		return nil
	}
	var allowed []store.FanoutTarget
	for _, candidates := range [][]target{t.bySubject[ev.Subject], t.rest} {
		for _, c := range candidates {
			if x.routes.May(row.PartnerID, fromOwn, c.PartnerID, c.Own, ev.Type) && row.Audience.Has(c.PartnerID, c.Own) &&
				store.FitsLine(row.ContractVersions, c.Version) && c.filter.Match(ev.Extension) {
				allowed = append(allowed, c.FanoutTarget)
			}
		}
	}
	return allowed
}

func (x *index) add(row store.FanoutTarget) error {
	compiled, err := filter.Parse([]byte(row.Filters))
	if err != nil {
		return fmt.Errorf("subscription %s: %w", row.SubscriptionID, err)
	}
	t := x.byType[row.EventType]
	if t == nil {
		t = &targets{bySubject: make(map[string][]target)}
		x.byType[row.EventType] = t
	}
	if subject, ok := compiled.Exact("subject"); ok {
		t.bySubject[subject] = append(t.bySubject[subject], target{row, compiled})
		return nil
	}
	t.rest = append(t.rest, target{row, compiled})
	return nil
}

// fanout caches the index of the newest epoch seen.
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
	rows, err := tx.FanoutTargets(ctx)
	if err != nil {
		return nil, fmt.Errorf("read fan-out: %w", err)
	}
	routes, err := tx.Routes(ctx)
	if err != nil {
		return nil, fmt.Errorf("read routes: %w", err)
	}
	x := &index{epoch: epoch, byType: make(map[string]*targets), routes: store.NewPassages(routes)}
	for _, row := range rows {
		if err := x.add(row); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// rejectUnwanted rejects the submissions that need a recipient and have none, in the transaction in which they would be
// written: a subscription that ends at this moment either gets the event or has it rejected. It accepts an event that this
// client sent before, for that has its deliveries.
func rejectUnwanted(ctx context.Context, tx *store.Tx, index *index, group []*pending, rows [][]store.Event) error {
	for i, p := range group {
		if !p.NeedRecipient || !p.isNew() {
			continue
		}
		for n := range rows[i] {
			if len(index.match(&p.Events[n], &rows[i][n], p.FromOwn)) > 0 {
				continue
			}
			_, err := tx.EventIDByIdentity(ctx, p.ClientID, rows[i][n].CESource, rows[i][n].CEID)
			if errors.Is(err, store.ErrNotFound) {
				p.err = ErrNoRecipient
				break
			}
			if err != nil {
				return fmt.Errorf("find event sent before: %w", err)
			}
		}
	}
	return nil
}
