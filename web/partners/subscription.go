package partners

import (
	"context"
	"net/http"
	"net/url"
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
	return d.stopSubscription(c, d.Registry.Subscriptions.Pause, "The subscription is paused. Events are kept and wait for you.",
		func(v *view.SubscriptionView, reason string, wrong i18n.Message) {
			v.PauseReason, v.PauseError = reason, wrong
		})
}

// endSubscription ends a subscription, or takes a request back.
func (d ownerPages) endSubscription(c echo.Context) error {
	return d.stopSubscription(c, d.Registry.Subscriptions.End, "The subscription has ended.",
		func(v *view.SubscriptionView, reason string, wrong i18n.Message) {
			v.EndReason, v.EndError = reason, wrong
		})
}

// stopSubscription does what needs a reason; show puts a refused one back on the page.
func (d ownerPages) stopSubscription(c echo.Context, stop func(context.Context, registry.Actor, string, string) error, text string,
	show func(v *view.SubscriptionView, reason string, wrong i18n.Message),
) error {
	_, grant, err := d.ownSubscription(c)
	if err != nil {
		return err
	}
	id := grant.Subscription.ID
	return site.WithReason(c, site.ShortReason, func(reason string) error {
		return d.Settled(c, stop(c.Request().Context(), site.Actor(c), id, reason), d.Href("/subscriptions/"+id), i18n.Message(text))
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
	text := "Sending has started again, with what waited first."
	if grant.Endpoint.Kind == store.EndpointPull {
		text = "Events can be fetched again, with what waited first."
	}
	return d.Settled(c, err, d.Href("/subscriptions/"+grant.Subscription.ID), i18n.Message(text))
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
	change(&v)
	page := d.PageFrame(c, site.SubscriptionLabel(c.Request().Context(), grant.Subscription), ui.Crumb{Label: "Subscriptions", Href: d.Href("/subscriptions")})
	page.Badge, page.Invalid = ui.State(grant.Subscription.Status), status != http.StatusOK
	return d.Render(c, status, view.SubscriptionPage(page, v))
}

func (d ownerPages) subscriptionView(ctx context.Context, owner store.Partner, g partners.Grant) view.SubscriptionView {
	s, may := g.Subscription, site.Waits(ctx, owner) == ""
	v := view.SubscriptionView{
		Href: d.Href("/subscriptions/" + s.ID), ID: s.ID, State: s.Status, StateText: subscriptionText(ctx, g, d.Cfg.Now()), Reason: s.StatusReason,
		Purpose: s.Purpose, Endpoint: g.Endpoint.Name, EndpointHref: d.Href("/endpoints/" + g.Endpoint.ID), Host: g.Host,
		Created: s.CreatedAt.Time, Decided: s.DecidedAt.Time, DecidedBy: s.DecidedBy, Now: d.Cfg.Now(),
		DeliveriesHref: d.Deliveries + "?subscription=" + url.QueryEscape(s.ID), Closed: site.Waits(ctx, owner),
		Pull:     g.Endpoint.Kind == store.EndpointPull,
		CanPause: may && s.Status == store.SubscriptionApproved, CanUnpause: may && s.Status == store.SubscriptionPaused,
		CanEnd: may && s.Status != store.SubscriptionEnded && s.Status != store.SubscriptionRejected,
	}
	v.Stopped = s.Status == store.SubscriptionApproved && s.DatasetID == "" && site.StopOf(ctx, g.Endpoint, d.Cfg.Now()).Why != ""
	if s.Sending {
		v.ReplayHref = d.Replays("subscription", s.ID)
	}
	if changeable(ctx, owner, s) {
		v.ChangeHref = v.Href + "/selection"
	}
	for _, t := range g.Types {
		row := view.SubscriptionType{Name: t.Type.Name, Title: "not in the catalogue any more"}
		if t.Known {
			row.Href, row.Title, row.Classification = site.EventTypeHref(t.Type.Name), t.Type.Title, t.Classification
			row.Contract = t.ContractTitle + " " + lineWords(t)
		}
		v.Types = append(v.Types, row)
	}
	return v
}

// subscriptionText explains the state of a subscription to its reader.
func subscriptionText(ctx context.Context, g partners.Grant, now time.Time) string {
	s, e := g.Subscription, g.Endpoint
	if text := followingText(g); text != "" {
		return text
	}
	if e.Kind == store.EndpointPull && s.Status == store.SubscriptionApproved {
		switch e.Status {
		case store.EndpointPaused:
			return "This subscription is approved, but its endpoint is paused: events wait there and cannot be fetched."
		case store.EndpointSuspended:
			return "This subscription is approved, but its endpoint is suspended: nothing can be fetched now."
		}
		return "Events of these types wait at your endpoint until you fetch them."
	}
	switch s.Status {
	case store.SubscriptionRequested:
		return "The administrator has to decide on this request. The answer appears here."
	case store.SubscriptionApproved:
		if text := stoppedText(ctx, e, now); text != "" {
			return text
		}
		return "Events of these types are sent to your endpoint."
	case store.SubscriptionPaused:
		return "You paused this subscription. Events are kept and wait until you start it again."
	case store.SubscriptionSuspended:
		return "The administrator suspended this subscription. You get no new events; what waited is held until the administrator resumes it."
	case store.SubscriptionRejected:
		return "The administrator rejected this request. You can ask again in another way."
	}
	return "This subscription has ended. Ask for a new one to receive these events again."
}

// followingText explains the state of a subscription to a dataset to its reader; empty for one to event types.
func followingText(g partners.Grant) string {
	s := g.Subscription
	switch {
	case s.DatasetID == "":
		return ""
	case g.Dataset != nil && g.Dataset.Follower.Reads && s.Status == store.SubscriptionRequested:
		return "The administrator has to decide on your change. The answer appears here; until then you can fetch what you got before."
	}
	return map[string]string{
		store.SubscriptionRequested: "The administrator has to decide on this request. The answer appears here; until then nothing can be fetched.",
		store.SubscriptionApproved:  "You can fetch snapshots and deltas of this dataset, as far as this subscription goes.",
		store.SubscriptionPaused:    "You paused this subscription: nothing can be fetched by it. Deltas are kept for 31 days.",
		store.SubscriptionSuspended: "The administrator suspended this subscription: nothing can be fetched by it until it is resumed. Deltas are kept for 31 days.",
		store.SubscriptionRejected:  "The administrator rejected this request. You can ask again in another way.",
		store.SubscriptionEnded:     "This subscription has ended. Ask for a new one to follow the dataset again.",
	}[s.Status]
}
