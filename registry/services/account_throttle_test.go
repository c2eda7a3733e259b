package services

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"schakel/registry"
	"schakel/registry/identity"
)

// TestLoginThrottle checks that an account that exists and one that does not are
// throttled alike, also when all guesses come at once and from many addresses.
func TestLoginThrottle(t *testing.T) {
	t.Parallel()
	for _, email := range []string{"a@example.nl", "nobody@example.nl"} {
		t.Run(email, func(t *testing.T) {
			t.Parallel()
			a, _, clock := newTestAccounts(t)
			newAdministrator(t, a, "a@example.nl")
			tried := guessAtOnce(t, a, email, 20)
			if tried != int(registry.AccountRule().Free)+1 {
				t.Errorf("%d guesses were looked at, want %d", tried, registry.AccountRule().Free+1)
			}
			_, err := a.Authenticate(t.Context(), email, goodPassword, "192.0.2.99")
			throttled, ok := errors.AsType[*registry.ThrottledError](err)
			if !ok || throttled.After <= 0 || throttled.After > time.Minute {
				t.Fatalf("got %v, want throttled", err)
			}
			clock.Advance(throttled.After)
			if _, err = a.Authenticate(t.Context(), email, goodPassword, "192.0.2.99"); errors.Is(err, identity.ErrLogin) != (email == "nobody@example.nl") {
				t.Errorf("after the wait: %v", err)
			}
		})
	}
}

// guessAtOnce tries n wrong passwords at the same time, each from its own
// address, and counts those that were looked at.
func guessAtOnce(t *testing.T, a *identity.Accounts, email string, n int) int {
	t.Helper()
	var mu sync.Mutex
	var wg sync.WaitGroup
	tried := 0
	for i := range n {
		wg.Go(func() {
			_, err := a.Authenticate(context.WithoutCancel(t.Context()), email, "wrong wrong wrong", "192.0.2."+string(rune('0'+i%10))+string(rune('0'+i/10)))
			mu.Lock()
			defer mu.Unlock()
			if errors.Is(err, identity.ErrLogin) {
				tried++
			}
		})
	}
	wg.Wait()
	return tried
}

func TestAddressThrottleOutlivesSuccess(t *testing.T) {
	t.Parallel()
	a, _, _ := newTestAccounts(t)
	ctx := t.Context()
	newAdministrator(t, a, "a@example.nl")
	var err error
	for i := range 40 {
		_, err = a.Authenticate(ctx, "guess"+string(rune('a'+i%26))+string(rune('a'+i/26))+"@example.nl", "wrong wrong wrong", "192.0.2.1")
		if i == 10 {
			if _, err := a.Authenticate(ctx, "a@example.nl", goodPassword, "192.0.2.1"); err != nil {
				t.Fatalf("login in between: %v", err)
			}
		}
	}
	if _, ok := errors.AsType[*registry.ThrottledError](err); !ok {
		t.Errorf("got %v, want throttled: one good login must not wipe an address clean", err)
	}
}
