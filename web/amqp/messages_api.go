package amqp

import (
	"context"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/delivery/amqp"
	"schakel/delivery/outbox"
	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
	"schakel/web/api"
	"schakel/web/site"
)

// AMQPMessageAnswer is a message by AMQP, without its content.
type AMQPMessageAnswer struct {
	ID             string              `json:"amqpMessageId"`
	Direction      string              `json:"direction"`
	Kind           string              `json:"kind"`
	Status         string              `json:"status"`
	Reason         string              `json:"reason,omitempty"`
	Detail         string              `json:"detail,omitempty"`
	Codes          []string            `json:"codes,omitempty"`
	PartyID        string              `json:"partyId,omitempty"`
	HerID          int64               `json:"herId,omitempty"`
	OwnHerID       int64               `json:"ownHerId,omitempty"`
	Queue          string              `json:"queue,omitempty"`
	Subject        string              `json:"subject,omitempty"`
	MessageID      string              `json:"messageId"`
	MsgID          string              `json:"msgId,omitempty"`
	CorrelationID  string              `json:"correlationId,omitempty"`
	ConversationID string              `json:"conversationId,omitempty"`
	AnswersTo      string              `json:"answersTo,omitempty"`
	EventID        string              `json:"eventId,omitempty"`
	DeliveryID     string              `json:"deliveryId,omitempty"`
	Resends        int64               `json:"resends,omitempty"`
	DueAt          store.Time          `json:"dueAt,omitzero"`
	OverdueAt      store.Time          `json:"overdueAt,omitzero"`
	CreatedAt      store.Time          `json:"createdAt"`
	UpdatedAt      store.Time          `json:"updatedAt"`
	Trace          []amqpTraceAnswer   `json:"trace,omitempty"`   // only in the answer for one
	Answers        []AMQPMessageAnswer `json:"answers,omitempty"` // as Trace
}

// amqpTraceAnswer is a step in the life of a message.
type amqpTraceAnswer struct {
	Step   string     `json:"step"`
	Detail string     `json:"detail,omitempty"`
	Node   string     `json:"node,omitempty"`
	At     store.Time `json:"at"`
}

func newAMQPMessageAnswer(m store.AMQPMessage) AMQPMessageAnswer {
	return AMQPMessageAnswer{
		ID: m.ID, Direction: m.Direction, Kind: m.Kind, Status: m.Status, Reason: m.Reason, Detail: i18n.Message(m.Detail).String(), Codes: m.Codes, PartyID: m.PartyID,
		HerID: m.Her, OwnHerID: m.OwnHer, Queue: m.Queue, Subject: m.Subject, MessageID: m.MessageID, MsgID: m.MsgID, CorrelationID: m.CorrelationID,
		ConversationID: m.ConversationID, AnswersTo: m.ReferenceID, EventID: m.EventID, DeliveryID: m.DeliveryID, Resends: m.Resends,
		DueAt: m.DueAt, OverdueAt: m.OverdueAt, CreatedAt: m.CreatedAt, UpdatedAt: m.UpdatedAt,
	}
}

// listAMQPMessages lists the messages with the caller's partner, newest first, or those with everybody for who decides about
// them (guarantee G7).
func (m *handlers) listAMQPMessages(c echo.Context, who api.Caller) error {
	return api.AnswerList(m.API, c, "amqpMessages", func(page store.Page) ([]AMQPMessageAnswer, int, error) {
		filter, err := amqpFilterOf(c)
		if err != nil {
			return nil, 0, err
		}
		filter.Page = page
		if !api.Decides(c, who) {
			filter.PartnerID = who.Partner.ID
		}
		rows, total, err := m.DB.AMQPMessages(c.Request().Context(), filter)
		return api.Each(rows, newAMQPMessageAnswer), total, err
	})
}

// amqpFilterOf reads the query keys of a list of messages; wrong values are a 400.
func amqpFilterOf(c echo.Context) (f store.AMQPFilter, err error) {
	f = store.AMQPFilter{PartyID: c.QueryParam("partyId"), ID: c.QueryParam("id")}
	if f.Direction, err = site.APIChoice(c, "direction", []string{store.AMQPIn, store.AMQPOut}); err != nil {
		return f, err
	}
	kind, err := site.APIChoice(c, "kind", amqpKinds())
	if err != nil {
		return f, err
	}
	if kind != "" {
		f.Kinds = []string{kind}
	}
	f, ok := ofHerID(f, c.QueryParam("herId"))
	if !ok {
		return f, site.FieldProblem("herId", "amqp.messages.api-her-id-bad")
	}
	choice, err := site.APIChoice(c, "status", amqpChoices())
	if err != nil {
		return f, err
	}
	if f.Since, err = api.QueryTime("from", c.QueryParam("from")); err != nil {
		return f, err
	}
	f.Until, err = api.QueryTime("until", c.QueryParam("until"))
	return ofState(f, choice), err
}

// ownAMQPMessage finds a message with the caller's partner; another's is 404.
func (m *handlers) ownAMQPMessage(c echo.Context, who api.Caller) (store.AMQPMessage, error) {
	row, err := m.DB.AMQPMessage(c.Request().Context(), c.Param("amqpMessageId"))
	if err == nil && row.PartnerID != who.Partner.ID && !api.Decides(c, who) {
		err = store.ErrNotFound
	}
	return row, err
}

// showAMQPMessage answers one message, with what became of it and its answers.
func (m *handlers) showAMQPMessage(c echo.Context) error {
	return m.answerAMQPMessage(c, http.StatusOK)
}

func (m *handlers) answerAMQPMessage(c echo.Context, status int) error {
	who, err := m.Caller(c)
	if err != nil {
		return err
	}
	row, err := m.ownAMQPMessage(c, who)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	traces, err := m.DB.AMQPTraces(ctx, row.ID)
	if err != nil {
		return err
	}
	answers, err := m.DB.AMQPAnswersTo(ctx, row.ID)
	if err != nil {
		return err
	}
	answer := newAMQPMessageAnswer(row)
	answer.Answers = api.Each(answers, newAMQPMessageAnswer)
	for _, t := range traces {
		answer.Trace = append(answer.Trace, amqpTraceAnswer{t.Step, i18n.Message(t.Detail).String(), t.Node, t.At})
	}
	return c.JSON(status, answer)
}

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
	reason, err := api.ReadReason(c)
	if err != nil {
		return err
	}
	if err := m.Registry.Confirmations.RefuseMachine(c.Request().Context(), registry.TwoDiscards); err != nil {
		return err
	}
	return m.postAMQPAct(http.StatusOK, func(b site.AMQPBridge, ctx context.Context, by outbox.Actor, id string) error {
		return b.Drop(ctx, by, id, reason)
	})(c)
}

func amqpProblem(err error) error {
	if why, ok := errors.AsType[amqp.Refused](err); ok {
		return site.NewProblem(http.StatusConflict, "conflict", i18n.Message(why))
	}
	if errors.Is(err, outbox.ErrReasonMissing) {
		p := site.NewProblem(http.StatusBadRequest, "invalid", "amqp.act.discard-reason-missing")
		p.Errors = []site.ProblemError{{Pointer: "/reason", Code: "missing", Detail: "amqp.act.discard-reason"}}
		return p
	}
	return api.ResendProblem(err)
}
