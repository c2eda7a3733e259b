package token

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestLoaderKeepsForMaxAge(t *testing.T) {
	t.Parallel()
	c := newClock()
	loads := 0
	l := newLoader(c.Now, 2, func(_ context.Context, _ string, old int) (int, error) {
		loads++
		return old + 1, nil
	})
	for _, tc := range []struct {
		wait time.Duration
		want int
	}{{0, 1}, {5 * time.Second, 1}, {time.Nanosecond, 2}, {-time.Hour, 3}} {
		c.add(tc.wait)
		if v, err := l.get(t.Context(), "a", 5*time.Second); v != tc.want || err != nil {
			t.Errorf("after %s: %d, %v, want %d", tc.wait, v, err, tc.want)
		}
	}
	if loads != 3 {
		t.Errorf("%d loads", loads)
	}
}

func TestLoaderForgetsFailures(t *testing.T) {
	t.Parallel()
	outage := errors.New("outage")
	fail := outage
	l := newLoader(newClock().Now, 1, func(context.Context, string, int) (int, error) { return 7, fail })
	if _, err := l.get(t.Context(), "a", time.Hour); !errors.Is(err, outage) {
		t.Fatal(err)
	}
	fail = nil
	if v, err := l.get(t.Context(), "a", time.Hour); v != 7 || err != nil {
		t.Errorf("%d, %v", v, err)
	}
}

// A caller that leaves must neither wait for a slow storage nor spoil the load
// for the others.
func TestLoaderCallerGivesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := func(ctx context.Context, _ string, _ int) (int, error) {
			select {
			case <-time.After(3 * time.Second):
				return 7, nil
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		}
		l := newLoader(time.Now, 1, slow)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		go func() {
			if _, err := l.get(ctx, "a", time.Hour); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the one that left got %v", err)
			}
		}()
		synctest.Wait()
		if v, err := l.get(t.Context(), "a", time.Hour); v != 7 || err != nil {
			t.Errorf("the one that stayed got %d, %v", v, err)
		}
	})
}

func TestLoaderEndsHangingLoad(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hang := func(ctx context.Context, _ string, _ int) (int, error) {
			<-ctx.Done()
			return 0, ctx.Err()
		}
		start := time.Now()
		if _, err := newLoader(time.Now, 1, hang).get(t.Context(), "a", 0); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if d := time.Since(start); d != loadTimeout {
			t.Errorf("ended after %s", d)
		}
	})
}

func TestLRUForgetsWhatWasUsedLongestAgo(t *testing.T) {
	t.Parallel()
	l := newLRU[string, int](2)
	l.put("a", 1)
	l.put("b", 2)
	l.get("a")
	l.put("c", 3)
	l.put("a", 4)
	if _, ok := l.get("b"); ok || l.len() != 2 {
		t.Error("b should be gone")
	}
	if v, ok := l.get("a"); !ok || v != 4 {
		t.Error("a should be renewed")
	}
	l.remove("a")
	l.remove("a")
	if l.len() != 1 {
		t.Error("a should be removed")
	}
}

func (l *lru[K, V]) len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.order.Len()
}
