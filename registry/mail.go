package registry

import (
	"context"
	"errors"
	"fmt"

	"schakel/store"
)

// Mails are the messages to people. They are written in the transaction of what
// they tell of; a [Mailer] sends them afterwards.
type Mails struct{ cfg Config }

// message is what a mail says.
type message struct{ subject, body string }

// List lists mails for an administrator, newest first, with their total count.
// Their texts hold one-time links.
func (m *Mails) List(ctx context.Context, actor Actor, p store.Page) ([]store.Mail, int, error) {
	if err := actor.requireAdministrator(); err != nil {
		return nil, 0, err
	}
	rows, total, err := m.cfg.DB.Mails(ctx, p)
	if err != nil {
		return nil, 0, fmt.Errorf("list mails: %w", err)
	}
	return rows, total, nil
}

// Get finds one mail for an administrator.
func (m *Mails) Get(ctx context.Context, actor Actor, id string) (store.Mail, error) {
	if err := actor.requireAdministrator(); err != nil {
		return store.Mail{}, err
	}
	mail, err := m.cfg.DB.Mail(ctx, id)
	return mail, found("mail", err)
}

// PasswordLink mails a link with which the owner of an account chooses a
// password. It answers nil for an unknown address too, so that nobody learns who
// has an account.
func (m *Mails) PasswordLink(ctx context.Context, accounts *Accounts, email string) error {
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

// mail queues a message; without a recipient there is nobody to tell.
func (c Config) mail(ctx context.Context, tx *store.Tx, to string, msg message) error {
	if to == "" {
		return nil
	}
	if err := tx.InsertMail(ctx, &store.Mail{Recipient: to, Subject: msg.subject, Body: msg.body}); err != nil {
		return fmt.Errorf("queue mail: %w", err)
	}
	return nil
}

// mailAdministrators queues a message to everyone who can decide.
func (c Config) mailAdministrators(ctx context.Context, tx *store.Tx, msg message) error {
	accounts, err := tx.Accounts(ctx, "")
	if err != nil {
		return fmt.Errorf("list administrators: %w", err)
	}
	for _, a := range accounts {
		if a.Role != store.RoleAdministrator || a.Status != store.AccountActive {
			continue
		}
		if err := c.mail(ctx, tx, a.Email, msg); err != nil {
			return err
		}
	}
	return nil
}
