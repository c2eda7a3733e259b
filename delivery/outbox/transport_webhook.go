package outbox

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"schakel/delivery/event"
	"schakel/delivery/outbound"
	"schakel/delivery/webhook"
	"schakel/store"
)

// liveTime bounds the read of the present schedule after an attempt.
const liveTime = 2 * time.Second

// Webhook is the transport over HTTPS.
type Webhook struct {
	Sender   *webhook.Sender
	Schedule webhook.Schedule
	// Live, when set, returns the present schedule after each attempt; on an error Schedule applies.
	Live func(ctx context.Context) (webhook.Schedule, error)
	// Open unseals the secret of an endpoint's token client.
	Open func(e store.Endpoint) (string, error)
	Now  func() time.Time
	// Asker, when set, sends the requests of Ask; it takes larger answers than Sender, which are not stored.
	Asker *webhook.Sender

	secrets secretCache
}

// Send implements Transport: it posts the event and judges the answer by the table of CE-74.
func (w *Webhook) Send(ctx context.Context, ep store.Endpoint, c store.Claimed) Result {
	target, err := w.target(ep)
	if err != nil {
		return w.broken(ep, brokenSecret)
	}
	ev, err := event.FromParts(c.Event.Attributes, event.DataKind(c.Event.DataKind), c.Event.Data)
	if err != nil {
		return w.broken(ep, "The stored event cannot be read.")
	}
	out := w.Sender.Send(ctx, target, webhook.Message{
		Event: &ev, Data: ev.Data, IdempotencyKey: c.IdempotencyKey, Attempt: int(c.Attempts) + 1,
	})
	return w.result(ep, c, out, w.scheduleAfter(ctx, c, out), rand.Float64)
}

// Ask posts an event to an endpoint of the own organisation and returns its answer, for a request that somebody waits for.
// Nothing is retried.
func (w *Webhook) Ask(ctx context.Context, ep store.Endpoint, ev *event.Event, key string) ([]byte, error) {
	target, err := w.target(ep)
	if err != nil {
		return nil, errors.New("ask endpoint: its secret was sealed with another key")
	}
	asker := w.Asker
	if asker == nil {
		asker = w.Sender
	}
	out := asker.Send(ctx, target, webhook.Message{Event: ev, Data: ev.Data, IdempotencyKey: key, Attempt: 1})
	if out.Kind != "" {
		return nil, fmt.Errorf("ask endpoint: %s", out.Detail)
	}
	if out.Truncated {
		return nil, fmt.Errorf("ask endpoint: its answer is longer than the %d bytes that are taken", len(out.ResponseBody))
	}
	if out.Status < 200 || out.Status > 299 {
		return nil, fmt.Errorf("ask endpoint: it answered %d", out.Status)
	}
	return out.ResponseBody, nil
}

const brokenSecret = "The secret of the endpoint cannot be read: it was sealed with another key. Enter it again, then resend."

func (w *Webhook) target(ep store.Endpoint) (webhook.Target, error) {
	t := webhook.Target{EndpointID: ep.ID, URL: ep.URL, Mode: ep.ContentMode, Single: !ep.UnaskedAt.IsZero(), Timeout: time.Duration(ep.TimeoutMS) * time.Millisecond}
	if ep.TokenAuthMethod == "" || ep.TokenAuthMethod == webhook.AuthNone {
		return t, nil
	}
	t.Token = &webhook.TokenConfig{
		ConfigVersion: strconv.FormatInt(ep.ConfigVersion, 10), TokenURL: ep.TokenURL, ClientID: ep.TokenClientID,
		Scope: ep.TokenScope, AuthMethod: ep.TokenAuthMethod,
	}
	if ep.TokenSecret == "" {
		return t, nil
	}
	secret, err := w.secrets.open(ep, w.Open)
	t.Token.Secret = webhook.Secret(secret)
	return t, err
}

// broken holds a delivery that cannot even be tried.
func (w *Webhook) broken(ep store.Endpoint, detail string) Result {
	return Result{
		Status: store.DeliveryHeld, Reason: webhook.ReasonRequest, Detail: detail, Uncounted: true,
		Attempt: store.Attempt{StartedAt: store.At(w.Now()), URL: ep.URL, ErrorKind: string(webhook.KindRequest), Error: detail},
	}
}

// scheduleAfter returns schedule where there may be another attempt; what arrived needs none.
func (w *Webhook) scheduleAfter(ctx context.Context, c store.Claimed, out webhook.Outcome) webhook.Schedule {
	if out.Status >= 200 && out.Status < 300 {
		return w.Schedule
	}
	return w.schedule(ctx, c)
}

// schedule returns the present retry schedule of a delivery: the chain's, with the overrides of its subscription.
func (w *Webhook) schedule(ctx context.Context, c store.Claimed) webhook.Schedule {
	own, err := webhook.ParseOverride(c.Retry)
	if err != nil {
		own = webhook.Override{} // it was checked before it was stored
	}
	return w.chain(ctx).With(own)
}

// chain returns the retry schedule of the chain.
func (w *Webhook) chain(ctx context.Context) webhook.Schedule {
	if w.Live == nil {
		return w.Schedule
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), liveTime) // the attempt may have used up its own time
	defer cancel()
	s, err := w.Live(ctx)
	if err != nil {
		return w.Schedule
	}
	return s
}

func (w *Webhook) result(ep store.Endpoint, c store.Claimed, out webhook.Outcome, schedule webhook.Schedule, random func() float64) Result {
	d := webhook.Verdict(out, webhook.Facts{
		Attempt: int(c.Round) + 1, AcceptedAt: c.CreatedAt.Time, KeyExpiresAt: c.KeyExpiresAt.Time, Now: w.Now(), Schedule: schedule,
		Rand: random, FreshTokenTried: c.Reason == webhook.ReasonTokenRenewed,
	})
	r := Result{
		Attempt: store.Attempt{
			StartedAt: store.At(out.StartedAt), DurationUS: out.Duration.Microseconds(), URL: ep.URL, RequestHeaders: headers(out.RequestHeader),
			StatusCode: int64(out.Status), ResponseHeaders: headers(out.ResponseHeader), ResponseBody: out.ResponseBody,
			ErrorKind: string(out.Kind), Error: out.Detail,
		},
		Reason: d.Reason, Detail: d.Detail, DueAt: d.RetryAt, NotBefore: d.EndpointHoldUntil,
		Uncounted:       d.Reason == webhook.ReasonCanceled,
		SuspendEndpoint: d.EndpointAction == webhook.EndpointSuspend,
		EndSubscription: d.SubscriptionAction == webhook.SubscriptionEnd,
		Untried:         out.Kind == outbound.KindHeldBack, Unasked: out.Unasked,
	}
	r.Status, r.Reason = statusOf(d)
	return r
}

// statusOf maps a decision to the state of the delivery and its reason.
func statusOf(d webhook.Decision) (status, reason string) {
	switch d.Next {
	case webhook.NextDelivered:
		return store.DeliveryDelivered, ""
	case webhook.NextRetry:
		return store.DeliveryRetrying, d.Reason
	case webhook.NextHold:
		return store.DeliveryHeld, store.ReasonEndpointSuspended
	case webhook.NextPark:
		return store.DeliveryHeld, d.Reason
	default:
		return store.DeliveryDead, d.Reason
	}
}

// secretCache caches the unsealed secrets of token clients, so that not every attempt unseals the same one. An endpoint has
// one entry, which a changed secret replaces.
type secretCache struct {
	mu         sync.Mutex
	byEndpoint map[string]secret // by endpoint
}

type secret struct{ sealed, plain string }

// open returns the secret of an endpoint, which unseal unseals.
func (s *secretCache) open(ep store.Endpoint, unseal func(store.Endpoint) (string, error)) (string, error) {
	s.mu.Lock()
	known, ok := s.byEndpoint[ep.ID]
	s.mu.Unlock()
	if ok && known.sealed == ep.TokenSecret {
		return known.plain, nil
	}
	plain, err := unseal(ep)
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byEndpoint == nil {
		s.byEndpoint = make(map[string]secret)
	}
	s.byEndpoint[ep.ID] = secret{ep.TokenSecret, plain}
	return plain, nil
}
