package amqp

import (
	"context"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/delivery/amqp"
	"schakel/delivery/outbox"
	"schakel/templates/ui"
	"schakel/web/site"
)

// amqpAct is one thing that an administrator can have done with a message.
type amqpAct struct {
	do   func(site.AMQPBridge, context.Context, outbox.Actor, string) error
	done string
}

func resendAMQP() amqpAct {
	return amqpAct{site.AMQPBridge.Resend, "The message is sent again."}
}

func putBackAMQP() amqpAct {
	return amqpAct{site.AMQPBridge.PutBack, "The message is back on its queue, as it was."}
}

func reprocessAMQP() amqpAct {
	return amqpAct{site.AMQPBridge.Reprocess, "The message is handled as if it came in at this moment."}
}

func answerAMQP() amqpAct {
	return amqpAct{site.AMQPBridge.AnswerAgain, "The AppRec is sent again, with the same ids."}
}

func retryAMQP() amqpAct {
	return amqpAct{site.AMQPBridge.Retry, "The message is tried now."}
}

// actOn does one of them and goes back to the message.
func (a AMQPArea) actOn(what func() amqpAct) echo.HandlerFunc {
	return func(c echo.Context) error {
		m, err := a.ownMessage(c)
		if err != nil {
			return err
		}
		if a.AMQP == nil {
			return a.refuse(c, a.message(m.ID), a.whyNot(""))
		}
		act := what()
		return a.acted(c, act.do(a.AMQP, c.Request().Context(), site.EngineActor(c), m.ID), m.ID, act.done)
	}
}

// dropMessage ends a message that waits for a person.
func (a AMQPArea) dropMessage(c echo.Context) error {
	m, err := a.ownMessage(c)
	if err != nil {
		return err
	}
	form, err := site.ReadForm(c)
	if err != nil {
		return err
	}
	reason := form.Get("reason")
	if wrong := site.ReasonError(reason); wrong != "" {
		return a.showMessage(c, reason, wrong)
	}
	if a.AMQP == nil {
		return a.refuse(c, a.message(m.ID), a.whyNot(""))
	}
	return a.acted(c, a.AMQP.Drop(c.Request().Context(), site.EngineActor(c), m.ID, reason), m.ID, "The message is dropped.")
}

// acted goes back to a message; why something was not done is told there.
func (a AMQPArea) acted(c echo.Context, err error, id, text string) error {
	if why, ok := errors.AsType[amqp.Refused](err); ok {
		return a.refuse(c, a.message(id), string(why))
	}
	if errors.Is(err, outbox.ErrNotResendable) {
		return a.refuse(c, a.message(id), site.Sentence(outbox.ErrNotResendable))
	}
	if errors.Is(err, outbox.ErrEventExpired) {
		return a.refuse(c, a.message(id), site.Sentence(outbox.ErrEventExpired))
	}
	if err != nil {
		return err
	}
	return a.Done(c, a.message(id), text)
}

func (a AMQPArea) refuse(c echo.Context, href, why string) error {
	a.Flash(c, ui.KindWarning, why)
	return c.Redirect(http.StatusSeeOther, href)
}
