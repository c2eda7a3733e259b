package outbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"schakel/delivery/event"
	"schakel/delivery/jwe"
	"schakel/delivery/outbound"
	"schakel/delivery/webhook"
	"schakel/store"
	"schakel/templates/i18n"
)

// Transport sends the deliveries of one kind of endpoint: it makes one attempt at a claimed delivery and judges its outcome.
// It does not touch the database and returns soon after ctx ends.
type Transport interface {
	Send(ctx context.Context, endpoint store.Endpoint, c store.Claimed) Result
}

// Result judges one attempt, for the delivery, its endpoint and its subscription.
type Result struct {
	// Attempt records the request and the answer; the engine fills in the delivery and the number.
	Attempt store.Attempt
	// Status is the next state of the delivery: delivered, retrying, held or dead.
	Status string
	// Reason is a code, Detail explains to people what happened and what to do next.
	Reason string
	Detail i18n.Message
	// DueAt is the time of the next attempt of a retrying delivery.
	DueAt time.Time
	// NotBefore is the time before which the endpoint wants no request at all (Retry-After); zero without one.
	NotBefore time.Time
	// Untried: no request was sent, so the delivery waits for another attempt as if this one had not been begun.
	Untried bool
	// Unasked: the receiver sent bytes that no request asked for. From now on each request has a connection of its own.
	Unasked bool
	// Uncounted: the attempt does not count for the circuit, because we stopped it ourselves or could not make it.
	Uncounted bool
	// SuspendEndpoint stops all deliveries to the endpoint until a person resumes it (403).
	SuspendEndpoint bool
	// EndSubscription ends the subscription (410).
	EndSubscription bool
	// Alone dissolves the batch of the attempt: each member is sent by itself from now on.
	Alone bool
}

// liveTime bounds the read of the present schedule after an attempt.
const liveTime = 2 * time.Second

// WebhookSender makes one attempt at a delivery or a batch; [webhook.Sender] does so over HTTPS.
type WebhookSender interface {
	Send(ctx context.Context, to webhook.Target, m webhook.Message) webhook.Outcome
	SendBatch(ctx context.Context, to webhook.Target, body []byte, key string) webhook.Outcome
}

// Webhook is the transport of requests that a receiver answers.
type Webhook struct {
	Sender   WebhookSender
	Schedule webhook.Schedule
	// Live, when set, returns the present schedule after each attempt; on an error Schedule applies.
	Live func(ctx context.Context) (webhook.Schedule, error)
	// Open unseals the secret of an endpoint's token client.
	Open func(e store.Endpoint) (string, error)
	Now  func() time.Time
	// Keys, when set, unseals the keys that sign requests to an endpoint now, and says until when they do; zero for no end.
	Keys func(e store.Endpoint) (keys []webhook.SignKey, until time.Time, err error)
	// Certificate, when set, opens the client certificate that an endpoint is shown now, and says until when it is; nil for none, zero for no end.
	Certificate func(e store.Endpoint) (cert *outbound.Certificate, until time.Time, err error)
	// Encrypter encrypts the data of events whose subscription asks for that; without it they are not sent.
	Encrypter *jwe.Service
	// Asker, when set, sends the requests of Ask; it takes larger answers than Sender, which are not stored.
	Asker WebhookSender

	secrets secretCache
	signing signatureCache
	shown   certificateCache
}

// Send implements Transport: it posts the event and judges the answer by the table of CE-74.
func (w *Webhook) Send(ctx context.Context, ep store.Endpoint, c store.Claimed) Result {
	target, err := w.target(ep)
	if err != nil {
		return w.broken(ep, brokenSecret)
	}
	ev, err := event.FromParts(c.Event.Attributes, event.DataKind(c.Event.DataKind), c.Event.Data)
	if err != nil {
		return w.broken(ep, "verdict.error.event")
	}
	if c.Encryption != nil {
		if ev, err = w.Encrypter.Encrypt(ctx, c.Encryption, c.EventID, &ev); err != nil {
			return w.notEncrypted(ctx, ep, c, err)
		}
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
		return nil, fmt.Errorf("ask endpoint: %s", i18n.Message(out.Detail))
	}
	if out.Truncated {
		return nil, fmt.Errorf("ask endpoint: its answer is longer than the %d bytes that are taken", len(out.ResponseBody))
	}
	if out.Status < 200 || out.Status > 299 {
		return nil, fmt.Errorf("ask endpoint: it answered %d", out.Status)
	}
	return out.ResponseBody, nil
}

const brokenSecret i18n.Message = "verdict.error.secret"

func (w *Webhook) target(ep store.Endpoint) (webhook.Target, error) {
	t := webhook.Target{EndpointID: ep.ID, URL: ep.URL, Mode: ep.ContentMode, Single: !ep.UnaskedAt.IsZero(), Timeout: time.Duration(ep.TimeoutMS) * time.Millisecond}
	if ep.SignScheme != store.SignNone {
		var err error
		if t.Sign, err = w.signing.of(ep, w.Now(), w.Keys); err != nil {
			return t, err
		}
	}
	version := strconv.FormatInt(ep.ConfigVersion, 10)
	if w.Certificate != nil {
		var err error
		if t.Certificate, err = w.shown.of(ep, w.Now(), w.Certificate); err != nil {
			return t, err
		}
		if t.Certificate != nil {
			version += " " + t.Certificate.ID // a token may be bound to it
		}
	}
	if ep.TokenAuthMethod == "" || ep.TokenAuthMethod == webhook.AuthNone {
		return t, nil
	}
	t.Token = &webhook.TokenConfig{
		ConfigVersion: version, TokenURL: ep.TokenURL, ClientID: ep.TokenClientID,
		Scope: ep.TokenScope, AuthMethod: ep.TokenAuthMethod, Certificate: t.Certificate,
	}
	if ep.TokenSecret == "" {
		return t, nil
	}
	secret, err := w.secrets.open(ep, w.Open)
	t.Token.Secret = webhook.Secret(secret)
	return t, err
}

// broken holds a delivery that cannot even be tried.
func (w *Webhook) broken(ep store.Endpoint, detail i18n.Message) Result {
	return Result{
		Status: store.DeliveryHeld, Reason: webhook.ReasonRequest, Detail: detail, Uncounted: true,
		Attempt: store.Attempt{StartedAt: store.At(w.Now()), URL: ep.URL, ErrorKind: string(webhook.KindRequest), Error: string(detail)},
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

// headers encodes the header of a request or an answer as a JSON object: a list of values by name, as encoding/json would. It
// runs twice for every attempt.
func headers(h http.Header) string {
	if len(h) == 0 {
		return ""
	}
	var few [16]string
	names, size := few[:0], 2
	for name, values := range h {
		names = append(names, name)
		size += len(name) + 6
		for _, v := range values {
			size += len(v) + 3
		}
	}
	slices.Sort(names)
	b := append(make([]byte, 0, size), '{')
	for i, name := range names {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendValues(append(appendText(b, name), ':'), h[name])
	}
	return string(append(b, '}'))
}

func appendValues(b []byte, values []string) []byte {
	if values == nil {
		return append(b, "null"...)
	}
	b = append(b, '[')
	for i, v := range values {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendText(b, v)
	}
	return append(b, ']')
}

func appendText(b []byte, text string) []byte {
	if plain(text) {
		return append(append(append(b, '"'), text...), '"')
	}
	quoted, err := json.Marshal(text)
	if err != nil {
		panic("a string cannot fail to encode: " + err.Error())
	}
	return append(b, quoted...)
}

// plain reports whether a text is the same in JSON.
func plain(text string) bool {
	for i := range len(text) {
		switch c := text[i]; {
		case c < ' ', c > '~', c == '"', c == '\\', c == '<', c == '>', c == '&':
			return false
		}
	}
	return true
}
