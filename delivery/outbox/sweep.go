package outbox

import (
	"bytes"
	"context"
	"errors"
	"time"

	"schakel/delivery/event"
	"schakel/store"
)

// sweepStep bounds the rows one transaction of the sweep changes, so that intake does not wait for it.
const sweepStep = 500

// sweepLoop holds the deliveries that may not be sent any more, and releases those that may be sent again. Claim keeps
// guarantee G2 by itself; the sweep makes the held deliveries show.
func (e *Engine) sweepLoop(ctx context.Context) {
	ticker := time.NewTicker(6 * e.cfg.Poll)
	defer ticker.Stop()
	expiry := true
	for {
		err := e.sweepAll(ctx)
		if expiry {
			err = errors.Join(err, e.expireKeys(ctx), e.resolveIssues(ctx))
		}
		if err != nil && ctx.Err() == nil {
			e.cfg.Log.Error("sweep failed", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-e.sweep:
			expiry = false
		case <-ticker.C:
			expiry = true
		}
	}
}

// expireKeys ends the deliveries that could not be sent while their Idempotency-Key was valid.
func (e *Engine) expireKeys(ctx context.Context) error {
	found, err := e.cfg.DB.HasExpiredKeys(ctx, store.At(e.cfg.Now()))
	if err != nil || !found {
		return err
	}
	for {
		var expired int64
		err := e.cfg.DB.Write(ctx, func(tx *store.Tx) (err error) {
			expired, err = tx.ExpireKeys(ctx, sweepStep)
			return err
		})
		if err != nil || expired < sweepStep {
			return err
		}
	}
}

func (e *Engine) sweepAll(ctx context.Context) error {
	for {
		var held, released int64
		err := e.cfg.DB.Write(ctx, func(tx *store.Tx) (err error) {
			if held, err = tx.HoldStopped(ctx, sweepStep); err != nil {
				return err
			}
			released, err = tx.ReleaseHeld(ctx, sweepStep)
			return err
		})
		if err != nil {
			return err
		}
		if released > 0 {
			e.wakeAll()
		}
		if held < sweepStep && released < sweepStep {
			return nil
		}
	}
}

// The attribute expirytime, an extension that the CloudEvents project documents, ends the use of an event (CE-24). After that time
// it is not sent, nor handed to a consumer, nor resent: its delivery is discarded with the reason event-expired, and the next ones in
// order go. An attempt that began before goes on. An event that has expired when it comes in is accepted like any other, for its
// producer did nothing wrong, and discarded at once. An event whose expirytime is no RFC 3339 time does not expire, and intake
// advises on it.

// expiryPoll is the shortest time between two looks, for a delivery whose event expires while it is in flight.
const expiryPoll = 200 * time.Millisecond

var expiryName = []byte(`"expirytime"`)

// expiryOf reads the time at which an event expires; zero when it does not. It runs for every event.
func expiryOf(row store.Event) store.Time {
	if !bytes.Contains(row.Attributes, expiryName) {
		return store.Time{}
	}
	ev := event.Event{Attributes: row.Attributes}
	value, _ := ev.Extension("expirytime")
	at, err := event.ParseTime(value)
	if err != nil {
		return store.Time{}
	}
	return store.At(at)
}

func (e *Engine) expireLoop(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		wait, err := e.expireEvents(ctx)
		if err != nil && ctx.Err() == nil {
			e.cfg.Log.Error("discard expired events failed", "error", err)
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
			return
		case <-e.expiry:
		case <-timer.C:
		}
	}
}

// expireEvents discards what has expired by now, and returns how long to wait before the next look.
func (e *Engine) expireEvents(ctx context.Context) (time.Duration, error) {
	next, err := e.cfg.DB.NextExpiry(ctx)
	now := e.cfg.Now()
	if err != nil || next.IsZero() || next.After(now) {
		return e.untilExpiry(next, now), err
	}
	for {
		var expired int64
		err := e.cfg.DB.Write(ctx, func(tx *store.Tx) (err error) {
			expired, err = tx.ExpireEvents(ctx, sweepStep)
			return err
		})
		if err != nil {
			return e.cfg.Poll, err
		}
		if expired > 0 {
			e.stats.expired.Add(expired)
			e.wakeAll()
		}
		if expired < sweepStep {
			break
		}
	}
	next, err = e.cfg.DB.NextExpiry(ctx)
	return e.untilExpiry(next, now), err
}

func (e *Engine) untilExpiry(next store.Time, now time.Time) time.Duration {
	if next.IsZero() {
		return e.cfg.Poll
	}
	return min(e.cfg.Poll, max(next.Sub(now), expiryPoll))
}

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
		if err := errors.Join(e.notifyStuck(ctx), e.notifyIssues(ctx)); err != nil && ctx.Err() == nil {
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
			if notified[i] { // the mail names the causes
				if err := tx.IssuesTold(ctx, n.EndpointID); err != nil {
					return err
				}
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
