package pull

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"schakel/store"
)

// Codes of a Failure.
const (
	CodeLockLost     = "lock-lost"
	CodeUnknownToken = "unknown-lock-token"
	CodeStopped      = "subscription-stopped"
)

// Failure reports a lock token that could not be settled.
type Failure struct{ LockToken, Code, Text string }

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
		return Settled{}, &InputError{"lockTokens", fmt.Sprintf("lockTokens must have from 1 to %d tokens", MaxTokens)}
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
			s.Failed = append(s.Failed, Failure{t, CodeLockLost, "The lease ended, or it was settled before. If it was not acknowledged, the event can be received again."})
		case store.PullStopped:
			s.Failed = append(s.Failed, Failure{t, CodeStopped, "Nothing may be received from this subscription now, so the lease is not made longer."})
		default:
			s.Failed = append(s.Failed, Failure{t, CodeUnknownToken, "This subscription never gave out this lock token. Send it as it was received."})
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
