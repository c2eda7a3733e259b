package amqp

import (
	"context"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/delivery/amqp"
	"schakel/delivery/outbox"
	"schakel/web/api"
	"schakel/web/site"
)

// postAMQPAct does one thing with a message, for who decides about it; why it is not done is a 409.
func (m *handlers) postAMQPAct(status int, do func(site.AMQPBridge, context.Context, outbox.Actor, string) error) echo.HandlerFunc {
	return func(c echo.Context) error {
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
		if err := do(m.AMQP, c.Request().Context(), who.Decider(), row.ID); err != nil {
			return amqpProblem(err)
		}
		return m.answerAMQPMessage(c, status)
	}
}

// postAMQPDrop ends a message that waits for a person.
func (m *handlers) postAMQPDrop(c echo.Context) error {
	if _, err := m.MayDecide(c); err != nil {
		return err
	}
	var in struct {
		Reason string `json:"reason"`
	}
	if err := api.ReadJSON(c, &in); err != nil {
		return err
	}
	if in.Reason = site.Clean(in.Reason); len(in.Reason) > site.MaxReasonBytes {
		return site.FieldProblem("reason", site.ReasonError(in.Reason))
	}
	return m.postAMQPAct(http.StatusOK, func(b site.AMQPBridge, ctx context.Context, by outbox.Actor, id string) error {
		return b.Drop(ctx, by, id, in.Reason)
	})(c)
}

func amqpProblem(err error) error {
	if why, ok := errors.AsType[amqp.Refused](err); ok {
		return site.NewProblem(http.StatusConflict, "conflict", string(why))
	}
	if errors.Is(err, outbox.ErrReasonMissing) {
		p := site.NewProblem(http.StatusBadRequest, "invalid", "Say why the message is dropped.")
		p.Errors = []site.ProblemError{{Pointer: "/reason", Code: "missing", Detail: "A drop needs a reason, which the audit trail keeps."}}
		return p
	}
	return api.ResendProblem(err)
}
