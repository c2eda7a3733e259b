// Package inbox receives the events of test inboxes: endpoints that this program answers itself, so that a partner sees its events
// before it has a receiver.
//
// It stands where the sender of webhooks stands, so deliveries to a test inbox have the states, attempts, retries and counts of any
// other. It receives what a webhook would receive, byte for byte, checks it as a careful receiver would, stores the newest hundred
// messages of each inbox for a week, and gives the answer that its partner chose. It makes no connection. What it bounds: the
// bytes it stores of a message; how many come in a second is bounded by the endpoint, as for others.
package inbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"schakel/delivery/event"
	"schakel/delivery/outbound"
	"schakel/delivery/webhook"
	"schakel/store"
)

// Limits of a test inbox.
const (
	// Keep bounds how long a message is stored.
	Keep = 7 * 24 * time.Hour
	// MaxBody bounds what is stored of the body of a message, in bytes.
	MaxBody = 64 << 10
	// RetryAfter is the pause that an inbox asks for when it is busy.
	RetryAfter = 30 * time.Second
)

// Receiver receives for all test inboxes. It is safe for concurrent use.
type Receiver struct {
	db  *store.DB
	now func() time.Time
}

// New makes a Receiver.
func New(db *store.DB, now func() time.Time) *Receiver { return &Receiver{db, now} }

// Send receives one event.
func (r *Receiver) Send(ctx context.Context, to webhook.Target, m webhook.Message) webhook.Outcome {
	header, body := m.Encode(to.Mode)
	return r.receive(ctx, to, header, body, m.IdempotencyKey)
}

// SendBatch receives a batch.
func (r *Receiver) SendBatch(ctx context.Context, to webhook.Target, body []byte, key string) webhook.Outcome {
	return r.receive(ctx, to, http.Header{"Content-Type": {"application/cloudevents-batch+json"}}, body, key)
}

func (r *Receiver) receive(ctx context.Context, to webhook.Target, header http.Header, body []byte, key string) webhook.Outcome {
	header["Idempotency-Key"] = []string{`"` + key + `"`}
	out := webhook.Outcome{StartedAt: r.now(), RequestHeader: header}
	answer, err := r.keep(ctx, to.EndpointID, header, body, key)
	switch {
	case err != nil && ctx.Err() != nil:
		out.Kind, out.Detail = outbound.KindCanceled, "verdict.error.stopped"
	case err != nil:
		setAnswer(&out, http.StatusServiceUnavailable, "The test inbox could not store the event.")
	default:
		reply(ctx, &out, answer, to.Timeout)
	}
	out.Duration = r.now().Sub(out.StartedAt)
	return out
}

// keep stores what was received, and returns what is answered to it.
func (r *Receiver) keep(ctx context.Context, endpointID string, header http.Header, body []byte, key string) (string, error) {
	headers, err := json.Marshal(header)
	if err != nil {
		return "", fmt.Errorf("write headers: %w", err)
	}
	m := store.InboxMessage{
		EndpointID: endpointID, IdempotencyKey: key, Headers: string(headers), Body: body[:min(len(body), MaxBody)], Size: int64(len(body)),
	}
	m.EventType, m.Findings = Check(header, body)
	err = r.db.Write(ctx, func(tx *store.Tx) error {
		endpoint, err := tx.Endpoint(ctx, endpointID)
		if err != nil {
			return fmt.Errorf("find test inbox: %w", err)
		}
		m.Answer, m.PartnerID = endpoint.InboxAnswer, endpoint.PartnerID
		return tx.InsertInboxMessage(ctx, &m)
	})
	return m.Answer, err
}

// maxEvent bounds the events that are read; what the engine sends is smaller.
const maxEvent = 32 << 20

// Check reads a request as a receiver has to, and returns the type of its first event and what is wrong with it or could be better;
// each finding is a message.
func Check(header http.Header, body []byte) (eventType string, findings []string) {
	_, events, err := event.Read(header, body, event.Limits{EventBytes: maxEvent, BatchBytes: maxEvent, BatchEvents: 1000})
	if invalid, ok := errors.AsType[*event.Invalid](err); ok {
		for _, p := range invalid.Problems {
			findings = append(findings, string(p.Detail))
		}
		return "", findings
	}
	if err != nil {
		return "", []string{err.Error()}
	}
	for i := range events {
		for _, p := range events[i].Advice(event.Policy{Source: event.SourceAny}) {
			findings = append(findings, string(p.Detail))
		}
	}
	return events[0].Type, findings
}

// reply fills in the answer that the partner chose.
func reply(ctx context.Context, out *webhook.Outcome, answer string, timeout time.Duration) {
	switch answer {
	case store.InboxRejects:
		setAnswer(out, http.StatusBadRequest, "This test inbox was told to reject events.")
	case store.InboxBusy:
		setAnswer(out, http.StatusTooManyRequests, "This test inbox was told to ask for a pause.")
		out.ResponseHeader["Retry-After"] = []string{strconv.Itoa(int(RetryAfter / time.Second))}
		out.RetryAfter = RetryAfter
	case store.InboxFails:
		setAnswer(out, http.StatusInternalServerError, "This test inbox was told to fail.")
	case store.InboxSlow:
		late := time.NewTimer(timeout)
		defer late.Stop()
		select {
		case <-late.C:
			out.Kind, out.Detail = outbound.KindTimeout, "verdict.error.slow-inbox"
		case <-ctx.Done():
			out.Kind, out.Detail = outbound.KindCanceled, "verdict.error.stopped"
		}
	default:
		setAnswer(out, http.StatusAccepted, "")
	}
}

func setAnswer(out *webhook.Outcome, status int, detail string) {
	out.Status, out.ResponseHeader = status, http.Header{}
	if detail == "" {
		return
	}
	body, _ := json.Marshal(map[string]any{"title": http.StatusText(status), "status": status, "detail": detail}) // of texts and a number
	out.ResponseHeader["Content-Type"], out.ResponseBody = []string{"application/problem+json"}, body
}
