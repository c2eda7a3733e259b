package site

import (
	"maps"
	"slices"
	"strings"

	"schakel/delivery/amqp"
	"schakel/delivery/amqp/message"
	"schakel/delivery/outbound"
	"schakel/delivery/webhook"
	"schakel/store"
)

// ReasonWords explains a reason code to people: the problem, and its remedy.
type ReasonWords struct{ Label, Remedy string }

// ErrorQueueReasons are the reasons for which the receiver, or what is set for
// it, refused a delivery: the error queue holds the deliveries with one of these.
func ErrorQueueReasons() []string {
	return append([]string{webhook.ReasonRejected, webhook.ReasonRedirected, webhook.ReasonRequest, webhook.ReasonUnexpected}, amqpReasons()...)
}

// StoppedReasons are the reasons for which a delivery waits until an endpoint or a
// subscription may be sent to again.
func StoppedReasons() []string {
	return []string{
		store.ReasonEndpointSuspended, store.ReasonSubscriptionPaused, store.ReasonSubscriptionSuspended,
		store.ReasonSubscriptionEnded,
	}
}

// ReasonOf finds the words of a reason code. One that is not known is told as it is named.
func ReasonOf(code string) ReasonWords {
	if w, ok := HeldWords()[code]; ok {
		return w
	}
	if w, ok := AnswerWords()[code]; ok {
		return w
	}
	if w, ok := FailureWords()[code]; ok {
		return w
	}
	if slices.Contains(amqpReasons(), code) {
		return AMQPReasonOf(code)
	}
	return ReasonWords{Capital(strings.ReplaceAll(code, "-", " ")), "Read the attempts to find out what happened."}
}

// HeldWords are of what waits for a decision of a person.
func HeldWords() map[string]ReasonWords {
	return map[string]ReasonWords{
		store.ReasonEndpointSuspended:     {"Endpoint is suspended", "Mend why the endpoint was suspended, then lift the suspension: what waits follows by itself."},
		store.ReasonSubscriptionPaused:    {"Subscription is paused", "It follows by itself when the partner ends the pause."},
		store.ReasonSubscriptionSuspended: {"Subscription is suspended", "It follows by itself when an administrator resumes the subscription."},
		store.ReasonSubscriptionEnded:     {"Subscription has ended", "It cannot be sent any more. Discard it. Once the partner has a new subscription, replay the event to it."},
		webhook.ReasonAttempts:            {"Tried as often as allowed", "Find out from the attempts why the endpoint failed. When it works again, resend."},
		webhook.ReasonDeadline:            {"Tried for too long", "Find out from the attempts why the endpoint failed. When it works again, resend."},
		store.ReasonCountExceeded:         {"Received too often", "Its consumer received it again and again and never acknowledged it. Find out why the consumer fails on it, then resend."},
		store.ReasonEventExpired:          {"Event has expired", "There is nothing to do: its producer said with expirytime that nobody wants it after that time."},
		webhook.ReasonKeyExpired:          {"Idempotency key has expired", "Resend: it goes out under a new key. Ask the partner first whether the event arrived after all."},
	}
}

// AnswerWords are of what the receiver answered.
func AnswerWords() map[string]ReasonWords {
	return map[string]ReasonWords{
		webhook.ReasonDelivered:     {"Delivered", "There is nothing to do."},
		webhook.ReasonBusy:          {"Receiver is busy", "It is tried again by itself. If it lasts, agree a lower rate for the endpoint with the partner."},
		webhook.ReasonServerError:   {"Fault at the receiver", "It is tried again by itself. If it lasts, ask the partner to look into its log."},
		webhook.ReasonTokenRenewed:  {"Access token was renewed", "The next try carries a new token; there is nothing to do."},
		webhook.ReasonUnauthorized:  {"Access token refused", "Check the endpoint's token settings with the partner: token endpoint, client, scope and audience."},
		webhook.ReasonForbidden:     {"Access refused", "Ask the partner to grant us access, then lift the suspension of the endpoint."},
		webhook.ReasonGone:          {"Receiver was retired", "The partner must subscribe with another endpoint."},
		webhook.ReasonRedirected:    {"Receiver sent us elsewhere", "Redirects are not followed. Set the endpoint's URL to the final address, then resend."},
		webhook.ReasonRejected:      {"Rejected by the receiver", "Read what the receiver answered, have the receiver mended, then resend."},
		webhook.ReasonBatchRejected: {"Batch rejected by the receiver", "There is nothing to do: it is sent by itself now. Read the answer if this happens often."},
		webhook.ReasonUnexpected:    {"Answer makes no sense", "Check the endpoint's URL with the partner, then resend."},
	}
}

// FailureWords are of what went wrong before there was an answer.
func FailureWords() map[string]ReasonWords {
	return map[string]ReasonWords{
		webhook.ReasonUnreachable: {"No answer from the receiver", "It is tried again by itself. If it lasts, ask the partner whether the host is up."},
		webhook.ReasonTLS:         {"No secure connection", "Ask the partner to mend the certificate or the TLS settings of the host."},
		webhook.ReasonBlocked:     {"Address is not allowed", "Correct the endpoint's URL, or have the operator allow the range of addresses."},
		webhook.ReasonBadAnswer:   {"Answer cannot be read", "Check with the partner that the endpoint's URL is a web server that takes events."},
		store.ReasonReleased:      {"Given back by the consumer", "It can be received again; there is nothing to do. If it lasts, ask the partner why its consumer gives it back."},
		store.ReasonLeaseExpired:  {"Consumer did not answer", "It can be received again; there is nothing to do. If it lasts, ask the partner whether its consumer fails."},
		webhook.ReasonCanceled:    {"Stopped on our side", "It is tried again by itself; there is nothing to do."},
		webhook.ReasonToken:       {"No access token", "Check the endpoint's token settings with the partner: token endpoint, client, scope and secret."},
		webhook.ReasonRequest:     {"Request could not be made", "Mend the settings of the endpoint, then resend."},
	}
}

// FailureKind explains in words why an attempt got no answer.
func FailureKind(kind string) string {
	switch kind {
	case outbound.KindBlockedAddress:
		return "The address is not allowed"
	case outbound.KindDNS:
		return "The host name was not found"
	case outbound.KindConnect:
		return "No connection"
	case outbound.KindTLS:
		return "No secure connection"
	case outbound.KindTimeout:
		return "No answer in time"
	case outbound.KindResponseTooLarge:
		return "The answer was too large"
	case outbound.KindProtocol:
		return "The answer was not HTTP"
	case outbound.KindUnasked:
		return "More than one answer on a connection"
	case outbound.KindHeldBack:
		return "Held back before it was sent"
	case outbound.KindCanceled:
		return "Stopped on our side"
	case string(webhook.KindToken):
		return "No access token"
	case string(webhook.KindRequest):
		return "The request could not be made"
	}
	return Capital(strings.ReplaceAll(kind, "-", " "))
}

// Capital writes the first letter of an ASCII word as a capital.
func Capital(s string) string {
	if s == "" || s[0] < 'a' || s[0] > 'z' {
		return s
	}
	return string(s[0]-'a'+'A') + s[1:]
}

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
