package mail

import (
	"context"
	"time"

	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
)

// AlertRaised notifies the administrators of a trouble of the installation; again says that they were told before.
func (m *Mails) AlertRaised(ctx context.Context, tx *store.Tx, text, remedy i18n.Message, href string, since time.Time, again bool) error {
	subject := i18n.M("mail.alert.raised", text)
	if again {
		subject = i18n.M("mail.alert.continues", text)
	}
	return m.alert(ctx, tx, subject, href, text, i18n.M("mail.alert.since", since), remedy)
}

// AlertEnded notifies the administrators that a trouble of the installation is over.
func (m *Mails) AlertEnded(ctx context.Context, tx *store.Tx, text i18n.Message, since, until time.Time) error {
	return m.alert(ctx, tx, i18n.M("mail.alert.ended", text), "", i18n.M("mail.alert.ended-what", since, until), text)
}

func (m *Mails) alert(ctx context.Context, tx *store.Tx, subject i18n.Message, href string, paragraphs ...i18n.Message) error {
	if href == "" {
		href = "/admin/installation"
	}
	return registry.Wrap("mail about an alert", m.cfg.MailAdministrators(ctx, tx, m.cfg.Letter(subject, href, paragraphs...)))
}
