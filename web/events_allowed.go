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
// (CE-10, 403), and of a type that no contract defines (CE-15, 400). Of a batch
// all mistakes are named, and nothing is kept.
func (m *machineAPI) allowEvents(ctx context.Context, who caller, mode event.Mode, events []event.Event) error {
	var denied, unknown []ProblemError
	for i := range events {
		e := &events[i]
		at := place{batch: mode == event.Batch, index: i}
		if err := registry.MayPublish(who.client, e.Type, e.Source); err != nil {
			denied = append(denied, at.problem(deniedAttribute(who.client, e), detailOf(err)))
			continue
		}
		known, err := m.typeKnown(ctx, e.Type)
		if err != nil {
			return err
		}
		if !known {
			unknown = append(unknown, at.problem("type", "No published contract defines this event type."))
		}
	}
	switch {
	case len(denied) > 0:
		p := newProblem(http.StatusForbidden, "not-granted", "This client may not publish this. Ask the administrator for the types and sources it needs. Nothing of this request was stored.")
		p.Errors = denied
		return p
	case len(unknown) > 0:
		p := newProblem(http.StatusBadRequest, "unknown-type", "No published contract defines this type. Publish the contract first. Nothing of this request was stored.")
		p.Errors = unknown
		return p
	}
	return nil
}

// deniedAttribute tells whether it is the type or the source that is not granted.
func deniedAttribute(client store.Client, e *event.Event) string {
	client.PublishSources = store.Strings{"*"}
	if registry.MayPublish(client, e.Type, e.Source) != nil {
		return "type"
	}
	return "source"
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

// typeKnown tells whether a published or deprecated contract defines the type.
func (m *machineAPI) typeKnown(ctx context.Context, name string) (bool, error) {
	if m.AcceptUnknownTypes {
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
