package partners

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/registry/partners"
	"schakel/store"
	"schakel/templates/i18n"
	"schakel/web/api"
	"schakel/web/site"
)

// SubscriptionAnswer is a subscription as its partner sees it.
type SubscriptionAnswer struct {
	ID         string   `json:"id"`
	Name       string   `json:"name,omitempty"`
	EndpointID string   `json:"endpointId"`
	Types      []string `json:"types"`
	// Versions are by type the line of versions it gets; a type that is not in it comes in every version (EDU-08).
	Versions     map[string]string `json:"versions"`
	Filters      json.RawMessage   `json:"filters"`
	OrderBy      string            `json:"orderBy,omitempty"`
	LeaveRepeats bool              `json:"leaveOutRepeats"`
	Retry        *retryBody        `json:"retry"` // its own; null when the settings hold for all of it
	Effective    retryBody         `json:"effectiveRetry"`
	Purpose      string            `json:"purpose"`
	Status       string            `json:"status"`
	StatusReason string            `json:"statusReason,omitempty"`
	CreatedAt    store.Time        `json:"createdAt"`
	UpdatedAt    store.Time        `json:"updatedAt"`
	DecidedAt    store.Time        `json:"decidedAt,omitzero"`
}

// subscriptionAnswer answers a subscription with how it is retried as the settings are now.
func (m *handlers) subscriptionAnswer(ctx context.Context, s store.Subscription) (SubscriptionAnswer, error) {
	set, err := m.Registry.Profile.Current(ctx)
	if err != nil {
		return SubscriptionAnswer{}, err
	}
	own, err := partners.RetryOf(s)
	if err != nil {
		return SubscriptionAnswer{}, err
	}
	answer := SubscriptionAnswer{
		ID: s.ID, Name: s.Name, EndpointID: s.EndpointID, Types: api.NotNil(s.Types), Versions: api.NotNilMap(s.Versions), Purpose: s.Purpose,
		Filters: json.RawMessage(cmp.Or(s.Filters, "[]")), OrderBy: s.OrderBy, LeaveRepeats: s.Dedupe, Status: s.Status, StatusReason: i18n.Message(s.StatusReason).String(),
		CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt, DecidedAt: s.DecidedAt, Effective: newRetryBody(own.Over(set.Profile)),
	}
	if s.Retry != "" {
		body := newRetryBody(own)
		answer.Retry = &body
	}
	return answer, nil
}

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
		answers := make([]SubscriptionAnswer, len(rows))
		for i := 0; i < len(rows) && err == nil; i++ {
			answers[i], err = m.subscriptionAnswer(ctx, rows[i])
		}
		return answers, total, err
	})
}

// SubscriptionRequest asks for a subscription.
type SubscriptionRequest struct {
	Name       string            `json:"name"`
	EndpointID string            `json:"endpointId"`
	Types      []string          `json:"types"`
	Versions   map[string]string `json:"versions"`
	Filters    json.RawMessage   `json:"filters"`
	OrderBy    string            `json:"orderBy"`
	Retry      json.RawMessage   `json:"retry"`
	Purpose    string            `json:"purpose"`
	Dedupe     bool              `json:"leaveOutRepeats"`
}

// postSubscription asks for a subscription; it starts when an administrator
// approves it (EDU-13).
func (m *handlers) postSubscription(c echo.Context, who api.Caller) error {
	var in SubscriptionRequest
	if err := api.ReadJSON(c, &in); err != nil {
		return err
	}
	retry, err := readRetry(in.Retry)
	if err != nil {
		return err
	}
	made, err := m.Registry.Subscriptions.Request(c.Request().Context(), who.Actor(), partners.SubscriptionRequest{
		Name: in.Name, EndpointID: in.EndpointID, Types: in.Types, Versions: in.Versions, Purpose: in.Purpose, Filters: string(in.Filters), OrderBy: in.OrderBy, Retry: retry, Dedupe: in.Dedupe,
	})
	if err != nil {
		return filterProblem(retryFields(api.RenameField(err, "endpoint", "endpointId")), in.Filters)
	}
	c.Response().Header().Set("Location", "/events/v1/subscriptions/"+made.ID)
	answer, err := m.subscriptionAnswer(c.Request().Context(), made)
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
	answer, err := m.subscriptionAnswer(c.Request().Context(), found)
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
