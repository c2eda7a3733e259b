package deliveries

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"
	"schakel/delivery/outbox"
	"schakel/registry/sorted"
	"schakel/store"
	view "schakel/templates/deliveries"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

// Values of the form field "per" of a rate.
const (
	perSecond = "second"
	perMinute = "minute"
)

// careForm holds the canary and the rate as they were chosen in the portal.
type careForm struct {
	canary    bool
	rate, per string
}

func readCare(form site.Form) careForm {
	return careForm{form.Checked("canary"), form.Get("rate"), form.Get("per")}
}

// care reads what was chosen, and what is wrong with the rate.
func (f careForm) care() (care outbox.Care, wrong i18n.Message) {
	care.Canary = f.canary
	if f.rate == "" {
		return care, ""
	}
	n, err := strconv.Atoi(f.rate)
	if care.Rate = n; f.per == perSecond {
		care.Rate *= 60
	}
	if err != nil || n < 1 || n > outbox.MaxJobRate || care.Rate > outbox.MaxJobRate {
		return care, i18n.M("deliveries.care.rate-wrong", outbox.MaxJobRate, outbox.MaxJobRate/60)
	}
	return care, ""
}

// fields asks for it.
func (f careForm) fields(ctx context.Context, wrong i18n.Message) view.CareFields {
	ticked := ""
	if f.canary {
		ticked = "on"
	}
	return view.CareFields{
		Canary: ui.Field{Name: "canary", Label: i18n.T(ctx, "deliveries.care.canary"), Hint: i18n.T(ctx, "deliveries.care.canary-hint"), Value: ticked},
		Rate:   ui.Field{Name: "rate", Label: i18n.T(ctx, "deliveries.care.rate"), Hint: i18n.T(ctx, "deliveries.care.rate-hint"), Value: f.rate, InputMode: "numeric", MaxLength: 6, Error: wrong},
		Per: ui.Field{Name: "per", Label: i18n.T(ctx, "deliveries.care.per"), Type: "list", Required: true, Value: f.per, Options: []ui.Option{
			{Value: perSecond, Label: i18n.T(ctx, "deliveries.care.per-second")}, {Value: perMinute, Label: i18n.T(ctx, "deliveries.care.per-minute")},
		}},
	}
}

// rateText writes the rate of a job.
func rateText(ctx context.Context, rate int64) string {
	switch {
	case rate == 0:
		return ""
	case rate%60 == 0:
		return i18n.T(ctx, "deliveries.care.a-second", int(rate/60))
	}
	return i18n.T(ctx, "deliveries.care.a-minute", int(rate))
}

// continueJob has a job that stopped for its canary go on with the rest.
func (p *Pages) continueJob(area site.DeliveryArea) echo.HandlerFunc {
	return func(c echo.Context) error {
		j, err := p.ownJob(c, area)
		if err != nil {
			return err
		}
		return p.Saved(c, p.Engine.ContinueJob(c.Request().Context(), site.EngineActor(c), j.ID), area.Job(j.ID), "deliveries.jobs.continued")
	}
}

// jobCare fills in how carefully a job goes about it, and what became of its canaries.
func (p *Pages) jobCare(ctx context.Context, area site.DeliveryArea, j store.ResendJob, v *view.JobView) error {
	v.Rate = rateText(ctx, j.Rate)
	if j.Status == store.JobStopped {
		v.Stopped, v.Continue = i18n.Message(j.StoppedFor).In(ctx), area.Job(j.ID)+"/continue"
	}
	if !j.Canary {
		return nil
	}
	if j.Status == store.JobRunning && j.Stage != "" {
		v.Waits = i18n.T(ctx, "deliveries.care.waits")
	}
	canaries, err := p.DB.ResendCanaries(ctx, j.ID)
	if err != nil {
		return err
	}
	names := p.DeliveryNamesOf(area.PartnerOf(j))
	for _, canary := range canaries {
		row := view.CanaryRow{Href: area.Delivery(canary.DeliveryID), ID: canary.DeliveryID, State: canary.Outcome}
		if row.Endpoint.Name, err = names.Endpoint(ctx, canary.EndpointID); err != nil {
			return err
		}
		row.Endpoint.Href = area.Base + "/endpoints/" + canary.EndpointID
		switch d, err := p.DB.Delivery(ctx, canary.DeliveryID); {
		case err == nil:
			row.State, row.Text = site.DeliveryState(d.Status, d.Reason), site.ReasonOf(d.Reason).Label.In(ctx)
		case !errors.Is(err, store.ErrNotFound):
			return err
		}
		v.Canaries = append(v.Canaries, row)
	}
	return nil
}

// maxShownRefusals bounds the deliveries that the page of a job names one by one; its counts are of all.
const maxShownRefusals = 100

// jobRefusals fills in which deliveries a job could not resend, and why.
func (p *Pages) jobRefusals(ctx context.Context, area site.DeliveryArea, j store.ResendJob, v *view.JobView) error {
	counts := outbox.JobRefusals(j)
	if j.Action != outbox.ActionResend || len(counts) == 0 {
		return nil
	}
	for _, reason := range sortedKeys(counts) {
		v.Refusals = append(v.Refusals, ui.Item{Label: outbox.RefusalOf(reason).In(ctx), Text: i18n.T(ctx, "deliveries.count", int(counts[reason]))})
	}
	rows, err := p.DB.ResendRefusals(ctx, j.ID, store.Page{Number: 1, Size: maxShownRefusals})
	for _, r := range rows {
		v.RefusedRows = append(v.RefusedRows, view.RefusedRow{Href: area.Delivery(r.DeliveryID), ID: r.DeliveryID, Text: outbox.RefusalOf(r.Reason).In(ctx)})
	}
	return err
}

func sortedKeys(counts map[string]int64) []string {
	keys := make([]string, 0, len(counts))
	for k := range counts {
		keys = append(keys, k)
	}
	sorted.By(keys, func(a, b string) int {
		if counts[a] != counts[b] {
			return int(counts[b] - counts[a])
		}
		return strings.Compare(a, b)
	})
	return keys
}

// filterLine sums up the selection of a job, for the list of jobs.
func filterLine(items []ui.Item) string {
	parts := make([]string, len(items))
	for i, item := range items {
		parts[i] = item.Label + ": " + item.Text
	}
	return strings.Join(parts, "; ")
}
