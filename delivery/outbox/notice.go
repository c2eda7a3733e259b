package outbox

import (
	"context"
	"errors"
	"time"

	"schakel/store"
)

// How often people are notified of held deliveries and dead letters.
const (
	noticeGather = 10 * time.Second // after the first, so that those right behind it are counted with it
	noticeEach   = time.Hour        // at most, of one endpoint and state
	noticeAny    = time.Minute      // at most, of all endpoints together
	noticeMost   = 100              // endpoints at a time
	noticeLatest = "deliveries.notified"
)

// noticeLoop notifies people of deliveries that became held or dead (guarantee G10): of the first to an endpoint after
// noticeGather, of later ones in an hour. The writer of the state raised the notice, on any node.
func (e *Engine) noticeLoop(ctx context.Context) {
	every(ctx, e.cfg.Poll, func() {
		if err := e.notifyStuck(ctx); err != nil && ctx.Err() == nil {
			e.cfg.Log.Error("notify of held and dead deliveries failed", "error", err)
		}
	})
}

// notifyStuck notifies people of the notices that are due. Each is handled by one node, in the transaction that notes it.
func (e *Engine) notifyStuck(ctx context.Context) error {
	raised, notified := store.At(e.cfg.Now().Add(-noticeGather)), store.At(e.cfg.Now().Add(-noticeEach))
	due, err := e.cfg.DB.HasDeliveryNotices(ctx, raised, notified)
	if err != nil || !due {
		return err
	}
	err = e.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		last, err := tx.Setting(ctx, noticeLatest)
		if err != nil {
			return err
		}
		if at, err := time.Parse(time.RFC3339Nano, last); err == nil && tx.Now.Sub(at) < noticeAny && !tx.Now.Before(at) {
			return nil
		}
		notices, err := tx.DeliveryNotices(ctx, raised, notified, noticeMost)
		if err != nil || len(notices) == 0 {
			return err
		}
		notified, err := e.cfg.Notifier.DeliveriesStuck(ctx, tx, notices)
		if err != nil {
			return err
		}
		anyNotified := false
		for i, n := range notices {
			anyNotified = anyNotified || notified[i]
			if err := tx.DeliveryNoticed(ctx, n, notified[i]); err != nil {
				return err
			}
		}
		if !anyNotified {
			return nil
		}
		return tx.SwapSetting(ctx, noticeLatest, last, tx.Now.Format(time.RFC3339Nano))
	})
	if errors.Is(err, store.ErrConflict) { // another node notified people of others at this moment; these come next
		return nil
	}
	return err
}
