package outbox

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"schakel/delivery/event"
	"schakel/delivery/jwe"
	"schakel/delivery/webhook"
	"schakel/store"
	"schakel/templates/i18n"
)

// notEncrypted judges a delivery whose data could not be encrypted, so that nothing was sent: it is tried again by its schedule where time may
// mend that, such as a set of keys that cannot be read, and is held for a person where it will not. The endpoint is not to blame.
func (w *Webhook) notEncrypted(ctx context.Context, ep store.Endpoint, c store.Claimed, err error) Result {
	return w.unencrypted(ep, c, err, w.schedule(ctx, c), rand.Float64)
}

func (w *Webhook) batchNotEncrypted(ctx context.Context, ep store.Endpoint, members []store.Claimed, err error) []Result {
	results, jitter, schedule := make([]Result, len(members)), rand.Float64(), w.schedule(ctx, members[0]) // #nosec G404 -- spreads waits, nobody is harmed by who guesses it
	for i, c := range members {
		results[i] = w.unencrypted(ep, c, err, schedule, func() float64 { return jitter })
		if i > 0 {
			results[i].Attempt = lean(results[i].Attempt)
		}
	}
	return results
}

func (w *Webhook) unencrypted(ep store.Endpoint, c store.Claimed, err error, schedule webhook.Schedule, random func() float64) Result {
	out := webhook.Outcome{StartedAt: w.Now(), Kind: webhook.KindEncryption, Detail: "verdict.error.encryption"}
	wrong, known := errors.AsType[*jwe.Problem](err)
	if known {
		out.Detail = string(wrong.Message)
	}
	r := w.result(ep, c, out, schedule, random)
	r.Uncounted = true
	if known && !wrong.Transient {
		r.Status, r.Reason = store.DeliveryHeld, webhook.ReasonEncryption
		r.Detail, r.DueAt = i18n.M("verdict.with-error", i18n.Message("verdict.encryption-held"), wrong.Message), time.Time{}
	}
	return r
}

// encryptBatch makes the body of a batch again, with the data of the subscriptions that ask for it encrypted.
func (w *Webhook) encryptBatch(ctx context.Context, members []store.Claimed) ([]byte, error) {
	body := []byte{'['}
	for i := range members {
		c := &members[i]
		ev, err := event.FromParts(c.Event.Attributes, event.DataKind(c.Event.DataKind), c.Event.Data)
		if err != nil {
			return nil, err
		}
		if c.Encryption != nil {
			if ev, err = w.Encrypter.Encrypt(ctx, c.Encryption, c.EventID, &ev); err != nil {
				return nil, err
			}
		}
		if i > 0 {
			body = append(body, ',')
		}
		body = ev.AppendJSON(body)
	}
	return append(body, ']'), nil
}
