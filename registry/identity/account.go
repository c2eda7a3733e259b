package identity

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"schakel/registry"
	"schakel/registry/identity/passkey"
	"schakel/store"
	"schakel/templates/i18n"
)

// Accounts are the people who can log in to the portal: how they come to be, log in, and change their password. A change of what
// an account can do ends its sessions by raising its session epoch.
type Accounts struct {
	db     *store.DB
	now    func() time.Time
	hasher *passwordHasher
	// cfg and profile are of Configure; without it cfg has no vault.
	cfg     registry.Config
	profile registry.ProfileSource
	site    passkey.Site
	// onBreakGlass is told of logins to the break-glass account; nil for nobody.
	onBreakGlass func(ctx context.Context, account store.Account)
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
	Role        string // one of registry.RolesOf(PartnerID)
	PartnerID   string // empty for the roles of the organisation
}

// Account finds an account by id.
func (a *Accounts) Account(ctx context.Context, id string) (store.Account, error) {
	return a.db.Account(ctx, id)
}

// SetupLink makes the link with which the first administrator is created. The
// token is empty when there is an administrator who can log in, and where nobody logs in with a password.
func (a *Accounts) SetupLink(ctx context.Context) (token string, err error) {
	if !a.LocalLogins() && a.cfg.BreakGlass == "" {
		return "", nil // nobody could log in with the password that it asks for
	}
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
	if problems["email"] == "" && !a.Local(account) {
		problems["email"] = i18n.M("identity.setup-break-glass", a.cfg.BreakGlass)
	}
	if text := CheckPassword(password, MinPasswordLength, account.Email, account.Name, a.cfg.Organisation, product); text != "" {
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

// InviteAccount makes an account that cannot log in yet, and the token of the link (LinkInvitation) with which its owner chooses a password,
// in a transaction that records it.
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

// ChoosePassword uses an invitation or reset link up, sets the password and ends the sessions of the account. What is wrong with
// it is an *Error with the field password. A link that was made before the account got an OpenID provider is dead.
func (a *Accounts) ChoosePassword(ctx context.Context, purpose registry.LinkPurpose, token, password string) (store.Account, error) {
	account, err := a.LinkAccount(ctx, purpose, token)
	if err != nil {
		return store.Account{}, err
	}
	if provided, err := a.db.HasIdentity(ctx, account.ID); err != nil || provided || !a.Local(account) {
		return store.Account{}, cmp.Or(err, registry.ErrLinkDead)
	}
	hash, err := a.newHashOf(ctx, password, account)
	if err != nil {
		return store.Account{}, err
	}
	err = a.db.Write(ctx, func(tx *store.Tx) error {
		id, err := registry.UseLink(ctx, tx, purpose, token)
		if err != nil {
			return err
		}
		account, err = a.replacePassword(ctx, tx, id, password, hash)
		return err
	})
	return account, err
}

// ChangePassword replaces a password by someone who knows the old one and is logged in from addr, in a browser that keeps device; all sessions end. What is wrong
// is an *Error with fields current and password, or a *ThrottledError.
func (a *Accounts) ChangePassword(ctx context.Context, id, current, password, addr, device string) (store.Account, error) {
	account, err := a.db.Account(ctx, id)
	if err != nil {
		return store.Account{}, fmt.Errorf("find account: %w", err)
	}
	counted, err := a.admitTry(ctx, Login{Email: account.Email, Addr: addr, Device: device}, account.ID)
	if err != nil {
		return store.Account{}, err
	}
	ok, err := a.hasher.matches(ctx, current, account.PasswordHash)
	if err != nil {
		return store.Account{}, err
	}
	if !ok {
		if err := a.failedOf(ctx, account, counted); err != nil {
			return store.Account{}, err
		}
		return store.Account{}, registry.Invalid(map[string]i18n.Message{"current": "identity.current-password-wrong"})
	}
	// The old one was right, whatever comes of the new one.
	if err := a.db.Write(ctx, func(tx *store.Tx) error { return forgive(ctx, tx, counted) }); err != nil {
		return store.Account{}, err
	}
	hash, err := a.newHashOf(ctx, password, account)
	if err != nil {
		return store.Account{}, err
	}
	err = a.db.Write(ctx, func(tx *store.Tx) error {
		account, err = a.replacePassword(ctx, tx, id, password, hash)
		return err
	})
	return account, err
}

// NewHash makes the hash of a new password for somebody about whom others know this: see [CheckPassword]. It answers an *Error with
// field when the password will not do.
func (a *Accounts) NewHash(ctx context.Context, password, field string, about ...string) (string, error) {
	return a.newHash(ctx, password, field, MinPasswordLength, about...)
}

func (a *Accounts) newHash(ctx context.Context, password, field string, least int, about ...string) (string, error) {
	if text := CheckPassword(password, least, append(about, a.cfg.Organisation, product)...); text != "" {
		return "", registry.Invalid(map[string]i18n.Message{field: text})
	}
	return a.hasher.hash(ctx, password)
}

// replacePassword is SetPassword for somebody who may have a second factor, and then a shorter password.
func (a *Accounts) replacePassword(ctx context.Context, tx *store.Tx, id, password, hash string) (store.Account, error) {
	account, err := a.SetPassword(ctx, tx, id, hash)
	if err != nil || utf8.RuneCountInString(password) >= MinPasswordLength {
		return account, err
	}
	account.ShortPassword = true
	return account, registry.Wrap("note short password", tx.UpdateAccount(ctx, &account))
}

// leastFor is the least length of a password of an account.
func leastFor(account store.Account) int {
	if account.Factors > 0 {
		return MinBesideFactor
	}
	return MinPasswordLength
}

// SetPassword sets the password of an account, ends its sessions and open links, and lets one that was invited log in.
func (a *Accounts) SetPassword(ctx context.Context, tx *store.Tx, id, hash string) (store.Account, error) {
	account, err := tx.Account(ctx, id)
	if err != nil {
		return account, fmt.Errorf("find account: %w", err)
	}
	if account.Status == store.AccountInvited {
		account.Status = store.AccountActive
	}
	replaced := account.PasswordHash != ""
	account.PasswordHash, account.ShortPassword = hash, false
	account.SessionEpoch++
	if err := tx.UpdateAccount(ctx, &account); err != nil {
		return account, fmt.Errorf("set password: %w", err)
	}
	if err := registry.EndPasswordLinks(ctx, tx, id); err != nil {
		return account, err
	}
	if err := tx.DeleteLoginDevices(ctx, id); err != nil { // one of them may be a thief's
		return account, fmt.Errorf("forget browsers: %w", err)
	}
	if err := tx.DeleteLoginSessions(ctx, id); err != nil {
		return account, fmt.Errorf("end sessions: %w", err)
	}
	if replaced {
		if err := a.tell(ctx, tx, account, a.cfg.Letter("mail.password-replaced.subject", "/login/password",
			i18n.M("mail.password-replaced.text", account.Name, a.cfg.Organisation), "mail.password-replaced.advice")); err != nil {
			return account, err
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
		Email: registry.CleanEmail(in.Email), Name: registry.CleanName(in.Name), Role: in.Role, PartnerID: in.PartnerID,
	}
	problems := map[string]i18n.Message{}
	if !registry.ValidEmail(account.Email) {
		problems["email"] = "identity.email-wrong"
	}
	if n := utf8.RuneCountInString(account.Name); n == 0 || n > 200 {
		problems["name"] = "identity.name-wrong"
	} else if text := registry.CheckName(account.Name, 1, 200); text != "" {
		problems["name"] = text
	}
	if !slices.Contains(registry.RolesOf(in.PartnerID), in.Role) {
		problems["role"] = "identity.role-wrong"
	}
	return account, problems
}

const setupSubject = "administrator"
