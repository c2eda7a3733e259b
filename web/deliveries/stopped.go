package deliveries

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
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

// stoppedEndpoint is an endpoint that is not sent to now, with the reason as the API names it, and until when if a clock ends that.
type stoppedEndpoint struct {
	endpoint store.Endpoint
	reason   string
	until    store.Time
}

// stoppedEndpoints finds those that are not sent to now among endpoints.
func stoppedEndpoints(ctx context.Context, db *store.DB, ids []string, now time.Time) (stopped []stoppedEndpoint, err error) {
	for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) {
		ep, err := db.Endpoint(ctx, id)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		reason, until := site.EndpointWait(ep, store.Delivery{SubscriptionID: "any"}, now) // of events, not of tests of the endpoint
		if reason != "" {
			stopped = append(stopped, stoppedEndpoint{ep, reason, until})
		}
	}
	return stopped, nil
}

// warning announces that deliveries to the endpoint wait, and names the cause.
func (s stoppedEndpoint) warning() i18n.Message {
	name := s.endpoint.Name
	switch s.reason {
	case "endpoint-paused":
		return i18n.M("deliveries.stopped.paused", name)
	case "endpoint-suspended":
		return i18n.M("deliveries.stopped.suspended", name)
	case "circuit-open":
		return i18n.M("deliveries.stopped.circuit", name)
	case "retry-after":
		return i18n.M("deliveries.stopped.retry-after", name, s.until.Time)
	}
	if s.until.IsZero() {
		return i18n.M("deliveries.stopped.window", name)
	}
	return i18n.M("deliveries.stopped.window-until", name, s.until.Time)
}

// stoppedWarnings are the warnings about endpoints that are not sent to now.
func (p *Pages) stoppedWarnings(ctx context.Context, endpoints []string) ([]string, error) {
	stopped, err := stoppedEndpoints(ctx, p.DB, endpoints, p.Cfg.Now())
	var texts []string
	for _, s := range stopped {
		texts = append(texts, s.warning().In(ctx))
	}
	return texts, err
}

// rowWarnings are the warnings about endpoints that rows of a list wait for, or can be resent to, and about subscriptions that rows
// cannot be resent to.
func (p *Pages) rowWarnings(ctx context.Context, rows []store.Delivery) ([]string, error) {
	var endpoints, subscriptions []string
	for _, d := range rows {
		if d.Status != store.DeliveryDelivered && d.Status != store.DeliveryDiscarded {
			endpoints, subscriptions = append(endpoints, d.EndpointID), append(subscriptions, d.SubscriptionID)
		}
	}
	texts, err := p.stoppedWarnings(ctx, endpoints)
	if err != nil {
		return nil, err
	}
	more, err := p.subscriptionWarnings(ctx, subscriptions)
	return append(texts, more...), err
}

// saidBelow takes warnings that a page shows by itself out of the message that the request before left, so that each stands once.
func saidBelow(ctx context.Context, flash *ui.Flash, warnings []string) {
	if flash == nil || len(warnings) == 0 {
		return
	}
	said := flash.Text.In(ctx)
	for _, text := range warnings {
		said = strings.ReplaceAll(said, " "+text, "")
	}
	flash.Text = i18n.Raw(said)
}

// resendWarning is the warning before a resend to an endpoint; "" when it is sent to now.
func resendWarning(ctx context.Context, ep store.Endpoint, now time.Time) string {
	reason, until := site.EndpointWait(ep, store.Delivery{SubscriptionID: "any"}, now)
	if reason == "" {
		return ""
	}
	return stoppedEndpoint{ep, reason, until}.warning().In(ctx)
}

// resent announces that deliveries are resent, with a warning when some were refused or their endpoints are not sent to now, and goes
// back to a page.
func (p *Pages) resent(c echo.Context, href string, text i18n.Message, refused int, ids ...string) error {
	ctx, actor := c.Request().Context(), site.EngineActor(c)
	var endpoints []string
	for _, id := range ids {
		d, err := p.DB.Delivery(ctx, id)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		own := actor.PartnerID == "" || d.PartnerID == actor.PartnerID
		if own && (d.Status == store.DeliveryPending || d.Status == store.DeliveryRetrying) {
			endpoints = append(endpoints, d.EndpointID)
		}
	}
	stopped, err := stoppedEndpoints(ctx, p.DB, endpoints, p.Cfg.Now())
	if err != nil {
		return err
	}
	if len(stopped) == 0 && refused == 0 {
		return p.Done(c, href, text)
	}
	for _, s := range stopped {
		text = sentences(text, s.warning())
	}
	p.Engine.Changed()
	p.Flash(c, ui.KindWarning, text)
	return c.Redirect(http.StatusSeeOther, href)
}

// stoppedAmong answers which endpoints are not sent to now.
func (m *handlers) stoppedAmong(ctx context.Context, endpoints []string) ([]stoppedAt, error) {
	stopped, err := stoppedEndpoints(ctx, m.DB, endpoints, m.App.Cfg.Now())
	var list []stoppedAt
	for _, s := range stopped {
		list = append(list, stoppedAt{EndpointID: s.endpoint.ID, Reason: s.reason, Until: s.until})
	}
	return list, err
}

// endpointsOf are the endpoints of what a job would do.
func endpointsOf(p outbox.Preview) (ids []string) {
	for _, g := range p.Groups {
		ids = append(ids, g.EndpointID)
	}
	return ids
}
