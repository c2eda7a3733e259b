package mail

import (
	"context"

	"schakel/registry"
	"schakel/store"
)

// Mails are the messages to people. They are written in the transaction of what
// they tell of; a [Mailer] sends them afterwards.
type Mails struct{ cfg registry.Config }

// NewMails makes the service.
func NewMails(cfg registry.Config) *Mails { return &Mails{cfg} }

// List lists mails for an administrator, newest first, with their total count.
// Their texts hold one-time links: nothing shows them but Read.
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
	return mail, registry.Found("mail", err)
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
			return registry.Conflict("This mail was sent, or is about to be. Only its recipient reads it.")
		}
		return registry.Record(ctx, tx, actor, registry.ActionMailRead, registry.ObjectOf("mail", mail.ID, mail.Subject, ""), registry.Details{"recipient": mail.Recipient})
	})
	return mail, err
}
