package web

import (
	"context"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/delivery/amqp"
	"schakel/delivery/outbox"
)

// postAMQPAct does one thing with a message, for who decides about it; why it is not done is a 409.
func (m *machineAPI) postAMQPAct(status int, do func(AMQPBridge, context.Context, outbox.Actor, string) error) echo.HandlerFunc {
	return func(c echo.Context) error {
		who, err := m.mayDecide(c)
		if err != nil {
			return err
		}
		row, err := m.ownAMQPMessage(c, who)
		if err != nil {
			return err
		}
		if m.AMQP == nil {
			return newProblem(http.StatusConflict, "conflict", withoutBridge)
		}
		if err := do(m.AMQP, c.Request().Context(), who.decider(), row.ID); err != nil {
			return amqpProblem(err)
		}
		return m.answerAMQPMessage(c, status)
	}
}

// postAMQPDrop ends a message that waits for a person.
func (m *machineAPI) postAMQPDrop(c echo.Context) error {
	if _, err := m.mayDecide(c); err != nil {
		return err
	}
	var in struct {
		Reason string `json:"reason"`
	}
	if err := readJSON(c, &in); err != nil {
		return err
	}
	if in.Reason = clean(in.Reason); len(in.Reason) > maxReasonBytes {
		return fieldProblem("reason", reasonError(in.Reason))
	}
	return m.postAMQPAct(http.StatusOK, func(b AMQPBridge, ctx context.Context, by outbox.Actor, id string) error {
		return b.Drop(ctx, by, id, in.Reason)
	})(c)
}

func amqpProblem(err error) error {
	if why, ok := errors.AsType[amqp.Refused](err); ok {
		return newProblem(http.StatusConflict, "conflict", string(why))
	}
	if errors.Is(err, outbox.ErrReasonMissing) {
		p := newProblem(http.StatusBadRequest, "invalid", "Say why the message is dropped.")
		p.Errors = []ProblemError{{Pointer: "/reason", Code: "missing", Detail: "A drop needs a reason, which the audit trail keeps."}}
		return p
	}
	return resendProblem(err)
}
