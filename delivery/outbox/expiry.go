package outbox

import (
	"bytes"
	"context"
	"time"

	"schakel/delivery/event"
	"schakel/store"
)

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

// expireLoop discards deliveries when their events expire, until stopped.
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
