package partners

import (
	"context"
	"fmt"
	"slices"

	"schakel/registry"
	"schakel/store"
)

// Recent lists the newest events on which a partner can try the filters of a subscription to these types, in the lines of
// versions given for them (none is every version), without their data; those in another line are among them. It shows no
// more than the partner was granted: events of types and lines it has an approved subscription to, accepted since that
// approval, of the own organisation or along a route (guarantees G2, G3), and for it when they are for some partners.
// Filters on anything else would disclose what an administrator has not approved. Withheld lists the types it has no such
// subscription to. The own organisation may try them on every event.
func (s *Subscriptions) Recent(ctx context.Context, partner store.Partner, types []string, lines map[string]string, limit int) (events []store.Event, withheld []string, err error) {
	origins := []store.EventOrigin{{Types: types}}
	var grants map[string][]granted
	if !partner.Own {
		if grants, err = s.grants(ctx, partner.ID); err != nil {
			return nil, nil, err
		}
		if origins, withheld, err = s.grantedOrigins(ctx, partner.ID, types, lines, grants); err != nil {
			return nil, nil, err
		}
	}
	if events, err = s.cfg.DB.RecentEvents(ctx, origins, limit); err != nil {
		return nil, nil, fmt.Errorf("list recent events: %w", err)
	}
	if !partner.Own {
		events = slices.DeleteFunc(events, func(e store.Event) bool { return !covered(grants[e.CEType], e) })
	}
	return events, withheld, nil
}

// grantedOrigins lists the publishers from whom a partner gets these types, and since when.
func (s *Subscriptions) grantedOrigins(ctx context.Context, partnerID string, types []string, lines map[string]string,
	grants map[string][]granted,
) (origins []store.EventOrigin, withheld []string, err error) {
	own, err := s.cfg.DB.OwnPartner(ctx)
	if err != nil {
		return nil, nil, registry.Found("own organisation", err)
	}
	routes, err := s.cfg.DB.Routes(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("list routes: %w", err)
	}
	for _, name := range types {
		from, gets := concerning(grants[name], lines[name])
		if !gets {
			withheld = append(withheld, name)
			continue
		}
		origins = addOrigin(origins, store.EventOrigin{PartnerID: own.ID, Since: from, For: partnerID}, name)
		for _, r := range routes {
			if r.ToPartnerID == partnerID && r.EventType == name {
				origins = addOrigin(origins, store.EventOrigin{PartnerID: r.FromPartnerID, Since: from, For: partnerID}, name)
			}
		}
	}
	return origins, withheld, nil
}

// addOrigin keeps types of one sender and one moment together.
func addOrigin(origins []store.EventOrigin, of store.EventOrigin, name string) []store.EventOrigin {
	i := slices.IndexFunc(origins, func(o store.EventOrigin) bool { return o.PartnerID == of.PartnerID && o.Since.Equal(of.Since.Time) })
	if i < 0 {
		of.Types = []string{name}
		return append(origins, of)
	}
	origins[i].Types = append(origins[i].Types, name)
	return origins
}

// granted is that a partner gets an event type in one line of versions, or in all when it is empty, since a moment.
type granted struct {
	line  string
	since store.Time
}

// grants lists by event type the lines in which a partner gets it, and since when.
func (s *Subscriptions) grants(ctx context.Context, partnerID string) (map[string][]granted, error) {
	all := map[string][]granted{}
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
				all[name] = append(all[name], granted{sub.Versions[name], sub.DecidedAt})
			}
		}
		if f.Number*f.Size >= total {
			return all, nil
		}
	}
}

// covered reports whether any of these grants lets an event through.
func covered(grants []granted, e store.Event) bool {
	return slices.ContainsFunc(grants, func(g granted) bool {
		return !e.AcceptedAt.Before(g.since.Time) && store.FitsLine(e.ContractVersions, g.line)
	})
}

// concerning are the grants that an event of a wanted line can come by, and since when; every line is wanted when it is empty.
func concerning(grants []granted, wanted string) (since store.Time, any bool) {
	for _, g := range grants {
		if wanted != "" && g.line != "" && g.line != wanted {
			continue
		}
		if !any || g.since.Before(since.Time) {
			since, any = g.since, true
		}
	}
	return since, any
}
