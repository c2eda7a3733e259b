package amqp

import (
	"strconv"

	"schakel/store"
	"schakel/templates/ui"
)

// Choices of the state of a message that are no state of their own.
const (
	amqpAttention    = "attention"
	amqpOverdue      = "overdue"
	amqpRejectedByUs = "rejected-by-us"
)

// herNone selects messages that name no HER-id.
const herNone = "none"

// ofHerID limits a list of messages to those of a HER-id; ok is false for what is none.
func ofHerID(f store.AMQPFilter, text string) (limited store.AMQPFilter, ok bool) {
	switch text {
	case "":
		return f, true
	case herNone:
		f.HerID = store.HerNone
		return f, true
	}
	n, err := strconv.ParseInt(text, 10, 64)
	f.HerID = n
	return f, err == nil && n > 0
}

// amqpChoices lists the filters of a list of messages.
func amqpChoices() []ui.Option {
	return append([]ui.Option{{Value: amqpAttention, Label: "Needs attention"}, {Value: amqpOverdue, Label: "AppRec is overdue"}}, amqpStates()...)
}

// ofState limits a list of messages to a choice. A rejection goes one way: theirs of what we sent, ours of what came in.
func ofState(f store.AMQPFilter, choice string) store.AMQPFilter {
	switch choice {
	case "":
	case amqpAttention:
		f.Attention = true
	case amqpOverdue:
		f.Overdue = true
	case store.AMQPRejected:
		f.Direction, f.Statuses = store.AMQPOut, []string{store.AMQPRejected}
	case amqpRejectedByUs:
		f.Direction, f.Statuses = store.AMQPIn, []string{store.AMQPRejected}
	default:
		f.Statuses = []string{choice}
	}
	return f
}
