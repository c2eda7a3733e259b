package registry

import (
	"context"
	"fmt"
	"strings"

	"schakel/store"
)

// Message holds the subject and the text of a mail.
type Message struct{ subject, body string }

// Mail queues a message; without a recipient there is nobody to tell.
func (c Config) Mail(ctx context.Context, tx *store.Tx, to string, msg Message) error {
	if to == "" {
		return nil
	}
	return Wrap("queue mail", tx.InsertMail(ctx, &store.Mail{Recipient: to, Subject: msg.subject, Body: msg.body}))
}

// MailAdministrators queues a message to everyone who can decide.
func (c Config) MailAdministrators(ctx context.Context, tx *store.Tx, msg Message) error {
	people, err := Administrators(ctx, tx)
	for _, to := range people {
		if err := c.Mail(ctx, tx, to, msg); err != nil {
			return err
		}
	}
	return err
}

// Administrators lists the addresses of everyone who can decide.
func Administrators(ctx context.Context, tx *store.Tx) ([]string, error) {
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

// Letter makes a mail of paragraphs, with the link it leads to.
func (c Config) Letter(subject, path string, paragraphs ...string) Message {
	var kept []string
	for _, p := range paragraphs {
		if p != "" {
			kept = append(kept, p)
		}
	}
	if path != "" {
		kept = append(kept, c.BaseURL+path)
	}
	kept = append(kept, "This message was sent by Schakel of "+c.Organisation+".")
	return Message{subject: OneLine(subject), body: strings.Join(kept, "\n\n") + "\n"}
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

// Because makes the paragraph of a mail that gives a reason; empty without one.
func Because(reason string) string {
	if reason = strings.TrimSpace(reason); reason == "" {
		return ""
	}
	return "The reason: " + reason
}

// Bullets makes the paragraph of a mail that lists things.
func Bullets(lists ...[]string) string {
	var lines []string
	for _, list := range lists {
		for _, item := range list {
			lines = append(lines, "- "+item)
		}
	}
	return strings.Join(lines, "\n")
}
