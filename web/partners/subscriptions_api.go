package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/registry/partners"
	"schakel/store"
)

// subscriptionAnswer is a subscription as its partner sees it.
type subscriptionAnswer struct {
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
func (m *machineAPI) subscriptionAnswer(ctx context.Context, s store.Subscription) (subscriptionAnswer, error) {
	set, err := m.Registry.Profile.Current(ctx)
	if err != nil {
		return subscriptionAnswer{}, err
	}
	own, err := partners.RetryOf(s)
	if err != nil {
		return subscriptionAnswer{}, err
	}
	answer := subscriptionAnswer{
		ID: s.ID, Name: s.Name, EndpointID: s.EndpointID, Types: notNil(s.Types), Versions: notNilMap(s.Versions), Purpose: s.Purpose,
		Filters: json.RawMessage(orElse(s.Filters, "[]")), OrderBy: s.OrderBy, LeaveRepeats: s.Dedupe, Status: s.Status, StatusReason: s.StatusReason,
		CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt, DecidedAt: s.DecidedAt, Effective: newRetryBody(own.Over(set.Profile)),
	}
	if s.Retry != "" {
		body := newRetryBody(own)
		answer.Retry = &body
	}
	return answer, nil
}

// notNil makes an empty list of none, so that JSON has [] and not null.
func notNil(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// notNilMap makes an empty object of none, so that JSON has {} and not null.
func notNilMap(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}

// listSubscriptions lists the subscriptions of the caller's partner, newest first.
func (m *machineAPI) listSubscriptions(c echo.Context) error {
	who, err := m.caller(c)
	if err != nil {
		return err
	}
	paging, err := apiPaging(c)
	if err != nil {
		return err
	}
	status, err := apiChoice(c, "status", subscriptionStatuses())
	if err != nil {
		return err
	}
	rows, total, err := m.Registry.Subscriptions.List(c.Request().Context(), who.scope(), store.SubscriptionFilter{
		OfTypes: true, EndpointID: c.QueryParam("endpointId"), Status: status, EventType: c.QueryParam("eventType"),
		Page: store.Page{Number: paging.Page, Size: paging.PerPage},
	})
	if err != nil {
		return err
	}
	m.app.setPagingHeaders(c, paging, total)
	answer := make([]subscriptionAnswer, len(rows))
	for i, s := range rows {
		if answer[i], err = m.subscriptionAnswer(c.Request().Context(), s); err != nil {
			return err
		}
	}
	return c.JSON(http.StatusOK, map[string]any{"subscriptions": answer})
}

// subscriptionRequest asks for a subscription.
type subscriptionRequest struct {
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
func (m *machineAPI) postSubscription(c echo.Context) error {
	who, err := m.caller(c)
	if err != nil {
		return err
	}
	var in subscriptionRequest
	if err := readJSON(c, &in); err != nil {
		return err
	}
	retry, err := readRetry(in.Retry)
	if err != nil {
		return err
	}
	made, err := m.Registry.Subscriptions.Request(c.Request().Context(), who.actor(), partners.SubscriptionRequest{
		Name: in.Name, EndpointID: in.EndpointID, Types: in.Types, Versions: in.Versions, Purpose: in.Purpose, Filters: string(in.Filters), OrderBy: in.OrderBy, Retry: retry, Dedupe: in.Dedupe,
	})
	if err != nil {
		return filterProblem(retryFields(renameField(err, "endpoint", "endpointId")), in.Filters)
	}
	c.Response().Header().Set("Location", "/events/v1/subscriptions/"+made.ID)
	answer, err := m.subscriptionAnswer(c.Request().Context(), made)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusCreated, answer)
}

// renameField gives a field of a refusal the name it has in our JSON.
func renameField(err error, from, to string) error {
	refused, ok := errors.AsType[*registry.Error](err)
	if !ok || refused.Fields[from] == "" {
		return err
	}
	renamed := *refused
	renamed.Fields = make(map[string]string, len(refused.Fields))
	for name, text := range refused.Fields {
		if name == from {
			name = to
		}
		renamed.Fields[name] = text
	}
	return &renamed
}

// showSubscription answers one subscription; another partner's is 404.
func (m *machineAPI) showSubscription(c echo.Context) error {
	who, err := m.caller(c)
	if err != nil {
		return err
	}
	found, err := m.Registry.Subscriptions.Get(c.Request().Context(), who.scope(), c.Param("subscriptionId"))
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
func (m *machineAPI) ofEvents(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		who, err := m.caller(c)
		if err != nil {
			return err
		}
		found, err := m.Registry.Subscriptions.Get(c.Request().Context(), who.scope(), c.Param("subscriptionId"))
		if err == nil && found.DatasetID != "" {
			return newProblem(http.StatusNotFound, "not-found", "This subscription is to a dataset. It is at "+mutationsBase+"/subscriptions/"+found.ID+".")
		}
		if err != nil {
			return err
		}
		return next(c)
	}
}

// deleteSubscription ends a subscription, or takes the request back. A second
// time it does nothing, with the same answer (IDEM-05).
func (m *machineAPI) deleteSubscription(c echo.Context) error {
	who, err := m.caller(c)
	if err != nil {
		return err
	}
	ctx, id := c.Request().Context(), c.Param("subscriptionId")
	found, err := m.Registry.Subscriptions.Get(ctx, who.scope(), id)
	if err != nil {
		return err
	}
	if found.Status != store.SubscriptionEnded {
		if err := m.Registry.Subscriptions.End(ctx, who.actor(), id, ""); err != nil {
			return err
		}
		store.AfterCommit(ctx, m.Engine.Changed)
	}
	return c.NoContent(http.StatusNoContent)
}
