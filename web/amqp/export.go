package amqp

import (
	"strings"

	"github.com/labstack/echo/v4"
	"schakel/store"
	"schakel/templates/i18n"
	"schakel/web/site"
)

// exportMessages sends the messages of an area with their filter as a file, without their bodies.
func (a AMQPArea) exportMessages(c echo.Context) error {
	filter, wrong := a.messageFilter(c)
	if len(wrong) > 0 {
		return site.FilterProblem(wrong)
	}
	ctx := c.Request().Context()
	return a.SendExport(c, site.Export{Name: "amqp-messages", PartnerID: a.Scope(c), Columns: []string{
		"id", "direction", "kind", "state", "reason", "detail", "codes", "partner_id", "party_id", "her_id", "own_her_id", "message_id", "correlation_id",
		"conversation_id", "msg_id", "subject", "queue", "event_id", "delivery_id", "attempts", "created_at", "updated_at",
	}}, func(write func(...any) error) error {
		return a.DB.EachAMQPMessage(ctx, filter, func(rows []store.AMQPMessage) error {
			for _, m := range rows {
				err := write(m.ID, m.Direction, m.Kind, m.Status, m.Reason, i18n.Message(m.Detail).In(ctx), strings.Join(m.Codes, " "), m.PartnerID, m.PartyID, m.Her, m.OwnHer, m.MessageID,
					m.CorrelationID, m.ConversationID, m.MsgID, m.Subject, m.Queue, m.EventID, m.DeliveryID, m.Attempts, m.CreatedAt, m.UpdatedAt)
				if err != nil {
					return err
				}
			}
			return nil
		})
	})
}
