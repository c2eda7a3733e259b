package contracts

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"schakel/registry"
	"schakel/store"
)

// Bound is an approved subscription with those of its event types that matter.
type Bound struct {
	store.Subscription
	Partner store.Partner
	Affects []string // sorted
}

// BoundBy lists the approved subscriptions to any of some event types, by partner.
// Only an administrator sees who is subscribed.
func (c *Contracts) BoundBy(ctx context.Context, actor registry.Actor, types []string) ([]Bound, error) {
	if err := actor.RequireAdministrator(); err != nil {
		return nil, err
	}
	list, err := boundTo(ctx, &c.cfg.DB.Queries, types, "")
	if err != nil {
		return nil, err
	}
	for i := range list {
		if list[i].Partner, err = c.cfg.DB.Partner(ctx, list[i].PartnerID); err != nil {
			return nil, fmt.Errorf("find partner: %w", err)
		}
	}
	slices.SortFunc(list, func(a, b Bound) int {
		return strings.Compare(a.Partner.Name+"\x00"+a.ID, b.Partner.Name+"\x00"+b.ID)
	})
	return list, nil
}

// BoundPartner lists the approved subscriptions of one partner to any of some
// event types: it sees its own.
func (c *Contracts) BoundPartner(ctx context.Context, reader registry.Reader, types []string) ([]Bound, error) {
	if reader.PartnerID == "" {
		return nil, nil
	}
	return boundTo(ctx, &c.cfg.DB.Queries, types, reader.PartnerID)
}

// boundTo lists approved subscriptions without their partners; an empty partnerID
// is all.
func boundTo(ctx context.Context, q *store.Queries, types []string, partnerID string) ([]Bound, error) {
	if len(types) == 0 {
		return nil, nil
	}
	f := store.SubscriptionFilter{Status: store.SubscriptionApproved, PartnerID: partnerID, Page: store.Page{Number: 1, Size: 500}}
	var list []Bound
	for {
		rows, total, err := q.Subscriptions(ctx, f)
		if err != nil {
			return nil, fmt.Errorf("list subscriptions: %w", err)
		}
		for _, row := range rows {
			if b := (Bound{Subscription: row, Affects: common(row.Types, types)}); len(b.Affects) > 0 {
				list = append(list, b)
			}
		}
		if f.Number*f.Size >= total {
			return list, nil
		}
		f.Number++
	}
}

// common lists what two lists both have, as the first orders it.
func common(a, b []string) []string {
	var both []string
	for _, s := range a {
		if slices.Contains(b, s) {
			both = append(both, s)
		}
	}
	return both
}
