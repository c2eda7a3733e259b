package registry

import (
	"context"
	"fmt"

	"schakel/store"
)

// OpenSubscriptions lists all open subscriptions that a filter selects, newest first.
func OpenSubscriptions(ctx context.Context, q *store.Queries, f store.SubscriptionFilter) (open []store.Subscription, err error) {
	f.Open, f.Page = true, store.Page{Number: 1, Size: 500}
	for {
		rows, _, err := q.Subscriptions(ctx, f)
		if err != nil {
			return nil, fmt.Errorf("list subscriptions: %w", err)
		}
		if open = append(open, rows...); len(rows) < f.Size {
			return open, nil
		}
		f.Before = rows[len(rows)-1].ID // and not the next page: those that end meanwhile would push others off it
	}
}

// IsOpen reports whether a subscription is neither ended nor rejected.
func IsOpen(s store.Subscription) bool {
	return s.Status != store.SubscriptionEnded && s.Status != store.SubscriptionRejected
}

// TypesWithVersions names event types with the line wanted of each.
func TypesWithVersions(s store.Subscription) []string {
	if s.DatasetID != "" {
		return SubscribedTo(s)
	}
	list := make([]string, len(s.Types))
	for i, name := range s.Types {
		list[i] = name
		if line := s.Versions[name]; line != "" {
			list[i] += " (version " + LineName(line) + ")"
		}
	}
	return list
}

// SubscribedTo lists the event types of a subscription, or names its dataset.
func SubscribedTo(s store.Subscription) []string {
	if s.DatasetID != "" {
		return []string{"dataset " + s.DatasetID}
	}
	return s.Types
}
