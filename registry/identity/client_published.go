package identity

import (
	"context"

	"schakel/registry"
	"schakel/store"
)

// NotePublished records that a person published a test event as a client of its organisation.
func (c *Clients) NotePublished(ctx context.Context, actor registry.Actor, client store.Client, eventID, eventType string) error {
	return registry.Wrap("note published test", c.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		return registry.Record(ctx, tx, actor, registry.ActionClientPublished, clientObject(client), registry.Details{"event": eventID, "type": eventType})
	}))
}
