package registry

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"schakel/store"
	"schakel/templates/i18n"
)

// What is too many for one recipient arrives in a bundle at most bundleWait later, which names up to bundleLines of them.
const (
	bundleWait  = 10 * time.Minute
	bundleLines = 100
)

// Of returns the message with the partner that causes it: it is counted with those of that partner alone.
func (m Message) Of(partnerID string) Message {
	m.cause = partnerID
	return m
}

// mailOrBundle queues an ordinary message at once, or names it in the bundle of what is too many.
func (c Config) mailOrBundle(ctx context.Context, tx *store.Tx, to string, locale *i18n.Locale, msg Message) error {
	r := ordinaryMail
	r.name += "-" + msg.subject.Key() + "-" + msg.cause
	t, err := tx.LockThrottle(ctx, r.bucket(to))
	if err != nil {
		return fmt.Errorf("read rate of mails: %w", err)
	}
	even, due := r.turn(t, tx.Now.Time)
	if due.After(tx.Now.Time) {
		return Wrap("bundle mail", c.bundle(ctx, tx, to, locale, msg))
	}
	t.Failures, t.BlockedUntil = 1, store.At(even.Add(r.every))
	if err := tx.SaveThrottle(ctx, t); err != nil {
		return fmt.Errorf("write rate of mails: %w", err)
	}
	mail := c.newMail(to, locale.Text(msg.subject), c.body(locale, msg))
	return Wrap("queue mail", tx.InsertMail(ctx, &mail))
}

// bundle names a message in the bundle that waits, or in a new one.
func (c Config) bundle(ctx context.Context, tx *store.Tx, to string, locale *i18n.Locale, msg Message) error {
	// Messages of several sorts share a bundle: the lock keeps the transactions of others from writing over the line of this one.
	lock, err := tx.LockThrottle(ctx, mailRate{name: "mail-bundle-" + msg.cause}.bucket(to))
	if err != nil {
		return err
	}
	subject, err := bundleSubject(ctx, tx, msg.cause)
	if err != nil {
		return err
	}
	line := "- " + OneLine(locale.Text(msg.subject))
	if msg.link != "" {
		line += "\n  " + msg.link
	}
	waiting, err := tx.WaitingMail(ctx, to, OneLine(locale.Text(subject)))
	if err == nil {
		err = c.addLine(ctx, tx, waiting, line)
	}
	if errors.Is(err, store.ErrNotFound) { // there is none, or it is being sent
		letter := c.Letter(subject, "", i18n.M("mail.more.text", bundleLines), i18n.Raw(line))
		mail := c.newMail(to, locale.Text(subject), c.body(locale, letter))
		mail.DueAt = store.At(tx.Now.Add(bundleWait))
		err = tx.InsertMail(ctx, &mail)
	}
	return errors.Join(err, tx.SaveThrottle(ctx, lock))
}

func bundleSubject(ctx context.Context, tx *store.Tx, partnerID string) (i18n.Message, error) {
	if partnerID == "" {
		return "mail.more.subject", nil
	}
	p, err := tx.Partner(ctx, partnerID)
	if errors.Is(err, store.ErrNotFound) {
		return "mail.more.subject", nil
	}
	return i18n.M("mail.more.subject-of", p.Name), err
}

// addLine adds a line to the list of a bundle, which is its paragraph but one.
func (c Config) addLine(ctx context.Context, tx *store.Tx, waiting store.Mail, line string) error {
	mail, err := c.OpenMail(waiting)
	if err != nil {
		return err
	}
	end := strings.LastIndex(mail.Body, "\n\n")
	if end < 0 || strings.Contains(mail.Body, line+"\n") || strings.Count(mail.Body, "\n- ") >= bundleLines {
		return nil
	}
	return tx.RewriteMail(ctx, mail.ID, c.Vault.Seal(mailPurpose, []byte(mail.Body[:end]+"\n"+line+mail.Body[end:])))
}
