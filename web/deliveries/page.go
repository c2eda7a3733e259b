package deliveries

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"
	"schakel/delivery/event"
	"schakel/delivery/outbox"
	"schakel/delivery/webhook"
	"schakel/registry"
	"schakel/store"
	view "schakel/templates/deliveries"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

// What the page of a delivery shows at most.
const (
	MaxShownAttempts = 50
	maxShownAudit    = 50
)

// deliveryPage shows one delivery.
func (p *Pages) deliveryPage(area site.DeliveryArea) echo.HandlerFunc {
	return func(c echo.Context) error { return p.showDelivery(c, area, "", "") }
}

// resendDelivery has a delivery tried again now, as the same event, and goes back to where the button was.
func (p *Pages) resendDelivery(area site.DeliveryArea) echo.HandlerFunc {
	return func(c echo.Context) error {
		form, err := site.ReadForm(c)
		if err != nil {
			return err
		}
		d, err := p.ownDelivery(c, area)
		if err != nil {
			return err
		}
		back := area.Delivery(d.ID)
		for _, list := range []site.DeliveryQueue{site.ErrorQueue(), site.DeadLetterQueue(), site.AllDeliveries(), site.OwnDeliveries()} {
			if found := backTo(form, list.Path); found == form.Get("back") && list.Base == area.Base {
				back = found
			}
		}
		err = p.Engine.Resend(c.Request().Context(), site.EngineActor(c), d.ID)
		if errors.Is(err, outbox.ErrNotResendable) || errors.Is(err, outbox.ErrEventExpired) || errors.Is(err, outbox.ErrDataErased) {
			p.Flash(c, ui.KindWarning, outbox.RefusalText(err))
			return c.Redirect(http.StatusSeeOther, back)
		}
		if err != nil {
			return err
		}
		if back == area.Delivery(d.ID) {
			return p.resent(c, back, "deliveries.page.resent", 0) // its page names the cause of the wait
		}
		return p.resent(c, back, "deliveries.page.resent", 0, d.ID)
	}
}

// discardDelivery takes a delivery out of its queue for good.
func (p *Pages) discardDelivery(c echo.Context) error {
	return site.WithReason(c, site.ReasonError, func(reason string) error {
		here := site.AdministratorArea().Delivery(c.Param("id"))
		err := p.Discard(c.Request().Context(), site.Actor(c), p.discardOf(c.Param("id"), reason))
		if errors.Is(err, outbox.ErrNotDiscardable) {
			p.Flash(c, ui.KindWarning, outbox.RefusalText(err))
			return c.Redirect(http.StatusSeeOther, here)
		}
		return p.Saved(c, err, here, "deliveries.page.was-discarded")
	}, func(reason string, wrong i18n.Message) error {
		return p.showDelivery(c, site.AdministratorArea(), reason, wrong)
	})
}

// deliveryData sends the data of the event of a delivery as a file.
func (p *Pages) deliveryData(c echo.Context) error {
	area := site.PartnerArea()
	d, err := p.ownDelivery(c, area)
	if err != nil {
		return err
	}
	at, err := p.deliveryContext(c.Request().Context(), d)
	if err != nil {
		return err
	}
	if !at.mayRead(area) {
		return store.ErrNotFound
	}
	e, err := p.DB.Event(c.Request().Context(), d.EventID)
	if err != nil {
		return err
	}
	return p.SendDataNoted(c, e, d.PartnerID)
}

// ownDelivery finds a delivery that the reader may see; another's is not found (guarantee G7).
func (p *Pages) ownDelivery(c echo.Context, area site.DeliveryArea) (store.Delivery, error) {
	d, err := p.DB.Delivery(c.Request().Context(), c.Param("id"))
	if err == nil && !area.Admin && d.PartnerID != area.Scope(c) {
		return store.Delivery{}, store.ErrNotFound
	}
	return d, err
}

// showDelivery draws the page; reason and wrong are of a discard that was refused.
func (p *Pages) showDelivery(c echo.Context, area site.DeliveryArea, reason string, wrong i18n.Message) error {
	ctx := c.Request().Context()
	d, err := p.ownDelivery(c, area)
	if err != nil {
		return err
	}
	at, err := p.deliveryContext(ctx, d)
	if err != nil {
		return err
	}
	v := deliveryView(ctx, area, at, p.Cfg.Now())
	batch, err := p.batchItem(ctx, area, d)
	if err != nil {
		return err
	}
	sent, err := p.amqpItem(ctx, area, d)
	if err != nil {
		return err
	}
	issue, err := p.issueItem(ctx, area, d)
	if err != nil {
		return err
	}
	v.Facts = slices.Concat(deliveryFacts(ctx, area, at, v.Now), issue, batch, sent)
	behind, err := p.DB.WaitsFor(ctx, d.ID)
	if err != nil {
		return err
	}
	if behind != "" {
		v.Behind, v.Due = area.Delivery(behind), time.Time{}
	}
	if v.Event, err = p.eventOf(ctx, site.Actor(c), area, at); err != nil {
		return err
	}
	attempts, err := p.DB.Attempts(ctx, d.ID)
	if err != nil {
		return err
	}
	v.Attempts, v.Earlier = AttemptViews(ctx, attempts, area)
	if err := p.markEncrypted(ctx, area, at, attempts, &v); err != nil {
		return err
	}
	if v.Event.Encrypted, v.Encrypted = v.Encrypted, nil; v.Event.Encrypted != nil {
		v.Event.Encrypted.Texts = append(v.Event.Encrypted.Texts, i18n.T(ctx, "ui.encrypted-shown"))
	}
	if v.Others, err = p.OtherDeliveries(c, area, d.EventID, d.ID); err != nil {
		return err
	}
	v.Others.Self = ""
	if area.Admin {
		v.Discard = discardDanger(ctx, d, reason, wrong)
		if v.Audit, err = p.deliveryAudit(ctx, c, d.ID); err != nil {
			return err
		}
	}
	status, page := http.StatusOK, p.Page(c, d.EventType)
	if wrong != "" {
		status, page.Invalid, v.Errors = http.StatusUnprocessableEntity, true, []ui.FieldError{{Field: "discard-reason", Text: wrong}}
	}
	if area.Admin {
		if err := p.NoteWaiting(ctx, &page, "delivery", d.ID); err != nil {
			return err
		}
	}
	page.Crumbs = append(page.Crumbs, deliveriesCrumb(ctx, area), ui.Crumb{Label: i18n.T(ctx, "deliveries.delivery")})
	return p.Render(c, status, view.Delivery(page, v))
}

// Outcome shows what came of a delivery that the reader may see, for the page of another feature at self.
func (p *Pages) Outcome(c echo.Context, area site.DeliveryArea, d store.Delivery, self string) (templ.Component, error) {
	ctx := c.Request().Context()
	if !area.Admin && d.PartnerID != area.Scope(c) {
		return nil, store.ErrNotFound
	}
	at, err := p.deliveryContext(ctx, d)
	if err != nil {
		return nil, err
	}
	v := deliveryView(ctx, area, at, p.Cfg.Now())
	attempts, err := p.DB.Attempts(ctx, d.ID)
	if err != nil {
		return nil, err
	}
	v.Self = self
	v.Attempts, v.Earlier = AttemptViews(ctx, attempts, area)
	if err := p.markEncrypted(ctx, area, at, attempts, &v); err != nil {
		return nil, err
	}
	return view.Outcome(v), nil
}

// markEncrypted names the key of the data of a delivery, and marks the attempts with data encrypted: those since the last change of the encryption,
// because nobody knows how it was before.
func (p *Pages) markEncrypted(ctx context.Context, area site.DeliveryArea, at DeliveryContext, attempts []store.Attempt, v *view.DeliveryView) error {
	encryption, err := p.EncryptionOf(ctx, at.Delivery, at.Subscription)
	if err != nil || encryption == nil {
		return err
	}
	if has, err := p.hasData(ctx, at.Delivery.EventID); err != nil || !has {
		return err
	}
	v.Encrypted = p.EncryptedNotice(ctx, encryption, area.Base)
	changed, _, err := p.DB.Audits(ctx, store.AuditFilter{
		ObjectKind: "subscription", ObjectID: encryption.SubscriptionID, Action: registry.ActionSubscriptionEncryption, Page: store.Page{Number: 1, Size: 1},
	})
	if err != nil {
		return fmt.Errorf("find the last change of an encryption: %w", err)
	}
	for i := range v.Attempts {
		a := attempts[len(attempts)-1-i] // the newest comes first
		sent := a.ErrorKind != string(webhook.KindEncryption) && a.Unread == nil
		v.Attempts[i].Encrypted = sent && (len(changed) == 0 || !a.StartedAt.Before(changed[0].At.Time))
	}
	return nil
}

// hasData reports whether an event has data, in it or stored apart.
func (p *Pages) hasData(ctx context.Context, eventID string) (bool, error) {
	e, err := p.DB.Event(ctx, eventID)
	if err != nil || event.DataKind(e.DataKind) != event.DataNone {
		return err == nil, err
	}
	apart, err := p.DB.ObjectsOf(ctx, eventID)
	return len(apart) > 0, err
}

// eventOf shows the event of a delivery, to a partner only what it may read.
func (p *Pages) eventOf(ctx context.Context, actor registry.Actor, area site.DeliveryArea, at DeliveryContext) (ui.EventView, error) {
	if !at.mayRead(area) {
		return ui.EventView{Withheld: at.withheld(ctx)}, nil
	}
	e, err := p.DB.Event(ctx, at.Delivery.EventID)
	if err != nil {
		return ui.EventView{}, err
	}
	if err := p.NoteEvent(ctx, actor, registry.ActionDataRead, e, at.Delivery.PartnerID); err != nil {
		return ui.EventView{}, err
	}
	download := area.Delivery(at.Delivery.ID) + "/data"
	if area.Admin {
		download = "/admin/events/" + e.ID + "/data"
	}
	v := site.EventView(ctx, e, download)
	v.Object, err = p.ObjectView(ctx, e.ID, strings.TrimSuffix(download, "/data")+"/object")
	return v, err
}

func discardDanger(ctx context.Context, d store.Delivery, reason string, wrong i18n.Message) *ui.Danger {
	if wrong == "" && d.Status != store.DeliveryHeld && d.Status != store.DeliveryDead {
		return nil
	}
	return &ui.Danger{
		ID: "discard", Label: i18n.T(ctx, "deliveries.page.discard-title"), Button: i18n.T(ctx, "deliveries.discard"), Action: site.AdministratorArea().Delivery(d.ID) + "/discard",
		Explain:    i18n.T(ctx, "deliveries.page.discard-text"),
		ReasonName: "reason", ReasonLabel: i18n.T(ctx, "deliveries.page.discard-why"), ReasonValue: reason, ReasonError: wrong,
	}
}

// deliveryAudit lists the decisions of people about a delivery.
func (p *Pages) deliveryAudit(ctx context.Context, c echo.Context, id string) ([]ui.Moment, error) {
	rows, _, err := p.Registry.Audit.List(ctx, site.Actor(c).Scope(), store.AuditFilter{
		ObjectKind: "delivery", ObjectID: id, Page: store.Page{Number: 1, Size: maxShownAudit},
	})
	if err != nil {
		return nil, err
	}
	moments := make([]ui.Moment, len(rows))
	for i, row := range rows {
		moments[i] = ui.Moment{At: row.At.Time, Kind: ui.KindInfo, Title: site.AuditSentence(ctx, row)}
	}
	return moments, nil
}

// deliveryObject sends it to the partner that a delivery is to.
func (p *Pages) deliveryObject(c echo.Context) error {
	area := site.PartnerArea()
	d, err := p.ownDelivery(c, area)
	if err != nil {
		return err
	}
	at, err := p.deliveryContext(c.Request().Context(), d)
	if err != nil {
		return err
	}
	if !at.mayRead(area) {
		return store.ErrNotFound
	}
	return p.SendObject(c, d.EventID, d.PartnerID)
}
