package deliveries

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"schakel/delivery/outbox"
	"schakel/store"
	view "schakel/templates/deliveries"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

// What can be done with deliveries: values of the form field "action".
const (
	actionResend  = outbox.ActionResend
	actionDiscard = outbox.ActionDiscard
)

// deliveryBulk resends or discards the ticked rows of a queue. Discarding asks for
// a reason first, on a page of its own.
func (p *Pages) deliveryBulk(queue site.DeliveryQueue) echo.HandlerFunc {
	return func(c echo.Context) error {
		form, err := site.ReadForm(c)
		if err != nil {
			return err
		}
		ids, back := form.List("id"), backTo(form, queue.Path)
		if len(ids) == 0 {
			p.Flash(c, ui.KindWarning, "No delivery was ticked, so nothing was done.")
			return c.Redirect(http.StatusSeeOther, back)
		}
		if len(ids) > site.MaxTicked {
			return echo.NewHTTPError(http.StatusBadRequest, "At most "+ui.Count(site.MaxTicked)+" deliveries can be ticked; act on all that match instead.")
		}
		switch action := form.Get("action"); {
		case action == actionResend:
			return p.resendTicked(c, ids, back)
		case action == actionDiscard && queue.Admin:
			return p.discardTicked(c, queue, form, ids, back)
		}
		return echo.NewHTTPError(http.StatusBadRequest, "There is no such action here.")
	}
}

func (p *Pages) resendTicked(c echo.Context, ids []string, back string) error {
	actor := site.EngineActor(c)
	done, refused, err := eachDelivery(c.Request().Context(), ids, func(ctx context.Context, id string) error {
		return p.Engine.Resend(ctx, actor, id)
	})
	if err != nil {
		return err
	}
	return p.resent(c, back, bulkText(done, refused, "waits to be sent again.", "wait to be sent again."), refused, ids...)
}

func (p *Pages) discardTicked(c echo.Context, queue site.DeliveryQueue, form site.Form, ids []string, back string) error {
	reason := form.Get("reason")
	if wrong := site.ReasonError(reason); wrong != "" {
		v := view.DeliveryDiscardView{Action: queue.Path, Back: back, IDs: ids, Reason: reason, Count: len(ids)}
		status, page := http.StatusOK, p.Page(c, "Discard "+ui.Plural(len(ids), "delivery", "deliveries"))
		if form.Checked("asked") {
			status, page.Invalid, v.Wrong = http.StatusUnprocessableEntity, true, wrong
		}
		page.Crumbs = append(page.Crumbs, ui.Crumb{Label: queue.Title.In(c.Request().Context()), Href: back}, ui.Crumb{Label: "Discard"})
		return p.Render(c, status, view.DeliveryDiscard(page, v))
	}
	actor := site.EngineActor(c)
	done, refused, err := eachDelivery(c.Request().Context(), ids, func(ctx context.Context, id string) error {
		return p.Engine.Discard(ctx, actor, id, reason)
	})
	if err != nil {
		return err
	}
	return p.bulkDone(c, back, done, refused, "was discarded.", "were discarded.")
}

// eachDelivery does something with each delivery and counts those it could not be
// done with, because they changed or are another's.
func eachDelivery(ctx context.Context, ids []string, do func(ctx context.Context, id string) error) (done, refused int, err error) {
	for _, id := range ids {
		switch err := do(ctx, id); {
		case err == nil:
			done++
		case isRefusal(err):
			refused++
		default:
			return done, refused, err
		}
	}
	return done, refused, nil
}

func isRefusal(err error) bool {
	return errors.Is(err, outbox.ErrNotResendable) || errors.Is(err, outbox.ErrEventExpired) || errors.Is(err, outbox.ErrNotDiscardable) || errors.Is(err, store.ErrNotFound)
}

// bulkDone reports the number of rows handled, and goes back to the list.
func (p *Pages) bulkDone(c echo.Context, back string, done, refused int, one, many string) error {
	text := bulkText(done, refused, one, many)
	if refused == 0 {
		return p.Done(c, back, i18n.Message(text))
	}
	p.Flash(c, ui.KindWarning, i18n.Message(text))
	return c.Redirect(http.StatusSeeOther, back)
}

// bulkText counts the rows that it was done with, and those it was not.
func bulkText(done, refused int, one, many string) string {
	text := ui.Plural(done, "delivery", "deliveries") + " " + many
	if done == 1 {
		text = "1 delivery " + one
	}
	if refused > 0 {
		text += " With " + ui.Plural(refused, "other", "others") +
			" it could not be done: on its way already, discarded, its event expired, or its subscription is not approved."
	}
	return text
}

// backTo is the list that the form was on, with its filter: only ever the list at path.
func backTo(form site.Form, path string) string {
	back := site.LocalPath(form.Get("back"))
	if back == path || strings.HasPrefix(back, path+"?") {
		return back
	}
	return path
}

// deliveryAll shows how many deliveries a filter selects before all of them are
// resent or discarded.
func (p *Pages) deliveryAll(queue site.DeliveryQueue) echo.HandlerFunc {
	return func(c echo.Context) error {
		q := site.ReadDeliveryQuery(c.QueryParam)
		return p.showDeliveryAll(c, queue, q, p.Cfg.Now(), "", "")
	}
}

// startDeliveryJob starts the job over all that match, as they were when counted.
func (p *Pages) startDeliveryJob(queue site.DeliveryQueue) echo.HandlerFunc {
	return func(c echo.Context) error {
		form, err := site.ReadForm(c)
		if err != nil {
			return err
		}
		q := site.ReadDeliveryQuery(form.Get)
		counted, err := time.Parse(time.RFC3339Nano, form.Get("counted"))
		if err != nil {
			return echo.NewHTTPError(http.StatusBadRequest, "The form does not say when the deliveries were counted. Count them again.")
		}
		action, reason := form.Get("action"), form.Get("reason")
		if action != actionResend && (action != actionDiscard || !queue.Admin) {
			return echo.NewHTTPError(http.StatusBadRequest, "There is no such action here.")
		}
		if wrong := site.ReasonError(reason); action == actionDiscard && wrong != "" {
			return p.showDeliveryAll(c, queue, q, counted, reason, wrong)
		}
		filter, wrong := p.countedFilter(c, queue, q, counted)
		if len(wrong) > 0 {
			return p.showDeliveryAll(c, queue, q, counted, "", "")
		}
		job, err := p.Engine.StartJob(c.Request().Context(), site.EngineActor(c), action, filter, reason)
		if errors.Is(err, outbox.ErrTooManyJobs) {
			return echo.NewHTTPError(http.StatusConflict, site.Sentence(outbox.ErrTooManyJobs))
		}
		if err != nil {
			return err
		}
		return c.Redirect(http.StatusSeeOther, queue.Job(job.ID))
	}
}

// countedFilter is the filter over what had not changed since it was counted, so
// that nothing is done with what the reader did not see counted.
func (p *Pages) countedFilter(c echo.Context, queue site.DeliveryQueue, q site.DeliveryQuery, counted time.Time) (store.DeliveryFilter, site.FormErrors) {
	filter, wrong := q.Filter(queue, queue.Scope(c))
	filter.Statuses, filter.Stopped = queue.Resendable(q.Status), false
	if at := store.At(counted); filter.Until.IsZero() || filter.Until.After(at.Time) {
		filter.Until = at
	}
	return filter, wrong
}

func (p *Pages) showDeliveryAll(c echo.Context, queue site.DeliveryQueue, q site.DeliveryQuery, counted time.Time, reason string, reasonWrong i18n.Message) error {
	filter, wrong := p.countedFilter(c, queue, q, counted)
	if len(wrong) > 0 {
		// The list shows what is wrong with the filter.
		return c.Redirect(http.StatusSeeOther, queue.Path+"?"+q.Values().Encode())
	}
	ctx := c.Request().Context()
	preview, err := p.Engine.PreviewJob(ctx, site.EngineActor(c), filter)
	if err != nil {
		return err
	}
	v := view.DeliveryAllView{
		Action: queue.Path + "/all", Back: queue.Path + "?" + q.Values().Encode(), Count: preview.Total, More: preview.More, Discard: queue.Admin,
		Reason: reason, Wrong: i18n.Message(reasonWrong), Hidden: hiddenQuery(q, counted),
	}
	if v.Warnings, err = p.stoppedWarnings(ctx, endpointsOf(preview)); err != nil {
		return err
	}
	if v.Filter, err = p.filterWords(ctx, queue, q, queue.Scope(c)); err != nil {
		return err
	}
	if v.Groups, err = p.jobGroups(ctx, queue.DeliveryArea, queue.Scope(c), preview, site.DeliveryNoun(ctx)); err != nil {
		return err
	}
	status, page := http.StatusOK, p.Page(c, v.Title())
	if reasonWrong != "" {
		status, page.Invalid = http.StatusUnprocessableEntity, true
	}
	page.Crumbs = append(page.Crumbs, ui.Crumb{Label: queue.Title.In(c.Request().Context()), Href: v.Back}, ui.Crumb{Label: "All that match"})
	return p.Render(c, status, view.DeliveryAll(page, v))
}

// hiddenQuery carries the filter and when it was counted along in a form.
func hiddenQuery(q site.DeliveryQuery, counted time.Time) []ui.Hidden {
	return append([]ui.Hidden{{Name: "counted", Value: counted.UTC().Format(time.RFC3339Nano)}}, site.HiddenFields(q.Values())...)
}

// filterWords describes the filter as the reader chose it.
func (p *Pages) filterWords(ctx context.Context, queue site.DeliveryQueue, q site.DeliveryQuery, scope string) ([]ui.Item, error) {
	names := p.DeliveryNamesOf(scope)
	partner, err := names.Partner(ctx, q.Partner)
	if err != nil {
		return nil, err
	}
	endpoint, err := names.Endpoint(ctx, q.Endpoint)
	if err != nil {
		return nil, err
	}
	items := []ui.Item{{Label: "State", Text: listed(queue.Resendable(q.Status), stateWord)}}
	for _, item := range []ui.Item{
		{Label: "Partner", Text: partner},
		{Label: "Endpoint", Text: endpoint},
		{Label: "Subscription", Text: q.Subscription},
		{Label: "Event type", Text: q.EventType},
		{Label: "Event id", Text: q.Event},
		{Label: "Kind of error", Text: q.KindWords(ctx, queue)},
		{Label: "Cause of the issue", Text: q.Cause},
		{Label: "Changed from", Text: site.MomentWords(ctx, q.From)},
		{Label: "Changed until", Text: site.MomentWords(ctx, q.Until)},
		{Label: "Made from", Text: site.MomentWords(ctx, q.Made)},
		{Label: "Resend or replay (job)", Text: q.Job},
	} {
		if item.Text != "" {
			items = append(items, item)
		}
	}
	return items, nil
}
