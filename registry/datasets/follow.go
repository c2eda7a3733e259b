package datasets

import (
	"context"
	"slices"
	"strings"

	"schakel/registry"
	"schakel/store"
)

// Followers lists the open subscriptions to a dataset within a scope, oldest first.
func (d *Datasets) Followers(ctx context.Context, scope registry.Scope, datasetID string) ([]registry.DatasetFollower, error) {
	id, ok := scope.Narrow("")
	if !ok {
		return nil, nil
	}
	return openFollowers(ctx, &d.cfg.DB.Queries, store.SubscriptionFilter{DatasetID: datasetID, PartnerID: id})
}

func openFollowers(ctx context.Context, q *store.Queries, f store.SubscriptionFilter) ([]registry.DatasetFollower, error) {
	subs, err := registry.OpenSubscriptions(ctx, q, f)
	if err != nil {
		return nil, err
	}
	var list []registry.DatasetFollower
	for _, sub := range slices.Backward(subs) {
		f, err := registry.FollowerOf(ctx, q, sub)
		if err != nil {
			return nil, err
		}
		list = append(list, f)
	}
	return list, nil
}

// Area finds an area of a dataset within a scope (MUT-41).
func (d *Datasets) Area(ctx context.Context, scope registry.Scope, datasetID, areaID string) (store.MutationArea, error) {
	area, err := d.cfg.DB.MutationArea(ctx, areaID)
	if err == nil && area.DatasetID != datasetID {
		err = store.ErrNotFound
	}
	return registry.Visible(scope, "area", area, area.PartnerID, err)
}

// DatasetAccess holds the part of a dataset that a partner reads, and its subscription.
type DatasetAccess struct {
	Dataset  store.Dataset
	Own      bool                      // it is the organisation that runs this Schakel, which reads everything
	Follower *registry.DatasetFollower // the subscription by which it reads; nil for the own organisation without one
}

// Access finds the subscription by which a partner reads a dataset: the one that is named, or else the oldest that is open.
// Without one that is approved, or while the partner is suspended, it is refused (CodeForbidden) with what to do. The own
// organisation needs none, and reads everything unless it names a subscription of its own.
func (d *Datasets) Access(ctx context.Context, partner store.Partner, datasetID, subscriptionID string) (DatasetAccess, error) {
	row, err := d.Get(ctx, datasetID)
	if err != nil {
		return DatasetAccess{}, err
	}
	access := DatasetAccess{Dataset: row, Own: partner.Own}
	if partner.Own && subscriptionID == "" {
		return access, nil
	}
	f, err := d.followerFor(ctx, partner, row, subscriptionID)
	if err != nil {
		return DatasetAccess{}, err
	}
	if partner.Status != store.PartnerApproved && !partner.Own {
		return DatasetAccess{}, registry.Forbidden("Your organisation is %s: nothing is exchanged with it. Ask the administrator of %s.", partner.Status, d.cfg.Organisation)
	}
	if err := d.mayRead(ctx, row, f); err != nil {
		return DatasetAccess{}, err
	}
	access.Follower = &f
	return access, nil
}

func (d *Datasets) followerFor(ctx context.Context, partner store.Partner, row store.Dataset, subscriptionID string) (registry.DatasetFollower, error) {
	list, err := d.Followers(ctx, registry.ScopeOf(partner.ID), row.ID)
	if err != nil {
		return registry.DatasetFollower{}, err
	}
	for _, f := range list {
		if subscriptionID == "" || f.Subscription.ID == subscriptionID {
			return f, nil
		}
	}
	if subscriptionID != "" {
		sub, err := d.cfg.DB.Subscription(ctx, subscriptionID)
		if err != nil {
			return registry.DatasetFollower{}, registry.Found("subscription", err)
		}
		if sub.PartnerID != partner.ID || sub.DatasetID != row.ID || row.Status != store.DatasetEnded {
			return registry.DatasetFollower{}, registry.NotFound("subscription")
		}
	}
	if row.Status == store.DatasetEnded {
		return registry.DatasetFollower{}, registry.Forbidden("Dataset %s has ended, and the subscriptions to it too: no changes come any more, and what was cut is kept for 31 days only. A copy stays as it is; ask %s for what it lacks.", row.ID, d.cfg.Organisation)
	}
	return registry.DatasetFollower{}, registry.Forbidden("Your organisation has no subscription to dataset %s. Ask for one with POST /mutations/v1/subscriptions, or at %s.", row.ID, d.page(row))
}

// mayRead wants a subscription that is approved, or one of which a change waits for approval, at an endpoint in use.
func (d *Datasets) mayRead(ctx context.Context, row store.Dataset, f registry.DatasetFollower) error {
	sub := f.Subscription
	switch {
	case sub.Status == store.SubscriptionApproved, sub.Status == store.SubscriptionRequested && f.Follower.Reads:
	case sub.Status == store.SubscriptionRequested:
		return registry.Forbidden("Subscription %s to dataset %s waits for approval by an administrator. Deltas are kept for 31 days, so nothing is lost by waiting.", sub.ID, row.ID)
	case sub.Status == store.SubscriptionPaused:
		return registry.Forbidden("Subscription %s to dataset %s is paused. End the pause at %s.", sub.ID, row.ID, d.subscriptionPage(sub))
	default:
		why := registry.Because(sub.StatusReason)
		if why != "" {
			why = strings.TrimSuffix(why, ".") + ". "
		}
		return registry.Forbidden("Subscription %s to dataset %s is %s. %sAsk the administrator of %s.", sub.ID, row.ID, sub.Status, why, d.cfg.Organisation)
	}
	endpoint, err := d.cfg.DB.Endpoint(ctx, sub.EndpointID)
	if err != nil {
		return registry.Found("endpoint", err)
	}
	if endpoint.Status != store.EndpointActive {
		return registry.Forbidden("Endpoint %s of subscription %s is %s. Resume it at %s/partner/endpoints/%s.", endpoint.Name, sub.ID, endpoint.Status, d.cfg.BaseURL, endpoint.ID)
	}
	return nil
}

func (d *Datasets) page(row store.Dataset) string {
	return d.cfg.BaseURL + "/partner/datasets/" + row.ID
}

func (d *Datasets) subscriptionPage(sub store.Subscription) string {
	return d.cfg.BaseURL + "/partner/subscriptions/" + sub.ID
}
