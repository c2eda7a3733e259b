package partners

import (
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/store"
	"schakel/templates/i18n"
	"schakel/web/api"
	"schakel/web/site"
)

// listSubscriptions lists the subscriptions of the caller's partner, newest first.
func (m *handlers) listSubscriptions(c echo.Context, who api.Caller) error {
	return api.AnswerList(m.API, c, "subscriptions", func(page store.Page) ([]SubscriptionAnswer, int, error) {
		status, err := site.APIChoice(c, "status", site.SubscriptionStatuses())
		if err != nil {
			return nil, 0, err
		}
		ctx := c.Request().Context()
		rows, total, err := m.Registry.Subscriptions.List(ctx, who.Scope(), store.SubscriptionFilter{
			OfTypes: true, EndpointID: c.QueryParam("endpointId"), Status: status, EventType: c.QueryParam("eventType"), Page: page,
		})
		answers, unready := make([]SubscriptionAnswer, len(rows)), m.unready()
		for i := 0; i < len(rows) && err == nil; i++ {
			answers[i], err = m.subscriptionAnswer(ctx, rows[i], unready)
		}
		return answers, total, err
	})
}

// postSubscription asks for a subscription; it starts when an administrator
// approves it (EDU-13).
func (m *handlers) postSubscription(c echo.Context, who api.Caller) error {
	var in SubscriptionRequest
	if err := api.ReadJSON(c, &in); err != nil {
		return err
	}
	wanted, err := in.request()
	if err != nil {
		return err
	}
	made, err := m.Registry.Subscriptions.Request(c.Request().Context(), who.Actor(), wanted)
	if err != nil {
		return filterProblem(retryFields(api.RenameField(err, "endpoint", "endpointId")), in.Filters)
	}
	c.Response().Header().Set("Location", "/events/v1/subscriptions/"+made.ID)
	answer, err := m.subscriptionAnswer(c.Request().Context(), made, m.unready())
	if err != nil {
		return err
	}
	return c.JSON(http.StatusCreated, answer)
}

// showSubscription answers one subscription; another partner's is 404.
func (m *handlers) showSubscription(c echo.Context, who api.Caller) error {
	found, err := m.Registry.Subscriptions.Get(c.Request().Context(), who.Scope(), c.Param("subscriptionId"))
	if err != nil {
		return err
	}
	answer, err := m.subscriptionAnswer(c.Request().Context(), found, m.unready())
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, answer)
}

// ofEvents lets requests pass that are about a subscription to event types: those to datasets are of another API.
func (m *handlers) ofEvents(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		who, err := m.Caller(c)
		if err != nil {
			return err
		}
		found, err := m.Registry.Subscriptions.Get(c.Request().Context(), who.Scope(), c.Param("subscriptionId"))
		if err == nil && found.DatasetID != "" {
			return site.NewProblem(http.StatusNotFound, "not-found", i18n.M("partners.api.subscription-to-dataset", site.MutationsBase+"/subscriptions/"+found.ID))
		}
		if err != nil {
			return err
		}
		return next(c)
	}
}

// deleteSubscription ends a subscription, or takes the request back. A second
// time it does nothing, with the same answer (IDEM-05).
func (m *handlers) deleteSubscription(c echo.Context, who api.Caller) error {
	ctx, id := c.Request().Context(), c.Param("subscriptionId")
	found, err := m.Registry.Subscriptions.Get(ctx, who.Scope(), id)
	if err != nil {
		return err
	}
	if found.Status != store.SubscriptionEnded {
		if err := m.Registry.Subscriptions.End(ctx, who.Actor(), id, ""); err != nil {
			return err
		}
		store.AfterCommit(ctx, m.Engine.Changed)
	}
	return c.NoContent(http.StatusNoContent)
}
