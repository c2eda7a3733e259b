package web

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"
	"schakel/store"
	view "schakel/templates/events"
	"schakel/templates/ui"
)

// maxOtherDeliveries bounds the deliveries of one event that a page shows.
const maxOtherDeliveries = 100

// eventList shows the accepted events.
func (p *portal) eventList(c echo.Context) error {
	ctx := c.Request().Context()
	q := readDeliveryQuery(c.QueryParam)
	wrong, names := formErrors{}, p.deliveryNames()
	from, until := period(q.from, q.until, wrong)
	partners, err := p.partnerOptions(ctx, names)
	if err != nil {
		return err
	}
	types, err := p.typeOptions(ctx, "")
	if err != nil {
		return err
	}
	v := view.EventListView{Path: "/admin/events", Now: p.cfg.Now(), Fields: withErrors([]ui.Field{
		choiceField("partner", "From partner", q.partner, partners), choiceField("type", "Event type", q.eventType, types),
		{Name: "event", Label: "Event id", Value: q.event, MaxLength: maxFilterText},
		{Name: "subject", Label: "Subject", Hint: "Among the newest " + ui.Count(store.SearchBound) + " events.", Value: q.subject, MaxLength: maxFilterText},
		{Name: "from", Label: "Accepted from", Type: momentField(q.from), Value: q.from},
		{Name: "until", Label: "Accepted until", Type: momentField(q.until), Value: q.until},
	}, wrong)}
	page := p.page(c, "Events")
	page.Lead = "What was accepted, newest first. Each event is kept byte for byte as it came."
	page.Crumbs = append(page.Crumbs, ui.Crumb{Label: "Events"})
	if len(wrong) > 0 {
		page.Invalid, v.Invalid, v.Errors = true, true, fieldErrors(v.Fields)
		return p.render(c, http.StatusUnprocessableEntity, view.EventList(page, v))
	}
	paging := pagePaging(c)
	filter := store.EventFilter{
		PartnerID: q.partner, Type: q.eventType, CEID: q.event, Subject: q.subject, From: from, Until: until,
		Page: store.Page{Number: paging.Page, Size: paging.PerPage},
	}
	if strings.HasPrefix(q.event, "evt_") {
		filter.ID, filter.CEID = q.event, ""
	}
	rows, total, err := p.DB.Events(ctx, filter)
	if err != nil {
		return err
	}
	for _, e := range rows {
		partner, err := names.partner(ctx, e.PartnerID)
		if err != nil {
			return err
		}
		v.Rows = append(v.Rows, view.EventRow{
			Type: e.CEType, Href: "/admin/events/" + e.ID, CEID: shown(e.CEID), Source: shown(e.CESource), Partner: partner,
			Accepted: e.AcceptedAt.Time, Test: e.Test,
		})
	}
	v.Table = eventTable(len(q.values()) > 0, total)
	v.Table.Pager = longPager(c, paging, total)
	return p.render(c, http.StatusOK, view.EventList(page, v))
}

func eventTable(filtered bool, total int) ui.TableView {
	t := ui.TableView{
		ID: "events", Caption: "Accepted events", Total: total, Most: store.ListBound, Noun: [2]string{"event", "events"},
		Empty: ui.Empty{Text: "No event was accepted yet. A client that may publish sends them to /events/v1/events.", ActionLabel: "See the clients", ActionHref: "/admin/clients"},
	}
	if filtered {
		t.Empty = ui.Empty{Text: "Nothing matches this filter.", ActionLabel: "Clear the filter", ActionHref: "/admin/events"}
	}
	return t
}

// eventPage shows one event with its deliveries.
func (p *portal) eventPage(c echo.Context) error {
	ctx := c.Request().Context()
	e, err := p.DB.Event(ctx, c.Param("id"))
	if err != nil {
		return err
	}
	facts, err := p.eventFacts(c, e)
	if err != nil {
		return err
	}
	here := "/admin/events/" + e.ID
	deliveries, err := p.otherDeliveries(c, administratorArea(), e.ID, "")
	if err != nil {
		return err
	}
	deliveries.Self, deliveries.Table.Caption = here, "Deliveries of this event"
	deliveries.Table.Empty = ui.Empty{Text: "Nobody was subscribed to this event when it was accepted.", ActionLabel: "See the subscriptions", ActionHref: "/admin/subscriptions"}
	v := view.EventPageView{Event: eventView(e, here+"/data"), Facts: facts, Deliveries: deliveries, Now: p.cfg.Now()}
	if v.Event.Object, err = p.objectView(ctx, e.ID, here+"/object"); err != nil {
		return err
	}
	if v.LeftOut, err = p.leftOut(ctx, e.ID); err != nil {
		return err
	}
	page := p.page(c, shown(e.CEType))
	page.Crumbs = append(page.Crumbs, ui.Crumb{Label: "Events", Href: "/admin/events"}, ui.Crumb{Label: "Event"})
	return p.render(c, http.StatusOK, view.EventPage(page, v))
}

// eventFacts lists the origin and the times of an event.
func (p *portal) eventFacts(c echo.Context, e store.Event) ([]ui.Item, error) {
	ctx := c.Request().Context()
	partner, err := p.deliveryNames().partner(ctx, e.PartnerID)
	if err != nil {
		return nil, err
	}
	client := e.ClientID
	if row, err := p.DB.Client(ctx, e.ClientID); err == nil {
		client = row.Name
	} else if !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	if e.Test {
		client = "none: a test of an endpoint"
	}
	items := []ui.Item{
		{Label: "Our id", Content: ui.Identifier(e.ID)},
		{Label: "Received from", Text: partner},
		{Label: "Through client", Text: client},
		{Label: "Accepted", Content: ui.Clock(e.AcceptedAt.Time, p.cfg.Now())},
	}
	if e.Audience.Everyone() {
		return items, nil
	}
	only, err := p.audienceText(ctx, e.Audience)
	return append(items, ui.Item{Label: "Only for", Text: only}), err
}

// audienceText names whom an event is for, when it is not for everyone.
func (p *portal) audienceText(ctx context.Context, audience store.Audience) (string, error) {
	names := p.deliveryNames()
	own, err := p.DB.OwnPartner(ctx)
	if err != nil {
		return "", err
	}
	all := []string{own.Name}
	for _, id := range audience.Partners() {
		name, err := names.partner(ctx, id)
		if err != nil {
			return "", err
		}
		all = append(all, name)
	}
	return strings.Join(all, ", "), nil
}

// otherDeliveries lists the deliveries of an event that the reader may see, but for one.
func (p *portal) otherDeliveries(c echo.Context, area deliveryArea, eventID, but string) (ui.DeliveryListView, error) {
	ctx, scope := c.Request().Context(), area.scope(c)
	v := ui.DeliveryListView{ShowPartner: area.admin, Now: p.cfg.Now(), Self: c.Request().URL.RequestURI()}
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
	v.Table = ui.TableView{ID: "other-deliveries", Caption: "Other deliveries of this event", Total: total, Noun: deliveryNoun()}
	v.Rows, err = deliveryRows(ctx, area, visible, p.deliveryNamesOf(scope))
	return v, err
}

// eventData sends the data of an event as a file.
func (p *portal) eventData(c echo.Context) error {
	e, err := p.DB.Event(c.Request().Context(), c.Param("id"))
	if err != nil {
		return err
	}
	return sendData(c, e)
}
