package deliveries

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
	"schakel/store"
	"schakel/templates/i18n"
	"schakel/web/api"
	"schakel/web/site"
)

// NewDeliveryAnswer describes a delivery to its consumer.
func NewDeliveryAnswer(d store.Delivery) site.DeliveryAnswer {
	return site.DeliveryAnswer{
		DeliveryID: d.ID, EventID: d.EventID, EventType: d.EventType, SubscriptionID: d.SubscriptionID, EndpointID: d.EndpointID,
		Status: d.Status, Reason: d.Reason, Detail: i18n.Message(d.Detail).String(), Attempts: d.Attempts, LastStatus: d.LastStatus,
		NextAttemptAt: site.NextAttempt(d), CreatedAt: d.CreatedAt, UpdatedAt: d.UpdatedAt, DeliveredAt: d.DeliveredAt, ExpiresAt: d.ExpiresAt, BatchID: d.BatchID, ReplayOf: d.ReplayOf,
	}
}

// listDeliveries lists the deliveries to the caller's partner, newest first.
func (m *handlers) listDeliveries(c echo.Context, who api.Caller) error {
	paging, err := site.APIPaging(c)
	if err != nil {
		return err
	}
	filter, err := deliveryFilterOf(c)
	if err != nil {
		return err
	}
	filter.PartnerID, filter.Page = who.Partner.ID, paging
	list, err := m.DB.DeliveryList(c.Request().Context(), filter)
	if err != nil {
		return err
	}
	m.App.SetDeliveryPaging(c, paging, list)
	actions, err := site.JobActions(c.Request().Context(), m.DB, list.Rows)
	if err != nil {
		return err
	}
	answer := make([]site.DeliveryAnswer, len(list.Rows))
	for i, d := range list.Rows {
		answer[i] = NewDeliveryAnswer(d)
		answer[i].JobAction = actions[d.ReplayOf]
	}
	return c.JSON(http.StatusOK, map[string]any{"deliveries": answer})
}

// deliveryFilterOf reads the query keys of a list of deliveries; wrong values are a 400.
func deliveryFilterOf(c echo.Context) (store.DeliveryFilter, error) {
	f := store.DeliveryFilter{
		Reason: c.QueryParam("reason"), EndpointID: c.QueryParam("endpointId"), SubscriptionID: c.QueryParam("subscriptionId"),
		EventID: c.QueryParam("eventId"), EventType: c.QueryParam("eventType"), Subject: c.QueryParam("subject"),
		ReplayOf: c.QueryParam("replayOf"), BeforeID: c.QueryParam("before"),
		Statuses: c.QueryParams()["status"],
	}
	eventID := f.EventID
	if f.Find(c.QueryParam("id")); eventID != "" && f.EventID != eventID { // the two name different events
		f.IDs = []string{f.EventID}
	}
	if err := checkStatuses(f.Statuses); err != nil {
		return f, err
	}
	var err error
	if f.From, err = api.QueryTime("from", c.QueryParam("from")); err != nil {
		return f, err
	}
	f.Until, err = api.QueryTime("until", c.QueryParam("until"))
	return f, err
}

func checkStatuses(statuses []string) error {
	for _, s := range statuses {
		if !slices.Contains(site.DeliveryStatuses(), s) {
			return site.FieldProblem("status", "deliveries.api.status")
		}
	}
	return nil
}

// ownDelivery finds a delivery to the caller's partner; another's is 404.
func (m *handlers) ownDelivery(c echo.Context, who api.Caller) (store.Delivery, error) {
	d, err := m.DB.Delivery(c.Request().Context(), c.Param("deliveryId"))
	if err == nil && d.PartnerID != who.Partner.ID {
		err = store.ErrNotFound
	}
	return d, err
}

// showDelivery answers one delivery with its attempts.
func (m *handlers) showDelivery(c echo.Context, who api.Caller) error {
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
func (m *handlers) deliveryAnswer(ctx context.Context, d store.Delivery) (site.DeliveryAnswer, error) {
	answer := NewDeliveryAnswer(d)
	actions, err := site.JobActions(ctx, m.DB, []store.Delivery{d})
	if err != nil {
		return answer, err
	}
	answer.JobAction = actions[d.ReplayOf]
	return answer, m.setWait(ctx, &answer, d)
}

func newAttemptAnswer(a store.Attempt) site.AttemptAnswer {
	answer := site.AttemptAnswer{
		Number: a.Number, StartedAt: a.StartedAt, Duration: a.DurationUS / 1000, StatusCode: a.StatusCode,
		ErrorKind: a.ErrorKind, Error: i18n.Message(a.Error).String(), NextAt: a.NextAt,
	}
	if outcome, ok := strings.CutPrefix(a.ErrorKind, "pull-"); ok {
		answer.Outcome, answer.ErrorKind = outcome, ""
	}
	return answer
}

// resendDelivery has one delivery tried again now, as the same event.
func (m *handlers) resendDelivery(c echo.Context, who api.Caller) error {
	d, err := m.ownDelivery(c, who)
	if err != nil {
		return err
	}
	if err := m.Engine.Resend(c.Request().Context(), who.EngineActor(), d.ID); err != nil {
		return api.ResendProblem(err)
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

// setWait explains why an open delivery is not tried now.
func (m *handlers) setWait(ctx context.Context, answer *site.DeliveryAnswer, d store.Delivery) error {
	if d.Status != store.DeliveryPending && d.Status != store.DeliveryRetrying || d.LeaseOwner != "" {
		return nil
	}
	behind, err := m.DB.WaitsFor(ctx, d.ID)
	if err != nil {
		return err
	}
	if behind != "" {
		answer.WaitsFor, answer.WaitReason = behind, "order"
		return nil
	}
	ep, err := m.DB.Endpoint(ctx, d.EndpointID)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	answer.WaitReason, answer.WaitsUntil = site.EndpointWait(ep, d, m.App.Cfg.Now())
	return nil
}
