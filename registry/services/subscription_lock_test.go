package services

import (
	"errors"
	"testing"
	"time"

	"schakel/registry"
	"schakel/registry/partners"
	"schakel/store"
)

// TestAreaChangedWhileDatasetEnds: neither stands in the way of the other.
func TestAreaChangedWhileDatasetEnds(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		_, actor, _, _ := w.twoPartners(t)
		w.dataset(t, buildings())
		sub, err := w.Subscriptions.RequestDataset(ctx, actor, partners.DatasetRequest{
			Dataset: "buildings", EndpointID: w.files(t, actor).ID, Purpose: "plan visits", Area: partners.AreaInput{Text: square},
		})
		must(t, err)
		changed := make(chan error, 1)
		must(t, w.db.Write(ctx, func(tx *store.Tx) error { // as Datasets.End does
			if _, err := tx.LockDataset(ctx, "buildings"); err != nil {
				return err
			}
			go func() {
				_, err := w.Subscriptions.ChangeArea(ctx, actor, sub.ID, partners.AreaChange{Area: partners.AreaInput{Text: "POLYGON((5 5,6 5,6 6,5 5))"}})
				changed <- err
			}()
			select {
			case err := <-changed:
				changed <- err
			case <-time.After(time.Second): // it waits
			}
			ended := sub
			ended.Status = store.SubscriptionEnded
			return tx.UpdateSubscription(ctx, &ended)
		}))
		refused := &registry.Error{}
		if err := <-changed; err != nil && !errors.As(err, &refused) {
			t.Error(err)
		}
	})
}
