package pull

import (
	"context"
	"fmt"
	"time"

	"schakel/delivery/event"
	"schakel/store"
)

// Request is one call of receive.
type Request struct {
	Subscription store.Subscription // the caller's own
	ClientID     string             // the receiving client
	Events       int                // at most so many, 1 to MaxEvents
	Wait         time.Duration      // longest wait for the first, 0 to MaxWait
	Lease        time.Duration      // MinLease to MaxLease; 0 is DefaultLease
	// Allowed is checked again after each wait: the client may have lost its access. By default it has access.
	Allowed func(context.Context) error
}

// Received is an event leased to the consumer.
type Received struct {
	JSON          []byte // the event in structured JSON; its data has the bytes that came in
	LockToken     string
	DeliveryCount int64 // receives so far, this one included
}

func (r *Request) check() error {
	if r.Lease == 0 {
		r.Lease = DefaultLease
	}
	if r.Allowed == nil {
		r.Allowed = func(context.Context) error { return nil }
	}
	if r.Events < 1 || r.Events > MaxEvents {
		return &InputError{"maxEvents", fmt.Sprintf("maxEvents must be from 1 to %d", MaxEvents)}
	}
	if err := between("maxWaitTime", r.Wait, 0, MaxWait); err != nil {
		return err
	}
	return between("lockDuration", r.Lease, MinLease, MaxLease)
}

// Receive leases up to r.Events deliveries, oldest first. It answers as soon as there is one; when there is none it waits
// up to r.Wait, and no longer than until the program stops. No events is no error. Errors: *InputError, ErrNotPull,
// *StoppedError, that of ctx.
func (s *Service) Receive(ctx context.Context, r Request) ([]Received, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	e, err := s.endpoint(ctx, r.Subscription)
	if err != nil {
		return nil, err
	}
	if err := stopped(r.Subscription, e); err != nil {
		return nil, err
	}
	woken, leave := s.waiters.enter(e.ID) // before the first look, so that nothing is missed between look and wait
	defer leave()
	end := time.NewTimer(r.Wait)
	defer end.Stop()
	for {
		got, next, err := s.take(ctx, r)
		if err != nil || len(got) > 0 || woken == nil || r.Wait == 0 {
			return got, err
		}
		if again, err := s.awaitSignal(ctx, woken, end.C, next); err != nil || !again {
			return nil, err
		}
		if err := r.Allowed(ctx); err != nil {
			return nil, err
		}
	}
}

// awaitSignal waits for a reason to look again; again is false when the time is over.
func (s *Service) awaitSignal(ctx context.Context, woken <-chan struct{}, end <-chan time.Time, next time.Duration) (again bool, err error) {
	look := time.NewTimer(next)
	defer look.Stop()
	select {
	case <-s.cfg.Draining:
		return false, nil
	case <-end:
		return false, nil
	case <-ctx.Done():
		return false, ctx.Err()
	case <-woken:
	case <-look.C:
	}
	return true, nil
}

// take leases due deliveries; with none it returns how long to wait before the next look. It asks with a read first, so that
// waiting consumers do not keep the writer from others.
func (s *Service) take(ctx context.Context, r Request) ([]Received, time.Duration, error) {
	now := s.cfg.Now()
	due, err := s.cfg.DB.PullDue(ctx, r.Subscription.ID)
	if err != nil {
		return nil, 0, fmt.Errorf("look for deliveries: %w", err)
	}
	if due.IsZero() || due.After(now) {
		next := s.cfg.Poll
		if !due.IsZero() {
			next = min(next, due.Sub(now))
		}
		return nil, next, nil
	}
	claimed, err := s.claim(ctx, r)
	if err != nil || len(claimed) > 0 {
		return claimed, 0, err
	}
	// Another consumer was quicker, or it was stopped meanwhile.
	return nil, s.cfg.Poll, s.open(ctx, r.Subscription.ID)
}

func (s *Service) claim(ctx context.Context, r Request) ([]Received, error) {
	var claimed []store.Claimed
	lock := store.NewLockID()
	err := s.cfg.DB.Write(ctx, func(tx *store.Tx) (err error) {
		claimed, err = tx.PullClaim(ctx, store.PullClaim{
			SubscriptionID: r.Subscription.ID, LockID: lock, ClientID: r.ClientID, Limit: r.Events,
			Lease: store.At(tx.Now.Add(r.Lease)), MaxReceives: int64(s.cfg.MaxReceives),
		})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("lease deliveries: %w", err)
	}
	got := make([]Received, len(claimed))
	for i, c := range claimed {
		ev, err := event.FromParts(c.Event.Attributes, event.DataKind(c.Event.DataKind), c.Event.Data)
		if err != nil {
			return nil, fmt.Errorf("read event %s: %w", c.EventID, err)
		}
		got[i] = Received{JSON: ev.AppendJSON(nil), LockToken: token(c.ID, lock), DeliveryCount: c.Attempts}
	}
	return got, nil
}
