package web

import (
	"slices"
	"strings"

	"schakel/delivery/outbound"
	"schakel/delivery/webhook"
	"schakel/store"
)

// reasonWords explains a reason code to people: the problem, and its remedy.
type reasonWords struct{ Label, Remedy string }

// errorQueueReasons are the reasons for which the receiver, or what is set for
// it, refused a delivery: the error queue holds the deliveries with one of these.
func errorQueueReasons() []string {
	return append([]string{webhook.ReasonRejected, webhook.ReasonRedirected, webhook.ReasonRequest, webhook.ReasonUnexpected}, amqpReasons()...)
}

// stoppedReasons are the reasons for which a delivery waits until an endpoint or a
// subscription may be sent to again.
func stoppedReasons() []string {
	return []string{
		store.ReasonEndpointSuspended, store.ReasonSubscriptionPaused, store.ReasonSubscriptionSuspended,
		store.ReasonSubscriptionEnded,
	}
}

// reasonOf finds the words of a reason code. One that is not known is told as it is named.
func reasonOf(code string) reasonWords {
	if w, ok := heldWords()[code]; ok {
		return w
	}
	if w, ok := answerWords()[code]; ok {
		return w
	}
	if w, ok := failureWords()[code]; ok {
		return w
	}
	if slices.Contains(amqpReasons(), code) {
		return amqpReasonOf(code)
	}
	return reasonWords{capital(strings.ReplaceAll(code, "-", " ")), "Read the attempts to find out what happened."}
}

// heldWords are of what waits for a decision of a person.
func heldWords() map[string]reasonWords {
	return map[string]reasonWords{
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

// answerWords are of what the receiver answered.
func answerWords() map[string]reasonWords {
	return map[string]reasonWords{
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

// failureWords are of what went wrong before there was an answer.
func failureWords() map[string]reasonWords {
	return map[string]reasonWords{
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

// failureKind explains in words why an attempt got no answer.
func failureKind(kind string) string {
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
	return capital(strings.ReplaceAll(kind, "-", " "))
}

// capital writes the first letter of an ASCII word as a capital.
func capital(s string) string {
	if s == "" || s[0] < 'a' || s[0] > 'z' {
		return s
	}
	return string(s[0]-'a'+'A') + s[1:]
}
