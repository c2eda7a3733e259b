package site

import (
	"slices"
	"strings"

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
