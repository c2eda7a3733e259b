package token

import (
	"context"
	"time"

	"golang.org/x/sync/singleflight"
)

// loadTimeout bounds one load, which outlives the request that started it.
const loadTimeout = 10 * time.Second

// loader remembers values that come from elsewhere, and lets one caller at a
// time fetch each of them.
type loader[V any] struct {
	now   func() time.Time
	load  func(ctx context.Context, key string, old V) (V, error)
	kept  *lru[string, aged[V]]
	group singleflight.Group
}

type aged[V any] struct {
	value V
	at    time.Time
}

func newLoader[V any](now func() time.Time, size int, load func(context.Context, string, V) (V, error)) *loader[V] {
	return &loader[V]{now: now, load: load, kept: newLRU[string, aged[V]](size)}
}

// get answers the value of key, loaded no longer than maxAge ago.
func (l *loader[V]) get(ctx context.Context, key string, maxAge time.Duration) (V, error) {
	if v, ok := l.fresh(key, maxAge); ok {
		return v, nil
	}
	// One caller that gives up must not fail the others that wait with it.
	shared := context.WithoutCancel(ctx)
	done := l.group.DoChan(key, func() (any, error) { return l.reload(shared, key, maxAge) })
	select {
	case <-ctx.Done():
		var none V
		return none, ctx.Err()
	case r := <-done:
		v, _ := r.Val.(V)
		return v, r.Err
	}
}

func (l *loader[V]) reload(ctx context.Context, key string, maxAge time.Duration) (V, error) {
	// Another load may have ended between the first look and this one.
	if v, ok := l.fresh(key, maxAge); ok {
		return v, nil
	}
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	old, _ := l.kept.get(key)
	// The age counts from the start: what changes during the load may be missed.
	at := l.now()
	v, err := l.load(ctx, key, old.value)
	if err == nil {
		l.kept.put(key, aged[V]{v, at})
	}
	return v, err
}

// fresh treats a value from the future, after the clock was set back, as old.
func (l *loader[V]) fresh(key string, maxAge time.Duration) (V, bool) {
	e, ok := l.kept.get(key)
	age := l.now().Sub(e.at)
	return e.value, ok && age >= 0 && age <= maxAge
}
