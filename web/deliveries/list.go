package deliveries

import (
	"cmp"
	"context"
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/store"
	view "schakel/templates/deliveries"
	"schakel/templates/ui"
	"schakel/web/site"
)

// deliveryList shows one page of a queue.
func (p *Pages) deliveryList(queue site.DeliveryQueue) echo.HandlerFunc {
	return func(c echo.Context) error {
		ctx, partner := c.Request().Context(), queue.Scope(c)
		q := site.ReadDeliveryQuery(c.QueryParam)
		filter, wrong := q.Filter(queue, partner)
		names := p.DeliveryNamesOf(partner)
		fields, err := p.filterFields(ctx, queue, q, partner, wrong, names)
		if err != nil {
			return err
		}
		v := ui.DeliveryListView{
			Path: queue.Path, Self: c.Request().URL.RequestURI(), Fields: fields, ShowPartner: queue.Admin, Now: p.Cfg.Now(),
		}
		if v.Also, err = p.amqpBeside(ctx, queue); err != nil {
			return err
		}
		page := p.Page(c, queue.Title.In(c.Request().Context()))
		page.Lead, page.Actions = queue.Lead.In(c.Request().Context()), ui.LinkButton(ui.Subtle, "Send again, and jobs", queue.Base+"/jobs")
		page.Crumbs = append(page.Crumbs, ui.Crumb{Label: queue.Title.In(c.Request().Context())})
		if len(wrong) > 0 {
			page.Invalid, v.Invalid, v.Errors = true, true, site.FieldErrors(fields)
			return p.Render(c, http.StatusUnprocessableEntity, view.DeliveryList(page, v))
		}
		paging := site.PagePaging(c)
		filter.Page = paging
		filter.BeforeID = q.Before
		list, err := p.DB.DeliveryList(ctx, filter)
		if err != nil {
			return err
		}
		if v.Rows, err = site.DeliveryRows(ctx, queue.DeliveryArea, list.Rows, names); err != nil {
			return err
		}
		if v.Warnings, err = p.rowWarnings(ctx, list.Rows); err != nil {
			return err
		}
		saidBelow(page.Flash, v.Warnings)
		v.Table = queueTable(ctx, queue, q, list.Total)
		v.Table.Bulk.Hidden = []ui.Hidden{{Name: "back", Value: v.Self}}
		v.Table.Pager = site.LongPager(c, paging, list.Total)
		if before := site.OlderThan(paging, list); before != "" {
			v.Older, v.Table.Pager.More = site.WithBefore(c.Request().URL, before), false
		}
		if list.Older != "" {
			v.Searched = "Only the newest " + ui.Count(store.SearchBound) + " deliveries were searched. "
		}
		return p.Render(c, http.StatusOK, view.DeliveryList(page, v))
	}
}

// queueTable describes the list and what can be done with its rows.
func queueTable(ctx context.Context, queue site.DeliveryQueue, q site.DeliveryQuery, total int) ui.TableView {
	t := ui.TableView{
		ID: "deliveries", Caption: queue.Caption.In(ctx), Total: total, Most: store.ListBound, Noun: site.DeliveryNoun(ctx),
		Empty: ui.Empty{Text: queue.Empty.In(ctx)},
		Bulk: &ui.BulkView{Action: queue.Path, Buttons: []ui.BulkButton{
			{Label: "Resend", Value: actionResend, Kind: ui.Secondary},
		}},
	}
	values := q.Values()
	if len(values) > 0 {
		t.Empty = ui.Empty{Text: "Nothing matches this filter.", ActionLabel: "Clear the filter", ActionHref: queue.Path}
	} else if queue.Admin && len(queue.Statuses) > 0 {
		t.Empty.ActionLabel, t.Empty.ActionHref = "See all deliveries", "/admin/deliveries"
	}
	if queue.Admin {
		t.Bulk.Buttons = append(t.Bulk.Buttons, ui.BulkButton{Label: "Discard…", Value: actionDiscard, Kind: ui.Subtle})
	}
	t.Bulk.AllLabel = "All " + ui.Count(total) + " that match…"
	if total > store.ListBound {
		t.Bulk.AllLabel = "All that match…"
	}
	if len(queue.Statuses) == 0 && q.Status == "" {
		t.Bulk.AllLabel = "All held and dead ones that match…"
	}
	t.Bulk.AllHref = queue.Path + "/all?" + values.Encode()
	if queue.Errors && q.Show == site.ShowStopped {
		t.Bulk.AllLabel = "All held ones that match…" // what is pending cannot be sent again
	}
	if q.Status == store.DeliveryPending || q.Status == store.DeliveryDiscarded {
		t.Bulk.AllLabel, t.Bulk.AllHref = "", "" // neither can be sent again
	}
	return t
}

// OtherDeliveries lists the deliveries of an event that the reader may see, but for one.
func (p *Pages) OtherDeliveries(c echo.Context, area site.DeliveryArea, eventID, but string) (ui.DeliveryListView, error) {
	ctx, scope := c.Request().Context(), area.Scope(c)
	v := ui.DeliveryListView{ShowPartner: area.Admin, Now: p.Cfg.Now(), Self: c.Request().URL.RequestURI()}
	rows, total, err := p.DB.Deliveries(ctx, store.DeliveryFilter{
		EventID: eventID, PartnerID: scope, Page: store.Page{Number: 1, Size: maxOtherDeliveries},
	})
	if err != nil {
		return v, err
	}
	visible := rows[:0]
	for _, d := range rows {
		if d.ID != but {
			visible = append(visible, d)
		}
	}
	total -= len(rows) - len(visible)
	v.Table = ui.TableView{ID: "other-deliveries", Caption: "Other deliveries of this event", Total: total, Noun: site.DeliveryNoun(ctx)}
	v.Rows, err = site.DeliveryRows(ctx, area, visible, p.DeliveryNamesOf(scope))
	return v, err
}

// maxOtherDeliveries bounds the deliveries of one event that a page shows.
const maxOtherDeliveries = 100

// filterFields are the questions of the filter above a queue.
func (p *Pages) filterFields(ctx context.Context, queue site.DeliveryQueue, q site.DeliveryQuery, partner string, wrong site.FormErrors, names *site.DeliveryNames) ([]ui.Field, error) {
	var fields []ui.Field
	if queue.Admin {
		options, err := p.PartnerOptions(ctx, names)
		if err != nil {
			return nil, err
		}
		fields = append(fields, site.ChoiceField("partner", "Partner", q.Partner, options))
	}
	endpoints, err := p.EndpointOptions(ctx, cmp.Or(partner, q.Partner), names)
	if err != nil {
		return nil, err
	}
	types, err := p.TypeOptions(ctx, partner)
	if err != nil {
		return nil, err
	}
	reasons, err := p.reasonOptions(ctx, queue, partner)
	if err != nil {
		return nil, err
	}
	fields = append(fields, site.ChoiceField("endpoint", "Endpoint", q.Endpoint, endpoints), site.ChoiceField("type", "Event type", q.EventType, types))
	fields = append(fields, stateField(queue, q)...)
	fields = append(fields, site.ChoiceField("kind", "Kind of error", q.Reason, reasons),
		ui.Field{Name: "event", Label: "Delivery or event id", Value: q.Event, MaxLength: site.MaxFilterText},
		ui.Field{Name: "subject", Label: "Subject", Value: q.Subject, MaxLength: site.MaxFilterText},
		ui.Field{Name: "from", Label: "Changed from", Type: site.MomentField(q.From), Value: q.From},
		ui.Field{Name: "until", Label: "Changed until", Type: site.MomentField(q.Until), Value: q.Until})
	if q.Made != "" {
		fields = append(fields, ui.Field{Name: "made", Label: "Made from", Type: site.MomentField(q.Made), Value: q.Made})
	}
	if q.Subscription != "" {
		fields = append(fields, ui.Field{Name: "subscription", Label: "Subscription", Value: q.Subscription, MaxLength: site.MaxFilterText})
	}
	if q.Cause != "" {
		fields = append(fields, ui.Field{Name: "cause", Label: "Cause of the issue", Value: q.Cause, MaxLength: site.MaxFilterText})
	}
	if q.Job != "" {
		fields = append(fields, ui.Field{Name: "job", Label: "Resend or replay (job)", Value: q.Job, MaxLength: site.MaxFilterText})
	}
	return site.WithErrors(fields, wrong), nil
}

// stateField asks for a state, or in the error queue for which held deliveries.
func stateField(queue site.DeliveryQueue, q site.DeliveryQuery) []ui.Field {
	switch {
	case queue.Errors:
		return []ui.Field{site.ChoiceField("show", "Show", q.Show, []ui.Option{
			{Value: site.ShowRefused, Label: "Refused by the other side"},
			{Value: site.ShowStopped, Label: "Waiting for a stopped endpoint or subscription"},
			{Value: site.ShowHeld, Label: "Everything that is held"},
		})}
	case len(queue.Statuses) > 0:
		return nil
	}
	options := []ui.Option{{Label: "All states"}}
	for _, status := range site.DeliveryStatuses() {
		options = append(options, ui.Option{Value: status, Label: stateWord(status)})
	}
	return []ui.Field{site.ChoiceField("status", "State", q.Status, options)}
}

func stateWord(status string) string {
	if status == store.DeliveryDead {
		return "Dead letter"
	}
	return site.Capital(status)
}

// reasonOptions are the kinds of error among what the queue holds.
func (p *Pages) reasonOptions(ctx context.Context, queue site.DeliveryQueue, partner string) ([]ui.Option, error) {
	codes, err := p.DB.DeliveryReasons(ctx, partner, queue.Troubled()...)
	if err != nil {
		return nil, err
	}
	options := []ui.Option{{Label: "All kinds"}}
	for _, code := range codes {
		options = append(options, ui.Option{Value: code, Label: site.ReasonOf(code).Label.In(ctx)})
	}
	return options, nil
}
