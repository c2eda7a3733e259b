package deliveries

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/store"
	view "schakel/templates/deliveries"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

// maxShownIssueEvents bounds the history that the page of an issue shows.
const maxShownIssueEvents = 50

// issuePage shows one issue.
func (p *Pages) issuePage(area site.DeliveryArea) echo.HandlerFunc {
	return func(c echo.Context) error { return p.showIssue(c, area, "", "") }
}

// ownIssue finds an issue that the reader may see; another's is not found (guarantee G7).
func (p *Pages) ownIssue(c echo.Context, area site.DeliveryArea) (store.Issue, error) {
	i, err := p.DB.Issue(c.Request().Context(), c.Param("id"))
	if err == nil && !area.Admin && i.PartnerID != area.Scope(c) {
		return store.Issue{}, store.ErrNotFound
	}
	return i, err
}

// showIssue draws the page; reason and wrong are of a pause that was refused.
func (p *Pages) showIssue(c echo.Context, area site.DeliveryArea, reason string, wrong i18n.Message) error {
	ctx := c.Request().Context()
	i, err := p.ownIssue(c, area)
	if err != nil {
		return err
	}
	at, err := p.deliveryContext(ctx, store.Delivery{PartnerID: i.PartnerID, EndpointID: i.EndpointID})
	if err != nil {
		return err
	}
	v := view.IssueView{
		Self: area.Issue(i.ID), State: i.Status, Headline: issueState(ctx, i), Detail: issueDetail(ctx, area.Admin, i),
		Advice: registry.IssueAdvice(i.Cause, area.Admin).In(ctx), Now: p.Cfg.Now(),
		Again: area.Base + "/jobs/new?" + url.Values{"endpoint": {i.EndpointID}}.Encode(),
	}
	if v.Sample, err = p.issueSample(ctx, site.Actor(c), area, i); err != nil {
		return err
	}
	types, err := p.DB.IssueEventTypes(ctx, i)
	if err != nil {
		return err
	}
	if len(types) == 0 && v.Sample.EventType != "" {
		types = []string{v.Sample.EventType}
	}
	v.Facts = issueFacts(ctx, area, i, at, types, v.Now)
	if err := p.countIssue(ctx, area, i, at, &v); err != nil {
		return err
	}
	if v.History, err = p.issueHistory(ctx, i); err != nil {
		return err
	}
	v.Acts, v.Danger = p.issueActs(ctx, area, i, at, reason, wrong)
	status, page := http.StatusOK, p.Page(c, i18n.T(ctx, "deliveries.issue.title", registry.IssueCause(i.Cause), cmp.Or(at.Endpoint.Name, i.EndpointID)))
	page.Badge = view.IssueBadge(i.Status)
	if wrong != "" {
		status, page.Invalid, v.Errors = http.StatusUnprocessableEntity, true, []ui.FieldError{{Field: "pause-reason", Text: wrong}}
	}
	page.Crumbs = append(page.Crumbs, ui.Crumb{Label: i18n.T(ctx, "deliveries.issues.title"), Href: area.Base + "/issues"}, ui.Crumb{Label: i18n.T(ctx, "deliveries.issue.crumb")})
	if err := p.NoteProbe(c, &page, i.EndpointID, area); err != nil {
		return err
	}
	return p.Render(c, status, view.Issue(page, v))
}

// issueFacts are the properties of an issue.
func issueFacts(ctx context.Context, area site.DeliveryArea, i store.Issue, at DeliveryContext, types []string, now time.Time) []ui.Item {
	items := []ui.Item{
		{Label: i18n.T(ctx, "deliveries.issues.cause"), Text: i18n.T(ctx, "deliveries.issue.cause-code", registry.IssueCause(i.Cause), i.Cause)},
		{Label: i18n.T(ctx, "deliveries.endpoint"), Content: ui.Link(cmp.Or(at.Endpoint.Name, i.EndpointID), area.Base+"/endpoints/"+i.EndpointID)},
		{Label: i18n.T(ctx, "deliveries.issue.endpoint-state"), Content: endpointState(at.Endpoint)},
	}
	if area.Admin {
		items = append(items, ui.Item{Label: i18n.T(ctx, "deliveries.partner"), Content: ui.Link(cmp.Or(at.Partner.Name, i.PartnerID), "/admin/partners/"+i.PartnerID)})
	}
	items = append(items,
		ui.Item{Label: i18n.T(ctx, "deliveries.issue.types"), Content: ui.Bullets(types)},
		ui.Item{Label: i18n.T(ctx, "deliveries.issues.failures"), Text: i18n.Count(ctx, int(i.Failures))},
		ui.Item{Label: i18n.T(ctx, "deliveries.issue.first"), Content: ui.Clock(i.FirstAt.Time, now)},
		ui.Item{Label: i18n.T(ctx, "deliveries.issue.last"), Content: ui.Clock(i.LastAt.Time, now)})
	if i.Reopened > 0 {
		items = append(items, ui.Item{Label: i18n.T(ctx, "deliveries.issue.reopened-times"), Text: i18n.Count(ctx, int(i.Reopened))})
	}
	if i.Status == store.IssueAcknowledged {
		items = append(items, ui.Item{Label: i18n.T(ctx, "deliveries.issue.acknowledged-at"), Content: ui.Clock(i.AcknowledgedAt.Time, now)})
	}
	if i.Status == store.IssueResolved {
		items = append(items, ui.Item{Label: i18n.T(ctx, "deliveries.issue.resolved-at"), Content: ui.Clock(i.ResolvedAt.Time, now)})
	}
	return append(items, ui.Item{Label: i18n.T(ctx, "deliveries.issue.id"), Content: ui.Identifier(i.ID)})
}

// endpointState shows the state of an endpoint: of an active one whose circuit is open that it is stopped for now.
func endpointState(e store.Endpoint) templ.Component {
	if e.Status == store.EndpointActive && e.Circuit == store.CircuitOpen {
		return ui.State(e.Circuit)
	}
	return ui.State(e.Status)
}

// issueQuery selects the deliveries that an issue concerns.
func issueQuery(i store.Issue) url.Values {
	return url.Values{"endpoint": {i.EndpointID}, "cause": {i.Cause}}
}

// issueDeliveries gives the address of the list of deliveries of an issue in a state.
func issueDeliveries(area site.DeliveryArea, i store.Issue, status string) string {
	q := issueQuery(i)
	if area.Admin && status == store.DeliveryDead {
		return "/admin/dead-letters?" + q.Encode()
	}
	q.Set("status", status)
	return area.Base + "/deliveries?" + q.Encode()
}

// countIssue counts the deliveries that an issue concerns, each count as the page of its link does.
func (p *Pages) countIssue(ctx context.Context, area site.DeliveryArea, i store.Issue, at DeliveryContext, v *view.IssueView) error {
	waiting := 0
	for _, status := range []string{store.DeliveryDead, store.DeliveryHeld, store.DeliveryRetrying} {
		f := store.DeliveryFilter{EndpointID: i.EndpointID, PartnerID: i.PartnerID, Cause: i.Cause, Statuses: []string{status}}
		n, err := p.DB.CountListed(ctx, f)
		if err != nil {
			return err
		}
		tile := ui.Tile{Label: stateWord(ctx, status), Value: i18n.CountUpTo(ctx, n, store.ListBound), Kind: ui.KindNeutral}
		if n > 0 {
			tile.Href, tile.Kind = issueDeliveries(area, i, status), ui.KindWarning
		}
		if n > 0 && status == store.DeliveryDead {
			tile.Kind = ui.KindError
		}
		final := 0
		if n > 0 && status != store.DeliveryRetrying && at.Endpoint.Kind == store.EndpointAMQP {
			groups, err := p.DB.GroupDeliveries(ctx, f)
			if err != nil {
				return err
			}
			for _, g := range groups {
				final += g.SentForGood
			}
		}
		if status != store.DeliveryRetrying {
			waiting += n - final
		}
		if n > final {
			v.Standing = append(v.Standing, p.standing(ctx, status, tile.Value, at.Endpoint))
		}
		if final > 0 {
			v.Standing = append(v.Standing, i18n.T(ctx, "deliveries.stopped.sent-for-good", final))
		}
		v.Counts = append(v.Counts, tile)
	}
	if len(v.Standing) == 0 {
		v.Standing = []string{i18n.T(ctx, "deliveries.issue.now-none")}
	}
	if waiting > 0 {
		v.ResendAll = area.Base + "/deliveries/all?" + issueQuery(i).Encode()
	}
	return nil
}

// standing counts the deliveries of an issue in a state, with what comes next or has to be done.
func (p *Pages) standing(ctx context.Context, status, count string, ep store.Endpoint) string {
	switch status {
	case store.DeliveryDead:
		return i18n.T(ctx, "deliveries.issue.now-dead", count)
	case store.DeliveryHeld:
		return i18n.T(ctx, "deliveries.issue.now-held", count)
	}
	if stop := site.StopOf(ctx, ep, p.Cfg.Now()); stop.Why != "" {
		return i18n.T(ctx, "deliveries.issue.now-waiting", count, stop.Why, stop.Next)
	}
	return i18n.T(ctx, "deliveries.issue.now-retrying", count)
}

// issueHistory lists the changes of an issue, newest first.
func (p *Pages) issueHistory(ctx context.Context, i store.Issue) ([]ui.Moment, error) {
	rows, err := p.DB.IssueEventsOf(ctx, i.ID, maxShownIssueEvents)
	if err != nil {
		return nil, err
	}
	kinds := map[string]ui.Kind{store.IssueEventOpened: ui.KindError, store.IssueEventReopened: ui.KindError, store.IssueEventResolved: ui.KindOK}
	moments := make([]ui.Moment, len(rows))
	for n, row := range rows {
		moments[n] = ui.Moment{At: row.At.Time, Kind: cmp.Or(kinds[row.Action], ui.KindInfo), Title: issueEventWords(ctx, row)}
	}
	return moments, nil
}

// issueEventWords describes a change of an issue, and names who made it.
func issueEventWords(ctx context.Context, e store.IssueEvent) string {
	if e.Actor == "" {
		return i18n.Of(ctx, "deliveries.issue-event", e.Action)
	}
	switch e.Action {
	case store.IssueEventAcknowledged:
		return i18n.T(ctx, "deliveries.issue.by-acknowledged", e.Actor)
	case store.IssueEventResolved:
		return i18n.T(ctx, "deliveries.issue.by-resolved", e.Actor)
	case store.IssueEventReopened:
		return i18n.T(ctx, "deliveries.issue.by-reopened", e.Actor)
	case store.IssueEventMailed:
		return i18n.T(ctx, "deliveries.issue.by-mailed", e.Actor)
	}
	return i18n.Of(ctx, "deliveries.issue-event", e.Action)
}

// issueItem links a delivery to the issue that its last failure belongs to.
func (p *Pages) issueItem(ctx context.Context, area site.DeliveryArea, d store.Delivery) ([]ui.Item, error) {
	if d.Cause == "" {
		return nil, nil
	}
	rows, _, err := p.DB.Issues(ctx, store.IssueFilter{EndpointID: d.EndpointID, Cause: d.Cause, Page: store.Page{Number: 1, Size: 1}})
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	label := i18n.T(ctx, "deliveries.issue.link", registry.IssueCause(d.Cause), issueState(ctx, rows[0]))
	return []ui.Item{{Label: i18n.T(ctx, "deliveries.issue.crumb"), Content: ui.Link(label, area.Issue(rows[0].ID))}}, nil
}

// issueActs lists the actions on an issue that are possible now, and the pause, which asks for a reason.
func (p *Pages) issueActs(ctx context.Context, area site.DeliveryArea, i store.Issue, at DeliveryContext, reason string, wrong i18n.Message) ([]ui.Act, *ui.Danger) {
	here := area.Issue(i.ID)
	var acts []ui.Act
	add := func(kind ui.ButtonKind, label, verb string) {
		acts = append(acts, ui.Act{Kind: kind, Label: label, Action: here + "/" + verb})
	}
	if slices.Contains([]string{store.IssueOpen, store.IssueReopened}, i.Status) {
		add(ui.Primary, i18n.T(ctx, "deliveries.issue.acknowledge"), "acknowledge")
	}
	if i.Unresolved() {
		add(ui.Secondary, i18n.T(ctx, "deliveries.issue.resolve"), "resolve")
	} else {
		add(ui.Secondary, i18n.T(ctx, "deliveries.issue.reopen"), "reopen")
	}
	if site.MayProbe(at.Endpoint, p.Cfg.Now()) {
		add(ui.Secondary, i18n.T(ctx, "site.probe"), "probe")
	}
	paused := at.Endpoint.Status == store.EndpointPaused && (area.Admin || at.Endpoint.PausedBy == "")
	if paused || area.Admin && at.Endpoint.Status == store.EndpointSuspended {
		add(ui.Secondary, i18n.T(ctx, "deliveries.issue.resume"), "resume")
	}
	if at.Endpoint.Status != store.EndpointActive {
		return acts, nil
	}
	return acts, &ui.Danger{
		ID: "pause", Label: i18n.T(ctx, "deliveries.issue.pause"), Button: i18n.T(ctx, "deliveries.issue.pause"), Action: here + "/pause",
		Explain:    i18n.T(ctx, "deliveries.issue.pause-text"),
		ReasonName: "reason", ReasonLabel: i18n.T(ctx, "deliveries.issue.pause-why"), ReasonValue: reason, ReasonError: wrong,
	}
}
