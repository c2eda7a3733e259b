package deliveries

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"
	"schakel/delivery/outbox"
	"schakel/store"
	view "schakel/templates/deliveries"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

// jobList shows the jobs over many deliveries: those of administrators, or of the partner.
func (p *Pages) jobList(area site.DeliveryArea) echo.HandlerFunc {
	return func(c echo.Context) error {
		ctx, paging := c.Request().Context(), site.PagePaging(c)
		jobs, total, err := p.DB.ResendJobs(ctx, store.JobFilter{
			PartnerID: area.Scope(c), Everybody: area.Admin, Page: paging,
		})
		if err != nil {
			return err
		}
		v := view.JobListView{Path: area.Base + "/jobs", Now: p.Cfg.Now(), Table: ui.TableView{
			ID: "jobs", Caption: i18n.T(ctx, "deliveries.jobs.title"), Total: total, Noun: [2]string{i18n.T(ctx, "deliveries.noun.job-one"), i18n.T(ctx, "deliveries.noun.job-many")}, Pager: site.Pager(c, paging, total),
			Empty: ui.Empty{
				Text:        i18n.T(ctx, "deliveries.jobs.none"),
				ActionLabel: i18n.T(ctx, "deliveries.list.see"), ActionHref: area.Base + "/deliveries",
			},
		}}
		for _, j := range jobs {
			row := view.JobRow{
				Href: area.Job(j.ID), Title: jobTitle(ctx, j), State: j.Status, By: j.CreatedBy,
				Handled: int(j.Done + j.Refused), Total: int(j.Total), More: j.TotalMore, Created: j.CreatedAt.Time,
			}
			filter, err := p.jobFilter(ctx, j, area)
			if err != nil {
				return err
			}
			row.Filter = filterLine(filter)
			if row.Outcome, err = p.outcomeWords(ctx, j); err != nil {
				return err
			}
			v.Rows = append(v.Rows, row)
		}
		page := p.Page(c, i18n.T(ctx, "deliveries.jobs.title"))
		page.Lead = i18n.T(ctx, "deliveries.jobs.lead")
		page.Actions = ui.LinkButton(ui.Primary, i18n.T(ctx, "deliveries.jobs.new"), area.Base+"/jobs/new")
		page.Crumbs = append(page.Crumbs, deliveriesCrumb(ctx, area), ui.Crumb{Label: i18n.T(ctx, "deliveries.jobs.title")})
		return p.Render(c, http.StatusOK, view.JobList(page, v))
	}
}

// jobPage shows how far a job is.
func (p *Pages) jobPage(area site.DeliveryArea) echo.HandlerFunc {
	return func(c echo.Context) error {
		ctx := c.Request().Context()
		j, err := p.ownJob(c, area)
		if err != nil {
			return err
		}
		v := view.JobView{
			Self: area.Job(j.ID), State: j.Status, Action: j.Action, Total: int(j.Total), More: j.TotalMore, Done: int(j.Done), Refused: int(j.Refused),
			Reason: j.Reason, By: j.CreatedBy, Created: j.CreatedAt.Time, Finished: j.FinishedAt.Time, List: area.Base + "/deliveries", Now: p.Cfg.Now(),
		}
		if j.Action == outbox.ActionReplay {
			v.List += "?job=" + j.ID
			if v.Parts, err = p.jobParts(ctx, area, j); err != nil {
				return err
			}
		}
		if j.Action == outbox.ActionResend {
			v.List += "?job=" + j.ID
		}
		if err := p.jobOutcome(ctx, area, j, &v); err != nil {
			return err
		}
		if err := p.jobCare(ctx, area, j, &v); err != nil {
			return err
		}
		if err := p.jobRefusals(ctx, area, j, &v); err != nil {
			return err
		}
		if j.Status == store.JobRunning || j.Status == store.JobStopped {
			v.Cancel = area.Job(j.ID) + "/cancel"
		}
		if v.Filter, err = p.jobFilter(ctx, j, area); err != nil {
			return err
		}
		page := p.Page(c, jobTitle(ctx, j))
		page.Crumbs = append(page.Crumbs, deliveriesCrumb(ctx, area), ui.Crumb{Label: i18n.T(ctx, "deliveries.jobs.title"), Href: area.Base + "/jobs"}, ui.Crumb{Label: i18n.T(ctx, "deliveries.jobs.job")})
		return p.Render(c, http.StatusOK, view.Job(page, v))
	}
}

// cancelJob stops a job; what it did stays done.
func (p *Pages) cancelJob(area site.DeliveryArea) echo.HandlerFunc {
	return func(c echo.Context) error {
		j, err := p.ownJob(c, area)
		if err != nil {
			return err
		}
		if err := p.Engine.CancelJob(c.Request().Context(), site.EngineActor(c), j.ID); err != nil {
			return err
		}
		return p.Done(c, area.Job(j.ID), "deliveries.jobs.stopped")
	}
}

// ownJob finds a job that the reader may see; another's is not found (guarantee G7).
func (p *Pages) ownJob(c echo.Context, area site.DeliveryArea) (store.ResendJob, error) {
	j, err := p.DB.ResendJob(c.Request().Context(), c.Param("id"))
	if err == nil && !area.Admin && j.PartnerID != area.Scope(c) {
		err = store.ErrNotFound
	}
	return j, err
}

func jobTitle(ctx context.Context, j store.ResendJob) string {
	switch j.Action {
	case actionDiscard:
		return i18n.T(ctx, "deliveries.bulk.discard", int(j.Total))
	case outbox.ActionReplay:
		if j.TotalMore {
			return i18n.T(ctx, "deliveries.jobs.replay-title-more", int(j.Total))
		}
		return i18n.T(ctx, "deliveries.jobs.replay-title", int(j.Total))
	}
	return i18n.T(ctx, "deliveries.bulk.resend", int(j.Total))
}

func deliveriesCrumb(ctx context.Context, area site.DeliveryArea) ui.Crumb {
	return ui.Crumb{Label: i18n.T(ctx, "deliveries.title"), Href: area.Base + "/deliveries"}
}

// jobFilter describes the selection of a job in words.
func (p *Pages) jobFilter(ctx context.Context, j store.ResendJob, area site.DeliveryArea) ([]ui.Item, error) {
	if j.Action == outbox.ActionReplay {
		return p.replayWords(ctx, replayOf(j), area.PartnerOf(j))
	}
	var f store.DeliveryFilter
	if err := json.Unmarshal([]byte(j.Filter), &f); err != nil {
		return nil, err
	}
	names := p.DeliveryNamesOf(area.PartnerOf(j))
	endpoint, err := names.Endpoint(ctx, f.EndpointID)
	if err != nil {
		return nil, err
	}
	partner, err := names.Partner(ctx, f.PartnerID)
	if err != nil {
		return nil, err
	}
	var items []ui.Item
	for _, item := range []ui.Item{
		{Label: i18n.T(ctx, "deliveries.state-label"), Text: states(ctx, f.Statuses)},
		{Label: i18n.T(ctx, "deliveries.partner"), Text: partner},
		{Label: i18n.T(ctx, "deliveries.endpoint"), Text: endpoint},
		{Label: i18n.T(ctx, "deliveries.subscription"), Text: f.SubscriptionID},
		{Label: i18n.T(ctx, "deliveries.event-type"), Text: f.EventType},
		{Label: i18n.T(ctx, "deliveries.event-id"), Text: f.CEID + f.EventID},
		{Label: i18n.T(ctx, "deliveries.subject"), Text: f.Subject},
		{Label: i18n.T(ctx, "deliveries.kind-of-error"), Text: kindWords(ctx, f)},
		{Label: i18n.T(ctx, "deliveries.changed-from"), Text: moment(ctx, f.From)},
		{Label: i18n.T(ctx, "deliveries.changed-before"), Text: moment(ctx, f.Until)},
		{Label: i18n.T(ctx, "deliveries.chosen-by-id"), Text: chosen(ctx, f.IDs)},
		{Label: i18n.T(ctx, "deliveries.by-job"), Text: f.ReplayOf},
	} {
		if item.Text != "" {
			items = append(items, item)
		}
	}
	return items, nil
}

// kindWords describes the kinds of error that a filter selects.
func kindWords(ctx context.Context, f store.DeliveryFilter) string {
	kinds := f.Reasons
	if f.Reason != "" {
		kinds = []string{f.Reason}
	} else if len(f.NotReasons) > 0 {
		return i18n.T(ctx, "site.show-rejected")
	}
	return listed(kinds, func(code string) string { return site.ReasonOf(code).Label.In(ctx) })
}

func listed(codes []string, word func(string) string) string {
	words := make([]string, len(codes))
	for i, code := range codes {
		words[i] = word(code)
	}
	return strings.Join(words, ", ")
}

// states names states of deliveries.
func states(ctx context.Context, statuses []string) string {
	return listed(statuses, func(status string) string { return stateWord(ctx, status) })
}

func moment(ctx context.Context, t store.Time) string {
	if t.IsZero() {
		return ""
	}
	return i18n.Time(ctx, t.Time)
}

func chosen(ctx context.Context, ids []string) string {
	if len(ids) == 0 {
		return ""
	}
	return i18n.T(ctx, "deliveries.count", len(ids))
}
