package amqp

import (
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"schakel/store"
	"schakel/web/site"
)

// messageBody downloads the body of a message that came in and is stored: encrypted, as it came.
func (a AMQPArea) messageBody(c echo.Context) error {
	m, err := a.ownMessage(c)
	if err != nil {
		return err
	}
	if a.AMQP == nil {
		return a.refuse(c, a.message(m.ID), a.whyNot(""))
	}
	body, err := a.AMQP.Body(c.Request().Context(), site.EngineActor(c), m.ID)
	if errors.Is(err, store.ErrNotFound) {
		return a.refuse(c, a.message(m.ID), bodyNotStored)
	}
	if err != nil {
		return err
	}
	return serveBody(c, m.ID, body)
}

// getAMQPBody answers the body of a message that came in and is stored, to who decides about messages.
func (m *handlers) getAMQPBody(c echo.Context) error {
	who, err := m.MayDecide(c)
	if err != nil {
		return err
	}
	row, err := m.ownAMQPMessage(c, who)
	if err != nil {
		return err
	}
	if m.AMQP == nil {
		return site.NewProblem(http.StatusConflict, "conflict", WithoutBridge)
	}
	body, err := m.AMQP.Body(c.Request().Context(), who.Decider(), row.ID)
	if errors.Is(err, store.ErrNotFound) {
		return site.NewProblem(http.StatusConflict, "conflict", bodyNotStored)
	}
	if err != nil {
		return err
	}
	return serveBody(c, row.ID, body)
}

const bodyNotStored = "The content of this message is not kept here. With --amqp-keep-refused that of refused messages is."

func serveBody(c echo.Context, id string, body []byte) error {
	c.Response().Header().Set(echo.HeaderContentDisposition, `attachment; filename="`+id+`.p7m"`)
	return c.Blob(http.StatusOK, echo.MIMEOctetStream, body)
}
