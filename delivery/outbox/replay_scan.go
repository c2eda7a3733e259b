package outbox

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"schakel/delivery/event"
	"schakel/store"
)

// scanPage is the number of events that a replay reads in one query.
const scanPage = 500

// offer is an event that a replay delivers to a subscription: by a new delivery, or by resending one.
type offer struct {
	event store.Event
	// again is the held or dead delivery to resend; nil makes a new one.
	again *store.Delivery
}

// scanner finds the events that a replay has for one subscription.
type scanner struct {
	mode string
	sub  store.Subscription
	span store.EventSpan
	// takes is the fan-out index of this subscription alone: replay and acceptance apply the same rules.
	takes *index
	own   string // the own organisation's partner
	// dedupe leaves out what the subscription was handed under the same source and id (EDU-18b).
	dedupe bool
	looked int // events read so far
}

// newScanner reads the subscription, its partner and its routes, in the transaction of q when it is one.
func (e *Engine) newScanner(ctx context.Context, q *store.Queries, r Replay, p store.ReplayPart) (*scanner, error) {
	sub, err := q.Subscription(ctx, p.SubscriptionID)
	if err != nil {
		return nil, fmt.Errorf("read subscription: %w", err)
	}
	partner, err := q.Partner(ctx, sub.PartnerID)
	if err != nil {
		return nil, fmt.Errorf("read partner: %w", err)
	}
	own, err := q.OwnPartner(ctx)
	if err != nil {
		return nil, fmt.Errorf("read own organisation: %w", err)
	}
	routes, err := q.Routes(ctx)
	if err != nil {
		return nil, fmt.Errorf("read routes: %w", err)
	}
	s := &scanner{mode: r.Mode, sub: sub, own: own.ID, dedupe: sub.Dedupe || e.policy().Dedupe, span: store.EventSpan{
		Types: sub.Types, Subject: r.Subject, IDs: r.EventIDs, From: r.From, Until: r.Until, AfterID: p.Cursor,
	}}
	if p.Since.After(r.From.Time) {
		s.span.From = p.Since
	}
	if len(r.Types) > 0 {
		s.span.Types = slices.DeleteFunc(slices.Clone(sub.Types), func(t string) bool { return !slices.Contains(r.Types, t) })
	}
	if s.takes, err = soleIndex(ctx, q, sub, s.span.Types, partner.Own, routes); err != nil || s.span.Subject != "" {
		return s, err
	}
	// A subscription to one subject is found by it, and need not look at the events of all others.
	for _, t := range s.takes.byType {
		for subject := range t.bySubject {
			s.span.Subject = subject
		}
	}
	return s, nil
}

// soleIndex makes the fan-out index of one subscription to these types, whatever its state; own is one of the own organisation.
func soleIndex(ctx context.Context, q *store.Queries, sub store.Subscription, types []string, own bool, routes []store.Route) (*index, error) {
	x := &index{byType: make(map[string]*targets), routes: store.NewPassages(routes)}
	party, err := q.AMQPPartyByEndpoint(ctx, sub.EndpointID)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, fmt.Errorf("read party: %w", err)
	}
	for _, t := range types {
		err := x.add(store.FanoutTarget{
			EventType: t, Version: sub.Versions[t], SubscriptionID: sub.ID, PartnerID: sub.PartnerID, EndpointID: sub.EndpointID,
			Filters: sub.Filters, OrderBy: sub.OrderBy, Own: own, HerID: party.HerID,
		})
		if err != nil {
			return nil, err
		}
	}
	return x, nil
}

// matches reports whether the subscription would get an event that was accepted now.
func (s *scanner) matches(row store.Event) (event.Event, bool, error) {
	return s.takes.takes(row, s.own)
}

// takes reports whether any subscription of the index would get a stored event if it was accepted now; own is the own organisation's
// partner.
func (x *index) takes(row store.Event, own string) (event.Event, bool, error) {
	ev, err := event.FromParts(row.Attributes, event.DataKind(row.DataKind), nil)
	if err != nil {
		return ev, false, fmt.Errorf("read event %s: %w", row.ID, err)
	}
	return ev, len(x.match(&ev, &row, row.PartnerID == own)) > 0, nil
}

// page reads the next events and returns those to replay, up to most, and whether that was the end. The span continues behind
// the last one read.
func (s *scanner) page(ctx context.Context, q *store.Queries, most int) (offers []offer, end bool, err error) {
	if len(s.span.Types) == 0 {
		return nil, true, nil
	}
	rows, err := q.EventsIn(ctx, s.span, scanPage)
	if err != nil {
		return nil, false, fmt.Errorf("list events: %w", err)
	}
	s.looked += len(rows)
	wanted, err := s.judgeAll(ctx, q, rows)
	if err != nil {
		return nil, false, err
	}
	for _, row := range rows {
		if o, ok := wanted[row.ID]; ok {
			if len(offers) == most {
				return offers, false, nil
			}
			offers = append(offers, o)
		}
		s.span.AfterID = row.ID
	}
	return offers, len(rows) < scanPage, nil
}

// judgeAll selects the events to replay by the deliveries of them that the subscription had before.
func (s *scanner) judgeAll(ctx context.Context, q *store.Queries, rows []store.Event) (map[string]offer, error) {
	wanted := make(map[string]offer, len(rows))
	for _, row := range rows {
		_, gets, err := s.matches(row)
		if err != nil {
			return nil, err
		}
		if gets {
			wanted[row.ID] = offer{event: row}
		}
	}
	deliveries, err := q.DeliveriesFor(ctx, s.sub.ID, slices.Sorted(maps.Keys(wanted)))
	if err != nil {
		return nil, fmt.Errorf("list deliveries: %w", err)
	}
	before := make(map[string][]store.Delivery)
	for _, d := range deliveries {
		before[d.EventID] = append(before[d.EventID], d)
	}
	for id, got := range before {
		again, offered := judge(s.mode, got)
		if !offered {
			delete(wanted, id)
			continue
		}
		wanted[id] = offer{event: wanted[id].event, again: again}
	}
	return wanted, s.dropHanded(ctx, q, wanted)
}

// dropHanded leaves out new deliveries of what the subscription was handed as another event with the same source and id,
// unless everything is repeated on purpose.
func (s *scanner) dropHanded(ctx context.Context, q *store.Queries, wanted map[string]offer) error {
	if !s.dedupe || s.mode == ReplayAll {
		return nil
	}
	var identities []string
	for _, o := range wanted {
		if o.again == nil {
			identities = append(identities, identityOf(o.event))
		}
	}
	before, err := q.HandedBefore(ctx, s.sub.ID, identities)
	if err != nil {
		return fmt.Errorf("list what was handed over: %w", err)
	}
	maps.DeleteFunc(wanted, func(_ string, o offer) bool { return o.again == nil && before[identityOf(o.event)] })
	return nil
}

func identityOf(e store.Event) string { return store.EventIdentity(e.CESource, e.CEID) }

// judge reports whether an event is replayed to a subscription that has these deliveries of it. What is on its way comes
// anyway. What is held or dead is resent and gets no second delivery beside it. What arrived, or a person discarded, is
// replayed only on purpose.
func judge(mode string, got []store.Delivery) (again *store.Delivery, offered bool) {
	var closed bool
	for i, d := range got {
		switch d.Status {
		case store.DeliveryPending, store.DeliveryRetrying:
			return nil, false
		case store.DeliveryHeld, store.DeliveryDead:
			again = &got[i]
		case store.DeliveryDelivered:
			if mode == ReplayMissing {
				return nil, false
			}
		default:
			closed = true
		}
	}
	return again, again != nil || !closed || mode == ReplayAll
}
