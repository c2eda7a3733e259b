package registry

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"time"

	"schakel/store"
)

// ThrottledError reports that too many logins failed; After is the time to wait.
type ThrottledError struct {
	After time.Duration
}

// Error implements error.
func (e *ThrottledError) Error() string {
	return fmt.Sprintf("too many failed logins: wait %s", e.After)
}

// Throttle makes the next try wait after failures of one kind of bucket: the
// first ones are free, then the wait doubles from a second up to longest.
type Throttle struct {
	Free    int64
	Longest time.Duration
}

func (t Throttle) wait(failures int64) time.Duration {
	over := failures - t.Free
	if over <= 0 {
		return 0
	}
	return min(time.Second<<min(over-1, 20), t.Longest)
}

// forgetAfter ends the count of failures when no other follows.
const forgetAfter = 24 * time.Hour

// AccountBucket names what is counted. An e-mail address is kept as a hash: what people type there may be anything.
func AccountBucket(email string) string {
	sum := sha256.Sum256([]byte(email))
	return "account:" + hex.EncodeToString(sum[:16])
}

// AddressBucket counts an IPv6 network of /64 as one: one customer gets that much.
func AddressBucket(addr string) string {
	ip, err := netip.ParseAddr(addr)
	if err != nil {
		return "address:" + addr
	}
	ip = ip.Unmap().WithZone("")
	if ip.Is6() {
		if p, err := ip.Prefix(64); err == nil {
			return "address:" + p.String()
		}
	}
	return "address:" + ip.String()
}

// CountTry counts a try as failed before the password is looked at, so that many
// at the same moment do not all count as the first. A success takes it back.
func CountTry(ctx context.Context, tx *store.Tx, bucket string, rule Throttle) (time.Duration, error) {
	left, _, err := CountFailure(ctx, tx, bucket, rule)
	return left, err
}

// CountFailure counts a try as CountTry does, and reports whether others wait from this one on when it fails.
func CountFailure(ctx context.Context, tx *store.Tx, bucket string, rule Throttle) (left time.Duration, first bool, err error) {
	t, err := tx.LockThrottle(ctx, bucket)
	if err != nil {
		return 0, false, fmt.Errorf("read throttle: %w", err)
	}
	if left := t.BlockedUntil.Sub(tx.Now.Time); left > 0 {
		return left, false, nil
	}
	if tx.Now.Sub(t.UpdatedAt.Time) > forgetAfter {
		t.Failures = 0
	}
	t.Failures++
	t.BlockedUntil = store.At(tx.Now.Add(rule.wait(t.Failures)))
	return 0, t.Failures == rule.Free+1, tx.SaveThrottle(ctx, t)
}

// Rules of failed logins. What an attacker does from elsewhere must not lock an owner out, nor an unrelated user behind the same
// address: waits soon come only to whom guesses an account from one address. The rules for all tries at an account, and for all
// from an address, let a hundred go first; after that they leave a guesser 1440 tries a day. In a browser where the owner
// logged in before, neither counts.

// PairRule is the rule of failures at one account from one address.
func PairRule() Throttle { return Throttle{Free: 5, Longest: 15 * time.Minute} }

// DeviceRule is the rule of failures in a browser where the owner of the account logged in before.
func DeviceRule() Throttle { return Throttle{Free: 10, Longest: 15 * time.Minute} }

// AccountRule is the rule of failures at an account from all addresses together.
func AccountRule() Throttle { return Throttle{Free: 100, Longest: time.Minute} }

// AddressRule is the rule of failures from an address at all accounts together.
func AddressRule() Throttle { return Throttle{Free: 100, Longest: time.Minute} }

// FactorRule is the rule of failures at the second factors of an account from all addresses together: who tries has the password. After
// the first twenty it leaves a guesser 96 tries a day, of three in a million each.
func FactorRule() Throttle { return Throttle{Free: 20, Longest: 15 * time.Minute} }

// PairBucket counts tries at one account from one address.
func PairBucket(email, addr string) string { return AccountBucket(email) + " " + AddressBucket(addr) }
