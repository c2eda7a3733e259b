package partners

import (
	"context"
	"errors"
	"fmt"

	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
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
func subscriptionMove(verb string) registry.Transition {
	const (
		requested, approved = store.SubscriptionRequested, store.SubscriptionApproved
		paused, suspended   = store.SubscriptionPaused, store.SubscriptionSuspended
	)
	return map[string]registry.Transition{
		"approve": {Action: registry.ActionSubscriptionApproved, From: []string{requested}, To: approved, Admin: true},
		"reject":  {Action: registry.ActionSubscriptionRejected, From: []string{requested}, To: store.SubscriptionRejected, Admin: true, Reason: true},
		"suspend": {Action: registry.ActionSubscriptionSuspended, From: []string{approved, paused}, To: suspended, Admin: true, Reason: true},
		"resume":  {Action: registry.ActionSubscriptionResumed, From: []string{suspended}, To: approved, Admin: true},
		"pause":   {Action: registry.ActionSubscriptionPaused, From: []string{approved}, To: paused},
		"unpause": {Action: registry.ActionSubscriptionUnpaused, From: []string{paused}, To: approved},
		"end":     {Action: registry.ActionSubscriptionEnded, From: []string{requested, approved, paused, suspended}, To: store.SubscriptionEnded},
	}[verb].Named(verb)
}

// subscriptionState is the word for the state of a subscription.
func subscriptionState(status string) i18n.Message {
	switch status {
	case store.SubscriptionRequested:
		return "partners.subscription-state.requested"
	case store.SubscriptionApproved:
		return "partners.subscription-state.approved"
	case store.SubscriptionPaused:
		return "partners.subscription-state.paused"
	case store.SubscriptionSuspended:
		return "partners.subscription-state.suspended"
	case store.SubscriptionRejected:
		return "partners.subscription-state.rejected"
	}
	return "partners.subscription-state.ended"
}

// Approve starts a subscription.
func (s *Subscriptions) Approve(ctx context.Context, actor registry.Actor, id string) error {
	return s.ApproveSeen(ctx, actor, id, "")
}

// ApproveSeen starts a subscription as it was shown: seen is Grant.Seen of that. When the partner asks for something else by
// now nothing is approved. Empty: not compared.
func (s *Subscriptions) ApproveSeen(ctx context.Context, actor registry.Actor, id, seen string) error {
	return s.holdApproval(ctx, actor, id, func(ctx context.Context) error { return s.moveSeen(ctx, actor, id, "approve", "", seen) })
}

// Reject turns a request down; the reason is told to the partner. Of an approved subscription to a dataset whose change waits it
// rejects the change alone: the subscription is approved again, and reads what it read before.
func (s *Subscriptions) Reject(ctx context.Context, actor registry.Actor, id, reason string) error {
	return s.move(ctx, actor, id, "reject", reason)
}

// Suspend stops a subscription by an administrator: it gets no new events, and what waits is held.
func (s *Subscriptions) Suspend(ctx context.Context, actor registry.Actor, id, reason string) error {
	return s.move(ctx, actor, id, "suspend", reason)
}

// Resume takes a suspension back.
func (s *Subscriptions) Resume(ctx context.Context, actor registry.Actor, id string) error {
	return s.move(ctx, actor, id, "resume", "")
}

// Pause stops sending at the partner's wish; events are kept and wait.
func (s *Subscriptions) Pause(ctx context.Context, actor registry.Actor, id, reason string) error {
	return s.move(ctx, actor, id, "pause", reason)
}

// Unpause starts sending again after a pause.
func (s *Subscriptions) Unpause(ctx context.Context, actor registry.Actor, id string) error {
	return s.move(ctx, actor, id, "unpause", "")
}

// End ends a subscription or takes a request back, for good.
func (s *Subscriptions) End(ctx context.Context, actor registry.Actor, id, reason string) error {
	return s.move(ctx, actor, id, "end", reason)
}

func (s *Subscriptions) move(ctx context.Context, actor registry.Actor, id, verb, reason string) error {
	return s.moveSeen(ctx, actor, id, verb, reason, "")
}

func (s *Subscriptions) moveSeen(ctx context.Context, actor registry.Actor, id, verb, reason, seen string) error {
	t := subscriptionMove(verb)
	return s.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		sub, partner, endpoint, err := lockSubscription(ctx, tx, actor, id)
		if err != nil {
			return err
		}
		if err := t.Check(actor, "subscription", sub.Status, reason); err != nil {
			return err
		}
		if err := stillSeen(ctx, tx, sub, endpoint, seen); err != nil {
			return err
		}
		if verb == "approve" {
			if err := approvable(ctx, tx, sub, partner, endpoint); err != nil {
				return err
			}
		}
		before := sub.Status
		sub.Status, sub.StatusReason = t.To, reason
		changeRejected, err := decideChange(ctx, tx, sub, verb)
		if err != nil {
			return err
		}
		if changeRejected {
			t.Action, sub.Status, sub.StatusReason = registry.ActionSubscriptionChangeRejected, store.SubscriptionApproved, string(i18n.M("partners.reason.change-rejected", reason))
		}
		if t.Admin {
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
		if err := registry.Record(ctx, tx, actor, t.Action, subscriptionObject(sub), what); err != nil {
			return err
		}
		if !actor.Administrator {
			return nil
		}
		if changeRejected {
			return s.cfg.Mail(ctx, tx, partner.ContactEmail, mailChangeRejected(s.cfg, sub, partner, endpoint, reason))
		}
		err = s.cfg.Mail(ctx, tx, partner.ContactEmail, mailSubscriptionDecision(s.cfg, sub, partner, endpoint, verb))
		if err != nil || sub.Status != store.SubscriptionApproved {
			return err
		}
		return s.mailLetsFlow(ctx, tx, actor, before, sub, partner, endpoint)
	})
}

// lockSubscription reads a subscription the actor may change, and what it is about.
func lockSubscription(ctx context.Context, tx *store.Tx, actor registry.Actor, id string) (
	sub store.Subscription, partner store.Partner, endpoint store.Endpoint, err error,
) {
	if sub, err = registry.Locked(ctx, tx, "subscription", "subscription", id, tx.Subscription); err != nil {
		return sub, partner, endpoint, err
	}
	if err = registry.AllowChange(ctx, tx, actor, "subscription", sub.PartnerID); err != nil {
		return sub, partner, endpoint, err
	}
	if partner, err = tx.Partner(ctx, sub.PartnerID); err != nil {
		return sub, partner, endpoint, registry.Found("partner", err)
	}
	endpoint, err = tx.Endpoint(ctx, sub.EndpointID)
	return sub, partner, endpoint, registry.Found("endpoint", err)
}

// stillSeen makes sure that a subscription asks for what was shown.
func stillSeen(ctx context.Context, tx *store.Tx, sub store.Subscription, endpoint store.Endpoint, seen string) error {
	if seen == "" {
		return nil
	}
	party, err := partyOf(ctx, &tx.Queries, endpoint)
	if err != nil {
		return err
	}
	g := Grant{Subscription: sub, Endpoint: endpoint, Party: party}
	if sub.DatasetID != "" {
		f, err := tx.MutationFollower(ctx, sub.ID)
		if err != nil {
			return registry.Found("follower", err)
		}
		g.Dataset = &GrantDataset{Follower: f}
	}
	if g.Seen() != seen {
		return registry.Conflict("partners.subscription.changed-since")
	}
	return nil
}

// approvable looks again at what may have changed since the request.
func approvable(ctx context.Context, tx *store.Tx, sub store.Subscription, partner store.Partner, endpoint store.Endpoint) error {
	if err := registry.RequireApproved(partner); err != nil {
		return err
	}
	if endpoint.Status == store.EndpointEnded {
		return registry.Conflict("partners.endpoint.named-ended", endpoint.Name)
	}
	if sub.DatasetID != "" {
		if _, err := askedDataset(ctx, tx, sub.DatasetID); err != nil {
			return registry.Conflict("partners.dataset.named-ended", sub.DatasetID)
		}
	}
	for _, name := range sub.Types {
		t, err := tx.EventType(ctx, name)
		if errors.Is(err, store.ErrNotFound) {
			return registry.Conflict("partners.subscription.type-left", name)
		}
		if err != nil {
			return fmt.Errorf("find event type: %w", err)
		}
		seen, err := tx.SeesContract(ctx, registry.ReaderOf(partner).Sight(), t.ContractID)
		if err != nil {
			return fmt.Errorf("look who sees the event type: %w", err)
		}
		if !seen {
			return registry.Conflict("partners.subscription.contract-unseen", partner.Name, t.ContractID, name)
		}
		left, err := lineLeft(ctx, tx, name, sub.Versions[name])
		if err != nil {
			return err
		}
		if !left {
			return registry.Conflict("partners.subscription.version-left", registry.LineName(sub.Versions[name]), name)
		}
	}
	return nil
}

// EndAll ends the open subscriptions that a filter selects.
func (s *Subscriptions) EndAll(ctx context.Context, tx *store.Tx, f store.SubscriptionFilter, reason string) error {
	return endSubscriptions(ctx, tx, f, reason)
}

func endSubscriptions(ctx context.Context, tx *store.Tx, f store.SubscriptionFilter, reason string) error {
	for f.Page = (store.Page{Number: 1, Size: 500}); ; f.Number++ {
		subs, total, err := tx.Subscriptions(ctx, f)
		if err != nil {
			return fmt.Errorf("list subscriptions: %w", err)
		}
		for _, sub := range subs {
			if !registry.IsOpen(sub) {
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
