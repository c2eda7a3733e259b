package partners

import (
	"context"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/registry/partners"
	"schakel/store"
	"schakel/templates/i18n"
	view "schakel/templates/partners"
	"schakel/templates/ui"
	"schakel/web/site"
)

// subscription shows a subscription.
func (d ownerPages) subscription(c echo.Context) error {
	return d.showSubscription(c, http.StatusOK, func(*view.SubscriptionView) {})
}

// pauseSubscription stops sending for a time; events stay stored.
func (d ownerPages) pauseSubscription(c echo.Context) error {
	return d.stopSubscription(c, d.Registry.Subscriptions.Pause, "partners.subscription.paused",
		func(v *view.SubscriptionView, reason string, wrong i18n.Message) {
			v.PauseReason, v.PauseError = reason, wrong
		})
}

// endSubscription ends a subscription, or takes a request back.
func (d ownerPages) endSubscription(c echo.Context) error {
	return d.stopSubscription(c, d.Registry.Subscriptions.End, "partners.subscription.ended",
		func(v *view.SubscriptionView, reason string, wrong i18n.Message) {
			v.EndReason, v.EndError = reason, wrong
		})
}

// stopSubscription does what needs a reason; show puts a refused one back on the page.
func (d ownerPages) stopSubscription(c echo.Context, stop func(context.Context, registry.Actor, string, string) error, text i18n.Message,
	show func(v *view.SubscriptionView, reason string, wrong i18n.Message),
) error {
	_, grant, err := d.ownSubscription(c)
	if err != nil {
		return err
	}
	id := grant.Subscription.ID
	return site.WithReason(c, site.ShortReason, func(reason string) error {
		return d.Settled(c, stop(c.Request().Context(), site.Actor(c), id, reason), d.Href("/subscriptions/"+id), text)
	}, func(reason string, wrong i18n.Message) error {
		return d.showSubscription(c, http.StatusUnprocessableEntity, func(v *view.SubscriptionView) { show(v, reason, wrong) })
	})
}

// resumeSubscription starts sending again after a pause.
func (d ownerPages) resumeSubscription(c echo.Context) error {
	_, grant, err := d.ownSubscription(c)
	if err != nil {
		return err
	}
	err = d.Registry.Subscriptions.Unpause(c.Request().Context(), site.Actor(c), grant.Subscription.ID)
	text := i18n.Message("partners.subscription.resumed")
	if grant.Endpoint.Kind == store.EndpointPull {
		text = "partners.subscription.resumed-pull"
	}
	return d.Settled(c, err, d.Href("/subscriptions/"+grant.Subscription.ID), text)
}

func (d ownerPages) showSubscription(c echo.Context, status int, change func(*view.SubscriptionView)) error {
	owner, grant, err := d.ownSubscription(c)
	if err != nil {
		return err
	}
	v := d.subscriptionView(c.Request().Context(), owner, grant)
	if v.Dataset, err = d.subscribedDataset(c.Request().Context(), grant, d.Base); err != nil {
		return err
	}
	if v.Dataset != nil && v.ChangeHref != "" {
		v.Dataset.ChangeHref, v.ChangeHref = d.Dataset(grant.Subscription.DatasetID)+"/subscriptions/"+grant.Subscription.ID+"/area", ""
		if grant.Dataset.Dataset.Status == store.DatasetEnded { // what it gets stays as it is
			v.Dataset.ChangeHref = ""
		}
	}
	if v.Selected, err = d.pages.selected(c.Request().Context(), grant.Subscription, grant.Endpoint); err != nil {
		return err
	}
	if v.Unready, err = d.Readiness(site.Actor(c).Administrator).OfSubscription(c.Request().Context(), grant.Subscription); err != nil {
		return err
	}
	if v.Unready != nil && grant.Subscription.Status == store.SubscriptionApproved {
		v.StateText = i18n.T(c.Request().Context(), "partners.subscription.unready")
	}
	change(&v)
	page := d.PageFrame(c, site.SubscriptionLabel(c.Request().Context(), grant.Subscription), ui.Crumb{Label: i18n.T(c.Request().Context(), "partners.label.subscriptions"), Href: d.Href("/subscriptions")})
	page.Badge, page.Invalid = ui.BadgeOr(grant.Subscription.Status, v.Unready), status != http.StatusOK
	return d.Render(c, status, view.SubscriptionPage(page, v))
}

// subscriptionText explains the state of a subscription to its reader.
func subscriptionText(ctx context.Context, g partners.Grant, now time.Time) string {
	s, e := g.Subscription, g.Endpoint
	if text := followingText(ctx, g); text != "" {
		return text
	}
	if e.Kind == store.EndpointPull && s.Status == store.SubscriptionApproved {
		switch e.Status {
		case store.EndpointPaused:
			return i18n.T(ctx, "partners.subscription.pull-paused")
		case store.EndpointSuspended:
			return i18n.T(ctx, "partners.subscription.pull-suspended")
		}
		return i18n.T(ctx, "partners.subscription.pull-approved")
	}
	switch s.Status {
	case store.SubscriptionRequested:
		return i18n.T(ctx, "partners.subscription.is-requested")
	case store.SubscriptionApproved:
		if text := stoppedText(ctx, e, now); text != "" {
			return text
		}
		return i18n.T(ctx, "partners.subscription.is-approved")
	case store.SubscriptionPaused:
		return i18n.T(ctx, "partners.subscription.is-paused")
	case store.SubscriptionSuspended:
		return i18n.T(ctx, "partners.subscription.is-suspended")
	case store.SubscriptionRejected:
		return i18n.T(ctx, "partners.subscription.is-rejected")
	}
	return i18n.T(ctx, "partners.subscription.is-ended")
}

// followingText explains the state of a subscription to a dataset to its reader; empty for one to event types.
func followingText(ctx context.Context, g partners.Grant) string {
	s := g.Subscription
	switch {
	case s.DatasetID == "":
		return ""
	case g.Dataset != nil && g.Dataset.Follower.Reads && s.Status == store.SubscriptionRequested:
		return i18n.T(ctx, "partners.dataset.change-requested")
	}
	return map[string]string{
		store.SubscriptionRequested: i18n.T(ctx, "partners.dataset.is-requested"),
		store.SubscriptionApproved:  i18n.T(ctx, "partners.dataset.is-approved"),
		store.SubscriptionPaused:    i18n.T(ctx, "partners.dataset.is-paused"),
		store.SubscriptionSuspended: i18n.T(ctx, "partners.dataset.is-suspended"),
		store.SubscriptionRejected:  i18n.T(ctx, "partners.subscription.is-rejected"),
		store.SubscriptionEnded:     i18n.T(ctx, "partners.dataset.is-ended"),
	}[s.Status]
}
