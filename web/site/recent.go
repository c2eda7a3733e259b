package site

import (
	"context"
	"sync"
	"time"
)

const (
	// recentAge bounds how long a change, such as a grant that was taken back,
	// goes unseen by requests that follow each other quickly.
	recentAge = 2 * time.Second
	// recentSize bounds the memory; when it is full all is forgotten, which costs
	// one look-up each.
	recentSize = 10_000
)

// Recent remembers for a moment what was looked up on the hot path.
type Recent[V any] struct {
	now    func() time.Time
	mu     sync.Mutex
	cached map[string]recentValue[V]
}

type recentValue[V any] struct {
	value V
	at    time.Time
}

// NewRecent makes an empty cache that reads the clock now.
func NewRecent[V any](now func() time.Time) *Recent[V] {
	return &Recent[V]{now: now, cached: make(map[string]recentValue[V])}
}

// Get answers the value of key, looked up no longer than recentAge ago.
func (r *Recent[V]) Get(ctx context.Context, key string, load func(ctx context.Context, key string) (V, error)) (V, error) {
	now := r.now() // read before the look-up: what changes during it may be missed
	r.mu.Lock()
	found, ok := r.cached[key]
	r.mu.Unlock()
	if age := now.Sub(found.at); ok && age >= 0 && age <= recentAge {
		return found.value, nil
	}
	value, err := load(ctx, key)
	if err != nil {
		return value, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.cached) >= recentSize {
		clear(r.cached)
	}
	r.cached[key] = recentValue[V]{value, now}
	return value, nil
}
