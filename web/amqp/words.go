package amqp

import (
	"context"
	"strings"

	"schakel/delivery/amqp"
	"schakel/delivery/amqp/message"
	"schakel/store"
	view "schakel/templates/amqp"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

// amqpKinds are the kinds of messages. Their texts are the keys amqp.kind.
func amqpKinds() []string {
	return []string{store.AMQPBusiness, store.AMQPAppRec, store.AMQPError, store.AMQPRequest, store.AMQPAnswer, store.AMQPEvent}
}

// amqpStates are the states of messages. Their texts are the keys amqp.state.
func amqpStates() []string {
	return []string{
		store.AMQPSending, store.AMQPOpenMessage, store.AMQPAcknowledged, store.AMQPPartly, store.AMQPRejected, amqpRejectedByUs,
		store.AMQPFailed, store.AMQPUnsent, store.AMQPUnanswered, store.AMQPReplaced, store.AMQPDue, store.AMQPSent, store.AMQPProcessed,
		store.AMQPRefused, store.AMQPDuplicate, store.AMQPMatched, store.AMQPUnmatched, store.AMQPUnchecked, store.AMQPQuarantined,
		store.AMQPHeld, store.AMQPDead, store.AMQPPutBack, store.AMQPDropped,
	}
}

// amqpState shows the state of a message.
func amqpState(ctx context.Context, m store.AMQPMessage) view.Mark {
	mark := view.Mark{Kind: ui.KindNeutral, Text: i18n.Of(ctx, "amqp.state", m.Status)}
	switch m.Status {
	case store.AMQPAcknowledged, store.AMQPProcessed, store.AMQPSent, store.AMQPMatched:
		mark.Kind = ui.KindOK
	case store.AMQPSending, store.AMQPOpenMessage:
		mark.Kind = ui.KindInfo
	case store.AMQPPartly, store.AMQPDue, store.AMQPUnmatched, store.AMQPDuplicate, store.AMQPUnsent, store.AMQPUnchecked:
		mark.Kind = ui.KindWarning
	case store.AMQPRejected, store.AMQPFailed, store.AMQPUnanswered, store.AMQPRefused, store.AMQPQuarantined, store.AMQPHeld, store.AMQPDead:
		mark.Kind = ui.KindError
	}
	switch {
	case m.Status == store.AMQPOpenMessage && !m.OverdueAt.IsZero():
		return view.Mark{Kind: ui.KindWarning, Text: i18n.T(ctx, "amqp.state.overdue")}
	case m.Status == store.AMQPRejected && m.Direction == store.AMQPIn:
		mark.Text = i18n.Of(ctx, "amqp.state", amqpRejectedByUs)
	}
	return mark
}

// ours reports whether a message is a business message or request that this Schakel sends: its receiver reads it in the area of a partner.
func ours(m store.AMQPMessage) bool {
	return m.Direction == store.AMQPOut && (m.Kind == store.AMQPBusiness || m.Kind == store.AMQPRequest)
}

// stateOf is the state of a message as texts are named: an open one that is overdue is "overdue".
func stateOf(m store.AMQPMessage) string {
	if m.Status == store.AMQPOpenMessage && !m.OverdueAt.IsZero() {
		return "overdue"
	}
	return m.Status
}

// amqpAbout explains the state of a message and the next step in a sentence; empty for a state that needs none.
func amqpAbout(ctx context.Context, m store.AMQPMessage) string {
	in, state := m.Direction == store.AMQPIn, m.Status
	switch {
	case m.Direction == store.AMQPOut && m.Status == store.AMQPOpenMessage && !m.OverdueAt.IsZero():
		return i18n.T(ctx, "amqp.about-out.overdue")
	case m.Direction == store.AMQPIn && m.Status == store.AMQPQuarantined && m.Kind == store.AMQPEvent:
		return i18n.T(ctx, "amqp.about-in.quarantined-event")
	case in && i18n.Has("amqp.about-in", state):
		return i18n.Of(ctx, "amqp.about-in", state)
	case !in && i18n.Has("amqp.about-out", state):
		return i18n.Of(ctx, "amqp.about-out", state)
	}
	return ""
}

// amqpStep names a step of a trace for people (AMQP-15).
func amqpStep(ctx context.Context, step string) string {
	name := strings.ReplaceAll(step, " ", "-")
	if !i18n.Has("amqp.step", name) {
		return site.Capital(step)
	}
	return i18n.Of(ctx, "amqp.step", name)
}

// rejectedByUs reports whether we rejected a message, or sent the answer that rejects it: its sender must mend the fault,
// not we.
func rejectedByUs(m store.AMQPMessage) bool {
	answer := m.Kind == store.AMQPAppRec || m.Kind == store.AMQPError || m.Kind == store.AMQPAnswer
	return answer == (m.Direction == store.AMQPOut)
}

// AMQPRemedy advises the reader, sender or receiver, about the reason of a message.
func AMQPRemedy(m store.AMQPMessage) i18n.Message {
	if m.Status == store.AMQPReplaced {
		return "" // that was done
	}
	if !rejectedByUs(m) {
		return site.AMQPReasonOf(m.Reason).Remedy
	}
	if m.Reason == store.AMQPOtherContent {
		return site.AMQPReasonOf(m.Reason).Remedy
	}
	if m.Kind == store.AMQPEvent || m.Status == store.AMQPQuarantined || m.Reason == "" {
		return "" // the state gives the advice
	}
	if text, ok := receiverWords()[m.Reason]; ok {
		return text
	}
	if _, ok := site.AMQPErrorWords()[m.Reason]; ok {
		return "amqp.remedy.sender-resends"
	}
	return "amqp.remedy.sender-corrects"
}

// receiverWords advises the receiver of a rejected message, where there is more to do than wait.
func receiverWords() map[string]i18n.Message {
	return map[string]i18n.Message{
		string(message.InvalidCertificate): "amqp.remedy.sender-refetches",
		string(message.DecryptionFailed):   "amqp.remedy.sender-refetches",
		string(message.ExpiredCertificate): "amqp.remedy.expired",
		string(message.RevokedCertificate): "amqp.remedy.revoked",
		string(message.InvalidSignature):   "amqp.remedy.signature",
		string(message.SpoofingAttack):     "amqp.remedy.spoofing",
		string(message.UnsupportedMessage): "amqp.remedy.unsupported",
		amqp.ReasonNoRecipient:             "amqp.remedy.no-recipient",
		"E21":                              "amqp.remedy.e21",
		"E10":                              "amqp.remedy.e10",
	}
}
