package registry

import (
	"context"
	"fmt"
	"strings"

	"schakel/store"
)

// message is what a mail says.
type message struct{ subject, body string }

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

// letter makes a mail of paragraphs, with the link it leads to.
func (c Config) letter(subject, path string, paragraphs ...string) message {
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
	return message{subject: oneLine(subject), body: strings.Join(kept, "\n\n") + "\n"}
}

// oneLine keeps what people typed from adding header lines.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// deskOf is below which address the people of a partner find what is theirs. Those of the own organisation are administrators, who
// may not open the pages of partners.
func deskOf(p store.Partner) string {
	if p.Own {
		return "/admin/own"
	}
	return "/partner"
}

// areaOf is below which address the people of a partner find its deliveries and its datasets.
func areaOf(p store.Partner) string {
	if p.Own {
		return "/admin"
	}
	return "/partner"
}

func because(reason string) string {
	if reason = strings.TrimSpace(reason); reason == "" {
		return ""
	}
	return "The reason: " + reason
}

func bullets(lists ...[]string) string {
	var lines []string
	for _, list := range lists {
		for _, item := range list {
			lines = append(lines, "- "+item)
		}
	}
	return strings.Join(lines, "\n")
}
