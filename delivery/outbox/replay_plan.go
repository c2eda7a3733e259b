package outbox

import (
	"context"
	"fmt"
	"slices"

	"schakel/store"
)

// maxReplayParts bounds the subscriptions of one replay.
const maxReplayParts = 1000

// planReplay fixes the present selection of a replay, and makes a part of each subscription.
func (e *Engine) planReplay(ctx context.Context, actor Actor, r Replay) (Replay, []store.ReplayPart, error) {
	if r.Mode != ReplayMissing && r.Mode != ReplayAll {
		return r, nil, fmt.Errorf("unknown mode %q", r.Mode)
	}
	if actor.PartnerID != "" {
		r.PartnerID = actor.PartnerID
	}
	if now := store.At(e.cfg.Now()); r.Until.IsZero() || r.Until.After(now.Time) {
		r.Until = now
	}
	if len(r.EventIDs) > 0 {
		found, err := e.cfg.DB.EventIDs(ctx, r.EventIDs)
		if err != nil {
			return r, nil, fmt.Errorf("find events: %w", err)
		}
		if len(found) > store.EventIDBound {
			return r, nil, ErrTooManyEvents
		}
		if r.EventIDs = found; len(found) == 0 {
			r.EventIDs = []string{"-"} // none, where an empty list would be all
		}
	}
	subs, err := e.replaySubscriptions(ctx, actor, r)
	if err != nil {
		return r, nil, err
	}
	parts, err := e.replayParts(ctx, actor, r, subs)
	return r, parts, err
}

// replaySubscriptions lists the subscriptions a replay serves.
func (e *Engine) replaySubscriptions(ctx context.Context, actor Actor, r Replay) ([]store.Subscription, error) {
	if len(r.SubscriptionIDs) > 0 {
		return e.namedSubscriptions(ctx, actor, r)
	}
	f := store.SubscriptionFilter{PartnerID: r.PartnerID, EndpointID: r.EndpointID, Status: store.SubscriptionApproved, Page: store.Page{Number: 1, Size: maxReplayParts + 1}}
	subs, _, err := e.cfg.DB.Subscriptions(ctx, f)
	if err != nil {
		return nil, fmt.Errorf("list subscriptions: %w", err)
	}
	subs = slices.DeleteFunc(subs, func(s store.Subscription) bool { return !s.Sending || !hasType(s, r) })
	switch {
	case len(subs) == 0:
		return nil, ErrNothingSelected
	case len(subs) > maxReplayParts:
		return nil, ErrTooManySubscriptions
	}
	return subs, nil
}

func (e *Engine) namedSubscriptions(ctx context.Context, actor Actor, r Replay) ([]store.Subscription, error) {
	ids := slices.Compact(slices.Sorted(slices.Values(r.SubscriptionIDs)))
	if len(ids) > maxReplayParts {
		return nil, ErrTooManySubscriptions
	}
	var subs []store.Subscription
	for _, id := range ids {
		s, err := e.cfg.DB.Subscription(ctx, id)
		if err != nil {
			return nil, fmt.Errorf("find subscription: %w", err)
		}
		switch {
		case !actor.sees(s.PartnerID):
			return nil, store.ErrNotFound
		case !s.Sending:
			return nil, ErrNotApproved
		case r.EndpointID != "" && s.EndpointID != r.EndpointID || r.PartnerID != "" && s.PartnerID != r.PartnerID || !hasType(s, r):
			continue
		}
		subs = append(subs, s)
	}
	if len(subs) == 0 {
		return nil, ErrNothingSelected
	}
	return subs, nil
}

// hasType reports whether a subscription has any of the types.
func hasType(s store.Subscription, r Replay) bool {
	return len(r.Types) == 0 || slices.ContainsFunc(r.Types, func(t string) bool { return slices.Contains(s.Types, t) })
}

// replayParts makes the parts of a replay. A partner's part begins when its subscription was approved; the own organisation's
// may begin with the oldest event, for all are its own.
func (e *Engine) replayParts(ctx context.Context, actor Actor, r Replay, subs []store.Subscription) ([]store.ReplayPart, error) {
	since := func(store.Subscription) store.Time { return store.Time{} }
	if actor.PartnerID != "" {
		p, err := e.cfg.DB.Partner(ctx, actor.PartnerID)
		if err != nil {
			return nil, fmt.Errorf("find partner: %w", err)
		}
		if !p.Own {
			since = approvedAt
		}
	}
	parts := make([]store.ReplayPart, len(subs))
	for i, s := range subs {
		parts[i] = store.ReplayPart{SubscriptionID: s.ID, EndpointID: s.EndpointID, PartnerID: s.PartnerID, Since: since(s), Status: store.JobRunning}
	}
	return parts, nil
}

func approvedAt(s store.Subscription) store.Time {
	if s.DecidedAt.IsZero() {
		return s.CreatedAt
	}
	return s.DecidedAt
}
