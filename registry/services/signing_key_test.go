package services

import (
	"errors"
	"testing"
	"time"

	"schakel/registry/identity"
)

// A clock that is ahead at the first start makes a key that starts later. Once the clock is right tokens are signed with another key,
// and who operates the program is told why.
func TestClockWasAheadAtTheFirstStart(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.clock.Advance(30 * 24 * time.Hour)
		ahead, err := w.SigningKeys.SigningKeys(ctx)
		must(t, err)
		must(t, w.SigningKeys.Check(ctx))
		w.clock.Advance(-30 * 24 * time.Hour)
		for range 2 { // only one is made
			keys, err := w.SigningKeys.SigningKeys(ctx)
			must(t, err)
			if len(keys) != 2 || keys[0].KID != ahead[0].KID || keys[1].CreatedAt.After(w.clock.Now()) {
				t.Fatalf("keys %v at %s, want one that started", keys, w.clock.Now())
			}
		}
		if err := w.SigningKeys.Check(ctx); !errors.Is(err, identity.ErrClockWasAhead) {
			t.Errorf("check: %v, want ErrClockWasAhead", err)
		}
		must(t, w.SigningKeys.RotateSigningKey(ctx, w.admin))
		must(t, w.SigningKeys.Check(ctx))
	})
}
