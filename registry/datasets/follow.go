package datasets

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
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
		return DatasetAccess{}, d.partnerForbidden(partner)
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
		return registry.DatasetFollower{}, registry.Forbidden("datasets.access.dataset-ended", row.ID, d.cfg.Organisation)
	}
	return registry.DatasetFollower{}, registry.Forbidden("datasets.access.no-subscription", row.ID, d.page(row))
}

// mayRead wants a subscription that is approved, or one of which a change waits for approval, at an endpoint in use.
func (d *Datasets) mayRead(ctx context.Context, row store.Dataset, f registry.DatasetFollower) error {
	sub := f.Subscription
	switch {
	case sub.Status == store.SubscriptionApproved, sub.Status == store.SubscriptionRequested && f.Follower.Reads:
	case sub.Status == store.SubscriptionRequested:
		return registry.Forbidden("datasets.access.requested", sub.ID, row.ID)
	case sub.Status == store.SubscriptionPaused:
		return registry.Forbidden("datasets.access.paused", sub.ID, row.ID, d.subscriptionPage(sub))
	default: // suspended
		if why := strings.TrimSpace(sub.StatusReason); why != "" {
			return registry.Forbidden("datasets.access.suspended-because", sub.ID, row.ID, i18n.Message(strings.TrimSuffix(why, ".")), d.cfg.Organisation)
		}
		return registry.Forbidden("datasets.access.suspended", sub.ID, row.ID, d.cfg.Organisation)
	}
	endpoint, err := d.cfg.DB.Endpoint(ctx, sub.EndpointID)
	if err != nil {
		return registry.Found("endpoint", err)
	}
	page := d.cfg.BaseURL + "/partner/endpoints/" + endpoint.ID
	switch endpoint.Status {
	case store.EndpointActive:
		return nil
	case store.EndpointPaused:
		return registry.Forbidden("datasets.access.endpoint-paused", endpoint.Name, sub.ID, page)
	case store.EndpointSuspended:
		return registry.Forbidden("datasets.access.endpoint-suspended", endpoint.Name, sub.ID, page)
	}
	return registry.Forbidden("datasets.access.endpoint-ended", endpoint.Name, sub.ID, page)
}

// partnerForbidden refuses a partner that is not approved.
func (d *Datasets) partnerForbidden(partner store.Partner) error {
	switch partner.Status {
	case store.PartnerRequested:
		return registry.Forbidden("datasets.access.partner-requested", d.cfg.Organisation)
	case store.PartnerSuspended:
		return registry.Forbidden("datasets.access.partner-suspended", d.cfg.Organisation)
	case store.PartnerRejected:
		return registry.Forbidden("datasets.access.partner-rejected", d.cfg.Organisation)
	}
	return registry.Forbidden("datasets.access.partner-ended", d.cfg.Organisation)
}

func (d *Datasets) page(row store.Dataset) string {
	return d.cfg.BaseURL + "/partner/datasets/" + row.ID
}

func (d *Datasets) subscriptionPage(sub store.Subscription) string {
	return d.cfg.BaseURL + "/partner/subscriptions/" + sub.ID
}

// endRequests ends the requests for a dataset that ends, and tells all who have an open subscription to it, each partner once.
func (d *Datasets) endRequests(ctx context.Context, tx *store.Tx, row store.Dataset, reason string) error {
	subs, err := registry.OpenSubscriptions(ctx, &tx.Queries, store.SubscriptionFilter{DatasetID: row.ID})
	if err != nil {
		return err
	}
	var told []string
	for _, sub := range subs {
		dropped, err := d.subscriptions.DropChange(ctx, tx, sub) // who follows it goes on with what it reads
		if err != nil {
			return err
		}
		if dropped {
			sub.Status, sub.StatusReason = store.SubscriptionApproved, "partners.reason.change-too-late"
			if err := tx.UpdateSubscription(ctx, &sub); err != nil {
				return fmt.Errorf("keep subscription: %w", err)
			}
		}
		if sub.Status == store.SubscriptionRequested {
			sub.Status, sub.StatusReason = store.SubscriptionEnded, string(i18n.M("partners.reason.dataset-ended", row.Title, reason))
			if err := tx.UpdateSubscription(ctx, &sub); err != nil {
				return fmt.Errorf("end subscription: %w", err)
			}
		}
		if slices.Contains(told, sub.PartnerID) {
			continue
		}
		told = append(told, sub.PartnerID)
		partner, err := tx.Partner(ctx, sub.PartnerID)
		if err != nil {
			return registry.Found("partner", err)
		}
		if err := d.cfg.Mail(ctx, tx, partner.ContactEmail, mailDatasetEnded(d.cfg, row, partner, reason)); err != nil {
			return err
		}
	}
	return nil
}

func mailDatasetEnded(c registry.Config, row store.Dataset, p store.Partner, reason string) registry.Message {
	return c.Letter(i18n.M("datasets.mail.ended", row.Title), registry.TrafficPath(p)+"/datasets/"+row.ID,
		i18n.M("datasets.mail.ended-by", c.Organisation, row.Title), registry.Because(reason), "datasets.mail.ended-next")
}

// EndFollowing ends the subscriptions to datasets that ended before a moment and of which no delta that ended after it is
// there: then nothing is left to fetch. It counts the datasets it ended.
func (d *Datasets) EndFollowing(ctx context.Context, before time.Time) (int, error) {
	rows, _, err := d.cfg.DB.Datasets(ctx, store.DatasetFilter{Status: store.DatasetEnded})
	if err != nil {
		return 0, fmt.Errorf("list datasets: %w", err)
	}
	n := 0
	for _, row := range rows {
		if !row.EndedAt.Before(before) {
			continue
		}
		ended, failure := d.endFollowing(ctx, row.ID, before)
		if failure != nil {
			err = errors.Join(err, fmt.Errorf("end subscriptions to %s: %w", row.ID, failure))
		}
		if ended {
			n++
		}
	}
	return n, err
}

func (d *Datasets) endFollowing(ctx context.Context, id string, before time.Time) (bool, error) {
	_, open, err := d.cfg.DB.Subscriptions(ctx, store.SubscriptionFilter{DatasetID: id, Open: true, Page: store.Page{Size: 1}})
	if err != nil || open == 0 {
		return false, err
	}
	ended := false
	err = d.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		ended = false
		row, err := tx.LockDataset(ctx, id)
		if err != nil {
			return registry.Found("dataset", err)
		}
		last, err := tx.LastMutationDelta(ctx, id)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return fmt.Errorf("find last delta: %w", err)
		}
		if !last.ToAt.Before(before) || row.LastSeq > max(row.LineageSeq, last.ToSeq) { // its last changes are to come
			return nil
		}
		ended = true
		return d.subscriptions.EndAll(ctx, tx, store.SubscriptionFilter{DatasetID: id}, "Dataset "+row.Title+" has ended, and nothing of it is kept any more: "+row.EndReason)
	})
	return ended, err
}
