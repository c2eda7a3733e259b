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
			p.Flash(c, ui.KindWarning, "deliveries.bulk.none-ticked")
			return c.Redirect(http.StatusSeeOther, back)
		}
		if len(ids) > site.MaxTicked {
			return echo.NewHTTPError(http.StatusBadRequest, i18n.M("deliveries.bulk.too-many-ticked", site.MaxTicked))
		}
		switch action := form.Get("action"); {
		case action == actionResend:
			return p.resendTicked(c, ids, back)
		case action == actionDiscard && queue.Admin:
			return p.discardTicked(c, queue, form, ids, back)
		}
		return echo.NewHTTPError(http.StatusBadRequest, i18n.Message("deliveries.bulk.no-action"))
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
	return p.resent(c, back, withOthers(i18n.M("deliveries.bulk.resent", done), refused), refused, ids...)
}

func (p *Pages) discardTicked(c echo.Context, queue site.DeliveryQueue, form site.Form, ids []string, back string) error {
	reason := form.Get("reason")
	if wrong := site.ReasonError(reason); wrong != "" {
		ctx := c.Request().Context()
		v := view.DeliveryDiscardView{Action: queue.Path, Back: back, IDs: ids, Reason: reason, Count: len(ids)}
		rows, total, err := p.DB.Deliveries(ctx, store.DeliveryFilter{IDs: ids})
		if err != nil {
			return err
		}
		v.Rows = ui.DeliveryListView{ShowPartner: true, Now: p.Cfg.Now(), Table: ui.TableView{ID: "discarded", Caption: i18n.T(ctx, "deliveries.selection"), Total: total, Noun: site.DeliveryNoun(ctx)}}
		if v.Rows.Rows, err = site.DeliveryRows(ctx, queue.DeliveryArea, rows, p.DeliveryNamesOf("")); err != nil {
			return err
		}
		for i := range v.Rows.Rows {
			v.Rows.Rows[i].Resend = "" // this page asks about another act
		}
		status, page := http.StatusOK, p.Page(c, i18n.T(ctx, "deliveries.bulk.discard", len(ids)))
		if form.Checked("asked") {
			status, page.Invalid, v.Wrong = http.StatusUnprocessableEntity, true, wrong
		}
		page.Crumbs = append(page.Crumbs, ui.Crumb{Label: queue.Title.In(ctx), Href: back}, ui.Crumb{Label: i18n.T(ctx, "deliveries.discard")})
		return p.Render(c, status, view.DeliveryDiscard(page, v))
	}
	var done, refused int
	if err := p.Discard(c.Request().Context(), site.Actor(c), p.discardOfSome(ids, reason, &done, &refused)); err != nil {
		return err
	}
	return p.bulkDone(c, back, withOthers(i18n.M("deliveries.bulk.discarded", done), refused), refused)
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
	return errors.Is(err, outbox.ErrNotResendable) || errors.Is(err, outbox.ErrEventExpired) || errors.Is(err, outbox.ErrDataErased) || errors.Is(err, outbox.ErrNotDiscardable) || errors.Is(err, store.ErrNotFound)
}

// bulkDone reports what was done with the rows, and goes back to the list.
func (p *Pages) bulkDone(c echo.Context, back string, text i18n.Message, refused int) error {
	if refused == 0 {
		return p.Done(c, back, text)
	}
	p.Flash(c, ui.KindWarning, text)
	return c.Redirect(http.StatusSeeOther, back)
}

// withOthers adds to what was done the count of the rows that it could not be done with.
func withOthers(done i18n.Message, refused int) i18n.Message {
	if refused == 0 {
		return done
	}
	return sentences(done, i18n.M("deliveries.bulk.others", refused))
}

// sentences puts sentences after each other.
func sentences(first i18n.Message, more ...i18n.Message) i18n.Message {
	for _, next := range more {
		first = i18n.M("deliveries.two-sentences", first, next)
	}
	return first
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
		return p.showDeliveryAll(c, queue, q, p.Cfg.Now(), careForm{per: perSecond}, "", "")
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
			return echo.NewHTTPError(http.StatusBadRequest, i18n.Message("deliveries.bulk.not-counted"))
		}
		action, reason := form.Get("action"), form.Get("reason")
		if action != actionResend && (action != actionDiscard || !queue.Admin) {
			return echo.NewHTTPError(http.StatusBadRequest, i18n.Message("deliveries.bulk.no-action"))
		}
		if wrong := site.ReasonError(reason); action == actionDiscard && wrong != "" {
			return p.showDeliveryAll(c, queue, q, counted, careForm{per: perSecond}, reason, wrong)
		}
		chosen := readCare(form)
		care, wrongCare := chosen.care()
		filter, wrong := p.countedFilter(c, queue, q, counted)
		if len(wrong) > 0 || action == actionResend && wrongCare != "" {
			return p.showDeliveryAll(c, queue, q, counted, chosen, "", "")
		}
		var job store.ResendJob
		if ctx, actor := c.Request().Context(), site.EngineActor(c); action == actionResend {
			job, err = p.Engine.StartResend(ctx, actor, filter, care)
		} else {
			err = p.Discard(ctx, site.Actor(c), p.discardOfAll(filter, reason, &job))
		}
		if errors.Is(err, outbox.ErrTooManyJobs) {
			return echo.NewHTTPError(http.StatusConflict, outbox.RefusalText(err))
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

func (p *Pages) showDeliveryAll(c echo.Context, queue site.DeliveryQueue, q site.DeliveryQuery, counted time.Time, chosen careForm, reason string, reasonWrong i18n.Message) error {
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
		Reason: reason, Wrong: reasonWrong, Hidden: hiddenQuery(q, counted),
	}
	_, wrongRate := chosen.care()
	v.Care = chosen.fields(ctx, wrongRate)
	if v.Warnings, err = p.targetWarnings(ctx, preview); err != nil {
		return err
	}
	if v.LeftOut, err = p.leftOut(ctx, preview); err != nil {
		return err
	}
	if v.Filter, err = p.filterWords(ctx, queue, q, queue.Scope(c)); err != nil {
		return err
	}
	if v.Groups, err = p.jobGroups(ctx, queue.DeliveryArea, queue.Scope(c), preview); err != nil {
		return err
	}
	status, page := http.StatusOK, p.Page(c, v.Title(ctx))
	if reasonWrong != "" || wrongRate != "" {
		status, page.Invalid = http.StatusUnprocessableEntity, true
	}
	page.Crumbs = append(page.Crumbs, ui.Crumb{Label: queue.Title.In(ctx), Href: v.Back}, ui.Crumb{Label: i18n.T(ctx, "deliveries.bulk.all-crumb")})
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
	items := []ui.Item{{Label: i18n.T(ctx, "deliveries.state-label"), Text: states(ctx, queue.Resendable(q.Status))}}
	for _, item := range []ui.Item{
		{Label: i18n.T(ctx, "deliveries.partner"), Text: partner},
		{Label: i18n.T(ctx, "deliveries.endpoint"), Text: endpoint},
		{Label: i18n.T(ctx, "deliveries.subscription"), Text: q.Subscription},
		{Label: i18n.T(ctx, "deliveries.event-type"), Text: q.EventType},
		{Label: i18n.T(ctx, "deliveries.event-id"), Text: q.Event},
		{Label: i18n.T(ctx, "deliveries.kind-of-error"), Text: q.KindWords(ctx, queue)},
		{Label: i18n.T(ctx, "deliveries.cause-of-issue"), Text: q.Cause},
		{Label: i18n.T(ctx, "deliveries.changed-from"), Text: site.MomentWords(ctx, q.Zone, q.From)},
		{Label: i18n.T(ctx, "deliveries.changed-until"), Text: site.MomentWords(ctx, q.Zone, q.Until)},
		{Label: i18n.T(ctx, "deliveries.made-from"), Text: site.MomentWords(ctx, q.Zone, q.Made)},
		{Label: i18n.T(ctx, "deliveries.by-job"), Text: q.Job},
	} {
		if item.Text != "" {
			items = append(items, item)
		}
	}
	return items, nil
}
