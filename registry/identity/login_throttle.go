package identity

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"schakel/registry"
	"schakel/store"
)

// tries names the buckets in which a login was counted.
type tries struct {
	own     string // of this browser, or of this account from this address: emptied by a success
	account string // of the account from all addresses; empty in a browser that the account knows
	address string // of the address; empty in a browser that the account knows
	waits   bool   // the try is the first after which others at the account wait
}

// admitTry counts a login as failed before the password is looked at, and refuses it with a ThrottledError while it has to wait.
// accountID is empty when nobody has the e-mail address; such logins wait like others.
func (a *Accounts) admitTry(ctx context.Context, in Login, accountID string) (tries, error) {
	var counted tries
	var left time.Duration
	err := a.db.Write(ctx, func(tx *store.Tx) error {
		known, err := knows(ctx, &tx.Queries, in.Device, accountID)
		if err != nil {
			return err
		}
		if known {
			counted = tries{own: "device:" + deviceHash(in.Device)}
			left, counted.waits, err = registry.CountFailure(ctx, tx, counted.own, registry.DeviceRule())
			return err
		}
		counted = tries{own: registry.PairBucket(in.Email, in.Addr), account: registry.AccountBucket(in.Email), address: registry.AddressBucket(in.Addr)}
		for _, b := range []struct {
			bucket string
			rule   registry.Throttle
		}{{counted.own, registry.PairRule()}, {counted.address, registry.AddressRule()}, {counted.account, registry.AccountRule()}} {
			var first bool
			if left, first, err = registry.CountFailure(ctx, tx, b.bucket, b.rule); err != nil || left > 0 {
				return err
			}
			counted.waits = counted.waits || first && b.bucket != counted.address
		}
		return nil
	})
	if err != nil {
		return counted, fmt.Errorf("count login: %w", err)
	}
	if left > 0 {
		return counted, &registry.ThrottledError{After: left}
	}
	return counted, nil
}

// forgive takes back what a successful try counted: all that was the owner's, and the one try for the address, where other
// accounts may be under attack.
func forgive(ctx context.Context, tx *store.Tx, counted tries) error {
	for _, bucket := range []string{counted.own, counted.account} {
		if bucket == "" {
			continue
		}
		if err := tx.SaveThrottle(ctx, store.Throttle{Bucket: bucket}); err != nil {
			return fmt.Errorf("clear throttle: %w", err)
		}
	}
	if counted.address == "" {
		return nil
	}
	t, err := tx.LockThrottle(ctx, counted.address)
	if err != nil {
		return fmt.Errorf("read throttle: %w", err)
	}
	t.Failures = max(0, t.Failures-1)
	t.BlockedUntil = store.Time{}
	return tx.SaveThrottle(ctx, t)
}

// TrustDevice notes a login in a browser, and returns what the browser keeps so that failed logins of others do not make its user
// wait. A browser that the account knows already keeps what it has.
func (a *Accounts) TrustDevice(ctx context.Context, accountID, device string) (string, error) {
	err := a.db.Write(ctx, func(tx *store.Tx) error {
		known, err := knows(ctx, &tx.Queries, device, accountID)
		if err != nil {
			return err
		}
		if !known {
			device = rand.Text()
		}
		return tx.SaveLoginDevice(ctx, deviceHash(device), accountID)
	})
	return device, registry.Wrap("note browser", err)
}

// knows reports whether the owner of an account logged in in a browser before.
func knows(ctx context.Context, q *store.Queries, device, accountID string) (bool, error) {
	if device == "" || accountID == "" {
		return false, nil
	}
	found, err := q.LoginDevice(ctx, deviceHash(device))
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil && found.AccountID == accountID, registry.Wrap("find browser", err)
}

// deviceHash needs no salt or slow hash: what a browser keeps is too random to be guessed from it.
func deviceHash(device string) string {
	sum := sha256.Sum256([]byte(device))
	return hex.EncodeToString(sum[:])
}
