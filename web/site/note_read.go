package site

import (
	"context"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/store"
)

// NoteEvent writes in the audit trail that the reader of a page gets the data of an event. It is the affair of the partner named.
func (p *Portal) NoteEvent(ctx context.Context, actor registry.Actor, action string, e store.Event, partnerID string) error {
	return p.Registry.Audit.NoteRead(ctx, actor, action, registry.ObjectOf("event", e.ID, Shown(e.CEType), partnerID), registry.Details{"source": e.CESource, "ce_id": e.CEID})
}

// SendDataNoted is SendData with an entry in the audit trail.
func (p *Portal) SendDataNoted(c echo.Context, e store.Event, partnerID string) error {
	if err := p.NoteEvent(c.Request().Context(), Actor(c), registry.ActionDataDownloaded, e, partnerID); err != nil {
		return err
	}
	return SendData(c, e)
}
