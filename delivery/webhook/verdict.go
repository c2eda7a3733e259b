package webhook

import (
	"net/http"
	"time"

	"schakel/delivery/outbound"
	"schakel/templates/i18n"
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
	ReasonEncryption    = "encryption"         // the data could not be encrypted
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

// Decision is the outcome of a verdict. Detail explains what happened and what to do next; it is stored, and written for each
// reader.
type Decision struct {
	Next               Next
	EndpointAction     EndpointAction
	SubscriptionAction SubscriptionAction
	RetryAt            time.Time // set when Next is NextRetry
	EndpointHoldUntil  time.Time // when set, nothing may go to the endpoint before it (EDU-10)
	Reason             string    // one of the Reason constants
	Detail             i18n.Message

	again bool // it is tried again, which is told behind the rest
}

// note adds a sentence to the detail.
func (d *Decision) note(sentence i18n.Message) { d.Detail = i18n.M("verdict.and", d.Detail, sentence) }

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
	if d.Next == NextRetry && d.again {
		d.note("verdict.again")
	}
	return d
}

func judge(o Outcome, f Facts) Decision {
	answered := func(what i18n.Message) i18n.Message { return i18n.M("verdict.answered", o.Status, what) }
	switch {
	case o.Kind != "":
		return judgeFailure(o)
	case o.Status >= 200 && o.Status < 300:
		return Decision{Next: NextDelivered, Reason: ReasonDelivered, Detail: "verdict.delivered"}
	case o.Status >= 300 && o.Status < 400:
		return Decision{
			Next: NextPark, EndpointAction: EndpointAlert, Reason: ReasonRedirected,
			Detail: answered("verdict.redirected"),
		}
	case o.Status == http.StatusUnauthorized && o.FreshToken && !f.FreshTokenTried:
		return Decision{
			Next: NextRetry, Reason: ReasonTokenRenewed,
			Detail: answered("verdict.token-renewed"),
		}
	case o.Status == http.StatusUnauthorized:
		return Decision{
			Next: NextRetry, EndpointAction: EndpointAlert, Reason: ReasonUnauthorized,
			Detail: answered("verdict.unauthorized"),
		}
	case o.Status == http.StatusForbidden:
		return Decision{
			Next: NextHold, EndpointAction: EndpointSuspend, Reason: ReasonForbidden,
			Detail: answered("verdict.forbidden"),
		}
	case o.Status == http.StatusGone:
		return Decision{
			Next: NextDead, SubscriptionAction: SubscriptionEnd, Reason: ReasonGone,
			Detail: answered("verdict.gone"),
		}
	case isBusy(o.Status):
		return Decision{Next: NextRetry, Reason: ReasonBusy, Detail: i18n.M("verdict.answered-only", o.Status), again: true}
	case o.Status >= 500 && o.Status < 600:
		return Decision{Next: NextRetry, Reason: ReasonServerError, Detail: i18n.M("verdict.answered-only", o.Status), again: true}
	case o.Status >= 400 && o.Status < 500:
		return Decision{
			Next: NextPark, Reason: ReasonRejected,
			Detail: answered("verdict.rejected"),
		}
	default:
		return Decision{
			Next: NextPark, EndpointAction: EndpointAlert, Reason: ReasonUnexpected,
			Detail: answered("verdict.unexpected"),
		}
	}
}

// judgeFailure decides where there was no answer. A problem that may pass with time is retried quietly; one that a person must
// look at is also reported.
func judgeFailure(o Outcome) Decision {
	d := Decision{Next: NextRetry, EndpointAction: EndpointAlert, again: true}
	switch string(o.Kind) {
	case outbound.KindDNS, outbound.KindConnect, outbound.KindTimeout:
		d.EndpointAction, d.Reason = EndpointNone, ReasonUnreachable
		d.Detail = "verdict.unreachable"
		if string(o.Kind) == outbound.KindTimeout {
			d.Detail = "verdict.timeout"
		}
	case outbound.KindCanceled:
		d.EndpointAction, d.Reason = EndpointNone, ReasonCanceled
		d.Detail = "verdict.canceled"
	case outbound.KindTLS:
		d.Reason = ReasonTLS
		d.Detail = "verdict.tls"
	case outbound.KindBlockedAddress:
		d.Reason = ReasonBlocked
		d.Detail = "verdict.blocked"
	case outbound.KindHeldBack:
		d.EndpointAction, d.Reason = EndpointNone, ReasonCanceled
		d.Detail, d.again = "verdict.held-back", false
	case outbound.KindUnasked:
		d.Reason = ReasonBadAnswer
		d.Detail = "verdict.unasked"
	case string(KindToken):
		d.Reason = ReasonToken
		d.Detail = "verdict.token"
		if o.Token != nil && o.Token.Transient {
			d.EndpointAction, d.Detail = EndpointNone, "verdict.token-later"
		}
	case string(KindEncryption):
		d.EndpointAction, d.Reason = EndpointNone, ReasonEncryption
		d.Detail = "verdict.encryption"
	case string(KindRequest):
		d.Next, d.Reason = NextPark, ReasonRequest
		d.Detail = "verdict.request"
	default:
		d.Reason = ReasonBadAnswer
		d.Detail = "verdict.bad-answer"
	}
	if o.Detail != "" {
		d.Detail = i18n.M("verdict.with-error", d.Detail, i18n.Message(o.Detail))
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
			d.note("verdict.long-pause")
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
		return end(d, ReasonAttempts, "verdict.attempts-exhausted")
	case !f.KeyExpiresAt.IsZero() && !d.RetryAt.Before(f.KeyExpiresAt):
		return end(d, ReasonKeyExpired, "verdict.key-expired")
	case !deadline.IsZero() && !d.RetryAt.Before(deadline):
		return end(d, ReasonDeadline, "verdict.deadline-passed")
	}
	return d
}

// end ends the delivery, but keeps what the answer means for the endpoint, and the last problem.
func end(d Decision, reason string, why i18n.Message) Decision {
	d.Next, d.RetryAt, d.Reason = NextDead, time.Time{}, reason
	d.Detail = i18n.M("verdict.ended", why, d.Detail)
	return d
}
