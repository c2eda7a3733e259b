package web

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/delivery/outbox"
	"schakel/store"
	view "schakel/templates/deliveries"
	"schakel/templates/ui"
)

// maxShownGroups bounds the rows of a preview.
const maxShownGroups = 200

// replayPage counts what a replay would offer before it starts.
func (p *portal) replayPage(area deliveryArea) echo.HandlerFunc {
	return func(c echo.Context) error {
		ctx, q := c.Request().Context(), readReplayQuery(c.QueryParam)
		r, wrong := q.replay(area)
		if len(wrong) > 0 {
			return p.showSendAgain(c, area, q, wrong)
		}
		counted, err := p.Engine.PreviewReplay(ctx, engineActor(c), r)
		if wrong, ok := replayRefusal(err, q); ok {
			return p.showSendAgain(c, area, q, wrong)
		}
		if err != nil {
			return err
		}
		v := view.ReplayView{
			Action: area.base + "/replays", Change: area.base + "/jobs/new?" + q.values().Encode(), Hidden: q.hidden(),
			Count: counted.Total, More: counted.More, Limited: counted.Limited, Repeats: r.Mode == outbox.ReplayAll,
		}
		if v.Filter, err = p.replayWords(ctx, r, area.scope(c)); err != nil {
			return err
		}
		if v.Groups, err = p.jobGroups(ctx, area, area.scope(c), counted, [2]string{"event", "events"}); err != nil {
			return err
		}
		if v.Warnings, err = p.stoppedWarnings(ctx, endpointsOf(counted)); err != nil {
			return err
		}
		title := ui.Plural(counted.Total, "event to offer again", "events to offer again")
		if counted.More {
			title = "More than " + title
		}
		page := p.page(c, title)
		page.Crumbs = append(page.Crumbs, deliveriesCrumb(area), ui.Crumb{Label: "Send again", Href: v.Change}, ui.Crumb{Label: "Replay"})
		return p.render(c, http.StatusOK, view.Replay(page, v))
	}
}

// startReplay starts a replay and shows how far it is.
func (p *portal) startReplay(area deliveryArea) echo.HandlerFunc {
	return func(c echo.Context) error {
		form, err := readForm(c)
		if err != nil {
			return err
		}
		q := readReplayQuery(form.Get)
		r, wrong := q.replay(area)
		if len(wrong) > 0 {
			return p.showSendAgain(c, area, q, wrong)
		}
		job, err := p.Engine.StartReplay(c.Request().Context(), engineActor(c), r)
		if wrong, ok := replayRefusal(err, q); ok {
			return p.showSendAgain(c, area, q, wrong)
		}
		if err != nil {
			return err
		}
		return c.Redirect(http.StatusSeeOther, area.job(job.ID))
	}
}

// jobGroups shows what a job touches, the largest groups of it.
func (p *portal) jobGroups(ctx context.Context, area deliveryArea, scope string, counted outbox.Preview, noun [2]string) (view.JobGroupsView, error) {
	v := view.JobGroupsView{Noun: noun, Total: counted.Total, ShowPartner: area.admin, Left: max(0, len(counted.Groups)-maxShownGroups)}
	names := p.deliveryNamesOf(scope)
	for _, g := range counted.Groups[:len(counted.Groups)-v.Left] {
		row := view.JobGroup{EventType: g.EventType, Count: g.Count}
		var err error
		if row.Endpoint, row.Subscription, err = p.jobTarget(ctx, area, names, g.EndpointID, g.SubscriptionID); err != nil {
			return v, err
		}
		if area.admin {
			if row.Partner, err = names.partner(ctx, g.PartnerID); err != nil {
				return v, err
			}
		}
		v.Rows = append(v.Rows, row)
	}
	return v, nil
}

// jobTarget names an endpoint and a subscription, and where they are shown.
func (p *portal) jobTarget(ctx context.Context, area deliveryArea, names *deliveryNames, endpointID, subscriptionID string) (endpoint, subscription ui.Named, err error) {
	if endpoint.Name, err = names.endpoint(ctx, endpointID); err != nil {
		return endpoint, subscription, err
	}
	endpoint.Href = area.base + "/endpoints/" + endpointID
	if subscriptionID == "" {
		return endpoint, ui.Named{Name: "none: tests of the endpoint"}, nil
	}
	subscription, err = names.subscription(ctx, area, subscriptionID)
	return endpoint, subscription, err
}

// subscription names a subscription as its page does; what is not there any more is called by its id.
func (n *deliveryNames) subscription(ctx context.Context, area deliveryArea, id string) (ui.Named, error) {
	name, err := known(n.subscriptions, id, func() (string, error) {
		row, err := n.db.Subscription(ctx, id)
		if err != nil || !n.sees(row.PartnerID) {
			return id, err
		}
		return subscriptionLabel(row), nil
	})
	return ui.Named{Name: name, Href: area.base + "/subscriptions/" + id}, err
}

// jobParts counts the progress of a replay for each subscription.
func (p *portal) jobParts(ctx context.Context, area deliveryArea, j store.ResendJob) ([]view.JobPart, error) {
	rows, err := p.DB.ReplayParts(ctx, j.ID)
	if err != nil {
		return nil, err
	}
	names := p.deliveryNamesOf(area.partnerOf(j))
	parts := make([]view.JobPart, len(rows))
	for i, r := range rows {
		parts[i] = view.JobPart{State: r.Status, Text: partText(r, j), Done: int(r.Done), Total: int(r.Total), More: r.TotalMore}
		if r.Status == store.JobRunning && j.Status == store.JobCancelled {
			parts[i].State = store.JobCancelled
		}
		if parts[i].Endpoint, parts[i].Subscription, err = p.jobTarget(ctx, area, names, r.EndpointID, r.SubscriptionID); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// partText explains why a part does not go on, or ended early.
func partText(r store.ReplayPart, j store.ResendJob) string {
	switch {
	case r.Reason == store.ReasonSubscriptionEnded:
		return "the subscription ended"
	case r.Status != store.JobRunning || j.Status != store.JobRunning:
		return ""
	case r.Reason == outbox.ReasonBusy:
		return "waits until the endpoint took what waits there"
	case r.Reason == store.ReasonSubscriptionPaused:
		return "waits while the subscription is paused"
	case r.Reason == store.ReasonSubscriptionSuspended:
		return "waits while the subscription or its partner is suspended"
	}
	return ""
}
