package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"schakel/store"
	"schakel/templates/i18n"
)

// Message is a mail. It is written in the language of its recipient when it is queued.
type Message struct {
	subject    i18n.Message
	paragraphs [][]i18n.Message // the lines of each
	link       string           // empty for none
	rate       mailRate         // of mails such as this to one recipient; none: what is too many is bundled
	cause      string           // the partner that caused it; empty for none
	language   i18n.Lang        // for a recipient who chose none; empty is that of the organisation
}

// Unless is the message in a language, that of the pages which its recipient read, unless the recipient chose another.
func (m Message) Unless(language i18n.Lang) Message {
	m.language = language
	return m
}

// Mail queues a message; without a recipient there is nobody to tell.
func (c Config) Mail(ctx context.Context, tx *store.Tx, to string, msg Message) error {
	if to == "" {
		return nil
	}
	if msg.language != "" {
		c.Language = msg.language
	}
	locale, err := c.LocaleOf(ctx, tx, to)
	if err != nil {
		return err
	}
	if msg.rate.every == 0 {
		return c.mailOrBundle(ctx, tx, to, locale, msg)
	}
	return c.queueMail(ctx, tx, to, locale.Text(msg.subject), c.body(locale, msg), msg.rate)
}

// QueueMail queues a mail with a text as it stands, which the database holds sealed: it may hold a one-time link.
func (c Config) QueueMail(ctx context.Context, tx *store.Tx, to, subject, text string) error {
	return c.queueMail(ctx, tx, to, subject, text, ordinaryMail)
}

func (c Config) queueMail(ctx context.Context, tx *store.Tx, to, subject, text string, rate mailRate) error {
	mail := c.newMail(to, subject, text)
	if err := rate.pace(ctx, tx, &mail); err != nil {
		return err
	}
	return Wrap("queue mail", tx.InsertMail(ctx, &mail))
}

func (c Config) newMail(to, subject, text string) store.Mail {
	return store.Mail{Recipient: to, Subject: OneLine(subject), Body: c.Vault.Seal(mailPurpose, []byte(text))}
}

// AccountReader finds who has an account.
type AccountReader interface {
	Accounts(ctx context.Context, partnerID string) ([]store.Account, error)
	AccountByEmail(ctx context.Context, email string) (store.Account, error)
}

const mailPurpose = "mail-body"

// OpenMail returns a mail with its text, which the database holds sealed; those of older versions are not.
func (c Config) OpenMail(mail store.Mail) (store.Mail, error) {
	if !strings.HasPrefix(mail.Body, "v1.") {
		return mail, nil
	}
	text, err := c.Vault.Open(mailPurpose, mail.Body)
	mail.Body = string(text)
	return mail, Wrap("open mail", err)
}

// LocaleOf is the language and time zone of the account with an address. Who chose no language has that of the last login; all else is the
// organisation's.
func (c Config) LocaleOf(ctx context.Context, accounts AccountReader, email string) (*i18n.Locale, error) {
	lang, zone := c.Language, c.TimeZone
	account, err := accounts.AccountByEmail(ctx, CleanEmail(email))
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, fmt.Errorf("find the language of a recipient: %w", err)
	}
	if chosen, ok := i18n.LangOf(cmp.Or(account.Language, account.LastLanguage)); ok {
		lang = chosen
	}
	if account.TimeZone != "" {
		if own, err := time.LoadLocation(account.TimeZone); err == nil {
			zone = own
		}
	}
	return i18n.NewLocale(lang, zone), nil
}

func (c Config) body(l *i18n.Locale, msg Message) string {
	var body []string
	for _, paragraph := range msg.paragraphs {
		lines := make([]string, len(paragraph))
		for i, line := range paragraph {
			lines[i] = l.Text(line)
		}
		body = append(body, strings.Join(lines, "\n"))
	}
	if msg.link != "" {
		body = append(body, msg.link)
	}
	body = append(body, l.T("mail.sent-by", c.Organisation))
	return strings.Join(body, "\n\n") + "\n"
}

// MailAdministrators queues a message to all administrators.
func (c Config) MailAdministrators(ctx context.Context, tx *store.Tx, msg Message) error {
	return c.MailAllowed(ctx, tx, ChangeSettings, msg)
}

// MailAllowed queues a message to everyone of the organisation who has a permission.
func (c Config) MailAllowed(ctx context.Context, tx *store.Tx, p Permission, msg Message) error {
	people, err := PeopleAllowed(ctx, tx, p)
	for _, to := range people {
		if err := c.Mail(ctx, tx, to, msg); err != nil {
			return err
		}
	}
	return err
}

// PeopleAllowed lists the addresses of everyone of the organisation who can log in and has a permission.
func PeopleAllowed(ctx context.Context, from AccountReader, p Permission) ([]string, error) {
	accounts, err := from.Accounts(ctx, "")
	if err != nil {
		return nil, fmt.Errorf("list people: %w", err)
	}
	var people []string
	for _, a := range accounts {
		if a.Status == store.AccountActive && Allows(a.Role, p) {
			people = append(people, a.Email)
		}
	}
	return people, nil
}

// Letter makes a mail of paragraphs, with the link it leads to. Empty paragraphs are left out.
func (c Config) Letter(subject i18n.Message, path string, paragraphs ...i18n.Message) Message {
	msg := Message{subject: subject}
	if path != "" {
		msg.link = c.BaseURL + path
	}
	for _, p := range paragraphs {
		msg = msg.Lines(p)
	}
	return msg
}

// Lines is the message with one more paragraph, of lines. Empty lines are left out.
func (m Message) Lines(lines ...i18n.Message) Message {
	lines = slices.DeleteFunc(slices.Clone(lines), func(line i18n.Message) bool { return line == "" })
	if len(lines) > 0 {
		m.paragraphs = append(slices.Clip(m.paragraphs), lines)
	}
	return m
}

// OneLine keeps what people typed from adding header lines.
func OneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// PartnerPath is below which address the people of a partner find what is theirs. Those of the own organisation are administrators, who
// may not open the pages of partners.
func PartnerPath(p store.Partner) string {
	if p.Own {
		return "/admin/own"
	}
	return "/partner"
}

// TrafficPath is below which address the people of a partner find its deliveries and its datasets.
func TrafficPath(p store.Partner) string {
	if p.Own {
		return "/admin"
	}
	return "/partner"
}

// Because makes the paragraph of a mail that gives a reason, of a person or a stored message; empty without one.
func Because(reason string) i18n.Message {
	if reason = strings.TrimSpace(reason); reason == "" {
		return ""
	}
	return i18n.M("mail.because", i18n.Message(reason))
}

// Bullets makes the paragraph of a mail that lists names; empty without one.
func Bullets(lists ...[]string) i18n.Message {
	var lines []string
	for _, list := range lists {
		for _, item := range list {
			lines = append(lines, "- "+item)
		}
	}
	if len(lines) == 0 {
		return ""
	}
	return i18n.Raw(strings.Join(lines, "\n"))
}

// Bullet makes a line of a mail that is an item of a list.
func Bullet(item i18n.Message) i18n.Message { return i18n.M("mail.item", item) }
