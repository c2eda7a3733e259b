package mail

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"

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
	count, lines := 0, make([]string, len(groups))
	for i, g := range groups {
		count += g.Count
		lines[i] = "- " + g.line(trouble)
	}
	words := amqpTroubleWords(trouble)
	subject := words.subject + ": " + messagesOf(count)
	if len(groups) == 1 {
		subject = words.subject + ": " + messagesOf(count) + " " + groups[0].who(trouble)
	}
	msg := m.cfg.Letter(i18n.Message(subject), amqpPath(trouble, groups), i18n.Message(words.what), i18n.Message(strings.Join(lines, "\n")), i18n.Message(words.remedy))
	return m.cfg.MailAdministrators(ctx, tx, msg)
}

func messagesOf(n int) string {
	if n == 1 {
		return "1 message"
	}
	return strconv.Itoa(n) + " messages"
}

// who names the counterpart.
func (g AMQPGroup) who(trouble AMQPTrouble) string {
	way := "from "
	if trouble == AMQPOverdue || trouble == AMQPAnswer {
		way = "to "
	}
	switch {
	case g.Name != "" && g.HerID > 0:
		return fmt.Sprintf("%s%s (HER-id %d)", way, g.Name, g.HerID)
	case g.Name != "":
		return way + g.Name
	case g.HerID > 0:
		return fmt.Sprintf("%sHER-id %d", way, g.HerID)
	}
	return way + "a sender that gives no HER-id"
}

func (g AMQPGroup) line(trouble AMQPTrouble) string {
	text := messagesOf(g.Count) + " " + g.who(trouble)
	if g.Queue != "" {
		text += ", queue " + g.Queue
	}
	if g.Own != "" && g.Own != g.Name {
		text += " (of " + g.Own + ")"
	}
	if g.Detail != "" && (trouble == AMQPUnchecked || trouble == AMQPAnswer) {
		text += ": " + g.Detail
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

type amqpWords struct{ subject, what, remedy string }

const oncePerHour = " At most one mail an hour follows about the same sender or receiver."

func amqpTroubleWords(trouble AMQPTrouble) amqpWords {
	return map[AMQPTrouble]amqpWords{
		AMQPDead: {
			"Dead letters by AMQP", "Messages are in a dead-letter queue: handling them failed ten times, for reasons on our side. They are stored here.",
			"Remove the cause, then put them back on their queue." + oncePerHour,
		},
		AMQPOverdue: {
			"AppRec overdue", "Messages that were sent have no AppRec in the time that was set for it.",
			"Responsibility has not passed to the receiver. Ask the receiver, then resend what it did not get: once at most." + oncePerHour,
		},
		AMQPQuarantined: {
			"AMQP messages in quarantine", "Messages came in whose sender cannot be answered: it is unknown, missing, one of our own, or may not send this. They are stored as received; their senders were told nothing.",
			"Register the sender, then reprocess the messages: they are handled and answered as if they came in at that moment. Or drop them." + oncePerHour,
		},
		AMQPUnchecked: {
			"AMQP messages wait for a revocation check", "Whether the certificates of these senders were revoked cannot be checked now. Their messages are stored, and their senders were told nothing.",
			"They are handled without further action once the issuer's validation server answers. If it stays away, ask the issuer, or whoever runs your network." + oncePerHour,
		},
		AMQPContent: {
			"Other content under a known MsgId", "Messages have a MsgId that a message of the same sender had before, and other content. The first was handled; these were not.",
			"Ask the sender which one is meant. If it is this one, it sends it again with a MsgId of its own. Then drop the entry." + oncePerHour,
		},
		AMQPAnswer: {
			"Answers by AMQP are not on their queue", "AppRecs or AMQP errors of ours could not be written. Until they are there, the other side does not know what became of its messages.",
			"Remove the cause, then try them again." + oncePerHour,
		},
		AMQPHeld: {
			"AMQP messages without a recipient", "Messages came in that nobody is subscribed to. They are held, and get no AppRec: their senders remain responsible for them.",
			"Approve a subscription to the event type of the process. The messages are then delivered and acknowledged without further action." + oncePerHour,
		},
	}[trouble]
}

// AMQPQueueLoss is a queue of ours whose messages expire.
type AMQPQueueLoss struct{ Queue, Own, Detail string }

// AMQPExpiry notifies the administrators of queues of ours whose messages expire, in the transaction that notes it (INC-22).
func (m *Mails) AMQPExpiry(ctx context.Context, tx *store.Tx, queues []AMQPQueueLoss) error {
	if len(queues) == 0 {
		return nil
	}
	lines := make([]string, len(queues))
	for i, q := range queues {
		lines[i] = "- Queue " + q.Queue
		if q.Own != "" {
			lines[i] += " (of " + q.Own + ")"
		}
		lines[i] += ": " + q.Detail
	}
	subject := "Messages in queue " + queues[0].Queue + " expire"
	if len(queues) > 1 {
		subject = "Messages in " + strconv.Itoa(len(queues)) + " queues expire"
	}
	return m.cfg.MailAdministrators(ctx, tx, m.cfg.Letter(i18n.Message(subject), "/admin/amqp",
		"A message on these queues must never expire: its sender counts on its AppRec. If Schakel does not read a queue in time, its messages are lost.",
		i18n.Message(strings.Join(lines, "\n")), "Ask the operator of the broker to remove the time to live from these queues."))
}
