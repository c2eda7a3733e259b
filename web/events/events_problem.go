package web

import (
	"errors"
	"net/http"
	"time"

	"schakel/delivery/event"
	"schakel/delivery/outbox"
)

// eventProblem is the answer to a request that holds no events we take.
func eventProblem(err error) error {
	if err == nil {
		return nil
	}
	if invalid, ok := errors.AsType[*event.Invalid](err); ok {
		p := newProblem(http.StatusBadRequest, "event-invalid", "Nothing of this request was stored. Mend what the errors name and send it again, under a new Idempotency-Key.")
		for _, found := range invalid.Problems {
			p.Errors = append(p.Errors, ProblemError{
				Index: batchIndex(found.Index), Attribute: found.Attribute, Pointer: found.Pointer, Line: found.Line, Column: found.Column,
				Code: found.Code, Detail: found.Detail,
			})
		}
		return p
	}
	if large, ok := errors.AsType[*event.TooLarge](err); ok {
		p := newProblem(http.StatusRequestEntityTooLarge, "too-large", "Nothing of this request was stored, it is "+large.Error()+". Send less, or put large data elsewhere and refer to it with dataref.")
		if large.Index >= 0 {
			p.Errors = []ProblemError{{Index: batchIndex(large.Index), Code: "too-large", Detail: large.Error()}}
		}
		return p
	}
	if errors.Is(err, event.ErrUnsupportedFormat) {
		return newProblem(http.StatusUnsupportedMediaType, "not-a-cloudevent", "This is "+err.Error()+".").
			with("Accept-Post", event.MediaType+", "+event.BatchMediaType)
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
func (m *machineAPI) intakeProblem(err error) error {
	switch {
	case errors.Is(err, outbox.ErrKeyInUse):
		return m.keyInUse()
	case errors.Is(err, outbox.ErrKeyReused):
		return m.keyReused()
	case errors.Is(err, outbox.ErrBusy):
		return retryLater(http.StatusServiceUnavailable, "busy", "More events come in than can be stored now. Repeat this request, with the same key.", 2*time.Second)
	case errors.Is(err, outbox.ErrUnavailable):
		p := retryLater(http.StatusServiceUnavailable, "store-unavailable", "The events could not be stored. Repeat this request, with the same key.", 5*time.Second)
		p.logged = true
		return errors.Join(p, err)
	}
	return err
}

func (m *machineAPI) keyInUse() error {
	return retryLater(http.StatusConflict, "key-in-use", "The first request with this Idempotency-Key is still being handled. Repeat this one in a moment, with the same key.", time.Second)
}

func (m *machineAPI) keyReused() error {
	return newProblem(http.StatusUnprocessableEntity, "key-reused", "This Idempotency-Key was used for a request with other content. Send this one under a new key.")
}
