package web

import (
	"context"
	"net/http"
	"slices"
	"strconv"

	"github.com/labstack/echo/v4"
	"schakel/delivery/outbox"
	"schakel/store"
	view "schakel/templates/deliveries"
	"schakel/templates/ui"
)

// deliveryList shows one page of a queue.
func (p *portal) deliveryList(queue deliveryQueue) echo.HandlerFunc {
	return func(c echo.Context) error {
		ctx, partner := c.Request().Context(), queue.scope(c)
		q := readDeliveryQuery(c.QueryParam)
		filter, wrong := q.filter(queue, partner)
		names := p.deliveryNamesOf(partner)
		fields, err := p.filterFields(ctx, queue, q, partner, wrong, names)
		if err != nil {
			return err
		}
		v := ui.DeliveryListView{
			Path: queue.path, Self: c.Request().URL.RequestURI(), Fields: fields, ShowPartner: queue.admin, Now: p.cfg.Now(),
		}
		if v.Also, err = p.amqpBeside(ctx, queue); err != nil {
			return err
		}
		page := p.page(c, queue.title)
		page.Lead, page.Actions = queue.lead, ui.LinkButton(ui.Subtle, "Send again, and jobs", queue.base+"/jobs")
		page.Crumbs = append(page.Crumbs, ui.Crumb{Label: queue.title})
		if len(wrong) > 0 {
			page.Invalid, v.Invalid, v.Errors = true, true, fieldErrors(fields)
			return p.render(c, http.StatusUnprocessableEntity, view.DeliveryList(page, v))
		}
		paging := pagePaging(c)
		filter.Page = store.Page{Number: paging.Page, Size: paging.PerPage}
		filter.BeforeID = q.before
		list, err := p.DB.DeliveryList(ctx, filter)
		if err != nil {
			return err
		}
		if v.Rows, err = deliveryRows(ctx, queue.deliveryArea, list.Rows, names); err != nil {
			return err
		}
		if v.Warnings, err = p.rowWarnings(ctx, list.Rows); err != nil {
			return err
		}
		saidBelow(page.Flash, v.Warnings)
		v.Table = queueTable(queue, q, list.Total)
		v.Table.Bulk.Hidden = []ui.Hidden{{Name: "back", Value: v.Self}}
		v.Table.Pager = longPager(c, paging, list.Total)
		if before := olderThan(paging, list); before != "" {
			v.Older, v.Table.Pager.More = withBefore(c.Request().URL, before), false
		}
		if list.Older != "" {
			v.Searched = "Only the newest " + ui.Count(store.SearchBound) + " deliveries were searched. "
		}
		return p.render(c, http.StatusOK, view.DeliveryList(page, v))
	}
}

// queueTable describes the list and what can be done with its rows.
func queueTable(queue deliveryQueue, q deliveryQuery, total int) ui.TableView {
	t := ui.TableView{
		ID: "deliveries", Caption: queue.caption, Total: total, Most: store.ListBound, Noun: deliveryNoun(),
		Empty: ui.Empty{Text: queue.empty},
		Bulk: &ui.BulkView{Action: queue.path, Buttons: []ui.BulkButton{
			{Label: "Resend", Value: actionResend, Kind: ui.Secondary},
		}},
	}
	values := q.values()
	if len(values) > 0 {
		t.Empty = ui.Empty{Text: "Nothing matches this filter.", ActionLabel: "Clear the filter", ActionHref: queue.path}
	} else if queue.admin && len(queue.statuses) > 0 {
		t.Empty.ActionLabel, t.Empty.ActionHref = "See all deliveries", "/admin/deliveries"
	}
	if queue.admin {
		t.Bulk.Buttons = append(t.Bulk.Buttons, ui.BulkButton{Label: "Discard…", Value: actionDiscard, Kind: ui.Subtle})
	}
	t.Bulk.AllLabel = "All " + ui.Count(total) + " that match…"
	if total > store.ListBound {
		t.Bulk.AllLabel = "All that match…"
	}
	if len(queue.statuses) == 0 && q.status == "" {
		t.Bulk.AllLabel = "All held and dead ones that match…"
	}
	t.Bulk.AllHref = queue.path + "/all?" + values.Encode()
	if queue.errors && q.show == showStopped {
		t.Bulk.AllLabel = "All held ones that match…" // what is pending cannot be sent again
	}
	if q.status == store.DeliveryPending || q.status == store.DeliveryDiscarded {
		t.Bulk.AllLabel, t.Bulk.AllHref = "", "" // neither can be sent again
	}
	return t
}

func deliveryNoun() [2]string { return [2]string{"delivery", "deliveries"} }

// deliveryRows makes the rows of a list, with names for what they refer to.
func deliveryRows(ctx context.Context, area deliveryArea, rows []store.Delivery, names *deliveryNames) ([]ui.DeliveryRow, error) {
	list := make([]ui.DeliveryRow, len(rows))
	actions, err := jobActions(ctx, names.db, rows)
	if err != nil {
		return nil, err
	}
	for i, d := range rows {
		r := ui.DeliveryRow{
			ID: d.ID, EventType: d.EventType, Href: area.delivery(d.ID), State: d.Status, Reason: rowReason(d, actions[d.ReplayOf]),
			Changed: d.UpdatedAt.Time, Due: nextAttempt(d).Time, Tries: int(d.Attempts),
		}
		if label := resendLabel(d); label != "" {
			r.Resend, r.ResendLabel = area.delivery(d.ID)+"/resend", label
		}
		if r.Endpoint, err = names.endpoint(ctx, d.EndpointID); err != nil {
			return nil, err
		}
		if area.admin {
			if r.Partner, err = names.partner(ctx, d.PartnerID); err != nil {
				return nil, err
			}
		}
		list[i] = r
	}
	return list, nil
}

// jobActions answers what the jobs did by which rows were sent once more.
func jobActions(ctx context.Context, db *store.DB, rows []store.Delivery) (map[string]string, error) {
	var ids []string
	for _, d := range rows {
		if d.ReplayOf != "" && !slices.Contains(ids, d.ReplayOf) {
			ids = append(ids, d.ReplayOf)
		}
	}
	return db.JobActions(ctx, ids)
}

// onceMore names the cause that sends a delivery once more: a job that resends deliveries, or one that replays stored events. A job that is
// not stored any more may have been either.
func onceMore(action string) string {
	switch action {
	case outbox.ActionResend:
		return "resent"
	case outbox.ActionReplay:
		return "replayed"
	}
	return "sent again"
}

// rowReason explains the state of a delivery, with the status of the last answer.
func rowReason(d store.Delivery, action string) string {
	text := reasonOf(d.Reason).Label
	if text == "" && d.ReplayOf != "" {
		return onceMore(action)
	}
	if d.Reason == "" || d.LastStatus == 0 || d.Status == store.DeliveryDelivered {
		return text
	}
	return text + " (" + strconv.FormatInt(d.LastStatus, 10) + ")"
}

// resendLabel labels the button that resends a delivery; "" where there is none.
func resendLabel(d store.Delivery) string {
	switch d.Status {
	case store.DeliveryRetrying:
		return "Try now"
	case store.DeliveryHeld, store.DeliveryDead:
		if d.Reason != store.ReasonEndpointSuspended && slices.Contains(stoppedReasons(), d.Reason) {
			return "" // its subscription is not approved
		}
		return "Resend"
	}
	return ""
}

// fieldErrors lists what is wrong with fields, in their order.
func fieldErrors(fields []ui.Field) []ui.FieldError {
	var list []ui.FieldError
	for _, f := range fields {
		if f.Error != "" {
			list = append(list, ui.FieldError{Field: f.ID, Text: f.Label + ": " + f.Error})
		}
	}
	return list
}
