package site

import (
	"context"
	"maps"
	"slices"
	"strings"

	"schakel/delivery/amqp"
	"schakel/delivery/amqp/message"
	"schakel/delivery/webhook"
	"schakel/store"
	"schakel/templates/i18n"
)

// ReasonWords explains a reason code to people: the problem, and its remedy.
type ReasonWords struct{ Label, Remedy i18n.Message }

// StoppedReasons are the reasons for which a delivery waits until an endpoint or a
// subscription may be sent to again. What is held for any other was refused: the error queue lists it.
func StoppedReasons() []string { return store.StoppedReasons() }

// DeliveryState names the state of a delivery for people: what is held is in the error queue, or paused or suspended.
func DeliveryState(status, reason string) string {
	switch {
	case status != store.DeliveryHeld:
		return status
	case !slices.Contains(StoppedReasons(), reason):
		return "error-queue"
	case reason == store.ReasonSubscriptionPaused:
		return store.SubscriptionPaused
	}
	return store.SubscriptionSuspended
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
	if isAppRecCode(code) {
		return ReasonWords{i18n.M("site.reason.apprec-code", code), "site.remedy.apprec-rejected"}
	}
	return ReasonWords{i18n.Raw(Capital(strings.ReplaceAll(code, "-", " "))), "site.remedy.other"}
}

// HeldWords are of what waits for a decision of a person.
func HeldWords() map[string]ReasonWords {
	return map[string]ReasonWords{
		store.ReasonEndpointSuspended:     {"site.reason.endpoint-is-suspended", "site.remedy.endpoint-is-suspended"},
		store.ReasonSubscriptionPaused:    {"site.reason.subscription-is-paused", "site.remedy.subscription-is-paused"},
		store.ReasonSubscriptionSuspended: {"site.reason.subscription-is-suspended", "site.remedy.subscription-is-suspended"},
		store.ReasonSubscriptionEnded:     {"site.reason.subscription-has-ended", "site.remedy.subscription-has-ended"},
		webhook.ReasonAttempts:            {"site.reason.tried-as-often-as-allowed", "site.remedy.tried-as-often-as-allowed"},
		webhook.ReasonDeadline:            {"site.reason.tried-for-too-long", "site.remedy.tried-for-too-long"},
		store.ReasonCountExceeded:         {"site.reason.received-too-often", "site.remedy.received-too-often"},
		store.ReasonEventExpired:          {"site.reason.event-has-expired", "site.remedy.event-has-expired"},
		store.ReasonDataErased:            {"site.reason.data-erased", "site.remedy.data-erased"},
		store.ReasonDataUnreadable:        {"site.reason.data-unreadable", "site.remedy.data-unreadable"},
		webhook.ReasonKeyExpired:          {"site.reason.idempotency-key-has-expired", "site.remedy.idempotency-key-has-expired"},
	}
}

// AnswerWords are of what the receiver answered.
func AnswerWords() map[string]ReasonWords {
	return map[string]ReasonWords{
		webhook.ReasonDelivered:     {"site.reason.delivered", "site.remedy.delivered"},
		webhook.ReasonBusy:          {"site.reason.receiver-is-busy", "site.remedy.receiver-is-busy"},
		webhook.ReasonServerError:   {"site.reason.fault-at-the-receiver", "site.remedy.fault-at-the-receiver"},
		webhook.ReasonTokenRenewed:  {"site.reason.access-token-was-renewed", "site.remedy.access-token-was-renewed"},
		webhook.ReasonUnauthorized:  {"site.reason.access-token-refused", "site.remedy.access-token-refused"},
		webhook.ReasonForbidden:     {"site.reason.access-refused", "site.remedy.access-refused"},
		webhook.ReasonGone:          {"site.reason.receiver-was-retired", "site.remedy.receiver-was-retired"},
		webhook.ReasonRedirected:    {"site.reason.receiver-sent-us-elsewhere", "site.remedy.receiver-sent-us-elsewhere"},
		webhook.ReasonRejected:      {"site.reason.rejected-by-the-receiver", "site.remedy.rejected-by-the-receiver"},
		webhook.ReasonBatchRejected: {"site.reason.batch-rejected-by-the-receiver", "site.remedy.batch-rejected-by-the-receiver"},
		webhook.ReasonUnexpected:    {"site.reason.answer-makes-no-sense", "site.remedy.answer-makes-no-sense"},
	}
}

// FailureWords are of what went wrong before there was an answer.
func FailureWords() map[string]ReasonWords {
	return map[string]ReasonWords{
		webhook.ReasonUnreachable: {"site.reason.no-answer-from-the-receiver", "site.remedy.no-answer-from-the-receiver"},
		webhook.ReasonTLS:         {"site.reason.no-secure-connection", "site.remedy.no-secure-connection"},
		webhook.ReasonBlocked:     {"site.reason.address-is-not-allowed", "site.remedy.address-is-not-allowed"},
		webhook.ReasonBadAnswer:   {"site.reason.answer-cannot-be-read", "site.remedy.answer-cannot-be-read"},
		store.ReasonReleased:      {"site.reason.given-back-by-the-consumer", "site.remedy.given-back-by-the-consumer"},
		store.ReasonLeaseExpired:  {"site.reason.consumer-did-not-answer", "site.remedy.consumer-did-not-answer"},
		webhook.ReasonCanceled:    {"site.reason.stopped-on-our-side", "site.remedy.stopped-on-our-side"},
		webhook.ReasonToken:       {"site.reason.no-access-token", "site.remedy.no-access-token"},
		webhook.ReasonEncryption:  {"site.reason.not-encrypted", "site.remedy.not-encrypted"},
		webhook.ReasonRequest:     {"site.reason.request-could-not-be-made", "site.remedy.request-could-not-be-made"},
	}
}

// FailureKind explains in words why an attempt got no answer.
func FailureKind(ctx context.Context, kind string) string {
	if words := i18n.Of(ctx, "site.failure", kind); words != kind {
		return words
	}
	return Capital(strings.ReplaceAll(kind, "-", " "))
}

// DetailText explains what happened to a delivery. What older versions stored is English; whoever reads another language is told
// what the reason asks for.
//
// What the bridge to AMQP stores about a message tells its sender what to do. A partner that receives is shown only what its own system answered;
// its advice is [registry.IssueAdvice].
func DetailText(ctx context.Context, administrator bool, reason, stored string) string {
	if !administrator && AMQPReason(reason) {
		if i18n.Message(stored).Key() != "" {
			return ""
		}
		return Shown(stored)
	}
	if text := i18n.Message(stored).In(ctx); text != stored {
		return Shown(text)
	}
	remedy := ReasonOf(reason).Remedy
	if stored == "" || remedy == "" || i18n.From(ctx).Lang == i18n.English {
		return Shown(stored)
	}
	return remedy.In(ctx)
}

// AMQPReason reports whether a delivery failed or waits for what happened to its message by AMQP.
func AMQPReason(code string) bool {
	return slices.Contains(amqpReasons(), code) || isAppRecCode(code)
}

// isAppRecCode reports whether a reason is a code of list 8221, such as T02; not all of them have words.
func isAppRecCode(code string) bool {
	return code != "" && len(code) <= 4 && code == strings.ToUpper(code)
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
		string(message.InvalidCMS):           {"site.reason.not-a-signed-and-encrypted-message", "site.remedy.not-a-signed-and-encrypted-message"},
		string(message.InvalidCertificate):   {"site.reason.encrypted-for-another-certificate", "site.remedy.encrypted-for-another-certificate"},
		string(message.ExpiredCertificate):   {"site.reason.certificate-of-the-sender-has-expired", "site.remedy.certificate-of-the-sender-has-expired"},
		string(message.RevokedCertificate):   {"site.reason.certificate-of-the-sender-was-revoked", "site.remedy.certificate-of-the-sender-was-revoked"},
		string(message.DecryptionFailed):     {"site.reason.could-not-be-decrypted", "site.remedy.could-not-be-decrypted"},
		string(message.InvalidSignature):     {"site.reason.signature-is-not-right", "site.remedy.signature-is-not-right"},
		string(message.RequiredFieldMissing): {"site.reason.a-field-is-missing", "site.remedy.a-field-is-missing"},
		string(message.InvalidFieldValue):    {"site.reason.a-field-has-a-wrong-value", "site.remedy.a-field-has-a-wrong-value"},
		string(message.InvalidEncoding):      {"site.reason.not-written-in-unicode", "site.remedy.not-written-in-unicode"},
		string(message.SpoofingAttack):       {"site.reason.sender-is-not-who-it-says", "site.remedy.sender-is-not-who-it-says"},
		string(message.NotInterpretableXML):  {"site.reason.xml-cannot-be-read", "site.remedy.xml-cannot-be-read"},
		string(message.NotWellFormedXML):     {"site.reason.xml-is-not-well-formed", "site.remedy.xml-is-not-well-formed"},
		string(message.UnsupportedMessage):   {"site.reason.receiver-does-not-support-this-process", "site.remedy.receiver-does-not-support-this-process"},
	}
}

// appRecWords are of negative AppRecs, by the codes of list 8221 that the profile names (AMQP-109 to AMQP-112).
func appRecWords() map[string]ReasonWords {
	return map[string]ReasonWords{
		"E10":             {"site.reason.receiver-in-the-document-is-another", "site.remedy.receiver-in-the-document-is-another"},
		"T01":             {"site.reason.document-cannot-be-read", "site.remedy.document-cannot-be-read"},
		"T02":             {"site.reason.document-is-not-valid", "site.remedy.document-is-not-valid"},
		"E21":             {"site.reason.no-recipient-at-the-receiver", "site.remedy.no-recipient-at-the-receiver"},
		"apprec-rejected": {"site.reason.apprec-rejected", "site.remedy.apprec-rejected"},
	}
}

// amqpUnsentWords are of what the bridge found out by itself.
func amqpUnsentWords() map[string]ReasonWords {
	return map[string]ReasonWords{
		amqp.ReasonNoParty:     {"site.reason.endpoint-has-no-party", "site.remedy.endpoint-has-no-party"},
		amqp.ReasonNoProcess:   {"site.reason.no-process-for-this-event-type", "site.remedy.no-process-for-this-event-type"},
		amqp.ReasonDocument:    {"site.reason.business-message-is-not-right", "site.remedy.business-message-is-not-right"},
		amqp.ReasonParty:       {"site.reason.from-or-to-somebody-else", "site.remedy.from-or-to-somebody-else"},
		amqp.ReasonSentBefore:  {"site.reason.sent-before", "site.remedy.sent-before"},
		amqp.ReasonCertificate: {"site.reason.no-valid-certificate", "site.remedy.no-valid-certificate"},
		amqp.ReasonNoQueue:     {"site.reason.queue-does-not-exist", "site.remedy.queue-does-not-exist"},
		amqp.ReasonRefused:     {"site.reason.refused-by-the-broker", "site.remedy.refused-by-the-broker"},
		store.AMQPOtherContent: {"site.reason.other-content-under-a-known-msgid", "site.remedy.other-content-under-a-known-msgid"},
		amqp.ReasonNoRecipient: {"site.reason.nobody-is-subscribed", "site.remedy.nobody-is-subscribed"},
		"soap-fault":           {"site.reason.answered-with-a-soap-fault", "site.remedy.answered-with-a-soap-fault"},
		amqp.ReasonUnanswered:  {"site.reason.no-answer-in-time", "site.remedy.no-answer-in-time"},
	}
}

// AMQPReasonOf finds the words of a reason code of a message; a code of list 8221 that has none is told as it is.
func AMQPReasonOf(code string) ReasonWords {
	for _, list := range []map[string]ReasonWords{AMQPErrorWords(), appRecWords(), amqpUnsentWords()} {
		if w, ok := list[code]; ok {
			return w
		}
	}
	return ReasonOf(code)
}
