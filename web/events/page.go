package events

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/store"
	view "schakel/templates/events"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

// eventList shows the accepted events.
func (p *pages) eventList(c echo.Context) error {
	ctx := c.Request().Context()
	q := site.ReadDeliveryQuery(c.QueryParam)
	wrong, names := site.FormErrors{}, p.DeliveryNames()
	from, until := site.Period(q.Zone, q.From, q.Until, wrong)
	partners, err := p.PartnerOptions(ctx, names)
	if err != nil {
		return err
	}
	types, err := p.TypeOptions(ctx, "")
	if err != nil {
		return err
	}
	v := view.EventListView{Path: "/admin/events", Now: p.Cfg.Now(), Fields: site.WithErrors([]ui.Field{
		site.ChoiceField("partner", i18n.T(ctx, "events.list.from-partner"), q.Partner, partners), site.ChoiceField("type", i18n.T(ctx, "events.list.event-type"), q.EventType, types),
		{Name: "event", Label: i18n.T(ctx, "deliveries.list.any-id"), Value: q.Event, MaxLength: site.MaxFilterText},
		{Name: "subject", Label: i18n.T(ctx, "events.list.subject"), Value: q.Subject, MaxLength: site.MaxFilterText},
		site.MomentField(ctx, "from", i18n.T(ctx, "events.list.accepted-from"), q.Zone, q.From),
		site.MomentField(ctx, "until", i18n.T(ctx, "events.list.accepted-until"), q.Zone, q.Until),
	}, wrong)}
	page := p.Page(c, i18n.T(ctx, "events.title"))
	page.Lead = i18n.T(ctx, "events.list.lead")
	page.Crumbs = append(page.Crumbs, ui.Crumb{Label: i18n.T(ctx, "events.title")})
	if len(wrong) > 0 {
		page.Invalid, v.Invalid, v.Errors = true, true, site.FieldErrors(v.Fields)
		return p.Render(c, http.StatusUnprocessableEntity, view.EventList(page, v))
	}
	paging := site.PagePaging(c)
	filter := store.EventFilter{
		PartnerID: q.Partner, Type: q.EventType, CEID: q.Event, Subject: q.Subject, From: from, Until: until,
		Before: q.Before, Page: paging,
	}
	if store.KindOfID(q.Event) == "evt" {
		filter.ID, filter.CEID = q.Event, ""
	}
	list, err := p.DB.EventList(ctx, filter)
	if err != nil {
		return err
	}
	for _, e := range list.Rows {
		partner, err := names.Partner(ctx, e.PartnerID)
		if err != nil {
			return err
		}
		v.Rows = append(v.Rows, view.EventRow{
			Type: e.CEType, Href: "/admin/events/" + e.ID, Subject: site.Shown(e.CESubject), CEID: site.Shown(e.CEID), Source: site.Shown(e.CESource), Partner: partner,
			Accepted: e.AcceptedAt.Time, Test: e.Test,
		})
	}
	v.Table = eventTable(ctx, len(q.Values()) > 0)
	v.Table.Total, v.Table.Most = site.Counted(list.Total, list.Older)
	v.Table.Pager = site.LongPager(c, paging, list.Total)
	if list.Older != "" {
		v.Part, v.Older = i18n.T(ctx, "deliveries.list.part", store.PartBound), site.WithBefore(c.Request().URL, list.Older)
	}
	return p.Render(c, http.StatusOK, view.EventList(page, v))
}

func eventTable(ctx context.Context, filtered bool) ui.TableView {
	t := ui.TableView{
		ID: "events", Caption: i18n.T(ctx, "events.list.caption"), Noun: [2]string{i18n.T(ctx, "events.noun.event-one"), i18n.T(ctx, "events.noun.event-many")},
		Empty: ui.Empty{Text: i18n.T(ctx, "events.list.none", "/events/v1/events"), ActionLabel: i18n.T(ctx, "events.list.see-clients"), ActionHref: "/admin/clients"},
	}
	if filtered {
		t.Empty = ui.Empty{Text: i18n.T(ctx, "events.list.no-match"), ActionLabel: i18n.T(ctx, "events.list.clear-filter"), ActionHref: "/admin/events"}
	}
	return t
}

// eventPage shows one event with its deliveries.
func (p *pages) eventPage(c echo.Context) error {
	ctx := c.Request().Context()
	e, err := p.DB.Event(ctx, c.Param("id"))
	if err != nil {
		return err
	}
	facts, err := p.eventFacts(c, e)
	if err != nil {
		return err
	}
	if err := p.NoteEvent(ctx, site.Actor(c), registry.ActionDataRead, e, e.PartnerID); err != nil {
		return err
	}
	here := "/admin/events/" + e.ID
	deliveries, err := p.otherDeliveries(c, site.AdministratorArea(), e.ID, "")
	if err != nil {
		return err
	}
	deliveries.Self, deliveries.Table.Caption = here, i18n.T(ctx, "events.page.deliveries")
	deliveries.Table.Empty = ui.Empty{Text: i18n.T(ctx, "events.page.nobody"), ActionLabel: i18n.T(ctx, "events.page.see-subscriptions"), ActionHref: "/admin/subscriptions"}
	v := view.EventPageView{Event: site.EventView(ctx, e, here+"/data"), Facts: facts, Deliveries: deliveries, Now: p.Cfg.Now()}
	if v.Event.Object, err = p.ObjectView(ctx, e.ID, here+"/object"); err != nil {
		return err
	}
	if v.LeftOut, err = p.leftOut(ctx, e.ID); err != nil {
		return err
	}
	page := p.Page(c, site.Shown(e.CEType))
	page.Crumbs = append(page.Crumbs, ui.Crumb{Label: i18n.T(ctx, "events.title"), Href: "/admin/events"}, ui.Crumb{Label: i18n.T(ctx, "events.event")})
	return p.Render(c, http.StatusOK, view.EventPage(page, v))
}

// eventFacts lists the origin and the times of an event.
func (p *pages) eventFacts(c echo.Context, e store.Event) ([]ui.Item, error) {
	ctx := c.Request().Context()
	partner, err := p.DeliveryNames().Partner(ctx, e.PartnerID)
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
		client = i18n.T(ctx, "events.page.no-client")
	}
	items := []ui.Item{
		{Label: i18n.T(ctx, "events.page.our-id"), Content: ui.Identifier(e.ID)},
		{Label: i18n.T(ctx, "events.page.received-from"), Text: partner},
		{Label: i18n.T(ctx, "events.page.through-client"), Text: client},
		{Label: i18n.T(ctx, "events.list.accepted"), Content: ui.Clock(e.AcceptedAt.Time, p.Cfg.Now())},
	}
	if e.Audience.Everyone() {
		return items, nil
	}
	only, err := p.audienceText(ctx, e.Audience)
	return append(items, ui.Item{Label: i18n.T(ctx, "events.page.only-for"), Text: only}), err
}

// audienceText names whom an event is for, when it is not for everyone.
func (p *pages) audienceText(ctx context.Context, audience store.Audience) (string, error) {
	names := p.DeliveryNames()
	own, err := p.DB.OwnPartner(ctx)
	if err != nil {
		return "", err
	}
	all := []string{own.Name}
	for _, id := range audience.Partners() {
		name, err := names.Partner(ctx, id)
		if err != nil {
			return "", err
		}
		all = append(all, name)
	}
	return strings.Join(all, ", "), nil
}

// eventData sends the data of an event as a file.
func (p *pages) eventData(c echo.Context) error {
	e, err := p.DB.Event(c.Request().Context(), c.Param("id"))
	if err != nil {
		return err
	}
	return p.SendDataNoted(c, e, e.PartnerID)
}
