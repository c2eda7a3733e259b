package deliveries

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/delivery/outbox"
	"schakel/store"
	view "schakel/templates/deliveries"
	"schakel/templates/ui"
	"schakel/web/site"
)

// maxShownGroups bounds the rows of a preview.
const maxShownGroups = 200

// replayPage counts what a replay would offer before it starts.
func (p *Pages) replayPage(area site.DeliveryArea) echo.HandlerFunc {
	return func(c echo.Context) error {
		ctx, q := c.Request().Context(), readReplayQuery(c.QueryParam)
		r, wrong := q.replay(area)
		if len(wrong) > 0 {
			return p.showSendAgain(c, area, q, wrong)
		}
		counted, err := p.Engine.PreviewReplay(ctx, site.EngineActor(c), r)
		if wrong, ok := replayRefusal(err, q); ok {
			return p.showSendAgain(c, area, q, wrong)
		}
		if err != nil {
			return err
		}
		v := view.ReplayView{
			Action: area.Base + "/replays", Change: area.Base + "/jobs/new?" + q.values().Encode(), Hidden: q.hidden(),
			Count: counted.Total, More: counted.More, Limited: counted.Limited, Repeats: r.Mode == outbox.ReplayAll,
		}
		if v.Filter, err = p.replayWords(ctx, r, area.Scope(c)); err != nil {
			return err
		}
		if v.Groups, err = p.jobGroups(ctx, area, area.Scope(c), counted, [2]string{"event", "events"}); err != nil {
			return err
		}
		if v.Warnings, err = p.stoppedWarnings(ctx, endpointsOf(counted)); err != nil {
			return err
		}
		title := ui.Plural(counted.Total, "event to offer again", "events to offer again")
		if counted.More {
			title = "More than " + title
		}
		page := p.Page(c, title)
		page.Crumbs = append(page.Crumbs, deliveriesCrumb(area), ui.Crumb{Label: "Send again", Href: v.Change}, ui.Crumb{Label: "Replay"})
		return p.Render(c, http.StatusOK, view.Replay(page, v))
	}
}

// startReplay starts a replay and shows how far it is.
func (p *Pages) startReplay(area site.DeliveryArea) echo.HandlerFunc {
	return func(c echo.Context) error {
		form, err := site.ReadForm(c)
		if err != nil {
			return err
		}
		q := readReplayQuery(form.Get)
		r, wrong := q.replay(area)
		if len(wrong) > 0 {
			return p.showSendAgain(c, area, q, wrong)
		}
		job, err := p.Engine.StartReplay(c.Request().Context(), site.EngineActor(c), r)
		if wrong, ok := replayRefusal(err, q); ok {
			return p.showSendAgain(c, area, q, wrong)
		}
		if err != nil {
			return err
		}
		return c.Redirect(http.StatusSeeOther, area.Job(job.ID))
	}
}

// jobGroups shows what a job touches, the largest groups of it.
func (p *Pages) jobGroups(ctx context.Context, area site.DeliveryArea, scope string, counted outbox.Preview, noun [2]string) (view.JobGroupsView, error) {
	v := view.JobGroupsView{Noun: noun, Total: counted.Total, ShowPartner: area.Admin, Left: max(0, len(counted.Groups)-maxShownGroups)}
	names := p.DeliveryNamesOf(scope)
	for _, g := range counted.Groups[:len(counted.Groups)-v.Left] {
		row := view.JobGroup{EventType: g.EventType, Count: g.Count}
		var err error
		if row.Endpoint, row.Subscription, err = p.jobTarget(ctx, area, names, g.EndpointID, g.SubscriptionID); err != nil {
			return v, err
		}
		if area.Admin {
			if row.Partner, err = names.Partner(ctx, g.PartnerID); err != nil {
				return v, err
			}
		}
		v.Rows = append(v.Rows, row)
	}
	return v, nil
}

// jobTarget names an endpoint and a subscription, and where they are shown.
func (p *Pages) jobTarget(ctx context.Context, area site.DeliveryArea, names *site.DeliveryNames, endpointID, subscriptionID string) (endpoint, subscription ui.Named, err error) {
	if endpoint.Name, err = names.Endpoint(ctx, endpointID); err != nil {
		return endpoint, subscription, err
	}
	endpoint.Href = area.Base + "/endpoints/" + endpointID
	if subscriptionID == "" {
		return endpoint, ui.Named{Name: "none: tests of the endpoint"}, nil
	}
	subscription, err = names.Subscription(ctx, area, subscriptionID)
	return endpoint, subscription, err
}

// jobParts counts the progress of a replay for each subscription.
func (p *Pages) jobParts(ctx context.Context, area site.DeliveryArea, j store.ResendJob) ([]view.JobPart, error) {
	rows, err := p.DB.ReplayParts(ctx, j.ID)
	if err != nil {
		return nil, err
	}
	names := p.DeliveryNamesOf(area.PartnerOf(j))
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
