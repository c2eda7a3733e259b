package partners

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/delivery/filter"
	"schakel/registry"
	"schakel/registry/partners"
	"schakel/store"
	"schakel/templates/i18n"
	"schakel/web/api"
	"schakel/web/site"
)

// subscriptionPatch changes what a partner may change by itself; what is absent
// stays as it is, and null takes filters, order or retry schedule away (RFC 7396).
type subscriptionPatch struct {
	Status  string          `json:"status"`
	Reason  string          `json:"reason"`
	Filters json.RawMessage `json:"filters"`
	OrderBy json.RawMessage `json:"orderBy"`
	Dedupe  *bool           `json:"leaveOutRepeats"`
	Retry   json.RawMessage `json:"retry"`

	Encryption json.RawMessage `json:"encryption"`
}

// patchSubscription pauses a subscription or lets it go on, or changes its
// filters, order and retry schedule.
func (m *handlers) patchSubscription(c echo.Context, who api.Caller) error {
	var in subscriptionPatch
	if err := api.ReadJSON(c, &in); err != nil {
		return err
	}
	ctx, id := c.Request().Context(), c.Param("subscriptionId")
	if in.Encryption != nil { // which keys count a person changes, who can be asked for proof of identity
		return site.NewProblem(http.StatusForbidden, "portal-only", "partners.encrypt.portal-only")
	}
	change := m.changeSelection
	if in.Filters == nil && in.OrderBy == nil && in.Retry == nil && in.Dedupe == nil {
		change = m.setSubscriptionStatus
	}
	if err := change(ctx, who, id, in); err != nil {
		return err
	}
	store.AfterCommit(ctx, m.Engine.Changed)
	return m.showSubscription(c, who)
}

func (m *handlers) setSubscriptionStatus(ctx context.Context, who api.Caller, id string, in subscriptionPatch) error {
	switch in.Status {
	case store.SubscriptionPaused:
		return m.Registry.Subscriptions.Pause(ctx, who.Actor(), id, in.Reason)
	case store.SubscriptionApproved:
		return m.Registry.Subscriptions.Unpause(ctx, who.Actor(), id)
	}
	return site.FieldProblem("status", "partners.api.status")
}

// changeSelection changes filters, order and retry schedule. The status is changed by another
// request, so that never half of one is done.
func (m *handlers) changeSelection(ctx context.Context, who api.Caller, id string, in subscriptionPatch) error {
	if in.Status != "" || in.Reason != "" {
		return site.FieldProblem("status", "partners.api.status-alone")
	}
	change := partners.SubscriptionChange{Dedupe: in.Dedupe}
	if in.Filters != nil {
		filters := string(in.Filters)
		change.Filters = &filters
	}
	if in.OrderBy != nil {
		change.OrderBy = new(string)
		if err := json.Unmarshal(in.OrderBy, change.OrderBy); err != nil {
			return site.FieldProblem("orderBy", "partners.api.order-string")
		}
	}
	if in.Retry != nil {
		retry, err := readRetry(in.Retry)
		if err != nil {
			return err
		}
		change.Retry = &retry
	}
	return filterProblem(retryFields(m.Registry.Subscriptions.Change(ctx, who.Actor(), id, change)), in.Filters)
}

// filterProblem points at the place in the filters for which a request was refused.
func filterProblem(err error, filters []byte) error {
	refused, ok := errors.AsType[*registry.Error](err)
	if !ok || refused.Fields["filters"] == "" {
		return err
	}
	wrong, ok := errors.AsType[*filter.Error](filter.Check(string(bytes.TrimSpace(filters))))
	if !ok {
		return err
	}
	p := site.RegistryProblem(refused)
	for i := range p.Errors {
		if p.Errors[i].Pointer == "/filters" {
			p.Errors[i].Pointer, p.Errors[i].Detail = "/filters"+wrong.Pointer, i18n.Raw(site.Capital(wrong.Detail)+".")
		}
	}
	return p
}
