package web

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"
	"schakel/delivery/event"
	"schakel/delivery/outbox"
	"schakel/store"
)

// quarantineAnswer is a request that was quarantined.
type quarantineAnswer struct {
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

func newQuarantineAnswer(q store.Quarantine) quarantineAnswer {
	return quarantineAnswer{
		QuarantineID: q.ID, ClientID: q.ClientID, IdempotencyKey: q.IdempotencyKey, Status: q.Status, Reason: q.Reason,
		CreatedAt: q.CreatedAt, DecidedAt: q.DecidedAt, EventCount: q.Events,
	}
}

// decides reports whether a caller may decide about the requests of everybody: a client
// of the own organisation that may change the register, as its administrators do.
func decides(c echo.Context, who caller) bool {
	claims, ok := callerOf(c)
	return ok && who.partner.Own && slices.Contains(claims.Scopes, scopeRegistryWrite)
}

// listQuarantined lists the requests of the calling client that were quarantined, or
// those of everybody for who decides about them.
func (m *machineAPI) listQuarantined(c echo.Context) error {
	who, err := m.caller(c)
	if err != nil {
		return err
	}
	paging, err := apiPaging(c)
	if err != nil {
		return err
	}
	status, err := apiChoice(c, "status", quarantineStatuses())
	if err != nil {
		return err
	}
	filter := store.QuarantineFilter{Status: status, Page: store.Page{Number: paging.Page, Size: paging.PerPage}}
	if !decides(c, who) {
		filter.ClientID = who.client.ID
	}
	rows, total, err := m.DB.Quarantines(c.Request().Context(), filter)
	if err != nil {
		return err
	}
	m.app.setPagingHeaders(c, paging, total)
	answer := make([]quarantineAnswer, len(rows))
	for i, q := range rows {
		answer[i] = newQuarantineAnswer(q)
	}
	return c.JSON(http.StatusOK, map[string]any{"quarantinedRequests": answer})
}

// showQuarantined answers one request that was quarantined; another client's is 404.
func (m *machineAPI) showQuarantined(c echo.Context) error {
	who, err := m.caller(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	q, err := m.DB.Quarantine(ctx, c.Param("quarantineId"))
	if err != nil {
		return err
	}
	if q.ClientID != who.client.ID && !decides(c, who) {
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

// mayDecide is the caller when it may decide about quarantined requests; to another
// they are not there.
func (m *machineAPI) mayDecide(c echo.Context) (caller, error) {
	who, err := m.caller(c)
	if err == nil && !decides(c, who) {
		err = store.ErrNotFound
	}
	return who, err
}

// postQuarantineRelease accepts the events of a quarantined request after all.
func (m *machineAPI) postQuarantineRelease(c echo.Context) error {
	who, err := m.mayDecide(c)
	if err != nil {
		return err
	}
	receipt, err := m.Engine.Release(c.Request().Context(), who.decider(), c.Param("quarantineId"))
	if err != nil {
		return m.intakeProblem(quarantineProblem(err))
	}
	return c.JSON(http.StatusOK, receipt)
}

// postQuarantineDiscard decides that the events of a request are never accepted.
func (m *machineAPI) postQuarantineDiscard(c echo.Context) error {
	who, err := m.mayDecide(c)
	if err != nil {
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
	if err := m.Engine.DiscardQuarantined(c.Request().Context(), who.decider(), c.Param("quarantineId"), in.Reason); err != nil {
		return quarantineProblem(err)
	}
	return m.showQuarantined(c)
}

// decider is the caller where it acts for the whole installation, as an administrator does.
func (c caller) decider() outbox.Actor {
	a := c.engineActor()
	a.PartnerID = ""
	return a
}

func quarantineProblem(err error) error {
	switch {
	case quarantineRefusal(err):
		return newProblem(http.StatusConflict, "conflict", sentence(err))
	case errors.Is(err, outbox.ErrReasonMissing):
		p := newProblem(http.StatusBadRequest, "invalid", "Say why the request is discarded.")
		p.Errors = []ProblemError{{Pointer: "/reason", Code: "missing", Detail: "A discard needs a reason, which the audit trail keeps."}}
		return p
	}
	return err
}
