package web

import (
	"context"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/delivery/amqp"
	"schakel/delivery/outbox"
	"schakel/templates/ui"
)

// amqpAct is one thing that an administrator can have done with a message.
type amqpAct struct {
	do   func(AMQPBridge, context.Context, outbox.Actor, string) error
	done string
}

func resendAMQP() amqpAct {
	return amqpAct{AMQPBridge.Resend, "The message is sent again."}
}

func putBackAMQP() amqpAct {
	return amqpAct{AMQPBridge.PutBack, "The message is back on its queue, as it was."}
}

func reprocessAMQP() amqpAct {
	return amqpAct{AMQPBridge.Reprocess, "The message is handled as if it came in at this moment."}
}

func answerAMQP() amqpAct {
	return amqpAct{AMQPBridge.AnswerAgain, "The AppRec is sent again, with the same ids."}
}

func retryAMQP() amqpAct {
	return amqpAct{AMQPBridge.Retry, "The message is tried now."}
}

// actOn does one of them and goes back to the message.
func (a amqpArea) actOn(what func() amqpAct) echo.HandlerFunc {
	return func(c echo.Context) error {
		m, err := a.ownMessage(c)
		if err != nil {
			return err
		}
		if a.AMQP == nil {
			return a.refuse(c, a.message(m.ID), a.whyNot(""))
		}
		act := what()
		return a.acted(c, act.do(a.AMQP, c.Request().Context(), engineActor(c), m.ID), m.ID, act.done)
	}
}

// dropMessage ends a message that waits for a person.
func (a amqpArea) dropMessage(c echo.Context) error {
	m, err := a.ownMessage(c)
	if err != nil {
		return err
	}
	form, err := readForm(c)
	if err != nil {
		return err
	}
	reason := form.Get("reason")
	if wrong := reasonError(reason); wrong != "" {
		return a.showMessage(c, reason, wrong)
	}
	if a.AMQP == nil {
		return a.refuse(c, a.message(m.ID), a.whyNot(""))
	}
	return a.acted(c, a.AMQP.Drop(c.Request().Context(), engineActor(c), m.ID, reason), m.ID, "The message is dropped.")
}

// acted goes back to a message; why something was not done is told there.
func (a amqpArea) acted(c echo.Context, err error, id, text string) error {
	if why, ok := errors.AsType[amqp.Refused](err); ok {
		return a.refuse(c, a.message(id), string(why))
	}
	if errors.Is(err, outbox.ErrNotResendable) {
		return a.refuse(c, a.message(id), sentence(outbox.ErrNotResendable))
	}
	if errors.Is(err, outbox.ErrEventExpired) {
		return a.refuse(c, a.message(id), sentence(outbox.ErrEventExpired))
	}
	if err != nil {
		return err
	}
	return a.done(c, a.message(id), text)
}

func (a amqpArea) refuse(c echo.Context, href, why string) error {
	a.flash(c, ui.KindWarning, why)
	return c.Redirect(http.StatusSeeOther, href)
}
