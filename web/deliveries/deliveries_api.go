package web

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"schakel/delivery/outbox"
	"schakel/store"
)

// deliveryAnswer is a delivery as its receiver sees it.
type deliveryAnswer struct {
	DeliveryID     string          `json:"deliveryId"`
	EventID        string          `json:"eventId"`
	EventType      string          `json:"eventType"`
	SubscriptionID string          `json:"subscriptionId,omitempty"`
	EndpointID     string          `json:"endpointId"`
	Status         string          `json:"status"`
	Reason         string          `json:"reason,omitempty"`
	Detail         string          `json:"detail,omitempty"`
	Attempts       int64           `json:"attempts"`
	LastStatus     int64           `json:"lastStatus,omitempty"`
	NextAttemptAt  store.Time      `json:"nextAttemptAt,omitzero"`
	CreatedAt      store.Time      `json:"createdAt"`
	UpdatedAt      store.Time      `json:"updatedAt"`
	DeliveredAt    store.Time      `json:"deliveredAt,omitzero"`
	ExpiresAt      store.Time      `json:"expiresAt,omitzero"`
	ReplayOf       string          `json:"replayOf,omitempty"`  // a job, which may be an administrator's
	JobAction      string          `json:"jobAction,omitempty"` // of ReplayOf: resend or replay
	BatchID        string          `json:"batchId,omitempty"`
	WaitsFor       string          `json:"waitsFor,omitempty"`   // a delivery; only in the answer for one
	WaitsUntil     store.Time      `json:"waitsUntil,omitzero"`  // as WaitsFor
	WaitReason     string          `json:"waitReason,omitempty"` // as WaitsFor
	AttemptList    []attemptAnswer `json:"attemptList,omitempty"`
}

// attemptAnswer is one try; headers and bodies are for the portal.
type attemptAnswer struct {
	Number     int64      `json:"number"`
	StartedAt  store.Time `json:"startedAt"`
	Duration   int64      `json:"durationMs"`
	StatusCode int64      `json:"statusCode,omitempty"`
	Outcome    string     `json:"outcome,omitempty"` // of a receive
	ErrorKind  string     `json:"errorKind,omitempty"`
	Error      string     `json:"error,omitempty"`
	NextAt     store.Time `json:"nextAt,omitzero"`
}

func newDeliveryAnswer(d store.Delivery) deliveryAnswer {
	return deliveryAnswer{
		DeliveryID: d.ID, EventID: d.EventID, EventType: d.EventType, SubscriptionID: d.SubscriptionID, EndpointID: d.EndpointID,
		Status: d.Status, Reason: d.Reason, Detail: d.Detail, Attempts: d.Attempts, LastStatus: d.LastStatus,
		NextAttemptAt: nextAttempt(d), CreatedAt: d.CreatedAt, UpdatedAt: d.UpdatedAt, DeliveredAt: d.DeliveredAt, ExpiresAt: d.ExpiresAt, BatchID: d.BatchID, ReplayOf: d.ReplayOf,
	}
}

// listDeliveries lists the deliveries to the caller's partner, newest first.
func (m *machineAPI) listDeliveries(c echo.Context) error {
	who, err := m.caller(c)
	if err != nil {
		return err
	}
	paging, err := apiPaging(c)
	if err != nil {
		return err
	}
	filter, err := deliveryFilterOf(c)
	if err != nil {
		return err
	}
	filter.PartnerID, filter.Page = who.partner.ID, store.Page{Number: paging.Page, Size: paging.PerPage}
	list, err := m.DB.DeliveryList(c.Request().Context(), filter)
	if err != nil {
		return err
	}
	m.app.setDeliveryPaging(c, paging, list)
	actions, err := jobActions(c.Request().Context(), m.DB, list.Rows)
	if err != nil {
		return err
	}
	answer := make([]deliveryAnswer, len(list.Rows))
	for i, d := range list.Rows {
		answer[i] = newDeliveryAnswer(d)
		answer[i].JobAction = actions[d.ReplayOf]
	}
	return c.JSON(http.StatusOK, map[string]any{"deliveries": answer})
}

// deliveryFilterOf reads the query keys of a list of deliveries; wrong values are a 400.
func deliveryFilterOf(c echo.Context) (store.DeliveryFilter, error) {
	f := store.DeliveryFilter{
		Reason: c.QueryParam("reason"), EndpointID: c.QueryParam("endpointId"), SubscriptionID: c.QueryParam("subscriptionId"),
		EventID: c.QueryParam("eventId"), EventType: c.QueryParam("eventType"), CEID: c.QueryParam("id"),
		ReplayOf: c.QueryParam("replayOf"), BeforeID: c.QueryParam("before"),
		Statuses: c.QueryParams()["status"],
	}
	if err := checkStatuses(f.Statuses); err != nil {
		return f, err
	}
	var err error
	if f.From, err = queryTime("from", c.QueryParam("from")); err != nil {
		return f, err
	}
	f.Until, err = queryTime("until", c.QueryParam("until"))
	return f, err
}

func checkStatuses(statuses []string) error {
	for _, s := range statuses {
		if !slices.Contains(deliveryStatuses(), s) {
			return fieldProblem("status", "status must be pending, retrying, delivered, held, dead or discarded")
		}
	}
	return nil
}

// queryTime reads an RFC 3339 time; "" is the zero time.
func queryTime(name, raw string) (store.Time, error) {
	if raw == "" {
		return store.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, raw)
	if err != nil {
		return store.Time{}, fieldProblem(name, name+` must be a time like "2026-05-01T09:30:00Z"`)
	}
	return store.At(t), nil
}

// fieldProblem is a 400 about one query key or member.
func fieldProblem(name, text string) error {
	p := newProblem(http.StatusBadRequest, "invalid", "Mend what the errors name and send the request again.")
	p.Errors = []ProblemError{{Pointer: "/" + name, Code: "invalid", Detail: text + "."}}
	return p
}

// ownDelivery finds a delivery to the caller's partner; another's is 404.
func (m *machineAPI) ownDelivery(c echo.Context, who caller) (store.Delivery, error) {
	d, err := m.DB.Delivery(c.Request().Context(), c.Param("deliveryId"))
	if err == nil && d.PartnerID != who.partner.ID {
		err = store.ErrNotFound
	}
	return d, err
}

// showDelivery answers one delivery with its attempts.
func (m *machineAPI) showDelivery(c echo.Context) error {
	who, err := m.caller(c)
	if err != nil {
		return err
	}
	d, err := m.ownDelivery(c, who)
	if err != nil {
		return err
	}
	attempts, err := m.DB.Attempts(c.Request().Context(), d.ID)
	if err != nil {
		return err
	}
	answer, err := m.deliveryAnswer(c.Request().Context(), d)
	if err != nil {
		return err
	}
	for _, a := range attempts {
		answer.AttemptList = append(answer.AttemptList, newAttemptAnswer(a))
	}
	return c.JSON(http.StatusOK, answer)
}

// deliveryAnswer is the answer for one delivery, without its attempts.
func (m *machineAPI) deliveryAnswer(ctx context.Context, d store.Delivery) (deliveryAnswer, error) {
	answer := newDeliveryAnswer(d)
	actions, err := jobActions(ctx, m.DB, []store.Delivery{d})
	if err != nil {
		return answer, err
	}
	answer.JobAction = actions[d.ReplayOf]
	return answer, m.setWait(ctx, &answer, d)
}

func newAttemptAnswer(a store.Attempt) attemptAnswer {
	answer := attemptAnswer{
		Number: a.Number, StartedAt: a.StartedAt, Duration: a.DurationUS / 1000, StatusCode: a.StatusCode,
		ErrorKind: a.ErrorKind, Error: a.Error, NextAt: a.NextAt,
	}
	if outcome, ok := strings.CutPrefix(a.ErrorKind, "pull-"); ok {
		answer.Outcome, answer.ErrorKind = outcome, ""
	}
	return answer
}

// resendDelivery has one delivery tried again now, as the same event.
func (m *machineAPI) resendDelivery(c echo.Context) error {
	who, err := m.caller(c)
	if err != nil {
		return err
	}
	d, err := m.ownDelivery(c, who)
	if err != nil {
		return err
	}
	if err := m.Engine.Resend(c.Request().Context(), who.engineActor(), d.ID); err != nil {
		return resendProblem(err)
	}
	if d, err = m.ownDelivery(c, who); err != nil {
		return err
	}
	answer, err := m.deliveryAnswer(c.Request().Context(), d) // which names the cause of the wait
	if err != nil {
		return err
	}
	return c.JSON(http.StatusAccepted, answer)
}

func resendProblem(err error) error {
	if errors.Is(err, outbox.ErrEventExpired) {
		return newProblem(http.StatusConflict, "event-expired", sentence(outbox.ErrEventExpired))
	}
	if errors.Is(err, outbox.ErrNotResendable) {
		return newProblem(http.StatusConflict, "not-resendable", "The delivery cannot be resent: it is on its way already, was discarded, or its subscription is not approved.")
	}
	return err
}
