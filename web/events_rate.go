package web

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// clientRates is a token bucket per client, never per address (EDU-20a, EDU-20b).
type clientRates struct {
	limit   rate.Limit
	burst   int
	now     func() time.Time
	mu      sync.Mutex
	buckets map[string]*rate.Limiter
}

// newClientRates makes the buckets; nil, which allows all, when there is no limit.
func newClientRates(perSecond float64, burst int, now func() time.Time) *clientRates {
	if perSecond <= 0 {
		return nil
	}
	return &clientRates{limit: rate.Limit(perSecond), burst: max(burst, 1), now: now, buckets: make(map[string]*rate.Limiter)}
}

// allow takes a token of the client, or tells how long to wait for one.
func (r *clientRates) allow(clientID string) (wait time.Duration, ok bool) {
	if r == nil {
		return 0, true
	}
	now := r.now()
	reservation := r.bucket(clientID).ReserveN(now, 1)
	if wait = reservation.DelayFrom(now); wait > 0 {
		reservation.CancelAt(now)
		return wait, false
	}
	return 0, true
}

// bucket finds the bucket of a client. There are as many as clients that hold a
// valid token, so they are kept.
func (r *clientRates) bucket(clientID string) *rate.Limiter {
	r.mu.Lock()
	defer r.mu.Unlock()
	b, ok := r.buckets[clientID]
	if !ok {
		b = rate.NewLimiter(r.limit, r.burst)
		r.buckets[clientID] = b
	}
	return b
}
