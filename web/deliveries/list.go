package deliveries

import (
	"cmp"
	"context"
	"net/http"
	"slices"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"
	"schakel/store"
	view "schakel/templates/deliveries"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

// deliveryList shows one page of a queue.
func (p *Pages) deliveryList(queue site.DeliveryQueue) echo.HandlerFunc {
	return func(c echo.Context) error {
		ctx, partner := c.Request().Context(), queue.Scope(c)
		saved, redirect, err := p.SavedFilters(c, queue.Path)
		if err != nil || redirect != "" {
			return site.Elsewhere(c, redirect, err)
		}
		q := site.ReadDeliveryQuery(c.QueryParam)
		filter, wrong := q.Filter(queue, partner)
		names := p.DeliveryNamesOf(partner)
		fields, err := p.filterFields(ctx, queue, q, partner, wrong, names)
		if err != nil {
			return err
		}
		v := ui.DeliveryListView{
			Path: queue.Path, Self: c.Request().URL.RequestURI(), Saved: saved, Fields: fields, ShowPartner: queue.Admin, Now: p.Cfg.Now(),
		}
		v.Export = site.ExportHref(c, queue.Path)
		if v.Also, err = p.amqpBeside(ctx, queue); err != nil {
			return err
		}
		page := p.Page(c, queue.TitleOf(q).In(ctx))
		page.Lead, page.Actions = queue.Lead.In(ctx), templ.Join(
			ui.LinkButton(ui.Subtle, i18n.T(ctx, "deliveries.tail.open"), tailHref(queue, q.Values())),
			ui.LinkButton(ui.Subtle, i18n.T(ctx, "deliveries.list.jobs-link"), queue.Base+"/jobs"))
		page.Crumbs = append(page.Crumbs, ui.Crumb{Label: queue.TitleOf(q).In(ctx)})
		if len(wrong) > 0 {
			page.Invalid, v.Invalid, v.Errors = true, true, site.FieldErrors(fields)
			return p.Render(c, http.StatusUnprocessableEntity, view.DeliveryList(page, v))
		}
		paging := site.PagePaging(c)
		v.OneState = len(filter.Statuses) == 1 && !filter.Stopped
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
		saidBelow(ctx, page.Flash, v.Warnings)
		v.Table = queueTable(ctx, queue, q, saved.All, list)
		v.Table.Bulk.Hidden = []ui.Hidden{{Name: "back", Value: v.Self}}
		if q.Show == site.ShowStopped && !slices.ContainsFunc(v.Rows, func(r ui.DeliveryRow) bool { return r.Resend != "" }) {
			v.Table.Bulk.Buttons, v.Table.Bulk.AllHref = v.Table.Bulk.Buttons[1:], "" // nothing of it can be resent
			if len(v.Table.Bulk.Buttons) == 0 {
				v.Table.Bulk = nil
			}
		}
		v.Table.Pager = site.LongPager(c, paging, list.Total)
		if before := site.OlderThan(paging, list); before != "" {
			v.Older, v.Table.Pager.More = site.WithBefore(c.Request().URL, before), false
		}
		if list.Older != "" {
			v.Searched = i18n.T(ctx, "deliveries.list.searched", store.SearchBound)
		}
		if list.Older != "" && (filter.CEID != "" || filter.Subject != "") {
			v.Searched = i18n.T(ctx, "deliveries.list.part", store.PartBound)
		}
		return p.Render(c, http.StatusOK, view.DeliveryList(page, v))
	}
}

// queueTable describes the list and what can be done with its rows.
func queueTable(ctx context.Context, queue site.DeliveryQueue, q site.DeliveryQuery, all string, list store.DeliveryList) ui.TableView {
	total, most := site.Counted(list.Total, list.Older)
	t := ui.TableView{
		ID: "deliveries", Caption: queue.Caption.In(ctx), Total: total, Most: most, Noun: site.DeliveryNoun(ctx),
		Empty: ui.Empty{Text: queue.Empty.In(ctx)},
		Bulk: &ui.BulkView{Action: queue.Path, Buttons: []ui.BulkButton{
			{Label: i18n.T(ctx, "deliveries.resend"), Value: actionResend, Kind: ui.Secondary},
		}},
	}
	values := q.Values()
	if len(values) > 0 {
		t.Empty = ui.Empty{Text: i18n.T(ctx, "deliveries.list.no-match"), ActionLabel: i18n.T(ctx, "deliveries.list.clear-filter"), ActionHref: all}
	} else if queue.Admin && len(queue.Statuses) > 0 {
		t.Empty.ActionLabel, t.Empty.ActionHref = i18n.T(ctx, "deliveries.list.see-all"), "/admin/deliveries"
	}
	if queue.Admin {
		t.Bulk.Buttons = append(t.Bulk.Buttons, ui.BulkButton{Label: i18n.T(ctx, "deliveries.discard-ellipsis"), Value: actionDiscard, Kind: ui.Subtle})
	}
	t.Bulk.AllLabel = i18n.T(ctx, "deliveries.list.all-count", total)
	if total > most {
		t.Bulk.AllLabel = i18n.T(ctx, "deliveries.list.all")
	}
	if len(queue.Statuses) == 0 && q.Status == "" {
		t.Bulk.AllLabel = i18n.T(ctx, "deliveries.list.all-dead")
	}
	t.Bulk.AllHref = queue.Path + "/all?" + values.Encode()
	if queue.Errors && q.Show == site.ShowStopped {
		t.Bulk.AllLabel = i18n.T(ctx, "deliveries.list.all-held") // what is pending cannot be resent
	}
	if q.Status == store.DeliveryPending || q.Status == store.DeliveryDiscarded {
		t.Bulk.AllLabel, t.Bulk.AllHref = "", "" // neither can be resent
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
	v.Table = ui.TableView{ID: "other-deliveries", Caption: i18n.T(ctx, "deliveries.list.others"), Total: total, Noun: site.DeliveryNoun(ctx)}
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
		fields = append(fields, site.ChoiceField("partner", i18n.T(ctx, "deliveries.partner"), q.Partner, options))
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
	fields = append(fields, site.ChoiceField("endpoint", i18n.T(ctx, "deliveries.endpoint"), q.Endpoint, endpoints), site.ChoiceField("type", i18n.T(ctx, "deliveries.event-type"), q.EventType, types))
	fields = append(fields, stateField(ctx, queue, q)...)
	fields = append(fields, site.ChoiceField("kind", i18n.T(ctx, "deliveries.kind-of-error"), q.Reason, reasons),
		ui.Field{Name: "event", Label: i18n.T(ctx, "deliveries.list.any-id"), Value: q.Event, MaxLength: site.MaxFilterText},
		ui.Field{Name: "subject", Label: i18n.T(ctx, "deliveries.subject"), Value: q.Subject, MaxLength: site.MaxFilterText},
		site.MomentField(ctx, "from", i18n.T(ctx, "deliveries.changed-from"), q.Zone, q.From), site.MomentField(ctx, "until", i18n.T(ctx, "deliveries.changed-until"), q.Zone, q.Until))
	if q.Made != "" {
		fields = append(fields, site.MomentField(ctx, "made", i18n.T(ctx, "deliveries.made-from"), q.Zone, q.Made))
	}
	if q.Subscription != "" {
		fields = append(fields, ui.Field{Name: "subscription", Label: i18n.T(ctx, "deliveries.subscription"), Value: q.Subscription, MaxLength: site.MaxFilterText})
	}
	if q.Cause != "" {
		fields = append(fields, ui.Field{Name: "cause", Label: i18n.T(ctx, "deliveries.cause-of-issue"), Value: q.Cause, MaxLength: site.MaxFilterText})
	}
	if q.Job != "" {
		fields = append(fields, ui.Field{Name: "job", Label: i18n.T(ctx, "deliveries.by-job"), Value: q.Job, MaxLength: site.MaxFilterText})
	}
	return site.WithErrors(fields, wrong), nil
}

// stateField asks for a state, or in the error queue for which held deliveries.
func stateField(ctx context.Context, queue site.DeliveryQueue, q site.DeliveryQuery) []ui.Field {
	switch {
	case queue.Errors:
		return []ui.Field{site.ChoiceField("show", i18n.T(ctx, "deliveries.list.show"), q.Show, []ui.Option{
			{Value: site.ShowRefused, Label: i18n.T(ctx, "deliveries.list.show-rejected")},
			{Value: site.ShowStopped, Label: i18n.T(ctx, "deliveries.list.show-stopped")},
			{Value: site.ShowHeld, Label: i18n.T(ctx, "deliveries.list.show-held")},
		})}
	case len(queue.Statuses) > 0:
		return nil
	}
	options := []ui.Option{{Label: i18n.T(ctx, "deliveries.list.all-states")}}
	for _, status := range site.DeliveryStatuses() {
		options = append(options, ui.Option{Value: status, Label: stateWord(ctx, status)})
	}
	fields := []ui.Field{site.ChoiceField("status", i18n.T(ctx, "deliveries.state-label"), q.Status, options)}
	if q.Show != "" {
		fields = append(fields, site.ChoiceField("show", i18n.T(ctx, "deliveries.list.show"), q.Show, []ui.Option{
			{Label: i18n.T(ctx, "deliveries.list.show-all")},
			{Value: site.ShowRejected, Label: i18n.T(ctx, "deliveries.list.show-rejected")},
			{Value: site.ShowStopped, Label: i18n.T(ctx, "deliveries.list.show-stopped")},
		}))
	}
	return fields
}

func stateWord(ctx context.Context, status string) string {
	return i18n.Of(ctx, "deliveries.state", status)
}

// reasonOptions are the kinds of error among what the queue holds.
func (p *Pages) reasonOptions(ctx context.Context, queue site.DeliveryQueue, partner string) ([]ui.Option, error) {
	codes, err := p.DB.DeliveryReasons(ctx, partner, queue.Troubled()...)
	if err != nil {
		return nil, err
	}
	options := []ui.Option{{Label: i18n.T(ctx, "deliveries.list.all-kinds")}}
	for _, code := range codes {
		options = append(options, ui.Option{Value: code, Label: site.ReasonOf(code).Label.In(ctx)})
	}
	return options, nil
}
