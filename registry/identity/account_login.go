package identity

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/alexedwards/argon2id"
	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
)

// ErrLogin is the one answer to a login that does not succeed: it does not tell whether the account exists.
var ErrLogin = errors.New("e-mail address or password is wrong")

// ErrNoAccount says that nobody gave an account to this person at the OpenID provider.
var ErrNoAccount = errors.New("no account for this identity")

// Authenticate checks an e-mail address and password. It answers ErrLogin, in the same time whatever is wrong, or a
// *ThrottledError. addr is the address of the browser.
func (a *Accounts) Authenticate(ctx context.Context, email, password, addr string) (store.Account, error) {
	email = registry.CleanEmail(email)
	if err := a.admitTry(ctx, email, addr); err != nil {
		return store.Account{}, err
	}
	account, err := a.db.AccountByEmail(ctx, email)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return store.Account{}, fmt.Errorf("find account: %w", err)
	}
	ok, err := a.hasher.matches(ctx, password, account.PasswordHash)
	if err != nil {
		return store.Account{}, err
	}
	if !ok || account.Status != store.AccountActive {
		return store.Account{}, ErrLogin
	}
	err = a.db.Write(ctx, func(tx *store.Tx) error {
		if err := forgive(ctx, tx, email, addr); err != nil {
			return err
		}
		account, err = loggedIn(ctx, tx, account.ID)
		return err
	})
	return account, err
}

// Identity holds the claims of an OpenID provider about a person. Issuer and Subject
// identify the person; the e-mail address only serves a new account.
type Identity struct {
	Issuer, Subject string
	Name, Email     string
	// Administrator is set when the configuration makes this person administrator.
	Administrator bool
}

// LoginIdentity finds the account of an identity, and makes one for an identity that the configuration makes administrator. It
// answers ErrNoAccount for anyone else, and an *Error with the field email when another account has the address: that one is not
// taken over.
func (a *Accounts) LoginIdentity(ctx context.Context, id Identity) (store.Account, error) {
	var account store.Account
	err := a.db.Write(ctx, func(tx *store.Tx) error {
		found, err := tx.AccountByIdentity(ctx, id.Issuer, id.Subject)
		if errors.Is(err, store.ErrNotFound) {
			found, err = addIdentity(ctx, tx, id)
		}
		if err != nil {
			return err
		}
		account, err = loggedIn(ctx, tx, found.ID)
		return err
	})
	return account, err
}

func addIdentity(ctx context.Context, tx *store.Tx, id Identity) (store.Account, error) {
	if !id.Administrator {
		return store.Account{}, ErrNoAccount
	}
	in := NewAccount{Email: id.Email, Name: id.Name, Role: store.RoleAdministrator}
	if in.Name == "" {
		in.Name = id.Email
	}
	account, problems := in.check()
	if len(problems) > 0 {
		return store.Account{}, registry.Invalid(problems)
	}
	account.Status = store.AccountActive
	if err := insertAccount(ctx, tx, &account); err != nil {
		return store.Account{}, err
	}
	if err := tx.InsertIdentity(ctx, account.ID, id.Issuer, id.Subject); err != nil {
		return store.Account{}, fmt.Errorf("add identity: %w", err)
	}
	return account, nil
}

// NoteLogin notes that the owner of an account logged in by a one-time link: the first administrator, an invitation, a
// registration or another password. It answers ErrLogin for an account that is not active.
func (a *Accounts) NoteLogin(ctx context.Context, id string) error {
	return a.db.Write(ctx, func(tx *store.Tx) error {
		_, err := loggedIn(ctx, tx, id)
		return err
	})
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
	account.PreviousLoginAt, account.LastLoginAt = account.LastLoginAt, tx.Now
	if err := tx.UpdateAccount(ctx, &account); err != nil {
		return store.Account{}, fmt.Errorf("note login: %w", err)
	}
	return account, nil
}

// admitTry counts a try for both the account and the address, and refuses it with a ThrottledError while either has to wait.
func (a *Accounts) admitTry(ctx context.Context, email, addr string) error {
	var left time.Duration
	err := a.db.Write(ctx, func(tx *store.Tx) error {
		var err error
		if left, err = registry.CountTry(ctx, tx, registry.AddressBucket(addr), registry.AddressRule()); err != nil || left > 0 {
			return err
		}
		left, err = registry.CountTry(ctx, tx, registry.AccountBucket(email), registry.AccountRule())
		return err
	})
	if err != nil {
		return fmt.Errorf("count login: %w", err)
	}
	if left > 0 {
		return &registry.ThrottledError{After: left}
	}
	return nil
}

// forgive takes back what a successful try counted: all for the account, the one
// try for the address, where other accounts may be under attack.
func forgive(ctx context.Context, tx *store.Tx, email, addr string) error {
	if err := tx.SaveThrottle(ctx, store.Throttle{Bucket: registry.AccountBucket(email)}); err != nil {
		return fmt.Errorf("clear throttle: %w", err)
	}
	t, err := tx.LockThrottle(ctx, registry.AddressBucket(addr))
	if err != nil {
		return fmt.Errorf("read throttle: %w", err)
	}
	t.Failures = max(0, t.Failures-1)
	t.BlockedUntil = store.Time{}
	return tx.SaveThrottle(ctx, t)
}

// Bounds of a password, in characters. Only the length counts: there is no rule on kinds of characters.
const (
	MinPasswordLength = 12
	MaxPasswordLength = 128
	// minDistinct refuses the likes of "aaaaaaaaaaaa".
	minDistinct = 5
)

// CheckPassword returns the problem, as a sentence, of a new password for the
// account with this e-mail address; empty when it will do.
func CheckPassword(password, email string) i18n.Message {
	switch n := utf8.RuneCountInString(password); {
	case !utf8.ValidString(password):
		return "identity.password-no-text"
	case n < MinPasswordLength:
		return i18n.M("identity.password-short", MinPasswordLength)
	case n > MaxPasswordLength:
		return i18n.M("identity.password-long", MaxPasswordLength)
	case distinct(password) < minDistinct:
		return "identity.password-distinct"
	}
	if email = strings.TrimSpace(email); email != "" && strings.Contains(strings.ToLower(password), strings.ToLower(email)) {
		return "identity.password-email"
	}
	return ""
}

func distinct(s string) int {
	seen := map[rune]bool{}
	for _, r := range s {
		seen[r] = true
	}
	return len(seen)
}

// passwordCost is the work of making one hash.
type passwordCost struct{ kibibytes, passes uint32 }

// fullCost follows OWASP's advice for argon2id.
var fullCost = passwordCost{kibibytes: 19 * 1024, passes: 2}

// passwordHasher makes and checks argon2id hashes. A hash takes 19 MiB, so the number made at the same time is bounded: a flood
// of logins waits, and does not fill the memory.
type passwordHasher struct {
	params *argon2id.Params
	slots  chan struct{}
	dummy  string // checked when there is no such account, to take as long
}

func newPasswordHasher(cost passwordCost) (*passwordHasher, error) {
	h := &passwordHasher{
		params: &argon2id.Params{Memory: cost.kibibytes, Iterations: cost.passes, Parallelism: 1, SaltLength: 16, KeyLength: 32},
		slots:  make(chan struct{}, max(2, runtime.NumCPU())),
	}
	var err error
	if h.dummy, err = argon2id.CreateHash("no account has this password", h.params); err != nil {
		return nil, fmt.Errorf("hash password: %w", err)
	}
	return h, nil
}

// hash makes the text to store for a password.
func (h *passwordHasher) hash(ctx context.Context, password string) (string, error) {
	if err := h.enter(ctx); err != nil {
		return "", err
	}
	defer h.leave()
	hash, err := argon2id.CreateHash(password, h.params)
	if err != nil {
		return "", fmt.Errorf("hash password: %w", err)
	}
	return hash, nil
}

// matches checks a password. An empty hash (no such account, or one without a
// password) takes as long as any other, and never matches.
func (h *passwordHasher) matches(ctx context.Context, password, hash string) (bool, error) {
	none := hash == "" || utf8.RuneCountInString(password) > MaxPasswordLength
	if none {
		password, hash = "", h.dummy
	}
	if err := h.enter(ctx); err != nil {
		return false, err
	}
	defer h.leave()
	ok, err := argon2id.ComparePasswordAndHash(password, hash)
	if err != nil {
		return false, fmt.Errorf("check password: %w", err)
	}
	return ok && !none, nil
}

func (h *passwordHasher) enter(ctx context.Context) error {
	select {
	case h.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait to check password: %w", context.Cause(ctx))
	}
}

func (h *passwordHasher) leave() { <-h.slots }
