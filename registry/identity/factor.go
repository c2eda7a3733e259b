package identity

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"schakel/registry"
	"schakel/registry/identity/passkey"
	"schakel/store"
	"schakel/templates/i18n"
)

const totpPurpose = "totp"

// maxFactors bounds the factors of one account.
const maxFactors = 20

// Factors lists the second factors of an account, and counts the recovery codes that are left.
func (a *Accounts) Factors(ctx context.Context, accountID string) (factors []store.Factor, codes int, err error) {
	if factors, err = a.db.Factors(ctx, accountID); err == nil {
		codes, err = a.db.RecoveryCodes(ctx, accountID)
	}
	return factors, codes, registry.Wrap("list second factors", err)
}

// NewTOTP makes the secret of an authenticator app. Sealed is to be kept until the app showed that it works; the others are shown to its
// owner: the secret as text, and the address for a QR code.
func (a *Accounts) NewTOTP(account store.Account) (sealed, secret, uri string) {
	raw := newTOTPSecret()
	return a.cfg.Vault.Seal(totpPurpose, raw), totpText(raw), totpURI(raw, a.cfg.Organisation, account.Email)
}

// ShowTOTP gives the secret and the address of NewTOTP again.
func (a *Accounts) ShowTOTP(account store.Account, sealed string) (secret, uri string, err error) {
	raw, err := a.cfg.Vault.Open(totpPurpose, sealed)
	return totpText(raw), totpURI(raw, a.cfg.Organisation, account.Email), err
}

// AddTOTP adds an authenticator app that shows a right code. With the first factor of an account come recovery codes, which are shown
// once, and its sessions but this one end: a password alone began them. What is wrong is an *Error with the fields name and code.
func (a *Accounts) AddTOTP(ctx context.Context, s Session, name, sealed, code string) (codes []string, err error) {
	raw, err := a.cfg.Vault.Open(totpPurpose, sealed)
	if err != nil {
		return nil, fmt.Errorf("open secret of an app: %w", err)
	}
	f := store.Factor{AccountID: s.AccountID, Kind: store.FactorTOTP, Name: name, Secret: sealed}
	step, ok := totpMatch(raw, cleanCode(code), a.now(), a.drift(), 0)
	wrong := registry.Problems{}
	wrong.AddIf(!ok, "code", "identity.factor-code-first")
	f.Counter = step
	return a.addFactor(ctx, s, f, wrong)
}

// PasskeyOptions are the options with which a browser makes a passkey for an account, as JSON, and their challenge, which AddPasskey
// takes once.
func (a *Accounts) PasskeyOptions(ctx context.Context, account store.Account) (options, challenge string, err error) {
	factors, err := a.db.Factors(ctx, account.ID)
	challenge = passkey.Challenge()
	return a.site.CreateOptions(challenge, account.ID, account.Email, account.Name, keysOf(factors)), challenge, registry.Wrap("list second factors", err)
}

// AddPasskey adds the passkey that a browser made, as AddTOTP adds an app. Fields: name and passkey.
func (a *Accounts) AddPasskey(ctx context.Context, s Session, name, answer, challenge string) (codes []string, err error) {
	key, err := a.site.Register(answer, challenge)
	wrong := registry.Problems{}
	wrong.AddIf(err != nil, "passkey", "identity.passkey-refused")
	f := store.Factor{AccountID: s.AccountID, Kind: store.FactorPasskey, Name: name, Secret: key.Public, Credential: key.ID, Counter: key.Count}
	return a.addFactor(ctx, s, f, wrong)
}

func (a *Accounts) addFactor(ctx context.Context, s Session, f store.Factor, wrong registry.Problems) (codes []string, err error) {
	account := s.Account
	f.Name = strings.TrimSpace(f.Name)
	n := utf8.RuneCountInString(f.Name)
	wrong.AddIf(n == 0 || n > 60, "name", "identity.factor-name")
	if err := wrong.Err(); err != nil {
		return nil, err
	}
	err = a.db.Write(ctx, func(tx *store.Tx) error {
		there, err := tx.Factors(ctx, account.ID)
		if err != nil {
			return err
		}
		if len(there) >= maxFactors {
			return registry.Conflict("identity.factors-many", maxFactors)
		}
		if err := tx.InsertFactor(ctx, &f); errors.Is(err, store.ErrConflict) {
			return registry.Invalid(map[string]i18n.Message{"passkey": "identity.passkey-known"})
		} else if err != nil {
			return fmt.Errorf("add second factor: %w", err)
		}
		if len(there) == 0 {
			var proofs []string
			codes, proofs = a.newRecoveryCodes(account.ID)
			if err := tx.ReplaceRecoveryCodes(ctx, account.ID, proofs); err != nil {
				return fmt.Errorf("add recovery codes: %w", err)
			}
			if err := tx.DeleteOtherSessions(ctx, account.ID, s.ID); err != nil {
				return fmt.Errorf("end other sessions: %w", err)
			}
		}
		return a.factorChanged(ctx, tx, account, registry.AccountActor(account), registry.ActionFactorAdded, f.Name)
	})
	return codes, err
}

// RemoveFactor removes a second factor of an account; the recovery codes go with the last one. The last factor of somebody who must
// have one stays.
func (a *Accounts) RemoveFactor(ctx context.Context, account store.Account, id string) error {
	p, err := a.policy(ctx)
	if err != nil {
		return err
	}
	return a.db.Write(ctx, func(tx *store.Tx) error {
		there, err := tx.Factors(ctx, account.ID)
		if err != nil {
			return err
		}
		for _, f := range there {
			if f.ID != id {
				continue
			}
			if len(there) > 1 {
				err = tx.DeleteFactor(ctx, account.ID, id)
			} else if mustHaveFactor(p, account) {
				return registry.Conflict("identity.factor-last")
			} else {
				err = tx.DeleteFactors(ctx, account.ID)
			}
			if err != nil {
				return fmt.Errorf("remove second factor: %w", err)
			}
			return a.factorChanged(ctx, tx, account, registry.AccountActor(account), registry.ActionFactorRemoved, f.Name)
		}
		return store.ErrNotFound
	})
}

// NewRecoveryCodes gives an account other recovery codes, to be shown once; the ones it had work no more.
func (a *Accounts) NewRecoveryCodes(ctx context.Context, account store.Account) ([]string, error) {
	codes, proofs := a.newRecoveryCodes(account.ID)
	err := a.db.Write(ctx, func(tx *store.Tx) error {
		now, err := tx.Account(ctx, account.ID)
		if err != nil {
			return fmt.Errorf("find account: %w", err)
		}
		if now.Factors == 0 {
			return registry.Conflict("identity.codes-without-factor")
		}
		if err := tx.ReplaceRecoveryCodes(ctx, account.ID, proofs); err != nil {
			return fmt.Errorf("replace recovery codes: %w", err)
		}
		return a.factorChanged(ctx, tx, account, registry.AccountActor(account), registry.ActionRecoveryCodesMade, "")
	})
	return codes, err
}

// ResetFactors takes all factors and recovery codes from somebody who lost them, and ends the sessions. An administrator does so for others,
// after making sure who asks; the proof of that goes to the audit trail. The owner is mailed. A proof that is none gives an *Error with the field reason.
func (a *Accounts) ResetFactors(ctx context.Context, actor registry.Actor, id, proof string) error {
	if err := actor.RequireAdministrator(); err != nil {
		return err
	}
	if err := registry.CheckReason(proof, true); err != nil {
		return err
	}
	return a.decide(ctx, actor, id, func(tx *store.Tx, account *store.Account) (change, error) {
		if account.ID == actor.ID {
			return change{}, registry.Conflict("identity.reset-own")
		}
		if account.Factors == 0 {
			return change{}, registry.Conflict("identity.no-factor")
		}
		account.SessionEpoch++
		if err := tx.DeleteLoginDevices(ctx, id); err != nil {
			return change{}, fmt.Errorf("forget browsers: %w", err)
		}
		if err := tx.DeleteFactors(ctx, id); err != nil {
			return change{}, fmt.Errorf("remove second factors: %w", err)
		}
		account.Factors = 0
		return change{action: registry.ActionFactorsReset, told: true, details: registry.Details{"reason": proof}}, a.tell(ctx, tx, *account, a.factorLetter(*account, registry.ActionFactorsReset, ""))
	})
}

// factorChanged records a change of what somebody logs in with, and mails its owner.
func (a *Accounts) factorChanged(ctx context.Context, tx *store.Tx, account store.Account, actor registry.Actor, action, factor string) error {
	if err := registry.Record(ctx, tx, actor, action, accountObject(account), registry.Details{"factor": factor}); err != nil {
		return err
	}
	return a.tell(ctx, tx, account, a.factorLetter(account, action, factor))
}

func (a *Accounts) factorLetter(account store.Account, action, factor string) registry.Message {
	_, word, _ := strings.Cut(action, ".")
	what := i18n.Word("mail.factor-change", word)
	if factor != "" {
		what = i18n.M("mail.factor.named", what, factor)
	} else {
		what = i18n.M("mail.factor.alone", what)
	}
	return a.cfg.Letter("mail.factor.subject", "/account/factors",
		i18n.M("mail.factor.text", account.Name, a.cfg.Organisation), what, "mail.factor.advice")
}
