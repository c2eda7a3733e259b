package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"schakel/delivery/event"
	"schakel/registry"
	"schakel/store"
)

// allowEvents refuses events of a type or source that the client was not granted
// (CE-10, 403), of a type that no contract defines (CE-15, 400), and what the
// profile refuses. Of a batch all mistakes are named, and nothing is kept. It
// answers what to tell the sender of events that are taken.
func (m *machineAPI) allowEvents(ctx context.Context, set *registry.ProfileState, who caller, mode event.Mode, events []event.Event) ([]ProblemError, error) {
	var denied, unknown []ProblemError
	var said advice
	for i := range events {
		e := &events[i]
		at := place{batch: mode == event.Batch, index: i}
		if err := registry.MayPublishType(who.client, e.Type); err != nil {
			denied = append(denied, at.problem("type", detailOf(err)))
			continue
		}
		advised, refused := bindSource(set, registry.MayPublishFrom(who.client, e.Source))
		if refused != nil {
			denied = append(denied, at.problem("source", detailOf(refused)))
			continue
		}
		if advised != "" {
			said.told = append(said.told, at.problem("source", advised).coded("source-not-granted"))
		}
		known, err := m.typeKnown(ctx, set, e.Type)
		if err != nil {
			return nil, err
		}
		if !known {
			unknown = append(unknown, at.problem("type", "No published contract defines this event type."))
		}
	}
	switch {
	case len(denied) > 0:
		p := newProblem(http.StatusForbidden, "not-granted", "This client may not publish this. Ask the administrator for the types and sources it needs. Nothing of this request was stored.")
		p.Errors = denied
		return nil, p
	case len(unknown) > 0:
		p := newProblem(http.StatusBadRequest, "unknown-type", "No published contract defines this type. Publish the contract first. Nothing of this request was stored.")
		p.Errors = unknown
		return nil, p
	}
	advise(set, mode, events, &said)
	return said.told, said.err()
}

func detailOf(err error) string {
	if e, ok := errors.AsType[*registry.Error](err); ok {
		return e.Message
	}
	return "This is not granted to the client."
}

// place is which event of a request an error is about.
type place struct {
	batch bool
	index int
}

func (p place) problem(attribute, detail string) ProblemError {
	found := ProblemError{Attribute: attribute, Pointer: "/" + attribute, Code: attribute + "-refused", Detail: detail}
	if p.batch {
		found.Index, found.Pointer = &p.index, "/"+strconv.Itoa(p.index)+found.Pointer
	}
	return found
}

// coded is the error under another code.
func (e ProblemError) coded(code string) ProblemError {
	e.Code = code
	return e
}

// typeKnown tells whether a published or deprecated contract defines the type, or
// the profile does not ask for one.
func (m *machineAPI) typeKnown(ctx context.Context, set *registry.ProfileState, name string) (bool, error) {
	if set.UnknownTypes == registry.PolicyAccept {
		return true, nil
	}
	_, err := m.types.get(ctx, name, m.DB.EventType)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil // not remembered, so that a publication counts at once
	}
	if err != nil {
		return false, fmt.Errorf("look up event type: %w", err)
	}
	return true, nil
}
