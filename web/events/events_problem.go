package events

import (
	"errors"
	"net/http"
	"time"

	"schakel/delivery/event"
	"schakel/delivery/outbox"
	"schakel/web/site"
)

// eventProblem is the answer to a request that holds no events we take.
func eventProblem(err error) error {
	if err == nil {
		return nil
	}
	if invalid, ok := errors.AsType[*event.Invalid](err); ok {
		p := site.NewProblem(http.StatusBadRequest, "event-invalid", "Nothing of this request was stored. Mend what the errors name and send it again, under a new Idempotency-Key.")
		for _, found := range invalid.Problems {
			p.Errors = append(p.Errors, site.ProblemError{
				Index: batchIndex(found.Index), Attribute: found.Attribute, Pointer: found.Pointer, Line: found.Line, Column: found.Column,
				Code: found.Code, Detail: found.Detail,
			})
		}
		return p
	}
	if large, ok := errors.AsType[*event.TooLarge](err); ok {
		p := site.NewProblem(http.StatusRequestEntityTooLarge, "too-large", "Nothing of this request was stored, it is "+large.Error()+". Send less, or put large data elsewhere and refer to it with dataref.")
		if large.Index >= 0 {
			p.Errors = []site.ProblemError{{Index: batchIndex(large.Index), Code: "too-large", Detail: large.Error()}}
		}
		return p
	}
	if errors.Is(err, event.ErrUnsupportedFormat) {
		return site.NewProblem(http.StatusUnsupportedMediaType, "not-a-cloudevent", "This is "+err.Error()+".").
			With("Accept-Post", event.MediaType+", "+event.BatchMediaType)
	}
	return err
}

func batchIndex(index int) *int {
	if index < 0 {
		return nil
	}
	return &index
}

// intakeProblem is the answer when the engine did not keep the events. The key
// stays usable after those that say Retry-After.
func (m *handlers) intakeProblem(err error) error {
	switch {
	case errors.Is(err, outbox.ErrKeyInUse):
		return m.KeyInUse()
	case errors.Is(err, outbox.ErrKeyReused):
		return m.KeyReused()
	case errors.Is(err, outbox.ErrBusy):
		return site.RetryLater(http.StatusServiceUnavailable, "busy", "More events come in than can be stored now. Repeat this request, with the same key.", 2*time.Second)
	case errors.Is(err, outbox.ErrUnavailable):
		p := site.RetryLater(http.StatusServiceUnavailable, "store-unavailable", "The events could not be stored. Repeat this request, with the same key.", 5*time.Second)
		p.Logged = true
		return errors.Join(p, err)
	}
	return err
}
