package webhook

import (
	"context"
	"sync"
	"time"
)

const (
	// failureBackoff keeps a broken token endpoint from being asked once per delivery.
	failureBackoff = 5 * time.Second
	// maxFailureBackoff bounds the wait that its Retry-After can ask for.
	maxFailureBackoff = 5 * time.Minute
	// rejectionBackoff is the least time between two tokens that a receiver rejected, so that a receiver that answers 401 to
	// all does not flood its token endpoint.
	rejectionBackoff = time.Minute
)

// tokenCache caches one token per endpoint, and lets one request at a time fetch it however many deliveries wait (SEC-09).
type tokenCache struct {
	fetch func(context.Context, TokenConfig) (grant, error)
	now   func() time.Time

	mu      sync.Mutex
	entries map[string]*tokenEntry // by endpoint id
}

type tokenEntry struct {
	version     string
	token       string
	usableUntil time.Time
	flight      *flight
	failure     error
	failedUntil time.Time
	rejectedAt  time.Time
}

// flight is one request for a token that several deliveries wait for.
type flight struct {
	done  chan struct{} // closed when token and err are set
	token string
	err   error
}

// get returns a token, from the cache where possible. An error is a *TokenError, or that of ctx.
func (c *tokenCache) get(ctx context.Context, endpointID string, cfg TokenConfig) (string, error) {
	token, pending, err := c.lookup(ctx, endpointID, cfg)
	if pending == nil {
		return token, err
	}
	select {
	case <-pending.done:
		return pending.token, pending.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

func (c *tokenCache) lookup(ctx context.Context, endpointID string, cfg TokenConfig) (string, *flight, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	entry := c.entries[endpointID]
	if entry == nil || entry.version != cfg.ConfigVersion {
		entry = &tokenEntry{version: cfg.ConfigVersion}
		c.entries[endpointID] = entry
	}
	now := c.now()
	switch {
	case entry.token != "" && now.Before(entry.usableUntil):
		return entry.token, nil, nil
	case entry.flight != nil:
		return "", entry.flight, nil
	case entry.failure != nil && now.Before(entry.failedUntil):
		return "", nil, entry.failure
	}
	entry.flight = &flight{done: make(chan struct{})}
	// The first delivery may be stopped while others wait for the same token.
	go c.runFlight(context.WithoutCancel(ctx), entry, entry.flight, cfg)
	return "", entry.flight, nil
}

// tokenTimeout bounds the answer of a token endpoint.
const tokenTimeout = 30 * time.Second

func (c *tokenCache) runFlight(ctx context.Context, entry *tokenEntry, f *flight, cfg TokenConfig) {
	// The lifetime counts from before the request: the answer may have been slow.
	asked := c.now()
	ctx, cancel := context.WithTimeout(ctx, tokenTimeout)
	defer cancel()
	got, err := c.fetch(ctx, cfg)
	c.mu.Lock()
	entry.flight = nil
	entry.token, entry.usableUntil = got.token, asked.Add(got.lifetime-renewBefore(got.lifetime))
	entry.failure = err
	if err != nil {
		entry.failedUntil = c.now().Add(backoffAfter(err))
	}
	c.mu.Unlock()
	f.token, f.err = got.token, err
	close(f.done)
}

// reject drops a token that a receiver answered 401 to and reports whether the next get will return another.
func (c *tokenCache) reject(endpointID, token string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	entry := c.entries[endpointID]
	if entry == nil || entry.token != token {
		return true
	}
	now := c.now()
	if !entry.rejectedAt.IsZero() && now.Sub(entry.rejectedAt) < rejectionBackoff {
		return false
	}
	entry.token, entry.rejectedAt = "", now
	return true
}

func (c *tokenCache) forget(endpointID string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.entries, endpointID)
}

// renewBefore returns the time before its end at which a token is no longer used: 30 s, or a tenth of its life when that is less.
func renewBefore(lifetime time.Duration) time.Duration {
	return min(30*time.Second, lifetime/10)
}

func backoffAfter(err error) time.Duration {
	pause := failureBackoff
	if e, ok := err.(*TokenError); ok {
		pause = min(max(pause, e.RetryAfter), maxFailureBackoff)
	}
	return pause
}
