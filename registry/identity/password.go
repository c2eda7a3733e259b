package identity

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/alexedwards/argon2id"
	"schakel/store"
	"schakel/templates/i18n"
)

// Bounds of a password, in characters, as NIST SP 800-63B has them for a password that stands alone and for one beside a second
// factor. There is no rule on kinds of characters.
const (
	MinPasswordLength = 15
	MinBesideFactor   = 8
	MaxPasswordLength = 128
	// product is a word that guessers try, beside the names of the organisation, the partner and the owner.
	product = "Schakel"
	// minDistinct refuses the likes of "aaaaaaaaaaaaaaa".
	minDistinct = 5
)

// CheckPassword returns the problem, as a sentence, of a new password of at least some characters; empty when it will do. About holds
// what others know of its owner: e-mail address, name, organisation.
func CheckPassword(password string, least int, about ...string) i18n.Message {
	switch n := utf8.RuneCountInString(password); {
	case !utf8.ValidString(password):
		return "identity.password-no-text"
	case n < least:
		return i18n.M("identity.password-short", least)
	case n > MaxPasswordLength:
		return i18n.M("identity.password-long", MaxPasswordLength)
	case distinct(password) < minDistinct:
		return "identity.password-distinct"
	}
	own := strings.ToLower(password)
	for _, known := range about {
		known = strings.ToLower(strings.TrimSpace(known))
		if strings.Contains(known, "@") && strings.Contains(own, known) {
			return "identity.password-email"
		}
		for _, word := range strings.FieldsFunc(known, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
			if utf8.RuneCountInString(word) > 2 {
				own = strings.ReplaceAll(own, word, "")
			}
		}
	}
	left := 0
	for _, r := range own {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			left++
		}
	}
	switch {
	case left < (least+1)/2: // without the names that a guesser knows
		return "identity.password-derived"
	case common(password):
		return "identity.password-common"
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

// newHashOf is NewHash for the owner of an account.
func (a *Accounts) newHashOf(ctx context.Context, password string, account store.Account) (string, error) {
	about := []string{account.Email, account.Name}
	if account.PartnerID != "" {
		partner, err := a.db.Partner(ctx, account.PartnerID)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return "", fmt.Errorf("find partner of account: %w", err)
		}
		about = append(about, partner.Name)
	}
	return a.newHash(ctx, password, "password", leastFor(account), about...)
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
