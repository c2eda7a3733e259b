package identity

import (
	"context"
	"fmt"
	"time"

	"schakel/registry"
	"schakel/store"
)

// admitTry counts a try for both the account and the address, and refuses it
// with a ThrottledError while either has to wait.
func (a *Accounts) admitTry(ctx context.Context, email, addr string) error {
	var left time.Duration
	err := a.db.Write(ctx, func(tx *store.Tx) error {
		var err error
		if left, err = registry.CountTry(ctx, tx, registry.AddressBucket(addr), registry.AddressRule()); err != nil || left > 0 {
			return err
		}
		left, err = registry.CountTry(ctx, tx, registry.AccountBucket(email), registry.AccountRule())
		return err
	})
	if err != nil {
		return fmt.Errorf("count login: %w", err)
	}
	if left > 0 {
		return &registry.ThrottledError{After: left}
	}
	return nil
}

// forgive takes back what a successful try counted: all for the account, the one
// try for the address, where other accounts may be under attack.
func forgive(ctx context.Context, tx *store.Tx, email, addr string) error {
	if err := tx.SaveThrottle(ctx, store.Throttle{Bucket: registry.AccountBucket(email)}); err != nil {
		return fmt.Errorf("clear throttle: %w", err)
	}
	t, err := tx.LockThrottle(ctx, registry.AddressBucket(addr))
	if err != nil {
		return fmt.Errorf("read throttle: %w", err)
	}
	t.Failures = max(0, t.Failures-1)
	t.BlockedUntil = store.Time{}
	return tx.SaveThrottle(ctx, t)
}
