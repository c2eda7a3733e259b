package web

import (
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"
	"schakel/store"
	"schakel/templates"
)

// Choices of the state that stand for several.
const (
	amqpAttention = "attention"
	amqpOverdue   = "overdue"
)

// messageList lists messages that were written or read.
func (a amqpArea) messageList(c echo.Context) error {
	ctx, paging := c.Request().Context(), pagePaging(c)
	f := store.AMQPFilter{
		PartnerID: a.scope(c), Direction: pageChoice(c, "direction", []string{store.AMQPIn, store.AMQPOut}), PartyID: c.QueryParam("party"),
		ID: c.QueryParam("id"), Page: store.Page{Number: paging.Page, Size: paging.PerPage},
	}
	kind := pageChoice(c, "kind", optionValues(amqpKinds()))
	if kind != "" {
		f.Kinds = []string{kind}
	}
	state := pageChoice(c, "state", append(optionValues(amqpStates()), amqpAttention, amqpOverdue))
	switch state {
	case "":
	case amqpAttention:
		f.Statuses = attention()
	case amqpOverdue:
		f.Overdue = true
	default:
		f.Statuses = []string{state}
	}
	rows, total, err := a.DB.AMQPMessages(ctx, f)
	if err != nil {
		return err
	}
	v := templates.AMQPMessagesView{
		Path: a.messages(), Self: c.Request().URL.RequestURI(), Total: total, Pager: pager(c, paging, total), Now: a.cfg.Now(),
		Filtered: kind+state+f.Direction+f.PartyID+f.ID != "",
	}
	if v.Fields, err = a.messageFields(c, f, kind, state); err != nil {
		return err
	}
	for _, m := range rows {
		v.Rows = append(v.Rows, a.messageRow(c, m))
	}
	page := a.sheet(c, "AMQP messages")
	page.Lead = "What was written to queues of message brokers and read from them, newest first."
	return a.render(c, http.StatusOK, templates.AMQPMessagesPage(page, v))
}

func (a amqpArea) messageFields(c echo.Context, f store.AMQPFilter, kind, state string) ([]templates.Field, error) {
	parties, err := a.Registry.AMQP.Parties(c.Request().Context(), a.bounds(c), "")
	if err != nil {
		return nil, err
	}
	options := []templates.Option{{Label: "All"}}
	for _, p := range parties {
		if !p.Own {
			options = append(options, templates.Option{Value: p.ID, Label: p.Name})
		}
	}
	states := append([]templates.Option{
		{Label: "All"}, {Value: amqpAttention, Label: "Needs attention"}, {Value: amqpOverdue, Label: "AppRec is overdue"},
	}, amqpStates()...)
	return []templates.Field{
		choiceField("state", "State", state, states),
		choiceField("kind", "Kind", kind, append([]templates.Option{{Label: "All"}}, amqpKinds()...)),
		choiceField("direction", "Direction", f.Direction, []templates.Option{
			{Label: "Both"}, {Value: store.AMQPOut, Label: "From us"}, {Value: store.AMQPIn, Label: "To us"},
		}),
		choiceField("party", "Party", f.PartyID, options),
		{Name: "id", Label: "Id", Hint: "A messageId, MsgId, correlation or conversation id, in full.", Value: f.ID, MaxLength: 300},
	}, nil
}

func (a amqpArea) messageRow(c echo.Context, m store.AMQPMessage) templates.AMQPMessageRow {
	return templates.AMQPMessageRow{
		Href: a.message(m.ID), Kind: amqpKind(m.Kind), Out: m.Direction == store.AMQPOut, Party: a.other(c, m), MessageID: m.MessageID,
		Subject: m.Subject, State: amqpState(m), Reason: amqpReasonOf(m.Reason).Label, At: m.CreatedAt.Time, Changed: m.UpdatedAt.Time,
	}
}

// other names the other side of a message: its party, or its HER-id when that has none here.
func (a amqpArea) other(c echo.Context, m store.AMQPMessage) string {
	if name := a.partyName(c.Request().Context(), c, m.PartyID).Name; name != "" {
		return name
	}
	if m.Her > 0 {
		return "HER-id " + numberText(m.Her)
	}
	return "unknown"
}

func optionValues(options []templates.Option) []string {
	values := make([]string, len(options))
	for i, o := range options {
		values[i] = o.Value
	}
	return slices.Clip(values)
}
