package identity

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
)

// Accounts are the people who can log in to the portal: how they come to be, log in, and change their password. A change of what
// an account can do ends its sessions by raising its session epoch.
type Accounts struct {
	db     *store.DB
	now    func() time.Time
	hasher *passwordHasher
	// passwordSet mails the owner of an account that its password was replaced; nil mails nothing.
	passwordSet func(ctx context.Context, tx *store.Tx, account store.Account) error
}

// OnPasswordReplaced has a function called in the transaction that replaces a password. Call it before the accounts are used.
func (a *Accounts) OnPasswordReplaced(do func(ctx context.Context, tx *store.Tx, account store.Account) error) {
	a.passwordSet = do
}

// AccountOption changes how [NewAccounts] makes the service.
type AccountOption func(*passwordCost)

// WithWeakPasswords makes what is kept of a password as cheap to compute as it can be: for tests, where the passwords are
// known to all, and nowhere else.
func WithWeakPasswords() AccountOption {
	return func(c *passwordCost) { *c = passwordCost{kibibytes: 8, passes: 1} }
}

// NewAccounts makes the service.
func NewAccounts(db *store.DB, now func() time.Time, options ...AccountOption) (*Accounts, error) {
	cost := fullCost
	for _, option := range options {
		option(&cost)
	}
	hasher, err := newPasswordHasher(cost)
	if err != nil {
		return nil, err
	}
	return &Accounts{db: db, now: now, hasher: hasher}, nil
}

// NewAccount holds the input for an account.
type NewAccount struct {
	Email, Name string
	Role        string // store.RoleAdministrator or store.RolePartner
	PartnerID   string // of store.RolePartner
}

// Account finds an account by id.
func (a *Accounts) Account(ctx context.Context, id string) (store.Account, error) {
	return a.db.Account(ctx, id)
}

// SetupLink makes the link with which the first administrator is created. The
// token is empty when there is an administrator who can log in.
func (a *Accounts) SetupLink(ctx context.Context) (token string, err error) {
	err = a.db.Write(ctx, func(tx *store.Tx) error {
		there, err := hasAdministrator(ctx, &tx.Queries)
		if err != nil || there {
			return err
		}
		token, err = registry.NewLink(ctx, tx, registry.LinkSetup, setupSubject)
		return err
	})
	return token, registry.Wrap("make setup link", err)
}

func hasAdministrator(ctx context.Context, q *store.Queries) (bool, error) {
	all, err := q.Accounts(ctx, "")
	return slices.ContainsFunc(all, func(a store.Account) bool {
		return a.Role == store.RoleAdministrator && a.Status == store.AccountActive
	}), registry.Wrap("list administrators", err)
}

// CheckSetupLink answers ErrLinkDead when the setup link does not work (any more).
func (a *Accounts) CheckSetupLink(ctx context.Context, token string) error {
	_, err := registry.LinkSubject(ctx, a.db, registry.LinkSetup, token, a.now())
	return err
}

// CreateAdministrator uses the setup link up and makes the first administrator, who can log in at once. What is wrong with the
// input is an *Error with fields name, email and password.
func (a *Accounts) CreateAdministrator(ctx context.Context, token, name, email, password string) (store.Account, error) {
	in := NewAccount{Email: email, Name: name, Role: store.RoleAdministrator}
	account, problems := in.check()
	if text := CheckPassword(password, account.Email, account.Name); text != "" {
		problems["password"] = text
	}
	if len(problems) > 0 {
		return store.Account{}, registry.Invalid(problems)
	}
	// Checked before the costly hash; used up only with the account it makes.
	if err := a.CheckSetupLink(ctx, token); err != nil {
		return store.Account{}, err
	}
	var err error
	if account.PasswordHash, err = a.hasher.hash(ctx, password); err != nil {
		return store.Account{}, err
	}
	account.Status = store.AccountActive
	err = a.db.Write(ctx, func(tx *store.Tx) error {
		if _, err := registry.UseLink(ctx, tx, registry.LinkSetup, token); err != nil {
			return err
		}
		return insertAccount(ctx, tx, &account)
	})
	return account, err
}

// Invite makes an account that cannot log in yet, and the token of the link
// (LinkInvitation) with which its owner chooses a password.
func (a *Accounts) Invite(ctx context.Context, in NewAccount) (account store.Account, token string, err error) {
	err = a.db.Write(ctx, func(tx *store.Tx) error {
		account, token, err = InviteAccount(ctx, tx, in)
		return err
	})
	return account, token, err
}

// InviteAccount is Invite inside a transaction that does more.
func InviteAccount(ctx context.Context, tx *store.Tx, in NewAccount) (store.Account, string, error) {
	account, problems := in.check()
	if len(problems) > 0 {
		return store.Account{}, "", registry.Invalid(problems)
	}
	account.Status = store.AccountInvited
	if err := insertAccount(ctx, tx, &account); err != nil {
		return store.Account{}, "", err
	}
	token, err := registry.NewLink(ctx, tx, registry.LinkInvitation, account.ID)
	return account, token, err
}

// PasswordLink makes a link with which the owner of an account chooses a new
// password: an invitation while the account has none yet, a reset after that. It answers store.ErrNotFound for an account that
// its owner reaches through an OpenID provider: a link would go past what the provider asks.
func (a *Accounts) PasswordLink(ctx context.Context, email string) (purpose registry.LinkPurpose, token string, err error) {
	err = a.db.Write(ctx, func(tx *store.Tx) error {
		account, err := tx.AccountByEmail(ctx, registry.CleanEmail(email))
		if err != nil {
			return fmt.Errorf("find account: %w", err)
		}
		if provided, err := tx.HasIdentity(ctx, account.ID); err != nil || provided {
			return cmp.Or(err, store.ErrNotFound)
		}
		purpose = registry.LinkReset
		if account.Status == store.AccountInvited {
			purpose = registry.LinkInvitation
		}
		if token, err = registry.NewLink(ctx, tx, purpose, account.ID); err != nil {
			return err
		}
		return registry.Record(ctx, tx, registry.Actor{Kind: registry.ActorVisitor}, registry.ActionPasswordAsked, accountObject(account), registry.Details{})
	})
	return purpose, token, err
}

// LinkAccount returns the account of an invitation or reset link, or ErrLinkDead.
func (a *Accounts) LinkAccount(ctx context.Context, purpose registry.LinkPurpose, token string) (store.Account, error) {
	id, err := registry.LinkSubject(ctx, a.db, purpose, token, a.now())
	if err != nil {
		return store.Account{}, err
	}
	return a.db.Account(ctx, id)
}

// ChoosePassword uses an invitation or reset link up, sets the password and ends the sessions of the account. What is wrong with
// it is an *Error with the field password. A link that was made before the account got an OpenID provider is dead.
func (a *Accounts) ChoosePassword(ctx context.Context, purpose registry.LinkPurpose, token, password string) (store.Account, error) {
	account, err := a.LinkAccount(ctx, purpose, token)
	if err != nil {
		return store.Account{}, err
	}
	if provided, err := a.db.HasIdentity(ctx, account.ID); err != nil || provided {
		return store.Account{}, cmp.Or(err, registry.ErrLinkDead)
	}
	hash, err := a.NewHash(ctx, password, "password", account.Email, account.Name)
	if err != nil {
		return store.Account{}, err
	}
	err = a.db.Write(ctx, func(tx *store.Tx) error {
		id, err := registry.UseLink(ctx, tx, purpose, token)
		if err != nil {
			return err
		}
		account, err = a.SetPassword(ctx, tx, id, hash)
		return err
	})
	return account, err
}

// ChangePassword replaces a password by someone who knows the old one and is logged in from addr; all sessions end. What is wrong
// is an *Error with fields current and password, or a *ThrottledError.
func (a *Accounts) ChangePassword(ctx context.Context, id, current, password, addr string) (store.Account, error) {
	account, err := a.db.Account(ctx, id)
	if err != nil {
		return store.Account{}, fmt.Errorf("find account: %w", err)
	}
	counted, err := a.admitTry(ctx, Login{Email: account.Email, Addr: addr}, "")
	if err != nil {
		return store.Account{}, err
	}
	ok, err := a.hasher.matches(ctx, current, account.PasswordHash)
	if err != nil {
		return store.Account{}, err
	}
	if !ok {
		return store.Account{}, registry.Invalid(map[string]i18n.Message{"current": "identity.current-password-wrong"})
	}
	hash, err := a.NewHash(ctx, password, "password", account.Email, account.Name)
	if err != nil {
		return store.Account{}, err
	}
	err = a.db.Write(ctx, func(tx *store.Tx) error {
		if account, err = a.SetPassword(ctx, tx, id, hash); err != nil {
			return err
		}
		return forgive(ctx, tx, counted)
	})
	return account, err
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
		if err := tx.UpdateAccount(ctx, &account); err != nil {
			return fmt.Errorf("end sessions: %w", err)
		}
		return registry.Record(ctx, tx, registry.AccountActor(account), registry.ActionSessionsEnded, accountObject(account), registry.Details{})
	})
}

// NewHash makes the hash of a new password for somebody about whom others know this: see [CheckPassword]. It answers an *Error with
// field when the password will not do.
func (a *Accounts) NewHash(ctx context.Context, password, field string, about ...string) (string, error) {
	if text := CheckPassword(password, about...); text != "" {
		return "", registry.Invalid(map[string]i18n.Message{field: text})
	}
	return a.hasher.hash(ctx, password)
}

// SetPassword sets the password of an account, ends its sessions, and lets one that was invited log in.
func (a *Accounts) SetPassword(ctx context.Context, tx *store.Tx, id, hash string) (store.Account, error) {
	account, err := tx.Account(ctx, id)
	if err != nil {
		return account, fmt.Errorf("find account: %w", err)
	}
	if account.Status == store.AccountInvited {
		account.Status = store.AccountActive
	}
	replaced := account.PasswordHash != ""
	account.PasswordHash = hash
	account.SessionEpoch++
	if err := tx.UpdateAccount(ctx, &account); err != nil {
		return account, fmt.Errorf("set password: %w", err)
	}
	if err := tx.DeleteLoginDevices(ctx, id); err != nil { // one of them may be a thief's
		return account, fmt.Errorf("forget browsers: %w", err)
	}
	if replaced && a.passwordSet != nil {
		if err := a.passwordSet(ctx, tx, account); err != nil {
			return account, fmt.Errorf("mail that the password was replaced: %w", err)
		}
	}
	err = registry.Record(ctx, tx, registry.AccountActor(account), registry.ActionPasswordSet, accountObject(account), registry.Details{})
	return account, cmp.Or(err, tx.SaveThrottle(ctx, store.Throttle{Bucket: registry.AccountBucket(account.Email)}))
}

func insertAccount(ctx context.Context, tx *store.Tx, account *store.Account) error {
	err := tx.InsertAccount(ctx, account)
	if errors.Is(err, store.ErrConflict) {
		return registry.Invalid(map[string]i18n.Message{"email": "identity.email-taken"})
	}
	return registry.Wrap("add account", err)
}

// check makes the account of valid input, and returns the problems by field.
func (in NewAccount) check() (store.Account, map[string]i18n.Message) {
	account := store.Account{
		Email: registry.CleanEmail(in.Email), Name: strings.TrimSpace(in.Name), Role: in.Role, PartnerID: in.PartnerID,
	}
	problems := map[string]i18n.Message{}
	if !registry.ValidEmail(account.Email) {
		problems["email"] = "identity.email-wrong"
	}
	if n := utf8.RuneCountInString(account.Name); n == 0 || n > 200 {
		problems["name"] = "identity.name-wrong"
	}
	switch {
	case in.Role == store.RoleAdministrator && in.PartnerID == "":
	case in.Role == store.RolePartner && in.PartnerID != "":
	default:
		problems["role"] = "identity.role-wrong"
	}
	return account, problems
}

const setupSubject = "administrator"
