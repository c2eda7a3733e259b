package mail

import (
	"context"
	"errors"
	"fmt"
	"time"

	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
)

// Mails are the messages to people. They are written in the transaction of what they tell of; a [Mailer] sends them afterwards.
type Mails struct{ cfg registry.Config }

// NewMails makes the service.
func NewMails(cfg registry.Config) *Mails { return &Mails{cfg} }

// List lists mails for an administrator, newest first, with their total count. Their texts stay sealed, as they may hold one-time
// links: only Get and Read open them.
func (m *Mails) List(ctx context.Context, actor registry.Actor, p store.Page) ([]store.Mail, int, error) {
	if err := actor.RequireAdministrator(); err != nil {
		return nil, 0, err
	}
	rows, total, err := m.cfg.DB.Mails(ctx, p)
	return rows, total, registry.Wrap("list mails", err)
}

// Get finds one mail for an administrator.
func (m *Mails) Get(ctx context.Context, actor registry.Actor, id string) (store.Mail, error) {
	if err := actor.RequireAdministrator(); err != nil {
		return store.Mail{}, err
	}
	mail, err := m.cfg.DB.Mail(ctx, id)
	if err != nil {
		return mail, registry.Found("mail", err)
	}
	return m.cfg.OpenMail(mail)
}

// Sends reports whether there is a mail server.
func (m *Mails) Sends() bool { return m.cfg.MailServer }

// Unsent reports whether nobody got a mail, so that an administrator may read its text: it could not be sent, or there is no mail
// server to send it.
func (m *Mails) Unsent(mail store.Mail) bool {
	return mail.Status == store.MailFailed || mail.Status == store.MailHeld || mail.Status == store.MailPending && (mail.Error != "" || !m.cfg.MailServer)
}

// Read gives the text of an unsent mail to an administrator, who hands it over in another way. It may hold a one-time link, so it
// stands in the audit trail who read it.
func (m *Mails) Read(ctx context.Context, actor registry.Actor, id string) (store.Mail, error) {
	if err := actor.RequireAdministrator(); err != nil {
		return store.Mail{}, err
	}
	var mail store.Mail
	err := m.cfg.DB.Write(ctx, func(tx *store.Tx) (err error) {
		if mail, err = tx.Mail(ctx, id); err != nil {
			return registry.Found("mail", err)
		}
		if !m.Unsent(mail) {
			return registry.Conflict("mail.sent-already")
		}
		if mail, err = m.cfg.OpenMail(mail); err != nil {
			return err
		}
		partner, err := tx.PartnerOfAddress(ctx, mail.Recipient)
		if err != nil {
			return fmt.Errorf("find partner of mail: %w", err)
		}
		return registry.Record(ctx, tx, actor, registry.ActionMailRead, registry.ObjectOf("mail", mail.ID, mail.Subject, partner), registry.Details{"recipient": mail.Recipient})
	})
	return mail, err
}

// Release sends a mail that was held back because its recipient gets too many.
func (m *Mails) Release(ctx context.Context, actor registry.Actor, id string) error {
	if err := actor.RequireAdministrator(); err != nil {
		return err
	}
	return m.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		mail, err := registry.Locked(ctx, tx, "mail", "mail", id, tx.Mail)
		if err != nil {
			return err
		}
		if mail.Status != store.MailHeld {
			return registry.Conflict("mail.not-held")
		}
		mail.Status, mail.DueAt = store.MailPending, tx.Now
		if err := tx.UpdateMail(ctx, &mail); err != nil {
			return fmt.Errorf("release mail: %w", err)
		}
		return registry.Record(ctx, tx, actor, registry.ActionMailReleased, registry.ObjectOf("mail", mail.ID, mail.Subject, ""), registry.Details{"recipient": mail.Recipient})
	})
}

// diskMailEvery is the least time between mails to the administrators about the same folder.
const diskMailEvery = time.Hour

// DiskLow notifies the administrators that the volume of the database runs full, while there is still room: when it is full, events are
// rejected. free and size are in bytes. Another alert about the same folder within the hour gets no mail of its own.
func (m *Mails) DiskLow(ctx context.Context, dir string, free, size uint64) error {
	name := "disk.mailed." + dir
	err := m.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		before, err := tx.Setting(ctx, name)
		if err != nil {
			return err
		}
		if at, err := time.Parse(time.RFC3339, before); err == nil && tx.Now.Sub(at) < diskMailEvery && !tx.Now.Before(at) {
			return nil
		}
		if err := tx.SetSetting(ctx, name, tx.Now.Format(time.RFC3339)); err != nil {
			return err
		}
		return m.cfg.MailAdministrators(ctx, tx, m.cfg.Letter("mail.disk.subject", "/admin",
			i18n.M("mail.disk.free", int64(free>>20), int64(size>>20), dir),
			"mail.disk.what",
			"mail.disk.remedy"))
	})
	if err != nil {
		return fmt.Errorf("mail about disk space: %w", err)
	}
	return nil
}

// PasswordLinks makes the link with which the owner of an account chooses a password.
type PasswordLinks interface {
	PasswordLink(ctx context.Context, email string) (purpose registry.LinkPurpose, token string, err error)
	InvitationLink(ctx context.Context, email string) (purpose registry.LinkPurpose, token string, err error)
}

// PasswordLink mails a link with which the owner of an account chooses a password. It answers nil for an unknown address too, so
// that nobody learns who has an account.
func (m *Mails) PasswordLink(ctx context.Context, accounts PasswordLinks, email string) error {
	return m.mailLink(ctx, accounts.PasswordLink, email, nil)
}

// InvitationLink is PasswordLink for somebody else, by the actor who invites them or sends the link again.
func (m *Mails) InvitationLink(ctx context.Context, actor registry.Actor, accounts PasswordLinks, email string) error {
	return m.mailLink(ctx, accounts.InvitationLink, email, &actor)
}

func (m *Mails) mailLink(ctx context.Context, link func(ctx context.Context, email string) (registry.LinkPurpose, string, error), email string, by *registry.Actor) error {
	purpose, token, err := link(ctx, email)
	if err != nil {
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		return fmt.Errorf("make password link: %w", err)
	}
	return m.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		msg := m.cfg.MailPassword(purpose, token)
		if by != nil && purpose == registry.LinkInvitation {
			invited, err := tx.AccountByEmail(ctx, registry.CleanEmail(email))
			if err != nil {
				return fmt.Errorf("find who is invited: %w", err)
			}
			msg = m.cfg.MailInvitation(*by, invited.Role, token)
		}
		return m.cfg.Mail(ctx, tx, registry.CleanEmail(email), msg)
	})
}

// RequestPassword mails a link with which the owner of an account chooses a new password, asked for by somebody who is
// not logged in, from an address. It answers nil for an unknown account too. Neither an account nor an address can be used
// to send many mails: after a few of them it is a ThrottledError for the address, and silence for the account, whose owner has a mail with
// a link that works.
func (m *Mails) RequestPassword(ctx context.Context, accounts PasswordLinks, email, addr string) error {
	email = registry.CleanEmail(email)
	if !registry.ValidEmail(email) {
		return registry.Invalid(map[string]i18n.Message{"email": "mail.email-wrong"})
	}
	var leftAddress, leftAccount time.Duration
	err := m.cfg.DB.Write(ctx, func(tx *store.Tx) (err error) {
		if leftAddress, err = registry.CountTry(ctx, tx, "password-"+registry.AddressBucket(addr), registry.Throttle{Free: 10, Longest: time.Hour}); err != nil || leftAddress > 0 {
			return err
		}
		leftAccount, err = registry.AccessMailWait(ctx, tx, email)
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
