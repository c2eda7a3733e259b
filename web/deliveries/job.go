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
	"schakel/templates/ui"
	"schakel/web/site"
)

// jobList shows the jobs over many deliveries: those of administrators, or of the partner.
func (p *Pages) jobList(area site.DeliveryArea) echo.HandlerFunc {
	return func(c echo.Context) error {
		paging := site.PagePaging(c)
		jobs, total, err := p.DB.ResendJobs(c.Request().Context(), store.JobFilter{
			PartnerID: area.Scope(c), Everybody: area.Admin, Page: paging,
		})
		if err != nil {
			return err
		}
		v := view.JobListView{Path: area.Base + "/jobs", Now: p.Cfg.Now(), Table: ui.TableView{
			ID: "jobs", Caption: "Jobs", Total: total, Noun: [2]string{"job", "jobs"}, Pager: site.Pager(c, paging, total),
			Empty: ui.Empty{
				Text:        "No job was started yet. One starts when you act on all deliveries that match a filter, or send events again.",
				ActionLabel: "See deliveries", ActionHref: area.Base + "/deliveries",
			},
		}}
		for _, j := range jobs {
			v.Rows = append(v.Rows, view.JobRow{
				Href: area.Job(j.ID), Title: jobTitle(j), State: j.Status, By: j.CreatedBy,
				Done: int(j.Done), Refused: int(j.Refused), Total: int(j.Total), More: j.TotalMore, Created: j.CreatedAt.Time,
			})
		}
		page := p.Page(c, "Jobs")
		page.Lead = "Each resends or discards many deliveries, or offers many stored events again, bit by bit."
		page.Actions = ui.LinkButton(ui.Primary, "Send again…", area.Base+"/jobs/new")
		page.Crumbs = append(page.Crumbs, deliveriesCrumb(area), ui.Crumb{Label: "Jobs"})
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
			Self: area.Job(j.ID), State: j.Status, Verb: "resent", Noun: site.DeliveryNoun(ctx), Total: int(j.Total), More: j.TotalMore, Done: int(j.Done), Refused: int(j.Refused),
			Reason: j.Reason, By: j.CreatedBy, Created: j.CreatedAt.Time, Finished: j.FinishedAt.Time, List: area.Base + "/deliveries", Now: p.Cfg.Now(),
		}
		switch j.Action {
		case actionDiscard:
			v.Verb = "discarded"
		case outbox.ActionReplay:
			v.Verb, v.Noun, v.List = "offered", [2]string{"event", "events"}, v.List+"?job="+j.ID
			if v.Parts, err = p.jobParts(ctx, area, j); err != nil {
				return err
			}
		}
		if j.Action == outbox.ActionResend {
			v.List += "?job=" + j.ID
		}
		if err := p.jobOutcome(ctx, j, &v); err != nil {
			return err
		}
		if j.Status == store.JobRunning {
			v.Cancel = area.Job(j.ID) + "/cancel"
		}
		if v.Filter, err = p.jobFilter(ctx, j, area); err != nil {
			return err
		}
		page := p.Page(c, jobTitle(j))
		page.Crumbs = append(page.Crumbs, deliveriesCrumb(area), ui.Crumb{Label: "Jobs", Href: area.Base + "/jobs"}, ui.Crumb{Label: "Job"})
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
		return p.Done(c, area.Job(j.ID), "The job is stopped. What it did before stays done.")
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

func jobTitle(j store.ResendJob) string {
	switch j.Action {
	case actionDiscard:
		return "Discard " + ui.Plural(int(j.Total), "delivery", "deliveries")
	case outbox.ActionReplay:
		if j.TotalMore {
			return "Replay of more than " + ui.Plural(int(j.Total), "event", "events")
		}
		return "Replay of " + ui.Plural(int(j.Total), "event", "events")
	}
	return "Resend " + ui.Plural(int(j.Total), "delivery", "deliveries")
}

func deliveriesCrumb(area site.DeliveryArea) ui.Crumb {
	return ui.Crumb{Label: "Deliveries", Href: area.Base + "/deliveries"}
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
		{Label: "State", Text: listed(f.Statuses, stateWord)},
		{Label: "Partner", Text: partner},
		{Label: "Endpoint", Text: endpoint},
		{Label: "Subscription", Text: f.SubscriptionID},
		{Label: "Event type", Text: f.EventType},
		{Label: "Event id", Text: f.CEID + f.EventID},
		{Label: "Subject", Text: f.Subject},
		{Label: "Kind of error", Text: listed(kindsOf(f), func(code string) string { return site.ReasonOf(code).Label.In(ctx) })},
		{Label: "Changed from", Text: moment(f.From)},
		{Label: "Changed before", Text: moment(f.Until)},
		{Label: "Chosen by id", Text: chosen(f.IDs)},
		{Label: "Resend or replay (job)", Text: f.ReplayOf},
	} {
		if item.Text != "" {
			items = append(items, item)
		}
	}
	return items, nil
}

func kindsOf(f store.DeliveryFilter) []string {
	if f.Reason != "" {
		return []string{f.Reason}
	}
	return f.Reasons
}

func listed(codes []string, word func(string) string) string {
	words := make([]string, len(codes))
	for i, code := range codes {
		words[i] = word(code)
	}
	return strings.Join(words, ", ")
}

func moment(t store.Time) string {
	if t.IsZero() {
		return ""
	}
	return ui.Time(t.Time)
}

func chosen(ids []string) string {
	if len(ids) == 0 {
		return ""
	}
	return ui.Plural(len(ids), "delivery", "deliveries")
}
