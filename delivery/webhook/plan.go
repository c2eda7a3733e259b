package webhook

import (
	"net/http"
	"strings"
	"time"
)

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
