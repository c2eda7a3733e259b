package amqp

import (
	"schakel/delivery/amqp"
	"schakel/delivery/amqp/message"
	"schakel/store"
	"schakel/web/site"
)

// The sender of a message that came in has to do these.
const (
	senderResends   = "Its sender mends this and sends it again."
	senderCorrects  = "Its sender publishes a corrected message, with a MsgId of its own."
	senderRefetches = "Its sender fetches our certificate anew from the address registry and sends it again. Check that our newest one is registered there."
)

// rejectedByUs reports whether we rejected a message, or sent the answer that rejects it: its sender must mend the fault,
// not we.
func rejectedByUs(m store.AMQPMessage) bool {
	answer := m.Kind == store.AMQPAppRec || m.Kind == store.AMQPError || m.Kind == store.AMQPAnswer
	return answer == (m.Direction == store.AMQPOut)
}

// AMQPRemedy advises the reader, sender or receiver, about the reason of a message.
func AMQPRemedy(m store.AMQPMessage) string {
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
		return senderResends
	}
	return senderCorrects
}

// receiverWords advises the receiver of a rejected message, where there is more to do than wait.
func receiverWords() map[string]string {
	return map[string]string{
		string(message.InvalidCertificate): senderRefetches,
		string(message.DecryptionFailed):   senderRefetches,
		string(message.ExpiredCertificate): "Its sender needs a certificate that is valid. Add that one at the party here too, or import it; then it is sent again.",
		string(message.RevokedCertificate): "Its sender needs a new certificate. Add that one at the party here too, or import it; then it is sent again.",
		string(message.InvalidSignature):   "Check that the newest certificate of its sender stands at the party here. If so, its sender mends it and sends it again.",
		string(message.SpoofingAttack):     "Find out with its sender why the HER-ids differ, before anything more of it is trusted.",
		string(message.UnsupportedMessage): "If this process should be taken: agree on it with its sender, add it to the party here, and ask to send it again.",
		amqp.ReasonNoRecipient:             "Approve a subscription of the own organisation to the event type that the process makes of it, then it is delivered by itself.",
		"E21":                              "Approve a subscription to the event type of the process, then ask its sender to publish it anew, with a MsgId of its own.",
		"E10":                              "Its sender corrects the receiver and publishes it anew, with a MsgId of its own. Check that the address registry has the right queue for our HER-id.",
	}
}
