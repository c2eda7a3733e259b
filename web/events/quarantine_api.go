package events

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/delivery/event"
	"schakel/delivery/outbox"
	"schakel/registry"
	"schakel/store"
	"schakel/web/api"
	"schakel/web/site"
)

// QuarantineAnswer is a request that was quarantined.
type QuarantineAnswer struct {
	QuarantineID   string             `json:"quarantineId"`
	ClientID       string             `json:"clientId"`
	IdempotencyKey string             `json:"idempotencyKey"`
	Status         string             `json:"status"`
	Reason         string             `json:"reason,omitempty"`
	CreatedAt      store.Time         `json:"createdAt"`
	DecidedAt      store.Time         `json:"decidedAt,omitzero"`
	EventCount     int64              `json:"eventCount"`
	FirstEvents    []string           `json:"firstEvents,omitempty"`
	Events         []quarantinedEvent `json:"events,omitempty"`
}

// quarantinedEvent identifies the event; its sender has the rest.
type quarantinedEvent struct {
	ID      string `json:"id"`
	Source  string `json:"source"`
	Type    string `json:"type"`
	Subject string `json:"subject,omitempty"`
}

func newQuarantineAnswer(q store.Quarantine) QuarantineAnswer {
	return QuarantineAnswer{
		QuarantineID: q.ID, ClientID: q.ClientID, IdempotencyKey: q.IdempotencyKey, Status: q.Status, Reason: q.Reason,
		CreatedAt: q.CreatedAt, DecidedAt: q.DecidedAt, EventCount: q.Events,
	}
}

// listQuarantined lists the requests of the calling client that were quarantined, or
// those of everybody for who decides about them.
func (m *handlers) listQuarantined(c echo.Context, who api.Caller) error {
	return api.AnswerList(m.API, c, "quarantinedRequests", func(page store.Page) ([]QuarantineAnswer, int, error) {
		status, err := site.APIChoice(c, "status", site.QuarantineStatuses())
		if err != nil {
			return nil, 0, err
		}
		filter := store.QuarantineFilter{Status: status, Page: page}
		if !api.Decides(c, who) {
			filter.ClientID = who.Client.ID
		}
		rows, total, err := m.DB.Quarantines(c.Request().Context(), filter)
		return api.Each(rows, newQuarantineAnswer), total, err
	})
}

// showQuarantined answers one request that was quarantined; another client's is 404.
func (m *handlers) showQuarantined(c echo.Context, who api.Caller) error {
	ctx := c.Request().Context()
	q, err := m.DB.Quarantine(ctx, c.Param("quarantineId"))
	if err != nil {
		return err
	}
	if q.ClientID != who.Client.ID && !api.Decides(c, who) {
		return store.ErrNotFound
	}
	rows, err := m.DB.QuarantinedEvents(ctx, q.ID)
	if err != nil {
		return err
	}
	answer := newQuarantineAnswer(q)
	for _, row := range rows {
		e, err := event.FromParts(row.Attributes, event.DataKind(row.DataKind), nil)
		if err != nil {
			return err
		}
		answer.Events = append(answer.Events, quarantinedEvent{e.ID, e.Source, e.Type, e.Subject})
	}
	var first outbox.Receipt
	_ = json.Unmarshal(q.FirstAnswer, &first) // an answer that cannot be read names none
	for _, e := range first.Events {
		answer.FirstEvents = append(answer.FirstEvents, e.EventID)
	}
	return c.JSON(http.StatusOK, answer)
}

// postQuarantineRelease accepts the events of a quarantined request after all.
func (m *handlers) postQuarantineRelease(c echo.Context, who api.Caller) error {
	receipt, err := m.Engine.Release(c.Request().Context(), who.Decider(), c.Param("quarantineId"))
	if err != nil {
		return m.intakeProblem(quarantineProblem(err))
	}
	return c.JSON(http.StatusOK, receipt)
}

// postQuarantineDiscard decides that the events of a request are never accepted.
func (m *handlers) postQuarantineDiscard(c echo.Context, who api.Caller) error {
	reason, err := api.ReadReason(c)
	if err != nil {
		return err
	}
	if err := m.Registry.Confirmations.RefuseMachine(c.Request().Context(), registry.TwoDiscards); err != nil {
		return err
	}
	if err := m.Engine.DiscardQuarantined(c.Request().Context(), who.Decider(), c.Param("quarantineId"), reason); err != nil {
		return quarantineProblem(err)
	}
	return m.showQuarantined(c, who)
}

func quarantineProblem(err error) error {
	switch {
	case errors.Is(err, outbox.ErrDataErased):
		return site.UnreadProblem(store.ErrErased)
	case quarantineRefusal(err):
		return site.NewProblem(http.StatusConflict, "conflict", outbox.RefusalText(err))
	case errors.Is(err, outbox.ErrReasonMissing):
		p := site.NewProblem(http.StatusBadRequest, "invalid", "events.quarantine.say-why")
		p.Errors = []site.ProblemError{{Pointer: "/reason", Code: "missing", Detail: "events.quarantine.needs-reason"}}
		return p
	}
	return err
}
