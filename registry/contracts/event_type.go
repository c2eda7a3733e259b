package registry

import (
	"context"
	"fmt"

	"schakel/store"
)

// EventTypes are the catalogue: what can be subscribed to.
type EventTypes struct{ cfg Config }

// NewEventTypes makes the service.
func NewEventTypes(cfg Config) *EventTypes { return &EventTypes{cfg} }

// Catalogue lists every event type the reader may see once, by name.
func (e *EventTypes) Catalogue(ctx context.Context, reader Reader) ([]store.EventType, error) {
	rows, err := e.cfg.DB.EventTypes(ctx, reader.sight())
	if err != nil {
		return nil, fmt.Errorf("list event types: %w", err)
	}
	return rows, nil
}

// Get finds an event type the reader may see, by name.
func (e *EventTypes) Get(ctx context.Context, reader Reader, name string) (store.EventType, error) {
	t, err := e.cfg.DB.EventType(ctx, name)
	if err != nil {
		return store.EventType{}, found("event type", err)
	}
	seen, err := e.cfg.DB.SeesContract(ctx, reader.sight(), t.ContractID)
	if err != nil {
		return store.EventType{}, fmt.Errorf("look who sees the event type: %w", err)
	}
	if !seen {
		return store.EventType{}, notFound("event type")
	}
	return t, nil
}

// LinesOf lists the lines of event types that a reader was shown, by name.
func (e *EventTypes) LinesOf(ctx context.Context, names ...string) (map[string][]VersionLineOf, error) {
	rows, err := e.cfg.DB.EventTypeVersions(ctx, names...)
	if err != nil {
		return nil, fmt.Errorf("list versions of event types: %w", err)
	}
	byName := map[string][]store.EventType{}
	for _, r := range rows {
		byName[r.Name] = append(byName[r.Name], r)
	}
	lines := make(map[string][]VersionLineOf, len(byName))
	for name, versions := range byName {
		lines[name] = Lines(versions)
	}
	return lines, nil
}
