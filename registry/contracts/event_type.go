package contracts

import (
	"context"
	"fmt"

	"schakel/registry"
	"schakel/store"
)

// EventTypes are the catalogue: what can be subscribed to.
type EventTypes struct{ cfg registry.Config }

// NewEventTypes makes the service.
func NewEventTypes(cfg registry.Config) *EventTypes { return &EventTypes{cfg} }

// Catalogue lists every event type the reader may see once, by name.
func (e *EventTypes) Catalogue(ctx context.Context, reader registry.Reader) ([]store.EventType, error) {
	rows, err := e.cfg.DB.EventTypes(ctx, reader.Sight())
	return rows, registry.Wrap("list event types", err)
}

// Get finds an event type the reader may see, by name.
func (e *EventTypes) Get(ctx context.Context, reader registry.Reader, name string) (store.EventType, error) {
	t, err := e.cfg.DB.EventType(ctx, name)
	if err != nil {
		return store.EventType{}, registry.Found("event type", err)
	}
	seen, err := e.cfg.DB.SeesContract(ctx, reader.Sight(), t.ContractID)
	if err != nil {
		return store.EventType{}, fmt.Errorf("look who sees the event type: %w", err)
	}
	if !seen {
		return store.EventType{}, registry.NotFound("event type")
	}
	return t, nil
}

// LinesOf lists the lines of event types that a reader was shown, by name.
func (e *EventTypes) LinesOf(ctx context.Context, names ...string) (map[string][]registry.VersionLineOf, error) {
	rows, err := e.cfg.DB.EventTypeVersions(ctx, names...)
	if err != nil {
		return nil, fmt.Errorf("list versions of event types: %w", err)
	}
	byName := map[string][]store.EventType{}
	for _, r := range rows {
		byName[r.Name] = append(byName[r.Name], r)
	}
	lines := make(map[string][]registry.VersionLineOf, len(byName))
	for name, versions := range byName {
		lines[name] = registry.Lines(versions)
	}
	return lines, nil
}
