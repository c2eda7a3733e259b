package pull

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"sync"
	"time"

	"schakel/delivery/event"
	"schakel/store"
	"schakel/templates/i18n"
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
	DeliveryID    string
	DeliveryCount int64 // receives so far, this one included
	MaxReceives   int64 // after so many without an acknowledgement it is a dead letter
}

func (r *Request) check() error {
	if r.Lease == 0 {
		r.Lease = DefaultLease
	}
	if r.Allowed == nil {
		r.Allowed = func(context.Context) error { return nil }
	}
	if r.Events < 1 || r.Events > MaxEvents {
		return &InputError{"maxEvents", i18n.M("outbox.pull.max-events", MaxEvents)}
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
	encryption, err := s.encryption(ctx, r.Subscription)
	if err != nil {
		return nil, err
	}
	var claimed []store.Claimed
	lock := store.NewLockID()
	err = s.cfg.DB.Write(ctx, func(tx *store.Tx) (err error) {
		if seed, err := tx.EncryptSeed(ctx, r.Subscription.ID); err != nil || seed != r.Subscription.EncryptSeed {
			return err // it was changed a moment ago: with the next look
		}
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
		if encryption != nil {
			if ev, err = s.cfg.Encrypter.Encrypt(ctx, encryption, c.EventID, &ev); err != nil {
				return nil, fmt.Errorf("encrypt event %s: %w", c.EventID, err)
			}
		}
		got[i] = Received{JSON: ev.AppendJSON(nil), LockToken: token(c.ID, lock), DeliveryID: c.ID, DeliveryCount: c.Attempts, MaxReceives: int64(s.cfg.MaxReceives)}
	}
	return got, nil
}

// Codes of a Failure.
const (
	CodeLockLost     = "lock-lost"
	CodeUnknownToken = "unknown-lock-token"
	CodeStopped      = "subscription-stopped"
)

// Failure reports a lock token that could not be settled.
type Failure struct {
	LockToken, Code string
	Text            i18n.Message
}

// Settled lists the lock tokens that were settled and those that were not, both in the order in which they were given.
type Settled struct {
	Succeeded []string
	Failed    []Failure
}

// Acknowledge ends deliveries: the consumer has taken care of their events. A second acknowledgement of the same token
// succeeds too. Errors of all four verbs: *InputError, ErrNotPull.
func (s *Service) Acknowledge(ctx context.Context, sub store.Subscription, tokens []string) (Settled, error) {
	return s.settle(ctx, sub, tokens, func(tx *store.Tx, locks []store.PullLock) ([]store.PullVerdict, error) {
		return tx.PullAcknowledge(ctx, sub.ID, locks)
	})
}

// Release gives deliveries back to be received again after delay, 0 to MaxDelay.
func (s *Service) Release(ctx context.Context, sub store.Subscription, tokens []string, delay time.Duration) (Settled, error) {
	if err := between("releaseDelayInSeconds", delay, 0, MaxDelay); err != nil {
		return Settled{}, err
	}
	settled, err := s.settle(ctx, sub, tokens, func(tx *store.Tx, locks []store.PullLock) ([]store.PullVerdict, error) {
		return tx.PullRelease(ctx, sub.ID, locks, store.At(tx.Now.Add(delay)), int64(s.cfg.MaxReceives))
	})
	if len(settled.Succeeded) > 0 {
		s.Wake(map[string]struct{}{sub.EndpointID: {}})
	}
	return settled, err
}

// Reject puts deliveries into the error queue, where a person resends or discards them: the consumer cannot take them.
func (s *Service) Reject(ctx context.Context, sub store.Subscription, tokens []string) (Settled, error) {
	return s.settle(ctx, sub, tokens, func(tx *store.Tx, locks []store.PullLock) ([]store.PullVerdict, error) {
		return tx.PullReject(ctx, sub.ID, locks)
	})
}

// Renew makes live leases end after lease from now, MinLease to MaxLease; 0 is DefaultLease.
func (s *Service) Renew(ctx context.Context, sub store.Subscription, tokens []string, lease time.Duration) (Settled, error) {
	if lease == 0 {
		lease = DefaultLease
	}
	if err := between("lockDuration", lease, MinLease, MaxLease); err != nil {
		return Settled{}, err
	}
	return s.settle(ctx, sub, tokens, func(tx *store.Tx, locks []store.PullLock) ([]store.PullVerdict, error) {
		return tx.PullRenew(ctx, sub.ID, locks, store.At(tx.Now.Add(lease)))
	})
}

func (s *Service) settle(ctx context.Context, sub store.Subscription, tokens []string, verb func(*store.Tx, []store.PullLock) ([]store.PullVerdict, error)) (Settled, error) {
	if len(tokens) < 1 || len(tokens) > MaxTokens {
		return Settled{}, &InputError{"lockTokens", i18n.M("outbox.pull.tokens", MaxTokens)}
	}
	if _, err := s.endpoint(ctx, sub); err != nil {
		return Settled{}, err
	}
	locks := make([]store.PullLock, len(tokens))
	for i, t := range tokens {
		locks[i], _ = parseToken(t) // no delivery has the empty id, so what is no token is unknown
	}
	var verdicts []store.PullVerdict
	err := s.cfg.DB.Write(ctx, func(tx *store.Tx) (err error) {
		verdicts, err = verb(tx, locks)
		return err
	})
	if err != nil {
		return Settled{}, fmt.Errorf("settle deliveries: %w", err)
	}
	return sorted(tokens, verdicts), nil
}

func sorted(tokens []string, verdicts []store.PullVerdict) Settled {
	var s Settled
	for i, t := range tokens {
		switch verdicts[i] {
		case store.PullDone:
			s.Succeeded = append(s.Succeeded, t)
		case store.PullLost:
			s.Failed = append(s.Failed, Failure{t, CodeLockLost, "outbox.pull.lock-lost"})
		case store.PullStopped:
			s.Failed = append(s.Failed, Failure{t, CodeStopped, "outbox.pull.lock-stopped"})
		default:
			s.Failed = append(s.Failed, Failure{t, CodeUnknownToken, "outbox.pull.lock-unknown"})
		}
	}
	return s
}

// maxToken bounds a lock token in bytes; ours have about 80.
const maxToken = 200

// token makes the lock token of a delivery: opaque to consumers, and safe in an address.
func token(deliveryID, lockID string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(deliveryID + " " + lockID))
}

// parseToken reads what token made; ok is false for anything else.
func parseToken(t string) (lock store.PullLock, ok bool) {
	if len(t) > maxToken {
		return lock, false
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(t)
	if err != nil {
		return lock, false
	}
	delivery, id, found := strings.Cut(string(b), " ")
	if !found || !validID(delivery) || !validID(id) {
		return lock, false
	}
	return store.PullLock{DeliveryID: delivery, LockID: id}, true
}

// validID reports whether an id has only the characters ours have; a database rejects some others.
func validID(id string) bool {
	return id != "" && strings.Trim(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == ""
}

// waiters holds the calls that wait, by endpoint.
type waiters struct {
	most       int
	mu         sync.Mutex
	byEndpoint map[string]map[chan struct{}]struct{}
}

// enter makes a channel that gets a signal when the endpoint may have events; nil when too many wait already. The caller must
// call leave.
func (w *waiters) enter(endpointID string) (woken chan struct{}, leave func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.byEndpoint[endpointID]) >= w.most {
		return nil, func() {}
	}
	if w.byEndpoint == nil {
		w.byEndpoint = make(map[string]map[chan struct{}]struct{})
	}
	if w.byEndpoint[endpointID] == nil {
		w.byEndpoint[endpointID] = make(map[chan struct{}]struct{})
	}
	woken = make(chan struct{}, 1)
	w.byEndpoint[endpointID][woken] = struct{}{}
	return woken, func() { w.leave(endpointID, woken) }
}

func (w *waiters) leave(endpointID string, woken chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.byEndpoint[endpointID], woken)
	if len(w.byEndpoint[endpointID]) == 0 {
		delete(w.byEndpoint, endpointID)
	}
}

// wake signals the calls that wait for the endpoints; for all when endpoints is nil.
func (w *waiters) wake(endpoints map[string]struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if endpoints == nil {
		for id := range w.byEndpoint {
			w.signal(id)
		}
		return
	}
	for id := range endpoints {
		w.signal(id)
	}
}

func (w *waiters) signal(endpointID string) {
	for woken := range w.byEndpoint[endpointID] {
		select {
		case woken <- struct{}{}:
		default: // it is signalled already
		}
	}
}
