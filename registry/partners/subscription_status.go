package registry

import (
	"context"
	"errors"
	"fmt"

	"schakel/store"
)

// subscriptionMove gives the changes of state of a subscription:
//
//	requested ──approve──▶ approved ◀──unpause── paused
//	   │  │                 │ │ └────pause──────▶ │
//	reject end              │ └─suspend─▶ suspended ◀─suspend
//	   │  │                end ◀───end────┘ │  resume ─▶ approved
//	   ▼  ▼                 ▼
//	rejected ended        ended
//
// A partner pauses, unpauses and ends; the rest is for an administrator.
func subscriptionMove(verb string) transition {
	const (
		requested, approved = store.SubscriptionRequested, store.SubscriptionApproved
		paused, suspended   = store.SubscriptionPaused, store.SubscriptionSuspended
	)
	return map[string]transition{
		"approve": {action: ActionSubscriptionApproved, from: []string{requested}, to: approved, admin: true},
		"reject":  {action: ActionSubscriptionRejected, from: []string{requested}, to: store.SubscriptionRejected, admin: true, reason: true},
		"suspend": {action: ActionSubscriptionSuspended, from: []string{approved, paused}, to: suspended, admin: true, reason: true},
		"resume":  {action: ActionSubscriptionResumed, from: []string{suspended}, to: approved, admin: true},
		"pause":   {action: ActionSubscriptionPaused, from: []string{approved}, to: paused},
		"unpause": {action: ActionSubscriptionUnpaused, from: []string{paused}, to: approved},
		"end":     {action: ActionSubscriptionEnded, from: []string{requested, approved, paused, suspended}, to: store.SubscriptionEnded},
	}[verb].named(verb)
}

// Approve starts a subscription.
func (s *Subscriptions) Approve(ctx context.Context, actor Actor, id string) error {
	return s.ApproveSeen(ctx, actor, id, "")
}

// ApproveSeen starts a subscription as it was shown: seen is Grant.Seen of that. When the partner asks for something else by
// now nothing is approved. Empty: not compared.
func (s *Subscriptions) ApproveSeen(ctx context.Context, actor Actor, id, seen string) error {
	return s.moveSeen(ctx, actor, id, "approve", "", seen)
}

// Reject turns a request down; the reason is told to the partner. Of an approved subscription to a dataset whose change waits it
// rejects the change alone: the subscription is approved again, and reads what it read before.
func (s *Subscriptions) Reject(ctx context.Context, actor Actor, id, reason string) error {
	return s.move(ctx, actor, id, "reject", reason)
}

// Suspend stops a subscription by an administrator: it gets no new events, and
// what waits is held.
func (s *Subscriptions) Suspend(ctx context.Context, actor Actor, id, reason string) error {
	return s.move(ctx, actor, id, "suspend", reason)
}

// Resume takes a suspension back.
func (s *Subscriptions) Resume(ctx context.Context, actor Actor, id string) error {
	return s.move(ctx, actor, id, "resume", "")
}

// Pause stops sending at the partner's wish; events are kept and wait.
func (s *Subscriptions) Pause(ctx context.Context, actor Actor, id, reason string) error {
	return s.move(ctx, actor, id, "pause", reason)
}

// Unpause starts sending again after a pause.
func (s *Subscriptions) Unpause(ctx context.Context, actor Actor, id string) error {
	return s.move(ctx, actor, id, "unpause", "")
}

// End ends a subscription or takes a request back, for good.
func (s *Subscriptions) End(ctx context.Context, actor Actor, id, reason string) error {
	return s.move(ctx, actor, id, "end", reason)
}

func (s *Subscriptions) move(ctx context.Context, actor Actor, id, verb, reason string) error {
	return s.moveSeen(ctx, actor, id, verb, reason, "")
}

func (s *Subscriptions) moveSeen(ctx context.Context, actor Actor, id, verb, reason, seen string) error {
	t := subscriptionMove(verb)
	return s.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		sub, partner, endpoint, err := lockSubscription(ctx, tx, actor, id)
		if err != nil {
			return err
		}
		if err := t.check(actor, "subscription", sub.Status, reason); err != nil {
			return err
		}
		if err := stillSeen(ctx, tx, sub, seen); err != nil {
			return err
		}
		if verb == "approve" {
			if err := approvable(ctx, tx, sub, partner, endpoint); err != nil {
				return err
			}
		}
		sub.Status, sub.StatusReason = t.to, reason
		changeRejected, err := decideChange(ctx, tx, sub, verb)
		if err != nil {
			return err
		}
		if changeRejected {
			t.action, sub.Status, sub.StatusReason = ActionSubscriptionChangeRejected, store.SubscriptionApproved, "The change was rejected: "+reason
		}
		if t.admin {
			sub.DecidedAt, sub.DecidedBy = tx.Now, actor.Name
		}
		update := func() error { return tx.UpdateSubscription(ctx, &sub) }
		if verb == "end" {
			err = s.keepRecipients(ctx, tx, actor, update)
		} else {
			err = update()
		}
		if err != nil {
			return fmt.Errorf("%s subscription: %w", verb, err)
		}
		what := subscriptionDetails(sub, partner, endpoint, reason)
		if err := record(ctx, tx, actor, t.action, subscriptionObject(sub), what); err != nil {
			return err
		}
		if !actor.Administrator {
			return nil
		}
		if changeRejected {
			return s.cfg.mail(ctx, tx, partner.ContactEmail, mailChangeRejected(s.cfg, sub, partner, endpoint, reason))
		}
		return s.cfg.mail(ctx, tx, partner.ContactEmail, mailSubscriptionDecision(s.cfg, sub, partner, endpoint, verb))
	})
}

// lockSubscription reads a subscription the actor may change, and what it is about.
func lockSubscription(ctx context.Context, tx *store.Tx, actor Actor, id string) (
	sub store.Subscription, partner store.Partner, endpoint store.Endpoint, err error,
) {
	if err = tx.Lock(ctx, "subscription", id); err == nil {
		sub, err = tx.Subscription(ctx, id)
	}
	if err != nil {
		return sub, partner, endpoint, found("subscription", err)
	}
	if err = allowChange(ctx, tx, actor, "subscription", sub.PartnerID); err != nil {
		return sub, partner, endpoint, err
	}
	if partner, err = tx.Partner(ctx, sub.PartnerID); err != nil {
		return sub, partner, endpoint, found("partner", err)
	}
	endpoint, err = tx.Endpoint(ctx, sub.EndpointID)
	return sub, partner, endpoint, found("endpoint", err)
}

// stillSeen makes sure that a subscription asks for what was shown.
func stillSeen(ctx context.Context, tx *store.Tx, sub store.Subscription, seen string) error {
	if seen == "" {
		return nil
	}
	g := Grant{Subscription: sub}
	if sub.DatasetID != "" {
		f, err := tx.MutationFollower(ctx, sub.ID)
		if err != nil {
			return found("follower", err)
		}
		g.Dataset = &GrantDataset{Follower: f}
	}
	if g.Seen() != seen {
		return conflict("What is asked for has changed since you looked at it. Look again.")
	}
	return nil
}

// approvable looks again at what may have changed since the request.
func approvable(ctx context.Context, tx *store.Tx, sub store.Subscription, partner store.Partner, endpoint store.Endpoint) error {
	if err := requireApproved(partner); err != nil {
		return err
	}
	if endpoint.Status == store.EndpointEnded {
		return conflict("Endpoint %s has ended.", endpoint.Name)
	}
	if sub.DatasetID != "" {
		if _, err := askedDataset(ctx, tx, sub.DatasetID); err != nil {
			return conflict("Dataset %s has ended.", sub.DatasetID)
		}
	}
	for _, name := range sub.Types {
		t, err := tx.EventType(ctx, name)
		if errors.Is(err, store.ErrNotFound) {
			return conflict("Event type %s is not in the catalogue any more.", name)
		}
		if err != nil {
			return fmt.Errorf("find event type: %w", err)
		}
		seen, err := tx.SeesContract(ctx, readerOf(partner).sight(), t.ContractID)
		if err != nil {
			return fmt.Errorf("look who sees the event type: %w", err)
		}
		if !seen {
			return conflict("%s does not see contract %s any more, which defines event type %s. Show it to the partner first.", partner.Name, t.ContractID, name)
		}
		left, err := lineLeft(ctx, tx, name, sub.Versions[name])
		if err != nil {
			return err
		}
		if !left {
			return conflict("Version %s of event type %s is not in the catalogue any more.", LineName(sub.Versions[name]), name)
		}
	}
	return nil
}

// EndAll ends the open subscriptions that a filter selects.
func (s *Subscriptions) EndAll(ctx context.Context, tx *store.Tx, f store.SubscriptionFilter, reason string) error {
	return endSubscriptions(ctx, tx, f, reason)
}

// endSubscriptions ends what is open of a partner or endpoint.
func endSubscriptions(ctx context.Context, tx *store.Tx, f store.SubscriptionFilter, reason string) error {
	for f.Page = (store.Page{Number: 1, Size: 500}); ; f.Number++ {
		subs, total, err := tx.Subscriptions(ctx, f)
		if err != nil {
			return fmt.Errorf("list subscriptions: %w", err)
		}
		for _, sub := range subs {
			if !openSubscription(sub) {
				continue
			}
			sub.Status, sub.StatusReason = store.SubscriptionEnded, reason
			if err := tx.UpdateSubscription(ctx, &sub); err != nil {
				return fmt.Errorf("end subscription: %w", err)
			}
		}
		if f.Number*f.Size >= total {
			return nil
		}
	}
}
