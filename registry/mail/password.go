package mail

import (
	"context"
	"errors"
	"fmt"
	"time"

	"schakel/registry"
	"schakel/store"
)

// PasswordLinks makes the link with which the owner of an account chooses a password.
type PasswordLinks interface {
	PasswordLink(ctx context.Context, email string) (purpose registry.LinkPurpose, token string, err error)
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
		return m.cfg.Mail(ctx, tx, registry.CleanEmail(email), m.cfg.MailPassword(purpose, token))
	})
}

// RequestPassword mails a link with which the owner of an account chooses a new password, asked for by somebody who is
// not logged in, from an address. It answers nil for an unknown account too. Neither an account nor an address can be used
// to send many mails: after a few of them it is a ThrottledError for the address, and silence for the account.
func (m *Mails) RequestPassword(ctx context.Context, accounts PasswordLinks, email, addr string) error {
	email = registry.CleanEmail(email)
	if !registry.ValidEmail(email) {
		return registry.Invalid(map[string]string{"email": "Fill in an e-mail address, such as name@example.nl."})
	}
	var leftAddress, leftAccount time.Duration
	err := m.cfg.DB.Write(ctx, func(tx *store.Tx) (err error) {
		rule := registry.Throttle{Free: 3, Longest: time.Hour}
		if leftAddress, err = registry.CountTry(ctx, tx, "password-"+registry.AddressBucket(addr), registry.Throttle{Free: 10, Longest: time.Hour}); err != nil || leftAddress > 0 {
			return err
		}
		leftAccount, err = registry.CountTry(ctx, tx, "password-"+registry.AccountBucket(email), rule)
		return err
	})
	switch {
	case err != nil:
		return fmt.Errorf("count request for a password: %w", err)
	case leftAddress > 0:
		return &registry.ThrottledError{After: leftAddress}
	case leftAccount > 0:
		return nil
	}
	return m.PasswordLink(ctx, accounts, email)
}
