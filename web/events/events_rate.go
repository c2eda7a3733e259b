package events

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// clientRates is a token bucket per client, never per address (EDU-20a, EDU-20b).
type clientRates struct {
	now     func() time.Time
	mu      sync.Mutex
	buckets map[string]*rate.Limiter
}

func newClientRates(now func() time.Time) *clientRates {
	return &clientRates{now: now, buckets: make(map[string]*rate.Limiter)}
}

// allow takes a token of the client, or returns how long to wait for one, when a
// client may send so many requests a second on average and burst at once. No
// limit is 0.
func (r *clientRates) allow(clientID string, perSecond float64, burst int) (wait time.Duration, ok bool) {
	if perSecond <= 0 {
		return 0, true
	}
	now := r.now()
	reservation := r.bucket(clientID, rate.Limit(perSecond), max(burst, 1), now).ReserveN(now, 1)
	if wait = reservation.DelayFrom(now); wait > 0 {
		reservation.CancelAt(now)
		return wait, false
	}
	return 0, true
}

// bucket finds the bucket of a client, with the limit of now. There are as many
// as clients that hold a valid token, so they are kept.
func (r *clientRates) bucket(clientID string, limit rate.Limit, burst int, now time.Time) *rate.Limiter {
	r.mu.Lock()
	defer r.mu.Unlock()
	b, ok := r.buckets[clientID]
	if !ok {
		b = rate.NewLimiter(limit, burst)
		r.buckets[clientID] = b
	}
	if b.Limit() != limit {
		b.SetLimitAt(now, limit)
	}
	if b.Burst() != burst {
		b.SetBurstAt(now, burst)
	}
	return b
}
