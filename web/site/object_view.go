package site

import (
	"context"
	"encoding/hex"

	"github.com/labstack/echo/v4"
	"schakel/store"
	"schakel/templates/ui"
)

// SendObject sends the oversize data of an event as a file.
func (p *Portal) SendObject(c echo.Context, eventID string) error {
	objects, err := p.DB.ObjectsOf(c.Request().Context(), eventID)
	if err != nil {
		return err
	}
	if len(objects) == 0 || !objects[0].GoneAt.IsZero() {
		return store.ErrNotFound
	}
	o := objects[0]
	o.ContentType = echo.MIMEOctetStream // of a stranger: no browser shows it
	return ServeObject(c, p.DB, o)
}

// ObjectView shows the data of an event that is stored apart; nil when its data is in it.
func (p *Portal) ObjectView(ctx context.Context, eventID, download string) (*ui.ObjectView, error) {
	objects, err := p.DB.ObjectsOf(ctx, eventID)
	if err != nil || len(objects) == 0 {
		return nil, err
	}
	o := objects[0]
	v := &ui.ObjectView{
		ID: o.ID, Type: o.ContentType, Digest: hex.EncodeToString(o.Digest), Size: o.Size, Download: download,
		Goes: "As long as the event: it goes when all its deliveries have ended and the time that events are kept is over.",
	}
	if !o.GoneAt.IsZero() {
		v.Download, v.Goes = "", "Removed on "+ui.Time(o.GoneAt.Time)+"."
	}
	return v, nil
}
