package identity

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"schakel/registry"
	"schakel/store"
)

// Identity holds the claims of an OpenID provider about a person. Issuer and Subject
// identify the person; the e-mail address serves a new account, or one that cannot log in otherwise.
type Identity struct {
	Issuer, Subject string
	Name, Email     string
	EmailVerified   bool // says the provider
	// Administrator is set when the configuration makes this person administrator.
	Administrator bool
	// Partner names the partner that the configuration makes this person a user of; the zero value for none.
	Partner PartnerClaim
	// Session names the session at the provider; empty where it says nothing. Token is the ID token as it came.
	Session, Token string
	// ProvedAt is when the person logged in there; zero where the provider says nothing.
	ProvedAt time.Time
}

// PartnerClaim names a partner by a number.
type PartnerClaim struct {
	By     string // one of PartnerNumbers
	Values []string
	Only   []string // values or ids of partners that the provider may speak for; empty for all
}

// PartnerNumbers lists what a claim can name a partner by.
func PartnerNumbers() []string { return []string{"oin", "kvk", "brin", "org-number", "id"} }

// How long a session that began at a provider goes on without it. Whoever goes to another page after ProviderFresh is asked about there
// without being seen, and what the provider does not confirm ends after ProviderMost.
const (
	ProviderFresh = 15 * time.Minute
	ProviderMost  = time.Hour
)

// LoginIdentity finds the account of an identity, and makes one for an identity that the configuration makes administrator or user of a
// partner. It answers ErrNoAccount for anyone else, and an *Error with the field email when another account has the address: that one is
// taken over only when the provider verified the address, the role and the partner are the same, and passwords are off for it.
// The provider decides at each login: role and partner follow its claims, and the sessions of who lost or changed them end.
func (a *Accounts) LoginIdentity(ctx context.Context, id Identity) (store.Account, error) {
	account, err := a.byIdentity(ctx, id, loggedIn)
	if errors.Is(err, ErrLogin) || errors.Is(err, ErrNoAccount) {
		return account, cmp.Or(a.refused(ctx, id), err)
	}
	return account, err
}

// refused records that somebody who proved who it is at a provider is let in by nothing here: no claim, or a block.
func (a *Accounts) refused(ctx context.Context, id Identity) error {
	return registry.Wrap("record refused login", a.db.Write(ctx, func(tx *store.Tx) error {
		known, err := tx.AccountByIdentity(ctx, id.Issuer, id.Subject)
		about := accountObject(known)
		if errors.Is(err, store.ErrNotFound) {
			about, err = registry.ObjectOf("account", "", registry.OneLine(cmp.Or(id.Email, id.Subject)), ""), nil
		}
		if err != nil {
			return err
		}
		return registry.Record(ctx, tx, registry.Actor{Kind: registry.ActorVisitor}, registry.ActionLoginRefused, about, registry.Details{"provider": id.Issuer})
	}))
}

// Renew brings role and partner of a session that began at a provider up to date with what that says now. It answers ErrNoAccount when
// they changed or are lost, or when it is another person; the session has ended then.
func (a *Accounts) Renew(ctx context.Context, s Session, id Identity) error {
	known, err := a.db.AccountByIdentity(ctx, id.Issuer, id.Subject)
	if errors.Is(err, store.ErrNotFound) || err == nil && (known.ID != s.AccountID || id.Issuer != s.Provider) {
		return ErrNoAccount
	}
	if err != nil {
		return fmt.Errorf("find account of identity: %w", err)
	}
	account, err := a.byIdentity(ctx, id, func(ctx context.Context, tx *store.Tx, id string) (store.Account, error) { return tx.Account(ctx, id) })
	if err != nil {
		return err
	}
	if account.SessionEpoch != s.Epoch {
		return ErrNoAccount
	}
	s.CheckedAt, s.IDToken, s.ProviderSession = store.At(a.now()), a.sealToken(id.Token), id.Session
	if !id.ProvedAt.IsZero() && id.ProvedAt.After(s.ProvedAt.Time) {
		s.ProvedAt = store.At(earliest(id.ProvedAt, a.now()))
	}
	return registry.Wrap("renew session", a.db.Write(ctx, func(tx *store.Tx) error { return tx.UpdateLoginSession(ctx, &s.LoginSession) }))
}

func (a *Accounts) byIdentity(ctx context.Context, id Identity, then func(context.Context, *store.Tx, string) (store.Account, error)) (store.Account, error) {
	var account store.Account
	lost := false
	err := a.db.Write(ctx, func(tx *store.Tx) error {
		role, partnerID, err := roleOf(ctx, tx, id)
		if err != nil {
			return err
		}
		found, err := tx.AccountByIdentity(ctx, id.Issuer, id.Subject)
		if errors.Is(err, store.ErrNotFound) {
			if role == "" {
				return ErrNoAccount
			}
			found, err = a.addIdentity(ctx, tx, id, role, partnerID)
		}
		if err != nil {
			return err
		}
		if lost = role == ""; lost {
			return a.roleLost(ctx, tx, id, found)
		}
		if !sameSide(found, role, partnerID) {
			if err := a.roleChanged(ctx, tx, id, &found, role, partnerID); err != nil {
				return err
			}
		}
		account, err = then(ctx, tx, found.ID)
		return err
	})
	if err == nil && lost {
		return store.Account{}, ErrNoAccount
	}
	return account, err
}

// sameSide reports whether an account is of the organisation, or of the partner, that a provider says. Which of the roles there it
// has is for colleagues to decide: who comes with the widest may have been given a narrower one.
func sameSide(account store.Account, role, partnerID string) bool {
	return account.PartnerID == partnerID && registry.OfOrganisation(account) == (role == store.RoleAdministrator)
}

// roleOf returns the role and partner that the claims give now; no role for none. An administrator is no user of a partner.
func roleOf(ctx context.Context, tx *store.Tx, id Identity) (role, partnerID string, err error) {
	if id.Administrator {
		return store.RoleAdministrator, "", nil
	}
	for _, value := range id.Partner.Values {
		partner, err := id.Partner.find(ctx, tx, value)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return "", "", fmt.Errorf("find partner of identity: %w", err)
		}
		if only := id.Partner.Only; !partner.Own && (len(only) == 0 || slices.Contains(only, value) || slices.Contains(only, partner.ID)) {
			return store.RoleManager, partner.ID, nil
		}
	}
	return "", "", nil
}

// find finds a partner that goes on. Numbers may have the prefix of their scheme in ISO 6523, as 0192:999999999.
func (c PartnerClaim) find(ctx context.Context, tx *store.Tx, value string) (store.Partner, error) {
	number := strings.TrimSpace(value)
	if i := strings.LastIndex(number, ":"); i >= 0 {
		number = number[i+1:]
	}
	var partner store.Partner
	var err error
	switch c.By {
	case "oin":
		partner, err = tx.PartnerByOIN(ctx, number)
	case "kvk":
		if partner, err = tx.PartnerByKVK(ctx, number, ""); errors.Is(err, store.ErrNotFound) && len(number) == 8 {
			partner, err = tx.PartnerByOIN(ctx, "00000003"+number+"0000")
		}
	case "brin":
		partner, err = tx.PartnerByBRIN(ctx, strings.ToUpper(number))
	case "org-number":
		partner, err = tx.PartnerByOrgNumber(ctx, number)
	default:
		partner, err = tx.Partner(ctx, value)
	}
	if err == nil && partner.Status != store.PartnerApproved && partner.Status != store.PartnerSuspended {
		return partner, store.ErrNotFound
	}
	return partner, err
}

func (a *Accounts) addIdentity(ctx context.Context, tx *store.Tx, id Identity, role, partnerID string) (store.Account, error) {
	in := NewAccount{Email: id.Email, Name: cmp.Or(id.Name, id.Email), Role: role, PartnerID: partnerID}
	account, problems := in.check()
	if len(problems) > 0 {
		return store.Account{}, registry.Invalid(problems)
	}
	there, err := tx.AccountByEmail(ctx, account.Email)
	switch {
	case err == nil && id.EmailVerified && sameSide(there, role, partnerID) && !a.Local(there):
		account = there
		err = takeOver(ctx, tx, &account)
		if err == nil {
			err = registry.Record(ctx, tx, registry.AccountActor(account), registry.ActionTakenOver, accountObject(account), registry.Details{"provider": id.Issuer})
		}
		if err == nil && a.cfg.Vault != nil {
			err = a.mailTakenOver(ctx, tx, id, there, account)
		}
	case err == nil || errors.Is(err, store.ErrNotFound):
		account.Status = store.AccountActive
		if err = a.mailProviderRole(ctx, tx, id, store.Account{}, account); err == nil { // before it is one of those who are told
			err = insertAccount(ctx, tx, &account)
		}
		if err == nil {
			details := registry.Details{"role": account.Role, "provider": id.Issuer}
			err = registry.Record(ctx, tx, registry.AccountActor(account), registry.ActionAccountMade, accountObject(account), details)
		}
	}
	if err != nil {
		return store.Account{}, err
	}
	if err := tx.InsertIdentity(ctx, account.ID, id.Issuer, id.Subject); err != nil {
		return store.Account{}, fmt.Errorf("add identity: %w", err)
	}
	return account, nil
}

// takeOver ends what an account had to log in with here: from now on it logs in at a provider. A blocked one stays blocked.
func takeOver(ctx context.Context, tx *store.Tx, account *store.Account) error {
	if account.Status == store.AccountInvited {
		account.Status = store.AccountActive
	}
	account.PasswordHash, account.ShortPassword = "", false
	account.SessionEpoch++
	return registry.Wrap("take account over", cmp.Or(tx.DeleteLoginSessions(ctx, account.ID), tx.DeleteLoginDevices(ctx, account.ID), tx.UpdateAccount(ctx, account)))
}

// tokenPurpose binds a sealed ID token.
const tokenPurpose = "id-token"

func (a *Accounts) sealToken(token string) string {
	if a.cfg.Vault == nil || token == "" {
		return ""
	}
	return a.cfg.Vault.Seal(tokenPurpose, []byte(token))
}

// IDToken returns what the provider of a session sent last; empty when it is not kept.
func (a *Accounts) IDToken(s Session) string {
	if a.cfg.Vault == nil || s.LoginSession.IDToken == "" {
		return ""
	}
	token, err := a.cfg.Vault.Open(tokenPurpose, s.LoginSession.IDToken)
	if err != nil {
		return "" // sealed with a key of before: it logs out without it
	}
	return string(token)
}

// ProviderLogout is a request of an OpenID provider to end sessions: those of one of its own sessions, or all of a person there.
type ProviderLogout struct {
	Issuer, Subject, Session string
	// ID names the request; each is taken once until Expires.
	ID      string
	Expires time.Time
}

// ErrLogoutRepeated reports a request to end sessions that was taken before.
var ErrLogoutRepeated = errors.New("logout token was used before")

// EndProviderSessions ends what a provider asks to end.
func (a *Accounts) EndProviderSessions(ctx context.Context, out ProviderLogout) error {
	return a.db.Write(ctx, func(tx *store.Tx) error {
		once, err := tx.UseOnce(ctx, "logout "+out.Issuer+" "+out.ID, out.Expires)
		if err != nil {
			return fmt.Errorf("note logout token: %w", err)
		}
		if !once {
			return ErrLogoutRepeated
		}
		sessions, err := sessionsAt(ctx, tx, out, store.At(tx.Now.Add(-store.MaxSession)))
		if err != nil {
			return err
		}
		for _, s := range sessions {
			account, err := tx.Account(ctx, s.AccountID)
			if err == nil {
				err = tx.DeleteLoginSession(ctx, s.AccountID, s.ID)
			}
			if err != nil {
				return fmt.Errorf("end session: %w", err)
			}
			if err := registry.Record(ctx, tx, registry.AccountActor(account), registry.ActionProviderLogout, accountObject(account), registry.Details{}); err != nil {
				return err
			}
		}
		return nil
	})
}

func sessionsAt(ctx context.Context, tx *store.Tx, out ProviderLogout, since store.Time) ([]store.LoginSession, error) {
	if out.Session != "" {
		sessions, err := tx.ProviderSessions(ctx, out.Issuer, out.Session, maxListed)
		if err != nil || len(sessions) > 0 || out.Subject == "" {
			return sessions, registry.Wrap("list sessions of a provider", err)
		}
	}
	account, err := tx.AccountByIdentity(ctx, out.Issuer, out.Subject)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find account of identity: %w", err)
	}
	sessions, err := tx.LoginSessions(ctx, account.ID, since, maxListed)
	// A session whose ID token named none may be the one that the provider names now.
	other := func(s store.LoginSession) bool {
		return s.Provider != out.Issuer || out.Session != "" && s.ProviderSession != ""
	}
	return slices.DeleteFunc(sessions, other), registry.Wrap("list sessions", err)
}
