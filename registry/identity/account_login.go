package identity

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
)

// ErrLogin is the one answer to a login that does not succeed: it does not tell whether the account exists.
var ErrLogin = errors.New("e-mail address or password is wrong")

// ErrElsewhere says that an account may not log in with its password, which was right: it logs in at an OpenID provider.
var ErrElsewhere = errors.New("this account logs in at an OpenID provider")

// ErrNoAccount says that nobody gave an account to this person at the OpenID provider, or that the partner of the account ended.
var ErrNoAccount = errors.New("no account for this identity")

// ErrPartnerEnded is the ErrNoAccount of an account whose partner ended.
var ErrPartnerEnded = fmt.Errorf("the partner of the account ended: %w", ErrNoAccount)

// Login holds what somebody logs in with.
type Login struct {
	Email, Password string
	Addr            string // address of the browser
	Device          string // what [Accounts.TrustDevice] gave this browser; empty when it has none
}

// Authenticate checks an e-mail address and password. Who has a second factor is not logged in by that: see CheckFactor, and NoteLogin
// after it. It answers ErrLogin, in the same time whatever is wrong, or a
// *ThrottledError. A failed login to an account that exists is in the audit trail.
func (a *Accounts) Authenticate(ctx context.Context, in Login) (store.Account, error) {
	in.Email = registry.CleanEmail(in.Email)
	account, err := a.db.AccountByEmail(ctx, in.Email)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return store.Account{}, fmt.Errorf("find account: %w", err)
	}
	counted, err := a.admitTry(ctx, in, account.ID)
	if err != nil {
		return store.Account{}, err
	}
	ok, err := a.hasher.matches(ctx, in.Password, account.PasswordHash)
	if err != nil {
		return store.Account{}, err
	}
	if !ok || account.Status != store.AccountActive {
		return store.Account{}, a.failed(ctx, account, counted)
	}
	if !a.Local(account) {
		return store.Account{}, cmp.Or(a.failedOf(ctx, account, counted), ErrElsewhere)
	}
	if ended, err := partnerEnded(ctx, &a.db.Queries, account); err != nil || ended {
		return store.Account{}, cmp.Or(err, a.failedOf(ctx, account, counted), ErrPartnerEnded)
	}
	err = a.db.Write(ctx, func(tx *store.Tx) error {
		if err := forgive(ctx, tx, counted); err != nil {
			return err
		}
		if account.Factors == 0 {
			if account, err = loggedIn(ctx, tx, account.ID); err != nil {
				return err
			}
		}
		return a.breakGlass(ctx, tx, account)
	})
	if err == nil && a.isEmergency(account) && a.onBreakGlass != nil {
		a.onBreakGlass(ctx, account)
	}
	return account, err
}

// failed records a failed login to an account, and answers ErrLogin. Nothing is recorded of addresses without an account: people
// type anything there, their password too. Something is written then too, so that it takes as long.
func (a *Accounts) failed(ctx context.Context, account store.Account, counted tries) error {
	err := a.db.Write(ctx, func(tx *store.Tx) error {
		if account.ID == "" {
			_, err := tx.LockThrottle(ctx, counted.own)
			return err
		}
		return recordFailed(ctx, tx, account, counted)
	})
	if err != nil {
		return fmt.Errorf("record failed login: %w", err)
	}
	return ErrLogin
}

// failedOf records a failed login to an account that exists.
func (a *Accounts) failedOf(ctx context.Context, account store.Account, counted tries) error {
	return registry.Wrap("record failed login", a.db.Write(ctx, func(tx *store.Tx) error { return recordFailed(ctx, tx, account, counted) }))
}

// recordFailed writes the entry of a failed login, and one more where waits begin: not one for each try that is refused in them.
func recordFailed(ctx context.Context, tx *store.Tx, account store.Account, counted tries) error {
	actions := []string{registry.ActionLoginFailed}
	if counted.waits {
		actions = append(actions, registry.ActionLoginsWait)
	}
	for _, action := range actions {
		if err := registry.Record(ctx, tx, registry.Actor{Kind: registry.ActorVisitor}, action, accountObject(account), registry.Details{}); err != nil {
			return err
		}
	}
	return nil
}

// NoteLogin notes that the owner of an account logged in with a second factor, or by a one-time link: the first administrator, an
// invitation, a registration or another password. It answers ErrLogin for an account that is not active.
func (a *Accounts) NoteLogin(ctx context.Context, id string) error {
	var account store.Account
	told := false
	err := a.db.Write(ctx, func(tx *store.Tx) (err error) {
		if account, err = loggedIn(ctx, tx, id); err != nil {
			return err
		}
		if told, err = a.toldOfBreakGlass(ctx, tx, account); err != nil || told {
			return err
		}
		return a.breakGlass(ctx, tx, account)
	})
	if err == nil && !told && a.isEmergency(account) && a.onBreakGlass != nil {
		a.onBreakGlass(ctx, account)
	}
	return err
}

// SetLocale stores the language and the IANA time zone of pages and mails for someone; an empty one is as the browser says.
func (a *Accounts) SetLocale(ctx context.Context, id, language, timeZone string) error {
	wrong := registry.Problems{}
	if _, known := i18n.LangOf(language); language != "" && !known {
		wrong["language"] = "identity.language-unknown"
	}
	if _, err := time.LoadLocation(timeZone); err != nil || timeZone == "Local" {
		wrong["timeZone"] = "identity.time-zone-unknown"
	}
	if err := wrong.Err(); err != nil {
		return err
	}
	return a.db.Write(ctx, func(tx *store.Tx) error {
		account, err := tx.Account(ctx, id)
		if err != nil {
			return fmt.Errorf("find account: %w", err)
		}
		account.Language, account.TimeZone = language, timeZone
		account.DigestDue = store.At(registry.NextDigest(account, tx.Now.Time))
		return tx.UpdateAccount(ctx, &account)
	})
}

// Notifications chooses the mails about issues, dead letters and held deliveries.
type Notifications struct {
	When  string // immediate, digest, both or off
	Every string // daily or weekly
	Day   int64  // of a weekly digest: 0 is Sunday
	Hour  int64  // 0 to 23, in the time zone of the account
}

// SetNotifications stores how somebody is told, and plans the next digest. Fields: notify, digestEvery, digestDay, digestHour.
func (a *Accounts) SetNotifications(ctx context.Context, id string, in Notifications) error {
	wrong := registry.Problems{}
	if !slices.Contains([]string{store.NotifyImmediate, store.NotifyDigest, store.NotifyBoth, store.NotifyOff}, in.When) {
		wrong["notify"] = "identity.notify-choose"
	}
	if in.Every != store.DigestDaily && in.Every != store.DigestWeekly {
		wrong["digestEvery"] = "identity.notify-choose"
	}
	if in.Day < 0 || in.Day > 6 {
		wrong["digestDay"] = "identity.notify-choose"
	}
	if in.Hour < 0 || in.Hour > 23 {
		wrong["digestHour"] = "identity.notify-choose"
	}
	if err := wrong.Err(); err != nil {
		return err
	}
	return a.db.Write(ctx, func(tx *store.Tx) error {
		account, err := tx.Account(ctx, id)
		if err != nil {
			return fmt.Errorf("find account: %w", err)
		}
		account.Notify, account.DigestEvery, account.DigestDay, account.DigestHour = in.When, in.Every, in.Day, in.Hour
		account.DigestFrom, account.DigestDue = tx.Now, store.At(registry.NextDigest(account, tx.Now.Time))
		return tx.UpdateAccount(ctx, &account)
	})
}

// loggedIn reads the account again inside the transaction: it may have been blocked while its password was checked.
func loggedIn(ctx context.Context, tx *store.Tx, id string) (store.Account, error) {
	account, err := tx.Account(ctx, id)
	if err != nil {
		return store.Account{}, fmt.Errorf("find account: %w", err)
	}
	if account.Status != store.AccountActive {
		return store.Account{}, ErrLogin
	}
	if ended, err := partnerEnded(ctx, &tx.Queries, account); err != nil || ended {
		return store.Account{}, cmp.Or(err, ErrPartnerEnded)
	}
	account.PreviousLoginAt, account.LastLoginAt = account.LastLoginAt, tx.Now
	account.LastLanguage = string(i18n.From(ctx).Lang)
	if err := tx.UpdateAccount(ctx, &account); err != nil {
		return store.Account{}, fmt.Errorf("note login: %w", err)
	}
	return account, registry.Record(ctx, tx, registry.AccountActor(account), registry.ActionLoggedIn, accountObject(account), registry.Details{})
}
