package partners

import (
	"context"
	"fmt"

	"schakel/registry"
	"schakel/store"
)

// A change of what a subscription to a dataset gets waits for approval while the subscription goes on reading what it read
// (MUT-49). The decision is the one on a request: approving it puts the change in force, rejecting it drops the change alone.

// withdrawArea takes back a change that waits: the subscription goes on with what it reads, approved as it was.
func (s *Subscriptions) withdrawArea(
	ctx context.Context, tx *store.Tx, actor registry.Actor, sub *store.Subscription, partner store.Partner, endpoint store.Endpoint,
) error {
	if err := tx.KeepMutationFollower(ctx, sub.ID); err != nil {
		return fmt.Errorf("keep what a follower reads: %w", err)
	}
	follower, err := tx.MutationFollower(ctx, sub.ID)
	if err != nil {
		return registry.Found("follower", err)
	}
	sub.Status, sub.StatusReason = store.SubscriptionApproved, ""
	if err := tx.UpdateSubscription(ctx, sub); err != nil {
		return fmt.Errorf("change subscription: %w", err)
	}
	return registry.Record(ctx, tx, actor, registry.ActionSubscriptionArea, subscriptionObject(*sub), followerDetails(*sub, partner, endpoint, follower))
}

// DropChange drops what is asked for anew of a subscription to a dataset, and reports whether it did.
func (s *Subscriptions) DropChange(ctx context.Context, tx *store.Tx, sub store.Subscription) (bool, error) {
	return decideChange(ctx, tx, sub, "reject")
}

// decideChange puts a change that waits in force, or drops it when it is rejected; rejected reports the latter. It does nothing
// for other subscriptions and verbs.
func decideChange(ctx context.Context, tx *store.Tx, sub store.Subscription, verb string) (rejected bool, err error) {
	if sub.DatasetID == "" || verb != "approve" && verb != "reject" {
		return false, nil
	}
	follower, err := tx.MutationFollower(ctx, sub.ID)
	if err != nil {
		return false, registry.Found("follower", err)
	}
	switch {
	case !follower.Reads:
	case verb == "approve":
		err = tx.SetMutationFollower(ctx, sub.ID, follower.AreaID, follower.ObjectTypes)
	default:
		rejected, err = true, tx.KeepMutationFollower(ctx, sub.ID)
	}
	return rejected, registry.Wrap("decide on what a follower gets", err)
}
