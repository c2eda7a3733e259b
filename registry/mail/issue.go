package mail

import (
	"context"
	"fmt"
	"strings"
	"time"

	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
)

// What a person may write in a mail about an issue, in bytes.
const (
	MaxIssueSubject = 200
	MaxIssueBody    = 10_000
)

// IssueMail is a mail of a person about an issue: an administrator writes to the contact person of the partner, somebody of the partner to
// the administrators.
type IssueMail struct {
	To            []string
	Subject, Body string
}

// IssueSample is the newest failed attempt of an issue as a mail may tell it: the address and the headers of the request, and the status and headers of
// the answer, without secrets. No body is in it: a mail is read by others than those who may read data, and an answer may repeat that.
type IssueSample struct {
	At                     time.Time // zero for none
	Request, Answer        string    // empty where there was none
	Failure                i18n.Message
	EventID, Type, Subject string
}

// mostSampleBytes bounds the headers of the request and of the answer in a draft, which has room for both.
const mostSampleBytes = 3_000

// paragraphs tells of the sample.
func (s IssueSample) paragraphs() []i18n.Message {
	if s.At.IsZero() || s.Request == "" {
		return []i18n.Message{"mail.issue.sample-none"}
	}
	short := func(text string) i18n.Message {
		text = strings.TrimSpace(text)
		return i18n.Raw(strings.ToValidUTF8(text[:min(len(text), mostSampleBytes)], ""))
	}
	event := i18n.M("mail.issue.sample-event", s.EventID, s.Type)
	if s.Subject != "" {
		event = i18n.M("mail.issue.sample-subject", s.EventID, s.Type, s.Subject)
	}
	texts := []i18n.Message{i18n.M("mail.issue.sample", s.At), short(s.Request), event}
	if s.Answer != "" {
		texts = append(texts, "mail.issue.sample-answer", short(s.Answer))
	} else {
		texts = append(texts, i18n.M("mail.issue.sample-no-answer", s.Failure))
	}
	return append(texts, "mail.issue.sample-data")
}

// IssueDraft writes a mail about an issue in the language of its recipient, for its author to edit. dead counts the dead letters.
func (m *Mails) IssueDraft(ctx context.Context, actor registry.Actor, i store.Issue, endpoint store.Endpoint, dead int, sample IssueSample) (IssueMail, error) {
	to, err := issueRecipients(ctx, m.cfg.DB, actor, i)
	if err != nil || len(to) == 0 {
		return IssueMail{To: to}, err
	}
	l, err := m.cfg.LocaleOf(ctx, m.cfg.DB, to[0])
	if err != nil {
		return IssueMail{}, err
	}
	link := m.cfg.BaseURL + "/partner/issues/" + i.ID
	if !actor.Administrator {
		link = m.cfg.BaseURL + "/admin/issues/" + i.ID
	}
	cause := registry.IssueCause(i.Cause)
	body := []i18n.Message{
		"mail.issue.greeting",
		i18n.M("mail.issue.what", endpoint.Name, cause, i.FirstAt.Time, i.Failures, i.LastAt.Time),
	}
	if dead > 0 {
		body = append(body, i18n.M("mail.issue.dead", deliveriesOf(dead)))
	}
	if actor.Administrator {
		body = append(body, registry.IssueAdvice(i.Cause, false))
	}
	body = append(append(body, sample.paragraphs()...), i18n.M("mail.issue.details", link), "mail.issue.closing")
	var text strings.Builder
	for _, paragraph := range body {
		text.WriteString(l.Text(paragraph) + "\n\n")
	}
	subject := l.Text(i18n.M("mail.issue.subject", endpoint.Name, cause))
	return IssueMail{To: to, Subject: subject, Body: strings.TrimSpace(text.String()) + "\n" + actor.Name}, nil
}

// WriteIssue queues a mail of a person about an issue, and notes that. Fields: subject, body. After some mails an hour a person has to wait:
// that is a ThrottledError.
func (m *Mails) WriteIssue(ctx context.Context, actor registry.Actor, i store.Issue, in IssueMail) error {
	wrong := map[string]i18n.Message{}
	if in.Subject = registry.OneLine(in.Subject); in.Subject == "" || len(in.Subject) > MaxIssueSubject {
		wrong["subject"] = i18n.M("mail.issue.subject-wrong", MaxIssueSubject)
	}
	if in.Body = strings.TrimSpace(in.Body); in.Body == "" || len(in.Body) > MaxIssueBody {
		wrong["body"] = i18n.M("mail.issue.body-wrong", MaxIssueBody)
	}
	if len(wrong) > 0 {
		return registry.Invalid(wrong)
	}
	var left time.Duration
	err := m.cfg.DB.Write(ctx, func(tx *store.Tx) (err error) {
		left, err = registry.CountTry(ctx, tx, "issue-mail:"+actor.ID, registry.Throttle{Free: 20, Longest: time.Hour})
		if err != nil || left > 0 {
			return err
		}
		to, err := issueRecipients(ctx, tx, actor, i)
		if err != nil {
			return err
		}
		if len(to) == 0 {
			return registry.Conflict("mail.issue.nobody")
		}
		for _, one := range to {
			if err := m.cfg.QueueMail(ctx, tx, one, in.Subject, in.Body+"\n"); err != nil {
				return fmt.Errorf("queue mail: %w", err)
			}
		}
		if err := tx.NoteIssueMail(ctx, i, actor.Name); err != nil {
			return err
		}
		return registry.Record(ctx, tx, actor, registry.ActionIssueMailed,
			registry.ObjectOf("issue", i.ID, registry.IssueCause(i.Cause).String(), i.PartnerID), registry.Details{"subject": in.Subject})
	})
	if err == nil && left > 0 {
		return &registry.ThrottledError{After: left}
	}
	return err
}

// issueReader finds the people to write to.
type issueReader interface {
	registry.AccountReader
	Partner(ctx context.Context, id string) (store.Partner, error)
}

// issueRecipients are the people that an actor writes to about an issue.
func issueRecipients(ctx context.Context, from issueReader, actor registry.Actor, i store.Issue) ([]string, error) {
	if !actor.Administrator {
		return registry.PeopleAllowed(ctx, from, registry.HandleIssues)
	}
	partner, err := from.Partner(ctx, i.PartnerID)
	if err != nil {
		return nil, registry.Found("partner", err)
	}
	if partner.ContactEmail == "" {
		return nil, nil
	}
	return []string{partner.ContactEmail}, nil
}
