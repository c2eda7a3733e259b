package contracts

import (
	"mime"
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"
	"schakel/store"
	"schakel/web/api"
	"schakel/web/site"
)

// postEventTypeValidation tries an event, or its data, against its contract, so that a
// producer need not send it to know. Nothing of it is stored.
func (m *handlers) postEventTypeValidation(c echo.Context) error {
	reader, err := m.callerReader(c)
	if err != nil {
		return err
	}
	kind, _, err := mime.ParseMediaType(c.Request().Header.Get("Content-Type"))
	if err != nil || !site.SaysJSON(kind) {
		return site.NewProblem(http.StatusUnsupportedMediaType, "not-json", "Send an event as application/cloudevents+json, or its data as application/json.")
	}
	name, err := url.PathUnescape(c.Param("name"))
	if err != nil {
		return store.ErrNotFound
	}
	ctx := c.Request().Context()
	found, err := m.Registry.EventTypes.Get(ctx, reader, name)
	if err != nil {
		return err
	}
	content, err := api.ReadAll(c.Request().Body)
	if err != nil {
		return err
	}
	lines, err := m.Registry.EventTypes.LinesOf(ctx, found.Name)
	if err != nil {
		return err
	}
	answer, err := CheckEvent(m.Registry.Payloads, found.Name, content, VersionsIn(lines[found.Name]))
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, answer)
}
