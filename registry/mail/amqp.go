package mail

import (
	"context"
	"net/url"
	"strconv"

	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
)

// AMQPTrouble is why messages by AMQP wait for a person; its value is the state that the list of messages is filtered by.
type AMQPTrouble string

// The troubles.
const (
	AMQPDead        AMQPTrouble = "dead"        // AMQP-53
	AMQPOverdue     AMQPTrouble = "overdue"     // AMQP-89, AMQP-117
	AMQPQuarantined AMQPTrouble = "quarantined" // nobody can be answered
	AMQPHeld        AMQPTrouble = "held"        // nobody is subscribed
	AMQPUnchecked   AMQPTrouble = "unchecked"   // AMQP-61
	AMQPContent     AMQPTrouble = "duplicate"   // AMQP-116: other content under a known MsgId
	AMQPAnswer      AMQPTrouble = "attention"   // AMQP-114: an answer of ours cannot be written
)

// AMQPGroup are messages of one sender or receiver in one queue that wait for a person.
type AMQPGroup struct {
	Name      string // of the counterpart; empty when it is not registered
	HerID     int64  // of the counterpart; 0 when the messages name none
	Own       string // the name of our party
	Queue     string
	Count     int
	MessageID string // our id of the oldest
	PartyID   string // of the counterpart
	Detail    string // what went wrong with one of them
}

// AMQPWaiting notifies the administrators of messages that wait for them, in the transaction that notes it.
func (m *Mails) AMQPWaiting(ctx context.Context, tx *store.Tx, trouble AMQPTrouble, groups []AMQPGroup) error {
	if len(groups) == 0 {
		return nil
	}
	count, lines := 0, make([]i18n.Message, len(groups))
	for i, g := range groups {
		count += g.Count
		lines[i] = registry.Bullet(g.line(trouble))
	}
	words := amqpTroubleWords(trouble)
	counted := i18n.M("mail.amqp.messages", count)
	if len(groups) == 1 {
		counted = groups[0].messages(trouble)
	}
	msg := m.cfg.Letter(i18n.M("mail.amqp.subject", words.subject, counted), amqpPath(trouble, groups), words.what).
		Lines(lines...).Lines(words.remedy).Lines("mail.amqp.once-per-hour")
	return m.cfg.MailAdministrators(ctx, tx, msg)
}

// messages counts the messages and names their sender or receiver.
func (g AMQPGroup) messages(trouble AMQPTrouble) i18n.Message {
	if trouble == AMQPOverdue || trouble == AMQPAnswer {
		return i18n.M("mail.amqp.messages-to", g.Count, g.party())
	}
	return i18n.M("mail.amqp.messages-from", g.Count, g.party())
}

func (g AMQPGroup) party() i18n.Message {
	id := strconv.FormatInt(g.HerID, 10)
	switch {
	case g.Name != "" && g.HerID > 0:
		return i18n.M("mail.amqp.party", g.Name, id)
	case g.Name != "":
		return i18n.Raw(g.Name)
	case g.HerID > 0:
		return i18n.M("mail.amqp.party-her-id", id)
	}
	return "mail.amqp.party-unknown"
}

func (g AMQPGroup) line(trouble AMQPTrouble) i18n.Message {
	text := g.messages(trouble)
	if g.Queue != "" {
		text = i18n.M("mail.amqp.in-queue", text, g.Queue)
	}
	if g.Own != "" && g.Own != g.Name {
		text = i18n.M("mail.amqp.of-own", text, g.Own)
	}
	if g.Detail != "" && (trouble == AMQPUnchecked || trouble == AMQPAnswer) {
		text = i18n.M("mail.amqp.with-detail", text, i18n.Message(g.Detail))
	}
	return text
}

// amqpPath leads to the message when there is one, and to the list of those that wait otherwise.
func amqpPath(trouble AMQPTrouble, groups []AMQPGroup) string {
	const list = "/admin/amqp/messages"
	if len(groups) > 1 {
		return list + "?state=" + string(trouble)
	}
	g := groups[0]
	switch {
	case g.Count == 1:
		return list + "/" + url.PathEscape(g.MessageID)
	case g.PartyID != "":
		return list + "?state=" + string(trouble) + "&party=" + url.QueryEscape(g.PartyID)
	case g.HerID > 0:
		return list + "?state=" + string(trouble) + "&herId=" + strconv.FormatInt(g.HerID, 10)
	}
	return list + "?state=" + string(trouble)
}

type amqpWords struct{ subject, what, remedy i18n.Message }

func amqpTroubleWords(trouble AMQPTrouble) amqpWords {
	return map[AMQPTrouble]amqpWords{
		AMQPDead:        {"mail.amqp.dead", "mail.amqp.dead-what", "mail.amqp.dead-remedy"},
		AMQPOverdue:     {"mail.amqp.overdue", "mail.amqp.overdue-what", "mail.amqp.overdue-remedy"},
		AMQPQuarantined: {"mail.amqp.quarantined", "mail.amqp.quarantined-what", "mail.amqp.quarantined-remedy"},
		AMQPUnchecked:   {"mail.amqp.unchecked", "mail.amqp.unchecked-what", "mail.amqp.unchecked-remedy"},
		AMQPContent:     {"mail.amqp.content", "mail.amqp.content-what", "mail.amqp.content-remedy"},
		AMQPAnswer:      {"mail.amqp.answer", "mail.amqp.answer-what", "mail.amqp.answer-remedy"},
		AMQPHeld:        {"mail.amqp.held", "mail.amqp.held-what", "mail.amqp.held-remedy"},
	}[trouble]
}

// AMQPQueueLoss is a queue of ours whose messages expire.
type AMQPQueueLoss struct{ Queue, Own, Detail string }

// AMQPExpiry notifies the administrators of queues of ours whose messages expire, in the transaction that notes it (INC-22).
func (m *Mails) AMQPExpiry(ctx context.Context, tx *store.Tx, queues []AMQPQueueLoss) error {
	if len(queues) == 0 {
		return nil
	}
	lines := make([]i18n.Message, len(queues))
	for i, q := range queues {
		line := i18n.M("mail.amqp.expiry-queue", q.Queue, i18n.Message(q.Detail))
		if q.Own != "" {
			line = i18n.M("mail.amqp.expiry-queue-of", q.Queue, q.Own, i18n.Message(q.Detail))
		}
		lines[i] = registry.Bullet(line)
	}
	subject := i18n.M("mail.amqp.expiry-one", queues[0].Queue)
	if len(queues) > 1 {
		subject = i18n.M("mail.amqp.expiry", len(queues))
	}
	return m.cfg.MailAdministrators(ctx, tx, m.cfg.Letter(subject, "/admin/amqp", "mail.amqp.expiry-what").Lines(lines...).Lines("mail.amqp.expiry-remedy"))
}
