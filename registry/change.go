package registry

import (
	"context"
	"slices"

	"schakel/store"
	"schakel/templates/i18n"
)

// Change is a part of something that changed where data goes, which keys count, or who may log in. It holds no secret.
type Change struct {
	What, From, To i18n.Message
	// Replaced is of a secret or key, whose values are not told.
	Replaced bool
}

// ChangeOf is a change of a text.
func ChangeOf(what i18n.Message, from, to string) Change {
	return Change{What: what, From: orNone(from), To: orNone(to)}
}

// Line tells a change: what was and is, or that a secret was replaced.
func (c Change) Line() i18n.Message {
	if c.Replaced {
		return i18n.M("mail.change.replaced", c.What)
	}
	return i18n.M("mail.change.line", c.What, c.From, c.To)
}

func orNone(text string) i18n.Message {
	if text == "" {
		return "mail.change.none"
	}
	return i18n.Raw(text)
}

// MailChange tells the managers of a partner and the administrators what an actor changed, so that a change by somebody else does not go
// unseen. Pages leads each of them to the thing. Nothing is sent when nothing changed.
func (c Config) MailChange(ctx context.Context, tx *store.Tx, actor Actor, partnerID string, subject i18n.Message, pages ChangePages, changes []Change) error {
	if len(changes) == 0 {
		return nil
	}
	var lines []i18n.Message
	for _, change := range changes {
		lines = append(lines, change.Line())
	}
	letter := func(path string, advice i18n.Message) Message {
		return c.Letter(subject, path, i18n.M("mail.change.by", actor.Label())).Lines(lines...).Lines(advice).Of(partnerID)
	}
	const unexpected = "mail.change.advice"
	reader, advice := ChangeSettings, i18n.Message(unexpected)
	if pages.Decision != "" {
		reader, advice = DecideApprovals, pages.Decision
	}
	if err := c.MailAllowed(ctx, tx, reader, letter(pages.Administrator, advice)); err != nil || partnerID == "" {
		return err
	}
	return c.MailManagers(ctx, tx, partnerID, letter(pages.Partner, unexpected))
}

// MailManagers queues a message to the people of a partner who may change who its people are.
func (c Config) MailManagers(ctx context.Context, tx *store.Tx, partnerID string, msg Message) error {
	people, err := tx.Accounts(ctx, partnerID)
	for _, a := range people {
		if a.Status == store.AccountActive && Allows(a.Role, ChangePeople) && err == nil {
			err = c.Mail(ctx, tx, a.Email, msg)
		}
	}
	return Wrap("mail the people of a partner", err)
}

// ChangePages are the pages of what changed, by who reads them.
type ChangePages struct {
	Administrator, Partner string
	// Decision asks who may approve the change to do so; empty when it waits for no approval.
	Decision i18n.Message
}

// Differences keeps the changes that change something.
func Differences(all ...Change) []Change {
	return slices.DeleteFunc(all, func(c Change) bool { return !c.Replaced && c.From == c.To })
}
