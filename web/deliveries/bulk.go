package deliveries

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"
	"schakel/delivery/outbox"
	"schakel/store"
	view "schakel/templates/deliveries"
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
		page.Crumbs = append(page.Crumbs, ui.Crumb{Label: queue.Title, Href: back}, ui.Crumb{Label: "Discard"})
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
		return p.Done(c, back, text)
	}
	p.Flash(c, ui.KindWarning, text)
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
