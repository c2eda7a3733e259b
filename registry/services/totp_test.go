package services

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"schakel/registry"
	"schakel/registry/identity"
	"schakel/store"
)

// appCode returns the code that an app with a secret shows at a moment.
func appCode(t *testing.T, secret string, at time.Time) string {
	t.Helper()
	key, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(secret)
	must(t, err)
	mac := hmac.New(sha1.New, key)
	mac.Write(binary.BigEndian.AppendUint64(nil, uint64(at.Unix()/30)))
	sum := mac.Sum(nil)
	return fmt.Sprintf("%06d", binary.BigEndian.Uint32(sum[sum[19]&15:])&0x7fffffff%1_000_000)
}

// A code of an app is taken one step early or late, and with exact codes in its own 30 seconds alone.
func TestCodesAreExact(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		for i, exact := range []bool{false, true} {
			w.configure(t, func(c *registry.Config) { c.ExactCodes = exact })
			account := store.Account{Email: fmt.Sprintf("p%d@example.nl", i), Name: "P", Role: store.RoleAdministrator, Status: store.AccountActive}
			must(t, w.db.Write(ctx, func(tx *store.Tx) error { return tx.InsertAccount(ctx, &account) }))
			sealed, secret, _ := w.Accounts.NewTOTP(account)
			if _, err := w.Accounts.AddTOTP(ctx, identity.Session{LoginSession: store.LoginSession{AccountID: account.ID}, Account: account}, "wrong", sealed, appCode(t, secret, w.clock.Now().Add(-30*time.Second))); (err != nil) != exact {
				t.Errorf("exact %v: an app that is late is added: %v", exact, err)
			}
			if exact {
				_, err := w.Accounts.AddTOTP(ctx, identity.Session{LoginSession: store.LoginSession{AccountID: account.ID}, Account: account}, "phone", sealed, appCode(t, secret, w.clock.Now()))
				must(t, err)
			}
			for _, step := range []int{1, 2} {
				w.clock.Advance(2 * time.Minute)
				early := appCode(t, secret, w.clock.Now().Add(30*time.Second))
				if err := w.Accounts.CheckFactor(ctx, account, identity.FactorTry{Code: early, Addr: "192.0.2.1"}); (err != nil) != exact {
					t.Errorf("exact %v, try %d: a code that is early: %v", exact, step, err)
				}
				w.clock.Advance(30 * time.Second)
				if err := w.Accounts.CheckFactor(ctx, account, identity.FactorTry{Code: early, Addr: "192.0.2.1"}); (err == nil) != exact { // else it was used
					t.Errorf("exact %v, try %d: a code at its time: %v", exact, step, err)
				}
			}
		}
	})
}
