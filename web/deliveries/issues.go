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

// issueList shows the issues of an area.
func (p *Pages) issueList(area site.DeliveryArea) echo.HandlerFunc {
	return func(c echo.Context) error {
		ctx, scope, paging := c.Request().Context(), area.Scope(c), site.PagePaging(c)
		status := site.PageChoice(c, "state", issueStatuses())
		filter := store.IssueFilter{PartnerID: scope, EndpointID: site.Clean(c.QueryParam("endpoint")), Page: paging}
		if status != "" {
			filter.Statuses = []string{status}
		}
		rows, total, err := p.DB.Issues(ctx, filter)
		if err != nil {
			return err
		}
		v := view.IssueListView{Path: area.Base + "/issues", Deliveries: area.Base + "/deliveries", Export: site.ExportHref(c, area.Base+"/issues"), Total: total, Pager: site.LongPager(c, paging, total), ShowPartner: area.Admin, Now: p.Cfg.Now()}
		options := []ui.Option{{Label: i18n.T(ctx, "deliveries.list.all-states")}}
		for _, s := range issueStatuses() {
			options = append(options, ui.Option{Value: s, Label: i18n.Of(ctx, "deliveries.issue-state", s)})
		}
		ids := make([]string, len(rows))
		for i := range rows {
			ids[i] = rows[i].EndpointID
		}
		slices.Sort(ids)
		drawn, err := p.Sparks(ctx, slices.Compact(ids))
		if err != nil {
			return err
		}
		names := p.DeliveryNamesOf(scope)
		endpoints, err := p.EndpointOptions(ctx, scope, names)
		if err != nil {
			return err
		}
		v.Fields = site.WithErrors([]ui.Field{
			site.ChoiceField("endpoint", i18n.T(ctx, "deliveries.endpoint"), filter.EndpointID, endpoints),
			site.ChoiceField("state", i18n.T(ctx, "deliveries.state-label"), status, options),
		}, nil)
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
		return p.Render(c, http.StatusOK, view.IssueList(page, v))
	}
}

func issueRow(ctx context.Context, area site.DeliveryArea, i store.Issue) view.IssueRow {
	here := area.Issue(i.ID)
	r := view.IssueRow{
		Cause: registry.IssueCause(i.Cause).In(ctx), Detail: site.DetailText(ctx, causeReason(i.Cause), site.Shown(i.Detail)), State: issueState(ctx, i), Kind: issueKind(i.Status), Failures: int(i.Failures), First: i.FirstAt.Time, Last: i.LastAt.Time,
		Href: here, DeadLetters: issueDeliveries(area, i, store.DeliveryDead),
	}
	switch i.Status {
	case store.IssueOpen, store.IssueReopened:
		r.Acknowledge, r.Resolve = here+"/acknowledge", here+"/resolve"
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

// causeReason is the reason of a delivery that failed for a cause.
func causeReason(cause string) string {
	if status, ok := strings.CutPrefix(cause, "http-"); ok {
		n, err := strconv.Atoi(status)
		if err != nil {
			return ""
		}
		return webhook.Verdict(webhook.Outcome{Status: n}, webhook.Facts{}).Reason
	}
	return webhook.Verdict(webhook.Outcome{Kind: webhook.ErrorKind(cause)}, webhook.Facts{}).Reason
}
