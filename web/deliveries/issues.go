package deliveries

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"
	"schakel/delivery/webhook"
	"schakel/registry"
	"schakel/store"
	view "schakel/templates/deliveries"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

// issueStatuses lists the states that the list of issues can be filtered by.
func issueStatuses() []string {
	return []string{store.IssueOpen, store.IssueReopened, store.IssueAcknowledged, store.IssueResolved}
}

// unresolvedIssues selects the issues that still ask for attention.
const unresolvedIssues = "unresolved"

// issueQueryOf reads the filter of a list of issues.
func issueQueryOf(c echo.Context, scope string) (f store.IssueFilter, state string, wrong site.FormErrors) {
	wrong = site.FormErrors{}
	state = site.PageChoice(c, "state", append(issueStatuses(), unresolvedIssues))
	f = store.IssueFilter{PartnerID: scope, EndpointID: site.Clean(c.QueryParam("endpoint")), Cause: site.Clean(c.QueryParam("cause"))}
	f.Named, f.Subject = site.FilterText(c.QueryParam("id")), site.FilterText(c.QueryParam("subject"))
	if scope == "" {
		f.PartnerID = site.Clean(c.QueryParam("partner"))
	}
	f.From, f.Until = site.Period(site.Clean(c.QueryParam("zone")), site.Clean(c.QueryParam("from")), site.Clean(c.QueryParam("until")), wrong)
	switch state {
	case "":
	case unresolvedIssues:
		f.Statuses = []string{store.IssueOpen, store.IssueReopened, store.IssueAcknowledged}
	default:
		f.Statuses = []string{state}
	}
	return f, state, wrong
}

// issueList shows the issues of an area.
func (p *Pages) issueList(area site.DeliveryArea) echo.HandlerFunc {
	return func(c echo.Context) error {
		path := area.Base + "/issues"
		saved, redirect, err := p.SavedFilters(c, path)
		if err != nil || redirect != "" {
			return site.Elsewhere(c, redirect, err)
		}
		ctx, scope, paging := c.Request().Context(), area.Scope(c), site.PagePaging(c)
		filter, status, wrong := issueQueryOf(c, scope)
		filter.Page = paging
		var rows []store.Issue
		total := 0
		if len(wrong) == 0 {
			if rows, total, err = p.DB.Issues(ctx, filter); err != nil {
				return err
			}
		}
		v := view.IssueListView{
			Path: path, Saved: saved, Filtered: saved.Query != "", Deliveries: area.Base + "/deliveries", Export: site.ExportHref(c, path), Total: total, Pager: site.LongPager(c, paging, total), ShowPartner: area.Admin, Now: p.Cfg.Now(),
		}
		options := []ui.Option{{Label: i18n.T(ctx, "deliveries.list.all-states")}, {Value: unresolvedIssues, Label: i18n.T(ctx, "deliveries.issues.unresolved")}}
		for _, s := range issueStatuses() {
			options = append(options, ui.Option{Value: s, Label: i18n.Of(ctx, "deliveries.issue-state", s)})
		}
		ids := site.IDsOf(rows, func(i store.Issue) string { return i.EndpointID })
		slices.Sort(ids)
		drawn, err := p.Sparks(ctx, slices.Compact(ids))
		if err != nil {
			return err
		}
		names := p.DeliveryNamesOf(scope)
		if v.Fields, err = p.issueFields(c, area, filter, names); err != nil {
			return err
		}
		v.Fields = append(v.Fields, site.ChoiceField("state", i18n.T(ctx, "deliveries.state-label"), status, options),
			ui.Field{Name: "id", Label: i18n.T(ctx, "deliveries.list.any-id"), Value: filter.Named, MaxLength: site.MaxFilterText},
			ui.Field{Name: "subject", Label: i18n.T(ctx, "deliveries.subject"), Value: filter.Subject, MaxLength: site.MaxFilterText})
		zone := site.Clean(c.QueryParam("zone"))
		v.Fields = site.WithErrors(append(v.Fields,
			site.MomentField(ctx, "from", i18n.T(ctx, "deliveries.issues.from"), zone, site.Clean(c.QueryParam("from"))),
			site.MomentField(ctx, "until", i18n.T(ctx, "deliveries.issues.until"), zone, site.Clean(c.QueryParam("until")))), wrong)
		if err := names.LearnEndpoints(ctx, ids); err != nil {
			return err
		}
		if err := names.LearnPartners(ctx, site.IDsOf(rows, func(i store.Issue) string { return i.PartnerID })); err != nil {
			return err
		}
		for _, i := range rows {
			row := issueRow(ctx, area, i)
			row.Spark = drawn[i.EndpointID]
			if row.Endpoint, err = names.Endpoint(ctx, i.EndpointID); err != nil {
				return err
			}
			if area.Admin {
				if row.Partner, err = names.Partner(ctx, i.PartnerID); err != nil {
					return err
				}
			}
			v.Rows = append(v.Rows, row)
		}
		page := p.Page(c, i18n.T(ctx, "deliveries.issues.title"))
		page.Lead = i18n.T(ctx, "deliveries.issues.lead")
		page.Crumbs = append(page.Crumbs, deliveriesCrumb(ctx, area), ui.Crumb{Label: i18n.T(ctx, "deliveries.issues.title")})
		if len(wrong) > 0 {
			page.Invalid, v.Invalid, v.Errors = true, true, site.FieldErrors(v.Fields)
			return p.Render(c, http.StatusUnprocessableEntity, view.IssueList(page, v))
		}
		return p.Render(c, http.StatusOK, view.IssueList(page, v))
	}
}

// issueFields asks whose issues to list, at which endpoint and, when a link named one, of which cause.
func (p *Pages) issueFields(c echo.Context, area site.DeliveryArea, f store.IssueFilter, names *site.DeliveryNames) ([]ui.Field, error) {
	ctx := c.Request().Context()
	var fields []ui.Field
	if area.Admin {
		partners, err := p.PartnerOptions(ctx, names)
		if err != nil {
			return nil, err
		}
		fields = append(fields, site.ChoiceField("partner", i18n.T(ctx, "deliveries.partner"), f.PartnerID, partners))
	}
	endpoints, err := p.EndpointOptions(ctx, f.PartnerID, names)
	if err != nil {
		return nil, err
	}
	fields = append(fields, site.ChoiceField("endpoint", i18n.T(ctx, "deliveries.endpoint"), f.EndpointID, endpoints))
	if f.Cause != "" {
		fields = append(fields, ui.Field{Name: "cause", Label: i18n.T(ctx, "deliveries.cause-of-issue"), Value: f.Cause, MaxLength: site.MaxFilterText})
	}
	return fields, nil
}

func issueRow(ctx context.Context, area site.DeliveryArea, i store.Issue) view.IssueRow {
	here := area.Issue(i.ID)
	r := view.IssueRow{
		Cause: registry.IssueCause(i.Cause).In(ctx), Detail: issueDetail(ctx, area.Admin, i), State: issueState(ctx, i), Kind: issueKind(i.Status), Failures: int(i.Failures), Last: i.LastAt.Time,
		Href: here,
	}
	switch i.Status {
	case store.IssueOpen, store.IssueReopened:
		r.Acknowledge = here + "/acknowledge"
	case store.IssueAcknowledged:
		r.Resolve = here + "/resolve"
	}
	return r
}

// issueKind rates the state of an issue.
func issueKind(status string) ui.Kind {
	switch status {
	case store.IssueResolved:
		return ui.KindOK
	case store.IssueAcknowledged:
		return ui.KindWarning
	}
	return ui.KindError
}

// issueState names the state, and who decided.
func issueState(ctx context.Context, i store.Issue) string {
	switch {
	case i.Status == store.IssueAcknowledged:
		return i18n.T(ctx, "deliveries.issues.acknowledged-by", i.AcknowledgedBy)
	case i.Status == store.IssueResolved && i.ResolvedBy != "":
		return i18n.T(ctx, "deliveries.issues.resolved-by", i.ResolvedBy)
	case i.Status == store.IssueResolved:
		return i18n.T(ctx, "deliveries.issues.resolved-itself")
	}
	return i18n.Of(ctx, "deliveries.issue-state", i.Status)
}

// issueDetail describes the last failure, without what was to happen next: an issue has many deliveries, most of which may be dead letters
// by now.
func issueDetail(ctx context.Context, administrator bool, i store.Issue) string {
	return site.DetailText(ctx, administrator, causeReason(i.Cause), string(i18n.Message(i.Detail).Without("verdict.again")))
}

// causeReason is the reason of a delivery that failed for a cause: what its receiver answered, why it did not answer, or the cause itself.
func causeReason(cause string) string {
	if status, ok := strings.CutPrefix(cause, "http-"); ok {
		n, err := strconv.Atoi(status)
		if err != nil {
			return ""
		}
		return webhook.Verdict(webhook.Outcome{Status: n}, webhook.Facts{}).Reason
	}
	if !i18n.Has("site.failure", cause) {
		return cause
	}
	return webhook.Verdict(webhook.Outcome{Kind: webhook.ErrorKind(cause)}, webhook.Facts{}).Reason
}
