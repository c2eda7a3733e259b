package site

import (
	"maps"
	"slices"

	"schakel/delivery/amqp"
	"schakel/delivery/amqp/message"
	"schakel/store"
)

// amqpReasons lists the codes for which a message was refused: by an AMQP error, by a negative AppRec, or by ourselves
// before it was sent. What is held for one of them stands in the error queue.
func amqpReasons() []string {
	all := maps.Clone(AMQPErrorWords())
	maps.Copy(all, appRecWords())
	maps.Copy(all, amqpUnsentWords())
	return slices.Sorted(maps.Keys(all))
}

// AMQPErrorWords are of the conditions of AMQP errors, section 2.2.6 of the profile (AMQP-100, AMQP-106, AMQP-127 to AMQP-137).
func AMQPErrorWords() map[string]ReasonWords {
	return map[string]ReasonWords{
		string(message.InvalidCMS):         {"Not a signed and encrypted message", "Its receiver could not read it as CMS. Find out with the sender what it is packed with; then send it again."},
		string(message.InvalidCertificate): {"Encrypted for another certificate", "Fetch the receiver's certificate anew, from the address registry or the receiver; then send it again."},
		string(message.ExpiredCertificate): {"Certificate of the sender has expired", "Register a certificate that is valid, with us and in the address registry; then send it again."},
		string(message.RevokedCertificate): {"Certificate of the sender was revoked", "Register a new certificate, with us and in the address registry; then send it again."},
		string(message.DecryptionFailed):   {"Could not be decrypted", "Check that the certificate is the receiver's newest; then send it again."},
		string(message.InvalidSignature):   {"Signature is not right", "Check that the certificate that signs is the one in the address registry; then send it again."},
		string(message.RequiredFieldMissing): {
			"A field is missing",
			"The data name the fields. Fill them in at the party or the process; then send it again.",
		},
		string(message.InvalidFieldValue): {
			"A field has a wrong value",
			"The data name the fields: often a HER-id, a queue or a subject. Correct the party or the process; then send it again.",
		},
		string(message.InvalidEncoding):     {"Not written in Unicode", "Publish the business message as UTF-8."},
		string(message.SpoofingAttack):      {"Sender is not who it says", "The HER-id of the message and that of its business document differ. Find out why before anything is sent again."},
		string(message.NotInterpretableXML): {"XML cannot be read", "Publish a corrected business message; its header must be a MsgHead."},
		string(message.NotWellFormedXML):    {"XML is not well-formed", "Publish a corrected business message; its header must be a MsgHead."},
		string(message.UnsupportedMessage):  {"Receiver does not support this process", "Agree the process with the receiver, and both add it to the party; then send it again."},
	}
}

// appRecWords are of negative AppRecs, by the codes of list 8221 that the profile names (AMQP-109 to AMQP-112).
func appRecWords() map[string]ReasonWords {
	corrected := " Publish a corrected message with a MsgId of its own; the same one is not sent again."
	return map[string]ReasonWords{
		"E10":             {"Receiver in the document is another", "The HER-id of the receiver in the business document is not that of the queue." + corrected},
		"T01":             {"Document cannot be read", "The XML of the business document has mistakes." + corrected},
		"T02":             {"Document is not valid", "The business document does not keep to its schema, or lacks a value." + corrected},
		"E21":             {"No recipient at the receiver", "The receiver has nobody who takes this message. Ask the receiver." + corrected},
		"apprec-rejected": {"Rejected by the receiver", "The AppRec says why, in words." + corrected},
	}
}

// amqpUnsentWords are of what the bridge found out by itself.
func amqpUnsentWords() map[string]ReasonWords {
	return map[string]ReasonWords{
		amqp.ReasonNoParty:     {"Endpoint has no party", "Fill in the HER-id or the queue at the endpoint, then resend."},
		amqp.ReasonNoProcess:   {"No process for this event type", "Agree a process with the counterpart and add it to the party, then resend."},
		amqp.ReasonDocument:    {"Business message is not right", "Publish a corrected event. It is not sent, because its receiver would refuse it."},
		amqp.ReasonParty:       {"From or to somebody else", "The HER-ids in the business document are not those of the parties. Publish a corrected event."},
		amqp.ReasonSentBefore:  {"Sent before", "A message with this MsgId was sent to this party before. Resend that one, or publish a message with a MsgId of its own."},
		amqp.ReasonCertificate: {"No valid certificate", "Register a valid certificate for signing with our party and for encryption with theirs, then resend."},
		amqp.ReasonNoQueue:     {"Queue does not exist", "Correct the queue at the party, or ask the counterpart to open it, then resend."},
		amqp.ReasonRefused:     {"Refused by the broker", "Mend the cause with who runs the broker, then resend."},
		store.AMQPOtherContent: {"Other content under a known MsgId", "Ask its sender which one is meant. If it is this one, they send it again with a MsgId of its own. Then drop this entry."},
		amqp.ReasonNoRecipient: {"Nobody is subscribed", "Approve a subscription to the event type of the process; or remove that type from the process."},
		"soap-fault":           {"Answered with a SOAP fault", "The fault says why. Mend the cause with the receiver, then resend."},
		amqp.ReasonUnanswered:  {"No answer in time", "It is not asked again by itself. Resend it to ask once more."},
	}
}

// AMQPReasonOf finds the words of a reason code of a message; a code of list 8221 that has none is told as it is.
func AMQPReasonOf(code string) ReasonWords {
	for _, list := range []map[string]ReasonWords{AMQPErrorWords(), appRecWords(), amqpUnsentWords()} {
		if w, ok := list[code]; ok {
			return w
		}
	}
	if code != "" && code == string(message.ParseCondition(code)) && len(code) <= 4 {
		return ReasonWords{"Rejected with code " + code, "The AppRec says why, in words. Publish a corrected message with a MsgId of its own; the same one is not sent again."}
	}
	return ReasonOf(code)
}
