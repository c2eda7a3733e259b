package web

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
	"schakel/delivery/outbox"
	"schakel/store"
	view "schakel/templates/deliveries"
	"schakel/templates/ui"
)

// deliveryAll shows how many deliveries a filter selects before all of them are
// resent or discarded.
func (p *portal) deliveryAll(queue deliveryQueue) echo.HandlerFunc {
	return func(c echo.Context) error {
		q := readDeliveryQuery(c.QueryParam)
		return p.showDeliveryAll(c, queue, q, p.cfg.Now(), "", "")
	}
}

// startDeliveryJob starts the job over all that match, as they were when counted.
func (p *portal) startDeliveryJob(queue deliveryQueue) echo.HandlerFunc {
	return func(c echo.Context) error {
		form, err := readForm(c)
		if err != nil {
			return err
		}
		q := readDeliveryQuery(form.Get)
		counted, err := time.Parse(time.RFC3339Nano, form.Get("counted"))
		if err != nil {
			return echo.NewHTTPError(http.StatusBadRequest, "The form does not say when the deliveries were counted. Count them again.")
		}
		action, reason := form.Get("action"), form.Get("reason")
		if action != actionResend && (action != actionDiscard || !queue.admin) {
			return echo.NewHTTPError(http.StatusBadRequest, "There is no such action here.")
		}
		if wrong := reasonError(reason); action == actionDiscard && wrong != "" {
			return p.showDeliveryAll(c, queue, q, counted, reason, wrong)
		}
		filter, wrong := p.countedFilter(c, queue, q, counted)
		if len(wrong) > 0 {
			return p.showDeliveryAll(c, queue, q, counted, "", "")
		}
		job, err := p.Engine.StartJob(c.Request().Context(), engineActor(c), action, filter, reason)
		if errors.Is(err, outbox.ErrTooManyJobs) {
			return echo.NewHTTPError(http.StatusConflict, sentence(outbox.ErrTooManyJobs))
		}
		if err != nil {
			return err
		}
		return c.Redirect(http.StatusSeeOther, queue.job(job.ID))
	}
}

// countedFilter is the filter over what had not changed since it was counted, so
// that nothing is done with what the reader did not see counted.
func (p *portal) countedFilter(c echo.Context, queue deliveryQueue, q deliveryQuery, counted time.Time) (store.DeliveryFilter, formErrors) {
	filter, wrong := q.filter(queue, queue.scope(c))
	filter.Statuses, filter.Stopped = queue.resendable(q.status), false
	if at := store.At(counted); filter.Until.IsZero() || filter.Until.After(at.Time) {
		filter.Until = at
	}
	return filter, wrong
}

func (p *portal) showDeliveryAll(c echo.Context, queue deliveryQueue, q deliveryQuery, counted time.Time, reason, reasonWrong string) error {
	filter, wrong := p.countedFilter(c, queue, q, counted)
	if len(wrong) > 0 {
		// The list shows what is wrong with the filter.
		return c.Redirect(http.StatusSeeOther, queue.path+"?"+q.values().Encode())
	}
	ctx := c.Request().Context()
	preview, err := p.Engine.PreviewJob(ctx, engineActor(c), filter)
	if err != nil {
		return err
	}
	v := view.DeliveryAllView{
		Action: queue.path + "/all", Back: queue.path + "?" + q.values().Encode(), Count: preview.Total, More: preview.More, Discard: queue.admin,
		Reason: reason, Wrong: reasonWrong, Hidden: hiddenQuery(q, counted),
	}
	if v.Warnings, err = p.stoppedWarnings(ctx, endpointsOf(preview)); err != nil {
		return err
	}
	if v.Filter, err = p.filterWords(ctx, queue, q, queue.scope(c)); err != nil {
		return err
	}
	if v.Groups, err = p.jobGroups(ctx, queue.deliveryArea, queue.scope(c), preview, deliveryNoun()); err != nil {
		return err
	}
	status, page := http.StatusOK, p.page(c, v.Title())
	if reasonWrong != "" {
		status, page.Invalid = http.StatusUnprocessableEntity, true
	}
	page.Crumbs = append(page.Crumbs, ui.Crumb{Label: queue.title, Href: v.Back}, ui.Crumb{Label: "All that match"})
	return p.render(c, status, view.DeliveryAll(page, v))
}

// hiddenQuery carries the filter and when it was counted along in a form.
func hiddenQuery(q deliveryQuery, counted time.Time) []ui.Hidden {
	hidden := []ui.Hidden{{Name: "counted", Value: counted.UTC().Format(time.RFC3339Nano)}}
	for name, values := range q.values() {
		hidden = append(hidden, ui.Hidden{Name: name, Value: values[0]})
	}
	return hidden
}

// filterWords describes the filter as the reader chose it.
func (p *portal) filterWords(ctx context.Context, queue deliveryQueue, q deliveryQuery, scope string) ([]ui.Item, error) {
	names := p.deliveryNamesOf(scope)
	partner, err := names.partner(ctx, q.partner)
	if err != nil {
		return nil, err
	}
	endpoint, err := names.endpoint(ctx, q.endpoint)
	if err != nil {
		return nil, err
	}
	items := []ui.Item{{Label: "State", Text: listed(queue.resendable(q.status), stateWord)}}
	for _, item := range []ui.Item{
		{Label: "Partner", Text: partner},
		{Label: "Endpoint", Text: endpoint},
		{Label: "Subscription", Text: q.subscription},
		{Label: "Event type", Text: q.eventType},
		{Label: "Event id", Text: q.event},
		{Label: "Kind of error", Text: q.kindWords(queue)},
		{Label: "Changed from", Text: momentWords(q.from)},
		{Label: "Changed until", Text: momentWords(q.until)},
		{Label: "Made from", Text: momentWords(q.made)},
		{Label: "Resend or replay (job)", Text: q.job},
	} {
		if item.Text != "" {
			items = append(items, item)
		}
	}
	return items, nil
}

func (q deliveryQuery) kindWords(queue deliveryQueue) string {
	switch {
	case q.reason != "":
		return reasonOf(q.reason).Label
	case queue.errors && q.show == showRefused:
		return "Refused by the other side"
	case queue.errors && q.show == showStopped:
		return "Waiting for a stopped endpoint or subscription"
	}
	return ""
}
