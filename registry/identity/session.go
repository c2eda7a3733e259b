package identity

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"schakel/registry"
	"schakel/store"
)

// Session is a login that lasts, in one browser.
type Session struct {
	store.LoginSession
	Account store.Account
	// MustEnrol is set when the account has to get a second factor before anything else.
	MustEnrol bool
	// ProvedRecently is set while a change of keys, endpoints or people need not ask who it is.
	ProvedRecently bool
	// Stale is set when the OpenID provider where it began should say again who it is.
	Stale bool
}

// maxAgent bounds what is kept of the name of a browser, in bytes.
const maxAgent = 300

// seenEvery bounds how often the use of a session is written down: not at every request.
const seenEvery = 5 * time.Minute

// OpenSession begins a session of an account in a browser at an address, and gives its id and when it ends at the latest. It takes the
// place of the session before in that browser; empty for none. From is the identity of a login at a provider, a proof of identity
// only with the time at which the provider asked; nil for a login here.
func (a *Accounts) OpenSession(ctx context.Context, account store.Account, before, addr, agent string, from *Identity) (id string, until time.Time, err error) {
	s := store.LoginSession{Address: addr, Agent: registry.OneLine(agent[:min(len(agent), maxAgent)])}
	if from != nil {
		s.Provider, s.ProviderSession, s.IDToken, s.CheckedAt = from.Issuer, from.Session, a.sealToken(from.Token), store.At(a.now())
		s.ProvedAt = store.At(unproved)
		if !from.ProvedAt.IsZero() {
			s.ProvedAt = store.At(earliest(from.ProvedAt, a.now()))
		}
	}
	return a.openSession(ctx, account, before, s)
}

// ReopenSession is OpenSession for a browser whose session ended with all others of the account. The new one takes over what the old one,
// which is read before, knew of its provider and of the last proof of who it is: ending the others proves nothing.
func (a *Accounts) ReopenSession(ctx context.Context, account store.Account, old Session, addr, agent string) (id string, until time.Time, err error) {
	was := old.LoginSession
	return a.openSession(ctx, account, was.ID, store.LoginSession{
		Address: addr, Agent: registry.OneLine(agent[:min(len(agent), maxAgent)]), ProvedAt: was.ProvedAt,
		Provider: was.Provider, ProviderSession: was.ProviderSession, IDToken: was.IDToken, CheckedAt: was.CheckedAt,
	})
}

// unproved is the last proof of a session whose owner gave none that is known. The database wants a time.
var unproved = time.Unix(0, 0)

func earliest(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func (a *Accounts) openSession(ctx context.Context, account store.Account, before string, s store.LoginSession) (id string, until time.Time, err error) {
	p, err := a.policy(ctx)
	if err != nil {
		return "", time.Time{}, err
	}
	_, most := limits(p, account)
	s.AccountID, s.Epoch = account.ID, account.SessionEpoch
	err = a.db.Write(ctx, func(tx *store.Tx) error {
		if err := tx.DeleteLoginSession(ctx, account.ID, before); err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		return tx.InsertLoginSession(ctx, &s)
	})
	return s.ID, s.StartedAt.Add(most), registry.Wrap("begin session", err)
}

// Session finds a session that goes on. It answers store.ErrNotFound for one that was ended or lasted too long,
// and when the account was blocked or its partner ended.
func (a *Accounts) Session(ctx context.Context, id string) (Session, error) {
	found, err := a.db.LoginSession(ctx, id)
	if err != nil {
		return Session{}, err
	}
	account, err := a.db.Account(ctx, found.AccountID)
	if err != nil {
		return Session{}, err
	}
	if ended, err := partnerEnded(ctx, &a.db.Queries, account); err != nil || ended {
		return Session{}, cmp.Or(err, store.ErrNotFound)
	}
	p, err := a.policy(ctx)
	if err != nil {
		return Session{}, err
	}
	s := Session{LoginSession: found, Account: account}
	now := a.now()
	if !s.alive(p, now) || s.Provider == "" && !a.Local(account) {
		return Session{}, store.ErrNotFound
	}
	s.Stale = s.Provider != "" && now.Sub(s.CheckedAt.Time) >= ProviderFresh
	s.MustEnrol = account.Factors == 0 && mustHaveFactor(p, account)
	s.ProvedRecently = p.ProofAge == 0 || now.Sub(found.ProvedAt.Time) < p.ProofAge
	return s, nil
}

// SeeSession notes that a session is used.
func (a *Accounts) SeeSession(ctx context.Context, s Session) error {
	if a.now().Sub(s.SeenAt.Time) < seenEvery {
		return nil
	}
	s.SeenAt = store.At(a.now())
	err := a.db.Write(ctx, func(tx *store.Tx) error { return tx.UpdateLoginSession(ctx, &s.LoginSession) })
	if errors.Is(err, store.ErrNotFound) {
		return nil // revoked at this moment: the next request finds out
	}
	return registry.Wrap("note use of a session", err)
}

func (s Session) alive(p registry.Profile, now time.Time) bool {
	idle, most := limits(p, s.Account)
	if s.Provider != "" && now.Sub(s.CheckedAt.Time) >= ProviderMost {
		return false
	}
	return s.Account.Status == store.AccountActive && s.Epoch == s.Account.SessionEpoch &&
		now.Sub(s.SeenAt.Time) < idle && now.Sub(s.StartedAt.Time) < most
}

// maxListed bounds the sessions on a page: somebody who logs in by a script has many.
const maxListed = 100

// Sessions lists the sessions of an account that go on, newest first.
func (a *Accounts) Sessions(ctx context.Context, account store.Account) ([]store.LoginSession, error) {
	p, err := a.policy(ctx)
	if err != nil {
		return nil, err
	}
	_, most := limits(p, account)
	all, err := a.db.LoginSessions(ctx, account.ID, store.At(a.now().Add(-most)), maxListed)
	var on []store.LoginSession
	for _, s := range all {
		if (Session{LoginSession: s, Account: account}).alive(p, a.now()) {
			on = append(on, s)
		}
	}
	return on, registry.Wrap("list sessions", err)
}

// EndSession ends one session of an account.
func (a *Accounts) EndSession(ctx context.Context, account store.Account, id string) error {
	return a.db.Write(ctx, func(tx *store.Tx) error {
		if err := tx.DeleteLoginSession(ctx, account.ID, id); err != nil {
			return registry.Found("session", err)
		}
		return registry.Record(ctx, tx, registry.AccountActor(account), registry.ActionSessionEnded, accountObject(account), registry.Details{})
	})
}

// Proved notes that the owner of a session proved who it is.
func (a *Accounts) Proved(ctx context.Context, s *Session) error {
	s.ProvedAt, s.ProvedRecently = store.At(a.now()), true
	return registry.Wrap("note a proof", a.db.Write(ctx, func(tx *store.Tx) error { return tx.UpdateLoginSession(ctx, &s.LoginSession) }))
}

// EndSessions ends all sessions of an account.
func (a *Accounts) EndSessions(ctx context.Context, id string) error {
	return a.db.Write(ctx, func(tx *store.Tx) error {
		account, err := tx.Account(ctx, id)
		if err != nil {
			return fmt.Errorf("find account: %w", err)
		}
		account.SessionEpoch++
		if err := tx.DeleteLoginDevices(ctx, id); err != nil {
			return fmt.Errorf("forget browsers: %w", err)
		}
		if err := cmp.Or(tx.DeleteLoginSessions(ctx, id), tx.UpdateAccount(ctx, &account)); err != nil {
			return fmt.Errorf("end sessions: %w", err)
		}
		return registry.Record(ctx, tx, registry.AccountActor(account), registry.ActionSessionsEnded, accountObject(account), registry.Details{})
	})
}

// LoggedOut ends the session in which somebody logged out.
func (a *Accounts) LoggedOut(ctx context.Context, s Session) error {
	return a.db.Write(ctx, func(tx *store.Tx) error {
		if err := tx.DeleteLoginSession(ctx, s.AccountID, s.ID); err != nil {
			return fmt.Errorf("end session: %w", err)
		}
		return registry.Record(ctx, tx, registry.AccountActor(s.Account), registry.ActionLoggedOut, accountObject(s.Account), registry.Details{})
	})
}

// sealPurpose binds what SealForm sealed to whom it was sealed for.
func sealPurpose(accountID, path string) string { return "proof-form " + accountID + " " + path }

// SealForm seals a form that waits until its sender proved who it is, for this account and this address.
func (a *Accounts) SealForm(accountID, path, form string) string {
	return a.cfg.Vault.Seal(sealPurpose(accountID, path), []byte(form))
}

// OpenForm opens what SealForm made for the same account and address.
func (a *Accounts) OpenForm(accountID, path, sealed string) (string, error) {
	form, err := a.cfg.Vault.Open(sealPurpose(accountID, path), sealed)
	return string(form), err
}
