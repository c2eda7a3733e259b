package events

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
	"schakel/delivery/outbox"
	"schakel/registry"
	"schakel/store"
	view "schakel/templates/events"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

// QuarantinePath holds the path below which quarantined messages are shown.
const QuarantinePath = "/admin/quarantine"

// MaxShownQuarantined bounds the events of a quarantined request that its page shows.
const MaxShownQuarantined = 20

// quarantineList shows the requests that were quarantined.
func (p *pages) quarantineList(c echo.Context) error {
	ctx, status, paging := c.Request().Context(), site.PageChoice(c, "state", site.QuarantineStatuses()), site.PagePaging(c)
	rows, total, err := p.DB.Quarantines(ctx, store.QuarantineFilter{Status: status, Page: paging})
	if err != nil {
		return err
	}
	v := view.QuarantineListView{Path: QuarantinePath, Total: total, Pager: site.LongPager(c, paging, total), Now: p.Cfg.Now()}
	v.Fields = []ui.Field{site.ChoiceField("state", i18n.T(ctx, "events.quarantine.state-label"), status, []ui.Option{
		{Value: "", Label: i18n.T(ctx, "events.quarantine.all")},
		{Value: store.QuarantineOpen, Label: i18n.T(ctx, "events.quarantine.waiting")},
		{Value: store.QuarantineReleased, Label: i18n.T(ctx, "events.quarantine.released")},
		{Value: store.QuarantineDiscarded, Label: i18n.T(ctx, "events.quarantine.discarded")},
	})}
	names := p.DeliveryNames()
	for _, q := range rows {
		row := view.QuarantineRow{State: quarantineState(q.Status), Href: QuarantinePath + "/" + q.ID, Events: int(q.Events), Kept: q.CreatedAt.Time}
		if row.Partner, err = names.Partner(ctx, q.PartnerID); err != nil {
			return err
		}
		if row.Client, err = p.clientName(ctx, q.ClientID); err != nil {
			return err
		}
		v.Rows = append(v.Rows, row)
	}
	page := p.Frame(c, i18n.T(ctx, "events.quarantine.title"))
	page.Lead = i18n.T(ctx, "events.quarantine.lead")
	return p.Render(c, http.StatusOK, view.QuarantineList(page, v))
}

// quarantineState is the state as people are told it.
func quarantineState(status string) string {
	if status == store.QuarantineOpen {
		return "waiting"
	}
	return status
}

func (p *pages) clientName(ctx context.Context, id string) (string, error) {
	row, err := p.DB.Client(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return id, nil
	}
	return row.Name, err
}

// quarantinePage shows one of them.
func (p *pages) quarantinePage(c echo.Context) error { return p.showQuarantine(c, "", "") }

// showQuarantine draws the page; reason and wrong are of a discard that was refused.
func (p *pages) showQuarantine(c echo.Context, reason string, wrong i18n.Message) error {
	ctx := c.Request().Context()
	q, err := p.DB.Quarantine(ctx, c.Param("id"))
	if err != nil {
		return err
	}
	v := view.QuarantineView{Now: p.Cfg.Now()}
	v.First, v.MoreFirst = firstEvents(q)
	if v.Facts, err = p.quarantineFacts(ctx, q); err != nil {
		return err
	}
	rows, err := p.DB.QuarantinedEvents(ctx, q.ID)
	if err != nil {
		return err
	}
	err = p.Registry.Audit.NoteRead(ctx, site.Actor(c), registry.ActionDataRead, registry.ObjectOf("quarantine", q.ID, q.ID, q.PartnerID), nil)
	if err != nil {
		return err
	}
	v.EventTotal = len(rows)
	for _, row := range rows[:min(len(rows), MaxShownQuarantined)] {
		e := store.Event{ID: q.ID, Attributes: row.Attributes, DataKind: row.DataKind, Data: row.Data, Unread: row.Unread}
		v.Events = append(v.Events, site.EventView(ctx, e, ""))
	}
	if q.Status == store.QuarantineOpen {
		here := QuarantinePath + "/" + q.ID
		v.Release = here + "/release"
		v.Discard = &ui.Danger{
			ID: "discard", Label: i18n.T(ctx, "events.quarantine.discard-title"), Button: i18n.T(ctx, "events.quarantine.discard"), Action: here + "/discard",
			Explain:    i18n.T(ctx, "events.quarantine.discard-text"),
			ReasonName: "reason", ReasonLabel: i18n.T(ctx, "events.quarantine.discard-why"), ReasonValue: reason, ReasonError: wrong,
		}
	}
	status, page := http.StatusOK, p.Frame(c, i18n.T(ctx, "events.quarantine.request"), ui.Crumb{Label: i18n.T(ctx, "events.quarantine.title"), Href: QuarantinePath})
	if err := p.NoteWaiting(ctx, &page, "quarantine", q.ID); err != nil {
		return err
	}
	if wrong != "" {
		status, page.Invalid, v.Errors = http.StatusUnprocessableEntity, true, []ui.FieldError{{Field: "discard-reason", Text: wrong}}
	}
	return p.Render(c, status, view.QuarantinePage(page, v))
}

// firstEvents are the events that the first request under the key brought, and how many more there are.
func firstEvents(q store.Quarantine) (list []ui.Named, more int) {
	var first outbox.Receipt
	_ = json.Unmarshal(q.FirstAnswer, &first) // an answer that cannot be read names none
	for _, e := range first.Events[:min(len(first.Events), MaxShownQuarantined)] {
		list = append(list, ui.Named{Name: site.Shown(e.ID), Href: "/admin/events/" + e.EventID})
	}
	return list, len(first.Events) - len(list)
}

func (p *pages) quarantineFacts(ctx context.Context, q store.Quarantine) ([]ui.Item, error) {
	partner, err := p.DeliveryNames().Partner(ctx, q.PartnerID)
	if err != nil {
		return nil, err
	}
	client, err := p.clientName(ctx, q.ClientID)
	if err != nil {
		return nil, err
	}
	items := []ui.Item{
		{Label: i18n.T(ctx, "events.quarantine.state-label"), Content: ui.State(quarantineState(q.Status))},
		{Label: i18n.T(ctx, "events.quarantine.why"), Text: i18n.T(ctx, "events.quarantine.why-text")},
		{Label: i18n.T(ctx, "events.quarantine.client"), Content: ui.Link(client, "/admin/clients/"+q.ClientID)},
		{Label: i18n.T(ctx, "events.quarantine.partner"), Content: ui.Link(partner, "/admin/partners/"+q.PartnerID)},
		{Label: "Idempotency-Key", Content: ui.Identifier(q.IdempotencyKey)},
		{Label: i18n.T(ctx, "events.quarantine.events"), Text: i18n.Count(ctx, int(q.Events))},
		{Label: i18n.T(ctx, "events.quarantine.kept"), Content: ui.Clock(q.CreatedAt.Time, p.Cfg.Now())},
	}
	if q.Status == store.QuarantineOpen {
		return items, nil
	}
	items = append(items, ui.Item{Label: i18n.T(ctx, "events.quarantine.decided"), Content: ui.Clock(q.DecidedAt.Time, p.Cfg.Now())}, ui.Item{Label: i18n.T(ctx, "events.quarantine.by"), Text: q.DecidedBy})
	if q.Reason != "" {
		items = append(items, ui.Item{Label: i18n.T(ctx, "events.quarantine.reason"), Text: q.Reason})
	}
	return items, nil
}

// releaseQuarantined accepts the events of a request after all.
func (p *pages) releaseQuarantined(c echo.Context) error {
	here := QuarantinePath + "/" + c.Param("id")
	receipt, err := p.Engine.Release(c.Request().Context(), site.EngineActor(c), c.Param("id"))
	if quarantineRefusal(err) {
		p.Flash(c, ui.KindWarning, outbox.RefusalText(err))
		return c.Redirect(http.StatusSeeOther, here)
	}
	if err != nil {
		return releaseProblem(err)
	}
	known := 0
	for _, e := range receipt.Events {
		if e.Duplicate {
			known++
		}
	}
	text := i18n.M("events.quarantine.accepted", len(receipt.Events)-known)
	if known > 0 {
		text = i18n.M("events.quarantine.accepted-known", text, known)
	}
	return p.Done(c, here, text)
}

// releaseProblem is the page of a release that could not be done now; the request waits as it did.
func releaseProblem(err error) error {
	switch {
	case errors.Is(err, outbox.ErrBusy):
		return site.RetryLater(http.StatusServiceUnavailable, "busy", "events.quarantine.busy", 2*time.Second)
	case errors.Is(err, outbox.ErrUnavailable):
		p := site.RetryLater(http.StatusServiceUnavailable, "store-unavailable", "events.quarantine.unavailable", 5*time.Second)
		p.Logged = true
		return errors.Join(p, err)
	}
	return err
}

// quarantineRefusal reports whether a decision was refused with words for people.
func quarantineRefusal(err error) bool {
	return errors.Is(err, outbox.ErrDecided) || errors.Is(err, outbox.ErrAllKnown) || errors.Is(err, outbox.ErrSenderStopped) ||
		errors.Is(err, outbox.ErrClientStopped) || errors.Is(err, outbox.ErrNotGranted) || errors.Is(err, outbox.ErrDataErased)
}

// discardRequest names the discard of a quarantined request, which may wait for a second person.
const discardRequest = "discard.request"

// discardReason holds a discard that waits.
type discardReason struct{ Reason string }

// discardOf discards a quarantined request.
func (p *pages) discardOf(id, reason string) site.Discard {
	return site.Discard{
		Action: discardRequest, Object: registry.ObjectOf("quarantine", id, "", ""), Args: discardReason{reason}, Reason: reason,
		Describe: func(ctx context.Context) ([]i18n.Message, string, error) {
			q, err := p.DB.Quarantine(ctx, id)
			if err != nil {
				return nil, "", err
			}
			partner, err := p.DeliveryNames().Partner(ctx, q.PartnerID)
			if err != nil {
				return nil, "", err
			}
			state, err := registry.Fingerprint(q.Status)
			return []i18n.Message{i18n.M("events.quarantine.confirm", int(q.Events), partner)}, state, err
		},
		Do: func(ctx context.Context, by outbox.Actor) error {
			return p.Engine.DiscardQuarantined(ctx, by, id, reason)
		},
	}
}

// discardQuarantined decides that the events of a request are never accepted.
func (p *pages) discardQuarantined(c echo.Context) error {
	return site.WithReason(c, site.ReasonError, func(reason string) error {
		here := QuarantinePath + "/" + c.Param("id")
		err := p.Discard(c.Request().Context(), site.Actor(c), p.discardOf(c.Param("id"), reason))
		if quarantineRefusal(err) {
			p.Flash(c, ui.KindWarning, outbox.RefusalText(err))
			return c.Redirect(http.StatusSeeOther, here)
		}
		return p.Saved(c, err, here, "events.quarantine.was-discarded")
	}, func(reason string, wrong i18n.Message) error { return p.showQuarantine(c, reason, wrong) })
}
