package identity

import (
	"context"
	"errors"
	"fmt"
	"time"

	"schakel/registry"
	"schakel/registry/identity/passkey"
	"schakel/store"
)

// ErrFactor is the one answer to a second factor that does not fit.
var ErrFactor = errors.New("second factor is wrong")

// FactorTry holds a second factor that somebody gives.
type FactorTry struct {
	Code string // of an app, or a recovery code
	// Passkey holds the answer of a browser to Challenge; both are empty for a code.
	Passkey, Challenge string
	Addr, Device       string // as of a Login
}

// PasskeyRequest makes the options with which a browser signs with a passkey of an account, as JSON, and their challenge, which CheckFactor
// takes once; empty when it has no passkey. Codes is set when it has an app that makes codes.
func (a *Accounts) PasskeyRequest(ctx context.Context, accountID string) (options, challenge string, codes bool, err error) {
	factors, err := a.db.Factors(ctx, accountID)
	keys := keysOf(factors)
	if codes = len(keys) < len(factors); len(keys) > 0 {
		challenge = passkey.Challenge()
		options = a.site.GetOptions(challenge, keys)
	}
	return options, challenge, codes, registry.Wrap("list second factors", err)
}

// CheckFactor checks a second factor of an account. It answers ErrFactor, whatever is wrong, or a *ThrottledError. What fails is in the
// audit trail; a recovery code is used up, and its owner is mailed.
func (a *Accounts) CheckFactor(ctx context.Context, account store.Account, try FactorTry) error {
	counted, err := a.admitFactor(ctx, account, try)
	if err != nil {
		return err
	}
	good := false
	err = a.db.Write(ctx, func(tx *store.Tx) error {
		good = false
		err := a.useFactor(ctx, tx, account, try)
		switch {
		case errors.Is(err, ErrFactor), errors.Is(err, store.ErrNotFound), errors.Is(err, passkey.ErrRefused):
			return registry.Record(ctx, tx, registry.Actor{Kind: registry.ActorVisitor}, registry.ActionFactorFailed, accountObject(account), registry.Details{})
		case err != nil:
			return err
		}
		good = true
		return forgive(ctx, tx, counted)
	})
	if err != nil {
		return fmt.Errorf("check second factor: %w", err)
	}
	if !good {
		return ErrFactor
	}
	return nil
}

// useFactor finds what fits a try, and uses it.
func (a *Accounts) useFactor(ctx context.Context, tx *store.Tx, account store.Account, try FactorTry) error {
	factors, err := tx.Factors(ctx, account.ID)
	if err != nil {
		return err
	}
	code := cleanCode(try.Code)
	for _, f := range factors {
		switch {
		case f.Kind == store.FactorPasskey && try.Passkey != "" && f.Credential == passkey.KeyOf(try.Passkey):
			count, err := a.site.Verify(try.Passkey, try.Challenge, passkey.Key{ID: f.Credential, Public: f.Secret, Count: f.Counter})
			if err != nil {
				return err
			}
			return tx.UseFactor(ctx, f.ID, count)
		case f.Kind == store.FactorTOTP && isTOTP(code):
			secret, err := a.cfg.Vault.Open(totpPurpose, f.Secret)
			if err != nil {
				return fmt.Errorf("open secret of an app: %w", err)
			}
			if step, ok := totpMatch(secret, code, tx.Now.Time, a.drift(), f.Counter); ok {
				return tx.UseFactor(ctx, f.ID, step)
			}
		}
	}
	if code == "" || isTOTP(code) {
		return ErrFactor
	}
	if err := a.useRecoveryCode(ctx, tx, account.ID, code); err != nil {
		return err
	}
	return a.factorChanged(ctx, tx, account, registry.AccountActor(account), registry.ActionRecoveryCodeUsed, "")
}

// admitFactor counts a try as failed before the factor is looked at, and refuses it with a ThrottledError while it has to wait. Who comes
// here has the password: the rule for all tries at an account is stricter than that of passwords.
func (a *Accounts) admitFactor(ctx context.Context, account store.Account, try FactorTry) (tries, error) {
	var counted tries
	var left time.Duration
	err := a.db.Write(ctx, func(tx *store.Tx) error {
		known, err := knows(ctx, &tx.Queries, try.Device, account.ID)
		if err != nil {
			return err
		}
		if known {
			counted = tries{own: "factor-device:" + deviceHash(try.Device)}
			left, err = registry.CountTry(ctx, tx, counted.own, registry.DeviceRule())
			return err
		}
		counted = tries{own: "factor-" + registry.PairBucket(account.Email, try.Addr), account: "factor-" + registry.AccountBucket(account.Email)}
		if left, err = registry.CountTry(ctx, tx, counted.own, registry.PairRule()); err != nil || left > 0 {
			return err
		}
		left, err = registry.CountTry(ctx, tx, counted.account, registry.FactorRule())
		return err
	})
	if err != nil {
		return counted, fmt.Errorf("count second factor: %w", err)
	}
	if left > 0 {
		return counted, &registry.ThrottledError{After: left}
	}
	return counted, nil
}

// CheckPassword checks the password of somebody who is logged in already, as Authenticate does for who is not.
func (a *Accounts) CheckPassword(ctx context.Context, account store.Account, password, addr, device string) error {
	counted, err := a.admitTry(ctx, Login{Email: account.Email, Addr: addr, Device: device}, account.ID)
	if err != nil {
		return err
	}
	ok, err := a.hasher.matches(ctx, password, account.PasswordHash)
	if err != nil {
		return err
	}
	if !ok {
		return a.failed(ctx, account, counted)
	}
	return a.db.Write(ctx, func(tx *store.Tx) error { return forgive(ctx, tx, counted) })
}
