package registry

import (
	"context"
	"fmt"
	"time"

	"schakel/store"
)

// admitTry counts a try for both the account and the address, and refuses it
// with a ThrottledError while either has to wait.
func (a *Accounts) admitTry(ctx context.Context, email, addr string) error {
	var left time.Duration
	err := a.db.Write(ctx, func(tx *store.Tx) error {
		var err error
		if left, err = countTry(ctx, tx, addressBucket(addr), addressRule()); err != nil || left > 0 {
			return err
		}
		left, err = countTry(ctx, tx, accountBucket(email), accountRule())
		return err
	})
	if err != nil {
		return fmt.Errorf("count login: %w", err)
	}
	if left > 0 {
		return &ThrottledError{After: left}
	}
	return nil
}

// forgive takes back what a successful try counted: all for the account, the one
// try for the address, where other accounts may be under attack.
func forgive(ctx context.Context, tx *store.Tx, email, addr string) error {
	if err := tx.SaveThrottle(ctx, store.Throttle{Bucket: accountBucket(email)}); err != nil {
		return fmt.Errorf("clear throttle: %w", err)
	}
	t, err := tx.LockThrottle(ctx, addressBucket(addr))
	if err != nil {
		return fmt.Errorf("read throttle: %w", err)
	}
	t.Failures = max(0, t.Failures-1)
	t.BlockedUntil = store.Time{}
	return tx.SaveThrottle(ctx, t)
}
