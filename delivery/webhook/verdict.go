package webhook

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"schakel/delivery/outbound"
)

// Next is the decision about the delivery.
type Next string

// Decisions about a delivery.
const (
	NextDelivered Next = "delivered" // done
	NextRetry     Next = "retry"     // again at Decision.RetryAt
	NextPark      Next = "park"      // to the error queue: only a person can correct it
	NextHold      Next = "hold"      // waits until the endpoint is released
	NextDead      Next = "dead"      // to the dead-letter queue
)

// EndpointAction is the decision about the endpoint.
type EndpointAction string

// Decisions about an endpoint.
const (
	EndpointNone    EndpointAction = "none"
	EndpointAlert   EndpointAction = "alert"   // notify the operator and the partner
	EndpointSuspend EndpointAction = "suspend" // stop sending, and notify both
)

// SubscriptionAction is the decision about the subscription.
type SubscriptionAction string

// Decisions about a subscription.
const (
	SubscriptionNone SubscriptionAction = "none"
	SubscriptionEnd  SubscriptionAction = "end"
)

// The reasons of a decision: stable codes to store and to filter by.
const (
	ReasonDelivered     = "delivered"
	ReasonBusy          = "busy"               // 408, 409, 425, 429
	ReasonServerError   = "server-error"       // 5xx
	ReasonUnreachable   = "unreachable"        // name, connection or time
	ReasonTLS           = "tls"                // no trusted, modern TLS
	ReasonBlocked       = "blocked-address"    // the guard rejected the address
	ReasonBadAnswer     = "bad-answer"         // not HTTP, or larger than the limit
	ReasonCanceled      = "canceled"           // we stopped it ourselves
	ReasonToken         = "token"              // no access token
	ReasonTokenRenewed  = "token-renewed"      // 401, and another token is at hand
	ReasonUnauthorized  = "unauthorized"       // 401
	ReasonForbidden     = "forbidden"          // 403
	ReasonGone          = "gone"               // 410
	ReasonRedirected    = "redirected"         // 3xx
	ReasonRejected      = "rejected"           // another 4xx
	ReasonBatchRejected = "batch-rejected"     // 400, 413, 415 or 422 to a batch
	ReasonUnexpected    = "unexpected-status"  // none of these
	ReasonRequest       = "request"            // our own configuration is at fault
	ReasonAttempts      = "attempts-exhausted" // Schedule.MaxAttempts
	ReasonDeadline      = "deadline-passed"    // Schedule.Deadline
	ReasonKeyExpired    = "key-expired"        // Facts.KeyExpiresAt (IDEM-12)
)

// Facts hold the input of a verdict besides the outcome.
type Facts struct {
	Attempt         int            // number of the attempt just made, from 1
	AcceptedAt      time.Time      // when the event was accepted
	KeyExpiresAt    time.Time      // end of the idempotency key; zero means never
	Now             time.Time      // when the outcome came
	Schedule        Schedule       // of the endpoint
	Rand            func() float64 // from 0 to 1, for jitter; nil means none
	FreshTokenTried bool           // the attempt before this one ended in 401 too
}

// Decision is the outcome of a verdict. Detail explains what happened and what to do next, in words for the portal.
type Decision struct {
	Next               Next
	EndpointAction     EndpointAction
	SubscriptionAction SubscriptionAction
	RetryAt            time.Time // set when Next is NextRetry
	EndpointHoldUntil  time.Time // when set, nothing may go to the endpoint before it (EDU-10)
	Reason             string    // one of the Reason constants
	Detail             string
}

// Verdict applies the answer table of CE-74. It is pure: the same input gives the same decision.
func Verdict(o Outcome, f Facts) Decision {
	d := judge(o, f)
	if d.EndpointAction == "" {
		d.EndpointAction = EndpointNone
	}
	if d.SubscriptionAction == "" {
		d.SubscriptionAction = SubscriptionNone
	}
	if d.Next == NextRetry {
		d = plan(d, o, f)
	}
	return d
}

func judge(o Outcome, f Facts) Decision {
	status := "The receiver answered " + strconv.Itoa(o.Status) + ". "
	switch {
	case o.Kind != "":
		return judgeFailure(o)
	case o.Status >= 200 && o.Status < 300:
		return Decision{Next: NextDelivered, Reason: ReasonDelivered, Detail: "Delivered."}
	case o.Status >= 300 && o.Status < 400:
		return Decision{
			Next: NextPark, EndpointAction: EndpointAlert, Reason: ReasonRedirected,
			Detail: status + "Redirects are not followed. Set the endpoint's URL to the final address, then resend.",
		}
	case o.Status == http.StatusUnauthorized && o.FreshToken && !f.FreshTokenTried:
		return Decision{
			Next: NextRetry, Reason: ReasonTokenRenewed,
			Detail: status + "The access token was dropped; the next try carries a new one.",
		}
	case o.Status == http.StatusUnauthorized:
		return Decision{
			Next: NextRetry, EndpointAction: EndpointAlert, Reason: ReasonUnauthorized,
			Detail: status + "Check the endpoint's token settings with the partner: the token endpoint, client, scope and audience.",
		}
	case o.Status == http.StatusForbidden:
		return Decision{
			Next: NextHold, EndpointAction: EndpointSuspend, Reason: ReasonForbidden,
			Detail: status + "The endpoint is suspended. Ask the partner to grant access, then release the endpoint; held deliveries follow.",
		}
	case o.Status == http.StatusGone:
		return Decision{
			Next: NextDead, SubscriptionAction: SubscriptionEnd, Reason: ReasonGone,
			Detail: status + "The receiver was retired, so the subscription has ended. Resend after the partner subscribed with another endpoint.",
		}
	case isBusy(o.Status):
		return Decision{Next: NextRetry, Reason: ReasonBusy, Detail: status + "It is tried again by itself."}
	case o.Status >= 500 && o.Status < 600:
		return Decision{Next: NextRetry, Reason: ReasonServerError, Detail: status + "It is tried again by itself."}
	case o.Status >= 400 && o.Status < 500:
		return Decision{
			Next: NextPark, Reason: ReasonRejected,
			Detail: status + "Trying again would give the same. Read the answer and have the receiver mended, then resend.",
		}
	default:
		return Decision{
			Next: NextPark, EndpointAction: EndpointAlert, Reason: ReasonUnexpected,
			Detail: status + "That is no answer to a delivery. Check the endpoint's URL with the partner, then resend.",
		}
	}
}

// judgeFailure decides where there was no answer. A problem that may pass with time is retried quietly; one that a person must
// look at is also reported.
func judgeFailure(o Outcome) Decision {
	d := Decision{Next: NextRetry, EndpointAction: EndpointAlert}
	switch string(o.Kind) {
	case outbound.KindDNS, outbound.KindConnect, outbound.KindTimeout:
		d.EndpointAction, d.Reason = EndpointNone, ReasonUnreachable
		d.Detail = "The receiver could not be reached. It is tried again by itself."
		if string(o.Kind) == outbound.KindTimeout {
			d.Detail = "The receiver did not answer in time. It is tried again by itself."
		}
	case outbound.KindCanceled:
		d.EndpointAction, d.Reason = EndpointNone, ReasonCanceled
		d.Detail = "The attempt was stopped on our side. It is tried again by itself."
	case outbound.KindTLS:
		d.Reason = ReasonTLS
		d.Detail = "No secure connection. Ask the partner to mend the certificate or TLS settings of the host; it is tried again meanwhile."
	case outbound.KindBlockedAddress:
		d.Reason = ReasonBlocked
		d.Detail = "The host leads to an address that is not allowed. Correct the URL, or allow the range; it is tried again meanwhile."
	case outbound.KindHeldBack:
		d.EndpointAction, d.Reason = EndpointNone, ReasonCanceled
		d.Detail = "The request was not sent, because the receiver asked for a pause meanwhile."
	case outbound.KindUnasked:
		d.Reason = ReasonBadAnswer
		d.Detail = "The receiver sent more than one answer on a connection, so that this one may belong to another request. Ask the partner to mend that; it is tried again meanwhile."
	case string(KindToken):
		d.Reason = ReasonToken
		d.Detail = "No access token. Check the endpoint's token settings with the partner; it is tried again meanwhile."
		if o.Token != nil && o.Token.Transient {
			d.EndpointAction, d.Detail = EndpointNone, "The token endpoint gave no token for now. It is tried again by itself."
		}
	case string(KindRequest):
		d.Next, d.Reason = NextPark, ReasonRequest
		d.Detail = "No request could be made. Correct the endpoint's URL, then resend."
	default:
		d.Reason = ReasonBadAnswer
		d.Detail = "The answer could not be read as HTTP. Check the endpoint's URL with the partner; it is tried again meanwhile."
	}
	if o.Detail != "" {
		d.Detail += " (" + o.Detail + ")"
	}
	return d
}

func isBusy(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return false
}

// plan sets the time of the next attempt, or ends the delivery when that would be too late (IDEM-12).
func plan(d Decision, o Outcome, f Facts) Decision {
	// Neither of these is the receiver's doing, so neither costs it a wait.
	if d.Reason == ReasonCanceled || d.Reason == ReasonTokenRenewed {
		d.RetryAt = f.Now
		return endIfTooLate(d, f)
	}
	wait := f.Schedule.wait(f.Attempt, f.Rand)
	if asked, capped := f.Schedule.cap(o.RetryAfter); asked > 0 {
		wait = max(wait, asked)
		if concernsEndpoint(o) {
			d.EndpointHoldUntil = f.Now.Add(asked)
		}
		if capped {
			d.EndpointAction = EndpointAlert
			d.Detail += " It asked for a longer pause than is allowed; ours is used. Ask the partner about its Retry-After."
		}
	}
	d.RetryAt = f.Now.Add(wait)
	return endIfTooLate(d, f)
}

// concernsEndpoint reports whether an answer is about the whole endpoint, and not about one request.
func concernsEndpoint(o Outcome) bool {
	return o.Status == http.StatusTooManyRequests || o.Status == http.StatusServiceUnavailable || o.Kind == KindToken
}

func endIfTooLate(d Decision, f Facts) Decision {
	deadline := time.Time{}
	if f.Schedule.Deadline > 0 && !f.AcceptedAt.IsZero() {
		deadline = f.AcceptedAt.Add(f.Schedule.Deadline)
	}
	switch {
	case f.Schedule.MaxAttempts > 0 && f.Attempt >= f.Schedule.MaxAttempts && d.Reason != ReasonCanceled:
		return end(d, ReasonAttempts, "All attempts are used up. ")
	case !f.KeyExpiresAt.IsZero() && !d.RetryAt.Before(f.KeyExpiresAt):
		return end(d, ReasonKeyExpired, "The idempotency key would have expired before the next attempt. ")
	case !deadline.IsZero() && !d.RetryAt.Before(deadline):
		return end(d, ReasonDeadline, "The time to deliver would be over before the next attempt. ")
	}
	return d
}

// end ends the delivery, but keeps what the answer means for the endpoint, and the last problem.
func end(d Decision, reason, why string) Decision {
	d.Next, d.RetryAt, d.Reason = NextDead, time.Time{}, reason
	last := strings.NewReplacer(" It is tried again by itself.", "", "; it is tried again meanwhile", "").Replace(d.Detail)
	d.Detail = why + "Resend when the receiver works again. The last attempt: " + last
	return d
}
