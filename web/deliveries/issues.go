package deliveries

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"
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
		filter := store.IssueFilter{PartnerID: scope, Page: paging}
		if status != "" {
			filter.Statuses = []string{status}
		}
		rows, total, err := p.DB.Issues(ctx, filter)
		if err != nil {
			return err
		}
		v := view.IssueListView{Path: area.Base + "/issues", Total: total, Pager: site.LongPager(c, paging, total), ShowPartner: area.Admin, Now: p.Cfg.Now()}
		options := []ui.Option{{Label: "All states"}}
		for _, s := range issueStatuses() {
			options = append(options, ui.Option{Value: s, Label: site.Capital(s)})
		}
		v.Fields = []ui.Field{site.ChoiceField("state", "State", status, options)}
		names := p.DeliveryNamesOf(scope)
		for _, i := range rows {
			row := issueRow(ctx, area, i)
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
		page := p.Page(c, "Issues")
		page.Lead = "Failed attempts, grouped by endpoint and cause. An issue resolves by itself when deliveries arrive again and none waits for its cause."
		page.Crumbs = append(page.Crumbs, deliveriesCrumb(area), ui.Crumb{Label: "Issues"})
		return p.Render(c, http.StatusOK, view.IssueList(page, v))
	}
}

func issueRow(ctx context.Context, area site.DeliveryArea, i store.Issue) view.IssueRow {
	here := area.Base + "/issues/" + i.ID
	r := view.IssueRow{
		Cause: issueCause(ctx, i.Cause), Detail: site.Shown(i.Detail), State: issueState(i), Failures: int(i.Failures), First: i.FirstAt.Time, Last: i.LastAt.Time,
		Sample: area.Delivery(i.DeliveryID),
	}
	q := url.Values{"endpoint": {i.EndpointID}, "cause": {i.Cause}}
	r.DeadLetters = "/admin/dead-letters?" + q.Encode()
	if !area.Admin {
		q.Set("status", store.DeliveryDead)
		r.DeadLetters = area.Base + "/deliveries?" + q.Encode()
	}
	switch i.Status {
	case store.IssueOpen, store.IssueReopened:
		r.Acknowledge, r.Resolve = here+"/acknowledge", here+"/resolve"
	case store.IssueAcknowledged:
		r.Resolve = here + "/resolve"
	}
	return r
}

// issueState names the state, and who decided.
func issueState(i store.Issue) string {
	switch {
	case i.Status == store.IssueAcknowledged:
		return "Acknowledged by " + i.AcknowledgedBy
	case i.Status == store.IssueResolved && i.ResolvedBy != "":
		return "Resolved by " + i.ResolvedBy
	case i.Status == store.IssueResolved:
		return "Resolved by itself"
	}
	return site.Capital(i.Status)
}

// issueCause describes the key of a cause.
func issueCause(ctx context.Context, cause string) string {
	if status, ok := strings.CutPrefix(cause, "http-"); ok {
		return "Answered " + status
	}
	return site.FailureKind(ctx, cause)
}

// decideIssue acknowledges or resolves an issue; another partner's is not found (guarantee G7).
func (p *Pages) decideIssue(area site.DeliveryArea, action string) echo.HandlerFunc {
	return func(c echo.Context) error {
		ctx, who, scope := c.Request().Context(), site.Actor(c), area.Scope(c)
		err := p.DB.Write(ctx, func(tx *store.Tx) error {
			i, err := tx.Issue(ctx, c.Param("id"))
			if err != nil {
				return err
			}
			if scope != "" && i.PartnerID != scope {
				return store.ErrNotFound
			}
			step := tx.AcknowledgeIssue
			if action == registry.ActionIssueResolved {
				step = tx.ResolveIssue
			}
			if err := step(ctx, i.ID, who.Name); err != nil {
				return err
			}
			return tx.InsertAudit(ctx, store.Audit{
				ActorKind: who.Kind, ActorID: who.ID, ActorName: who.Name, Action: action, ObjectKind: "issue", ObjectID: i.ID,
				ObjectName: issueCause(ctx, i.Cause), PartnerID: i.PartnerID, Detail: "{}",
			})
		})
		text := "The issue is acknowledged: others see that you look into it."
		if action == registry.ActionIssueResolved {
			text = "The issue is resolved. The same failure reopens it."
		}
		return p.Saved(c, err, area.Base+"/issues", i18n.Message(text))
	}
}
