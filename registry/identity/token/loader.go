package token

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"golang.org/x/sync/singleflight"
)

// loadTimeout bounds one load, which outlives the request that started it.
const loadTimeout = 10 * time.Second

// loader remembers values that come from elsewhere, and lets one caller at a time fetch each of them.
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
	return l.getBy(ctx, key, maxAge, l.load)
}

// getBy is get where the key does not hold what loading needs.
func (l *loader[V]) getBy(ctx context.Context, key string, maxAge time.Duration, load func(context.Context, string, V) (V, error)) (V, error) {
	if v, ok := l.fresh(key, maxAge); ok {
		return v, nil
	}
	// One caller that gives up must not fail the others that wait with it.
	shared := context.WithoutCancel(ctx)
	done := l.group.DoChan(key, func() (any, error) { return l.reload(shared, key, maxAge, load) })
	select {
	case <-ctx.Done():
		var none V
		return none, ctx.Err()
	case r := <-done:
		v, _ := r.Val.(V)
		return v, r.Err
	}
}

func (l *loader[V]) reload(ctx context.Context, key string, maxAge time.Duration, load func(context.Context, string, V) (V, error)) (V, error) {
	// Another load may have ended between the first look and this one.
	if v, ok := l.fresh(key, maxAge); ok {
		return v, nil
	}
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	old, _ := l.kept.get(key)
	// The age counts from the start: what changes during the load may be missed.
	at := l.now()
	v, err := load(ctx, key, old.value)
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

const (
	// remoteMaxAge bounds how long a key that a client removed still works.
	remoteMaxAge = time.Hour
	// remoteRefetch bounds the requests that assertions with unknown key ids make us send to a partner (SEC-12).
	remoteRefetch = time.Minute
	// remoteStale bounds how long known keys serve while the address fails.
	remoteStale = 24 * time.Hour
)

// remoteKeys is the outcome of reading a jwks_uri. A failure is kept too, so that a broken address is not asked at every request.
type remoteKeys struct {
	keys   []jose.JSONWebKey
	goodAt time.Time
	err    error
}

// checkRemote verifies with the keys behind uri, and reads them again when they do not know the key id, at most once a minute. It returns the key
// that signed.
func (i *Issuer) checkRemote(ctx context.Context, uri string, tok signed) (jose.JSONWebKey, error) {
	var fail error
	var key jose.JSONWebKey
	for _, maxAge := range []time.Duration{remoteMaxAge, remoteRefetch} {
		known, err := i.remote.get(ctx, uri, maxAge)
		if err != nil {
			return key, fmt.Errorf("read jwks_uri: %w", err)
		}
		if key, fail = tok.signer(known.keys); fail == nil {
			return key, nil
		}
		if known.err != nil {
			fail = fmt.Errorf("read jwks_uri: %w", known.err)
		}
		if errors.Is(fail, errBadSignature) && tok.kid != "" {
			return key, fail
		}
	}
	return key, fail
}

func (i *Issuer) loadRemote(ctx context.Context, uri string, old remoteKeys) (remoteKeys, error) {
	keys, err := i.fetchKeys(ctx, uri)
	now := i.cfg.Now()
	if err == nil {
		return remoteKeys{keys: keys, goodAt: now}, nil
	}
	if now.Sub(old.goodAt) < remoteStale {
		return remoteKeys{keys: old.keys, goodAt: old.goodAt, err: err}, nil
	}
	return remoteKeys{err: err}, nil
}

func (i *Issuer) fetchKeys(ctx context.Context, uri string) ([]jose.JSONWebKey, error) {
	raw, err := i.fetch(ctx, uri, "jwks_uri", "application/jwk-set+json, application/json")
	if err != nil {
		return nil, err
	}
	return usableKeys(raw)
}

// plainClient follows no redirect: the address was approved, not where it points to.
func (i *Issuer) plainClient() *http.Client {
	c := *i.cfg.HTTP
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &c
}

// lru is a map that forgets what was used longest ago once it holds max entries. It is safe for concurrent use.
type lru[K comparable, V any] struct {
	mu    sync.Mutex
	max   int
	order *list.List
	items map[K]*list.Element
}

type lruEntry[K comparable, V any] struct {
	key   K
	value V
}

func newLRU[K comparable, V any](size int) *lru[K, V] {
	return &lru[K, V]{max: size, order: list.New(), items: make(map[K]*list.Element)}
}

func (l *lru[K, V]) get(key K) (V, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	el, ok := l.items[key]
	if !ok {
		var none V
		return none, false
	}
	l.order.MoveToFront(el)
	return el.Value.(*lruEntry[K, V]).value, true
}

func (l *lru[K, V]) put(key K, value V) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if el, ok := l.items[key]; ok {
		el.Value.(*lruEntry[K, V]).value = value
		l.order.MoveToFront(el)
		return
	}
	l.items[key] = l.order.PushFront(&lruEntry[K, V]{key, value})
	if l.order.Len() > l.max {
		oldest := l.order.Back()
		l.order.Remove(oldest)
		delete(l.items, oldest.Value.(*lruEntry[K, V]).key)
	}
}

func (l *lru[K, V]) remove(key K) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if el, ok := l.items[key]; ok {
		l.order.Remove(el)
		delete(l.items, key)
	}
}
