package outbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"schakel/registry/sorted"
	"schakel/store"
)

// Modes of a replay.
const (
	// ReplayMissing replays the events that a subscription never got.
	ReplayMissing = "missing"
	// ReplayAll replays also those that it did get, on purpose, under a new key.
	ReplayAll = "all"
)

// Errors of a replay that cannot be started; the texts may be shown.
var (
	// ErrNothingSelected: no approved subscription gets any of these events.
	ErrNothingSelected = refusal("outbox.nothing-selected")
	// ErrTooManySubscriptions: a replay serves at most a thousand subscriptions.
	ErrTooManySubscriptions = refusal("outbox.too-many-subscriptions")
	// ErrTooManyEvents: the ids stand for more events than can be chosen by id.
	ErrTooManyEvents = refusal("outbox.too-many-events")
	// ErrNotApproved: nothing may be sent to a named subscription now.
	ErrNotApproved = refusal("outbox.not-approved")
)

// Replay selects stored events and the subscriptions that they are delivered to again (EDU-18, EDU-N11). Empty members select
// all; the job stores it as JSON.
type Replay struct {
	Mode            string     `json:"mode"`
	PartnerID       string     `json:"partnerId,omitempty"`
	EndpointID      string     `json:"endpointId,omitempty"`
	SubscriptionIDs []string   `json:"subscriptionIds,omitempty"`
	Types           []string   `json:"types,omitempty"`
	Subject         string     `json:"subject,omitempty"`
	EventIDs        []string   `json:"eventIds,omitempty"` // ours, or those of their producers
	From            store.Time `json:"from,omitzero"`      // when they were accepted, inclusive
	Until           store.Time `json:"until,omitzero"`     // exclusive
}

// Preview counts the effect of a job before it starts.
type Preview struct {
	// Total counts the deliveries or events; Groups counts them by endpoint, subscription and event type.
	Total  int
	Groups []store.DeliveryGroup
	// SentForGood counts those of Total that a resend leaves out: the same message may not go again by AMQP.
	SentForGood int
	// More means that there are more than Total: counting took too long, or came to store.ListBound.
	More bool
	// Limited means that events were left out because they were accepted before the partner's subscription was approved: only
	// an administrator can replay those.
	Limited bool
}

// justCounted is the age of a count for which what changed meanwhile does not matter.
const justCounted = time.Second

// PreviewJob counts what StartJob would resend or discard, up to store.ListBound.
func (e *Engine) PreviewJob(ctx context.Context, actor Actor, f store.DeliveryFilter) (Preview, error) {
	now := e.cfg.Now()
	f = e.jobFilter(actor, f)
	if now.Sub(f.Until.Time) < justCounted {
		f.Until = store.Time{} // all that is there changed before, and an index counts it
	}
	groups, err := e.cfg.DB.GroupDeliveries(ctx, f)
	if err != nil {
		return Preview{}, fmt.Errorf("count deliveries: %w", err)
	}
	p := Preview{Groups: groups}
	for _, g := range groups {
		p.Total += g.Count
		p.SentForGood += g.SentForGood
	}
	if p.More = p.Total > store.ListBound; p.More {
		p.Total = store.ListBound
	}
	return p, nil
}

// previewEvents bounds the events that a preview looks at, so that a page of it comes at once; beyond, the count is "at least".
const previewEvents = 2_500

// PreviewReplay counts what StartReplay would replay, among the first previewEvents events.
func (e *Engine) PreviewReplay(ctx context.Context, actor Actor, r Replay) (Preview, error) {
	r, parts, err := e.planReplay(ctx, actor, r)
	if err != nil {
		return Preview{}, err
	}
	return e.countReplay(ctx, r, parts, previewEvents, countTime)
}

// StartReplay replays stored events in the background: each becomes a new delivery with the same id and source under a new
// Idempotency-Key (IDEM-13), or resends a dead or held one. Only subscriptions that are approved get any, and only what their
// types, filters and routes let through (guarantees G2, G3). A partner's replay serves its own subscriptions, and events accepted
// since their approval (guarantee G7). In mode missing no event is replayed twice, however often or by how many nodes it runs.
func (e *Engine) StartReplay(ctx context.Context, actor Actor, r Replay) (store.ResendJob, error) {
	r, parts, err := e.planReplay(ctx, actor, r)
	if err != nil {
		return store.ResendJob{}, err
	}
	p, err := e.countReplay(ctx, r, parts, math.MaxInt, countTime)
	if err != nil {
		return store.ResendJob{}, err
	}
	what := map[string]any{"count": p.Total, "more": p.More, "mode": r.Mode, "subscriptions": len(parts)}
	return e.startJob(ctx, actor, job{action: ActionReplay, filter: r, total: p.Total, more: p.More, parts: parts}, what)
}

// countTime bounds the counting of a replay before it starts; what is not counted by then is reported as more.
const countTime = 3 * time.Second

// errCountBound ends a count that looked at as many events as it may.
var errCountBound = errors.New("more events than are counted")

// countReplay counts what the parts of a replay would deliver, looking at about so many events, for at most a time, and
// writes it in the parts.
func (e *Engine) countReplay(ctx context.Context, r Replay, parts []store.ReplayPart, look int, most time.Duration) (Preview, error) {
	brief, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	var p Preview
	counts := make(map[store.DeliveryGroup]int)
	for i := range parts {
		part := &parts[i]
		p.Limited = p.Limited || part.Since.After(r.From.Time)
		err := e.countPart(brief, r, part, counts, &look)
		if err != nil && !errors.Is(err, errCountBound) && (brief.Err() == nil || ctx.Err() != nil) {
			return Preview{}, fmt.Errorf("count replay: %w", err)
		}
		part.TotalMore = err != nil
		p.Total, p.More = p.Total+int(part.Total), p.More || part.TotalMore
	}
	for g, n := range counts {
		g.Count = n
		p.Groups = append(p.Groups, g)
	}
	sorted.By(p.Groups, func(a, b store.DeliveryGroup) int {
		return cmp.Or(b.Count-a.Count, strings.Compare(a.EndpointID+a.SubscriptionID+a.EventType, b.EndpointID+b.SubscriptionID+b.EventType))
	})
	return p, nil
}

func (e *Engine) countPart(ctx context.Context, r Replay, part *store.ReplayPart, counts map[store.DeliveryGroup]int, look *int) error {
	q := &e.cfg.DB.Queries
	s, err := e.newScanner(ctx, q, r, *part)
	if err != nil {
		return err
	}
	defer func() { *look -= s.looked }()
	for end := false; !end; {
		if s.looked >= *look {
			return errCountBound
		}
		var offers []offer
		if offers, end, err = s.page(ctx, q, scanPage); err != nil {
			return err
		}
		part.Total += int64(len(offers))
		for _, o := range offers {
			counts[store.DeliveryGroup{PartnerID: part.PartnerID, EndpointID: part.EndpointID, SubscriptionID: part.SubscriptionID, EventType: o.event.CEType}]++
		}
	}
	return nil
}

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
