package deliveries

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"
	"schakel/delivery/outbox"
	"schakel/store"
	view "schakel/templates/deliveries"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

// maxShownGroups bounds the rows of a preview.
const maxShownGroups = 200

// replayPage counts what a replay would send before it starts.
func (p *Pages) replayPage(area site.DeliveryArea) echo.HandlerFunc {
	return func(c echo.Context) error {
		ctx, q := c.Request().Context(), readReplayQuery(c.QueryParam)
		r, wrong := q.replay(area)
		if len(wrong) > 0 {
			return p.showAgain(c, area, q, wrong)
		}
		counted, err := p.Engine.PreviewReplay(ctx, site.EngineActor(c), r)
		if wrong, ok := replayRefusal(err, q); ok {
			return p.showAgain(c, area, q, wrong)
		}
		if err != nil {
			return err
		}
		v := view.ReplayView{
			Action: area.Base + "/replays", Change: area.Base + "/jobs/new?" + q.values().Encode(), Hidden: site.HiddenFields(q.values()),
			Count: counted.Total, More: counted.More, Limited: counted.Limited, Repeats: r.Mode == outbox.ReplayAll,
		}
		if v.Filter, err = p.replayWords(ctx, r, area.Scope(c)); err != nil {
			return err
		}
		if v.Groups, err = p.jobGroups(ctx, area, area.Scope(c), counted); err != nil {
			return err
		}
		if v.Warnings, err = p.targetWarnings(ctx, counted); err != nil {
			return err
		}
		page := p.Page(c, v.Title(ctx))
		page.Crumbs = append(page.Crumbs, deliveriesCrumb(ctx, area), ui.Crumb{Label: i18n.T(ctx, "deliveries.again.title"), Href: v.Change}, ui.Crumb{Label: i18n.T(ctx, "deliveries.replay.title")})
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
			return p.showAgain(c, area, q, wrong)
		}
		job, err := p.Engine.StartReplay(c.Request().Context(), site.EngineActor(c), r)
		if wrong, ok := replayRefusal(err, q); ok {
			return p.showAgain(c, area, q, wrong)
		}
		if err != nil {
			return err
		}
		return c.Redirect(http.StatusSeeOther, area.Job(job.ID))
	}
}

// jobGroups shows what a job touches, the largest groups of it.
func (p *Pages) jobGroups(ctx context.Context, area site.DeliveryArea, scope string, counted outbox.Preview) (view.JobGroupsView, error) {
	v := view.JobGroupsView{Total: counted.Total, ShowPartner: area.Admin, Left: max(0, len(counted.Groups)-maxShownGroups)}
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
		return endpoint, ui.Named{Name: i18n.T(ctx, "deliveries.groups.no-subscription")}, nil
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
		parts[i] = view.JobPart{State: r.Status, Text: partText(ctx, r, j), Done: int(r.Done), Total: int(r.Total), More: r.TotalMore}
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
func partText(ctx context.Context, r store.ReplayPart, j store.ResendJob) string {
	switch {
	case r.Reason == store.ReasonSubscriptionEnded:
		return i18n.T(ctx, "deliveries.jobs.part-ended")
	case r.Status != store.JobRunning || j.Status != store.JobRunning:
		return ""
	case r.Reason == outbox.ReasonBusy:
		return i18n.T(ctx, "deliveries.jobs.part-busy")
	case r.Reason == store.ReasonSubscriptionPaused:
		return i18n.T(ctx, "deliveries.jobs.part-paused")
	case r.Reason == store.ReasonSubscriptionSuspended:
		return i18n.T(ctx, "deliveries.jobs.part-suspended")
	}
	return ""
}

// Bounds of the event ids typed in the portal; the API takes more.
const (
	maxTypedIDs      = 100
	maxTypedIDsBytes = 10_000
)

// replayQuery is a replay as it was chosen in the portal.
type replayQuery struct {
	partner, endpoint, subscription, mode, eventType, subject, zone, from, until, events string
}

func readReplayQuery(get func(name string) string) replayQuery {
	read := func(name string, most int) string {
		v := site.Clean(get(name))
		return strings.ToValidUTF8(v[:min(len(v), most)], "")
	}
	return replayQuery{
		partner: read("partner", site.MaxFilterText), endpoint: read("endpoint", site.MaxFilterText), subscription: read("subscription", site.MaxFilterText),
		mode: cmp.Or(read("mode", site.MaxFilterText), outbox.ReplayMissing), eventType: read("type", site.MaxFilterText), subject: read("subject", site.MaxFilterText),
		zone: read("zone", site.MaxFilterText), from: read("from", site.MaxFilterText), until: read("until", site.MaxFilterText), events: read("events", maxTypedIDsBytes),
	}
}

// values are the fields that are filled in, under the names of the form.
func (q replayQuery) values() url.Values {
	v := url.Values{}
	for name, value := range map[string]string{
		"partner": q.partner, "endpoint": q.endpoint, "subscription": q.subscription, "mode": q.mode, "type": q.eventType,
		"subject": q.subject, "from": q.from, "until": q.until, "events": q.events,
	} {
		if value != "" {
			v.Set(name, value)
		}
	}
	if q.zone != "" && q.from+q.until != "" { // of the moments
		v.Set("zone", q.zone)
	}
	return v
}

// replay turns the query into what the engine selects; what is wrong is told by field.
func (q replayQuery) replay(area site.DeliveryArea) (outbox.Replay, site.FormErrors) {
	wrong := site.FormErrors{}
	r := outbox.Replay{Mode: q.mode, EndpointID: q.endpoint, Subject: q.subject, EventIDs: strings.Fields(q.events)}
	if area.Admin {
		r.PartnerID = q.partner
	}
	if q.subscription != "" {
		r.SubscriptionIDs = []string{q.subscription}
	}
	if q.eventType != "" {
		r.Types = []string{q.eventType}
	}
	r.From, r.Until = site.Period(q.zone, q.from, q.until, wrong)
	if q.mode != outbox.ReplayMissing && q.mode != outbox.ReplayAll {
		wrong["mode"] = "deliveries.again.choose-which"
	}
	if area.Admin && r.PartnerID == "" && r.EndpointID == "" && len(r.SubscriptionIDs) == 0 {
		wrong["partner"] = "deliveries.again.choose-partner"
	}
	if len(r.EventIDs) > maxTypedIDs {
		wrong["events"] = i18n.M("deliveries.again.too-many-ids", maxTypedIDs)
	}
	return r, wrong
}

// replayRefusal returns the field that an error of the engine belongs to; false when it is none of the form.
func replayRefusal(err error, q replayQuery) (site.FormErrors, bool) {
	field := "endpoint"
	if q.subscription != "" {
		field = "subscription"
	}
	if errors.Is(err, outbox.ErrTooManyEvents) {
		return site.FormErrors{"events": outbox.RefusalText(err)}, true
	}
	if errors.Is(err, store.ErrNotFound) {
		return site.FormErrors{field: "deliveries.again.no-subscription"}, true
	}
	for _, known := range []error{outbox.ErrNothingSelected, outbox.ErrTooManySubscriptions, outbox.ErrNotApproved, outbox.ErrTooManyJobs} {
		if errors.Is(err, known) {
			return site.FormErrors{field: outbox.RefusalText(known)}, true
		}
	}
	return nil, false
}

// replayWords describes a replay as it was chosen.
func (p *Pages) replayWords(ctx context.Context, r outbox.Replay, scope string) ([]ui.Item, error) {
	names := p.DeliveryNamesOf(scope)
	if r.PartnerID == "" && scope == "" && r.EndpointID != "" {
		ep, err := p.DB.Endpoint(ctx, r.EndpointID)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return nil, err
		}
		r.PartnerID = ep.PartnerID
	}
	partner, err := names.Partner(ctx, r.PartnerID)
	if err != nil {
		return nil, err
	}
	endpoint, err := names.Endpoint(ctx, r.EndpointID)
	if err != nil {
		return nil, err
	}
	which := i18n.T(ctx, "deliveries.replay.which-missing")
	if r.Mode == outbox.ReplayAll {
		which = i18n.T(ctx, "deliveries.replay.which-all")
	}
	ids := ""
	if len(r.EventIDs) > 0 {
		ids = i18n.T(ctx, "events.count", len(r.EventIDs))
	}
	items := []ui.Item{{Label: i18n.T(ctx, "deliveries.again.which"), Text: which}}
	for _, item := range []ui.Item{
		{Label: i18n.T(ctx, "deliveries.partner"), Text: partner},
		{Label: i18n.T(ctx, "deliveries.endpoint"), Text: endpoint},
		{Label: i18n.T(ctx, "deliveries.subscription"), Text: strings.Join(r.SubscriptionIDs, ", ")},
		{Label: i18n.T(ctx, "deliveries.event-type"), Text: strings.Join(r.Types, ", ")},
		{Label: i18n.T(ctx, "deliveries.subject"), Text: r.Subject},
		{Label: i18n.T(ctx, "deliveries.accepted-from"), Text: moment(ctx, r.From)},
		{Label: i18n.T(ctx, "deliveries.accepted-before"), Text: moment(ctx, r.Until)},
		{Label: i18n.T(ctx, "deliveries.chosen-by-id"), Text: ids},
	} {
		if item.Text != "" {
			items = append(items, item)
		}
	}
	return items, nil
}
