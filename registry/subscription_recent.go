package registry

import (
	"context"
	"fmt"
	"slices"

	"schakel/store"
)

// Recent lists the newest events on which a partner can try the filters of a subscription to these types, without their
// data. It shows no more than the partner was granted: events of types it has an approved subscription to, accepted since
// that approval, of the own organisation or along a route (guarantees G2, G3). Filters on anything else would tell what
// an administrator has not approved. Withheld are the types it has no such subscription to. The own organisation may try
// them on every event.
func (s *Subscriptions) Recent(ctx context.Context, partner store.Partner, types []string, limit int) (events []store.Event, withheld []string, err error) {
	origins := []store.EventOrigin{{Types: types}}
	if !partner.Own {
		if origins, withheld, err = s.grantedOrigins(ctx, partner.ID, types); err != nil {
			return nil, nil, err
		}
	}
	if events, err = s.cfg.DB.RecentEvents(ctx, origins, limit); err != nil {
		return nil, nil, fmt.Errorf("list recent events: %w", err)
	}
	return events, withheld, nil
}

// grantedOrigins tells of whom a partner gets these types, and since when.
func (s *Subscriptions) grantedOrigins(ctx context.Context, partnerID string, types []string) (origins []store.EventOrigin, withheld []string, err error) {
	since, err := s.grantedSince(ctx, partnerID)
	if err != nil {
		return nil, nil, err
	}
	own, err := s.cfg.DB.OwnPartner(ctx)
	if err != nil {
		return nil, nil, found("own organisation", err)
	}
	routes, err := s.cfg.DB.Routes(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("list routes: %w", err)
	}
	for _, name := range types {
		from, granted := since[name]
		if !granted {
			withheld = append(withheld, name)
			continue
		}
		origins = addOrigin(origins, own.ID, name, from)
		for _, r := range routes {
			if r.ToPartnerID == partnerID && r.EventType == name {
				origins = addOrigin(origins, r.FromPartnerID, name, from)
			}
		}
	}
	return origins, withheld, nil
}

// addOrigin keeps types of one sender and one moment together.
func addOrigin(origins []store.EventOrigin, partnerID, name string, since store.Time) []store.EventOrigin {
	i := slices.IndexFunc(origins, func(o store.EventOrigin) bool { return o.PartnerID == partnerID && o.Since.Equal(since.Time) })
	if i < 0 {
		return append(origins, store.EventOrigin{PartnerID: partnerID, Types: []string{name}, Since: since})
	}
	origins[i].Types = append(origins[i].Types, name)
	return origins
}

// grantedSince tells by event type since when a partner gets it.
func (s *Subscriptions) grantedSince(ctx context.Context, partnerID string) (map[string]store.Time, error) {
	since := map[string]store.Time{}
	f := store.SubscriptionFilter{PartnerID: partnerID}
	for f.Page = (store.Page{Number: 1, Size: 500}); ; f.Number++ {
		subs, total, err := s.cfg.DB.Subscriptions(ctx, f)
		if err != nil {
			return nil, fmt.Errorf("list subscriptions: %w", err)
		}
		for _, sub := range subs {
			if !sub.Accepting {
				continue
			}
			for _, name := range sub.Types {
				if earlier, there := since[name]; !there || sub.DecidedAt.Before(earlier.Time) {
					since[name] = sub.DecidedAt
				}
			}
		}
		if f.Number*f.Size >= total {
			return since, nil
		}
	}
}
