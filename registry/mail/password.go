package registry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"schakel/store"
)

// PasswordLinks makes the link with which the owner of an account chooses a password.
type PasswordLinks interface {
	PasswordLink(ctx context.Context, email string) (purpose LinkPurpose, token string, err error)
}

// PasswordLink mails a link with which the owner of an account chooses a
// password. It answers nil for an unknown address too, so that nobody learns who
// has an account.
func (m *Mails) PasswordLink(ctx context.Context, accounts PasswordLinks, email string) error {
	purpose, token, err := accounts.PasswordLink(ctx, email)
	if err != nil {
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		return fmt.Errorf("make password link: %w", err)
	}
	return m.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		return m.cfg.mail(ctx, tx, CleanEmail(email), m.cfg.mailPassword(purpose, token))
	})
}

// RequestPassword mails a link with which the owner of an account chooses a new password, asked for by somebody who is
// not logged in, from an address. It answers nil for an unknown account too. Neither an account nor an address can be used
// to send many mails: after a few of them it is a ThrottledError for the address, and silence for the account.
func (m *Mails) RequestPassword(ctx context.Context, accounts PasswordLinks, email, addr string) error {
	email = CleanEmail(email)
	if !ValidEmail(email) {
		return invalidFields(map[string]string{"email": "Fill in an e-mail address, such as name@example.nl."})
	}
	var leftAddress, leftAccount time.Duration
	err := m.cfg.DB.Write(ctx, func(tx *store.Tx) (err error) {
		rule := throttle{free: 3, longest: time.Hour}
		if leftAddress, err = countTry(ctx, tx, "password-"+addressBucket(addr), throttle{free: 10, longest: time.Hour}); err != nil || leftAddress > 0 {
			return err
		}
		leftAccount, err = countTry(ctx, tx, "password-"+accountBucket(email), rule)
		return err
	})
	switch {
	case err != nil:
		return fmt.Errorf("count request for a password: %w", err)
	case leftAddress > 0:
		return &ThrottledError{After: leftAddress}
	case leftAccount > 0:
		return nil
	}
	return m.PasswordLink(ctx, accounts, email)
}
