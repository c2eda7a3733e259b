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
// Their texts hold one-time links: nothing shows them but Read.
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

// Sends reports whether there is a mail server.
func (m *Mails) Sends() bool { return m.cfg.MailServer }

// Unsent reports whether nobody got a mail, so that an administrator may read its text: it could not be sent, or there is no mail
// server to send it.
func (m *Mails) Unsent(mail store.Mail) bool {
	return mail.Status == store.MailFailed || mail.Status == store.MailPending && (mail.Error != "" || !m.cfg.MailServer)
}

// Read gives the text of an unsent mail to an administrator, who hands it over in another way. It may hold a one-time link, so it
// stands in the audit trail who read it.
func (m *Mails) Read(ctx context.Context, actor Actor, id string) (store.Mail, error) {
	if err := actor.requireAdministrator(); err != nil {
		return store.Mail{}, err
	}
	var mail store.Mail
	err := m.cfg.DB.Write(ctx, func(tx *store.Tx) (err error) {
		if mail, err = tx.Mail(ctx, id); err != nil {
			return found("mail", err)
		}
		if !m.Unsent(mail) {
			return conflict("This mail was sent, or is about to be. Only its recipient reads it.")
		}
		return record(ctx, tx, actor, ActionMailRead, object{"mail", mail.ID, mail.Subject, ""}, details{"recipient": mail.Recipient})
	})
	return mail, err
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
	people, err := administrators(ctx, tx)
	for _, to := range people {
		if err := c.mail(ctx, tx, to, msg); err != nil {
			return err
		}
	}
	return err
}

// administrators lists the addresses of everyone who can decide.
func administrators(ctx context.Context, tx *store.Tx) ([]string, error) {
	accounts, err := tx.Accounts(ctx, "")
	if err != nil {
		return nil, fmt.Errorf("list administrators: %w", err)
	}
	var people []string
	for _, a := range accounts {
		if a.Role == store.RoleAdministrator && a.Status == store.AccountActive {
			people = append(people, a.Email)
		}
	}
	return people, nil
}
