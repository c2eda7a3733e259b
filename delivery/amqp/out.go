package amqp

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"

	"schakel/delivery/amqp/link"
	"schakel/delivery/jwe"
	"schakel/delivery/outbound"
	"schakel/delivery/outbox"
	"schakel/delivery/webhook"
	"schakel/store"
	"schakel/templates/i18n"
)

// Reasons of a delivery that was not written, or was refused by the other party; an AMQP error and an AppRec have their own
// codes.
const (
	ReasonNoParty     = "amqp-no-party"    // the endpoint has no party
	ReasonNoProcess   = "amqp-no-process"  // AMQP-09
	ReasonDocument    = "amqp-document"    // our own validator refuses it (AMQP-98)
	ReasonParty       = "amqp-other-party" // it is from or to somebody else
	ReasonSentBefore  = outbox.RefusedSent // AMQP-113, AMQP-118
	ReasonCertificate = "amqp-certificate" // AMQP-58 to AMQP-60
	ReasonNoQueue     = "amqp-no-queue"    // AMQP-06
	ReasonRefused     = "amqp-broker"      // the broker refused it
	ReasonUnanswered  = "amqp-unanswered"  // AMQP-90
	ReasonUnreachable = webhook.ReasonUnreachable
)

// held is a message that only a person can mend. One that was written gets another messageId when it is sent again.
type held struct {
	reason  string
	detail  i18n.Message
	written bool
}

func (h *held) Error() string { return h.detail.String() }

// Send implements [outbox.Transport] for endpoints of kind amqp: it writes the event to the queue of the endpoint's party, and
// counts it as delivered only when the broker accepted it (AMQP-07). Its AppRec is followed afterwards (AMQP-16).
func (b *Bridge) Send(ctx context.Context, ep store.Endpoint, c store.Claimed) outbox.Result {
	started := b.now()
	attempt := store.Attempt{StartedAt: started}
	p := b.dir.Load().byEndpoint[ep.ID]
	var err error
	switch {
	case p == nil:
		err = b.noParty(ctx, ep.ID)
	case p.Kind == store.AMQPCloudEvents:
		attempt.URL = store.AMQPQueueName(p.AsyncQueue)
		err = b.sendEvent(ctx, p, c)
	default:
		attempt.URL, err = b.sendBusiness(ctx, p, c)
	}
	attempt.DurationUS = b.cfg.Now().Sub(started.Time).Microseconds()
	return b.result(ctx, c, attempt, err)
}

// errPartyUnread reports that a party is there which this node has not read yet, as when it has just started.
var errPartyUnread = errors.New("the party of this endpoint is not in use yet")

// noParty tells why there is no party for an endpoint: it waits for one that was not read yet, and for a person when there is
// none.
func (b *Bridge) noParty(ctx context.Context, endpointID string) error {
	p, err := b.cfg.DB.AMQPPartyByEndpoint(ctx, endpointID)
	if errors.Is(err, store.ErrNotFound) || err == nil && !p.Enabled {
		return &held{reason: ReasonNoParty, detail: "amqp.detail.no-party"}
	}
	if err != nil {
		return err
	}
	b.Reload()
	return errPartyUnread
}

func (b *Bridge) result(ctx context.Context, c store.Claimed, attempt store.Attempt, err error) outbox.Result {
	r := outbox.Result{Attempt: attempt, Status: store.DeliveryDelivered}
	if err == nil {
		r.Attempt.StatusCode = http.StatusAccepted // a final answer: a resend gets another key, and so another messageId (AMQP-119)
		return r
	}
	r.Attempt.Error = err.Error()
	if h, ok := errors.AsType[*held](err); ok {
		r.Attempt.Error = string(h.detail)
		r.Status, r.Reason, r.Detail, r.Uncounted = store.DeliveryHeld, h.reason, h.detail, true
		r.Attempt.ErrorKind = string(webhook.KindRequest)
		if h.written {
			r.Attempt.StatusCode = http.StatusAccepted
		}
		return r
	}
	kind := webhook.ErrorKind(outbound.KindConnect)
	if _, ok := errors.AsType[*jwe.Problem](err); ok {
		kind, r.Uncounted = webhook.KindEncryption, true
	}
	r.Attempt.ErrorKind = string(kind)
	verdict := webhook.Verdict(webhook.Outcome{Kind: kind, Detail: err.Error()}, webhook.Facts{
		Attempt: int(c.Round) + 1, AcceptedAt: c.CreatedAt.Time, KeyExpiresAt: c.KeyExpiresAt.Time, Now: b.cfg.Now(),
		Schedule: b.cfg.Schedule(context.WithoutCancel(ctx), c), Rand: rand.Float64,
	})
	r.Reason, r.DueAt, r.Status = verdict.Reason, verdict.RetryAt, store.DeliveryDead
	r.Detail = sendTrouble(err)
	if verdict.Next == webhook.NextRetry {
		r.Status = store.DeliveryRetrying
		r.Detail = i18n.M("verdict.and", r.Detail, i18n.Message("verdict.again"))
	} else {
		r.Detail = i18n.M("verdict.and", r.Detail, verdict.Detail)
	}
	return r
}

// sendTrouble says to people why a message is not on its queue.
func sendTrouble(err error) i18n.Message {
	switch {
	case errors.Is(err, errPartyUnread):
		return "amqp.detail.party-unread"
	case unavailable(err):
		return i18n.M("amqp.detail.revocation-unknown", err.Error())
	case link.KindOf(err) == link.NotFound:
		return "amqp.detail.no-queue"
	case link.KindOf(err) == link.Denied:
		return "amqp.detail.denied"
	case link.KindOf(err) == link.Busy:
		return i18n.M("amqp.detail.busy", err.Error())
	case link.KindOf(err) == link.Lost:
		return "amqp.detail.lost"
	}
	return i18n.M("amqp.detail.not-taken", err.Error())
}

// finalTrouble makes what the broker refuses for good something for a person.
func finalTrouble(err error) error {
	if link.KindOf(err) == link.Rejected || link.KindOf(err) == link.TooLarge {
		return &held{reason: ReasonRefused, detail: i18n.M("amqp.detail.refused", err.Error())}
	}
	return err
}

// dueAt gives the time from which the AppRec of a message to a party is overdue (AMQP-117).
func (b *Bridge) dueAt(to *party) store.Time {
	wait := b.cfg.AnswerWait
	if to.AnswerWaitMS > 0 {
		wait = time.Duration(to.AnswerWaitMS) * time.Millisecond
	}
	return store.At(b.cfg.Now().Add(wait))
}
