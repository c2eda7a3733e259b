package datasets

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"schakel/registry"
	"schakel/store"
)

// endRequests ends the requests for a dataset that ends, and tells all who have an open subscription to it, each partner
// once.
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
			sub.Status, sub.StatusReason = store.SubscriptionApproved, "The change came too late: the dataset has ended."
			if err := tx.UpdateSubscription(ctx, &sub); err != nil {
				return fmt.Errorf("keep subscription: %w", err)
			}
		}
		if sub.Status == store.SubscriptionRequested {
			sub.Status, sub.StatusReason = store.SubscriptionEnded, "Dataset "+row.Title+" has ended: "+reason
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
	return c.Letter("Dataset "+row.Title+" has ended", registry.TrafficPath(p)+"/datasets/"+row.ID,
		c.Organisation+" ended dataset "+row.Title+". No changes come any more.", registry.Because(reason),
		"Its last delta is cut now, and what was cut can be fetched for 31 days. Bring your copy to its end before; it stays right after that. A request that was not approved yet has ended.")
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
