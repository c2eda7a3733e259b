package deliveries

import (
	"context"
	"errors"

	"github.com/labstack/echo/v4"
	"schakel/store"
	view "schakel/templates/deliveries"
	"schakel/templates/ui"
	"schakel/web/site"
)

// batchPage shows a batch with its deliveries.
func (p *Pages) batchPage(area site.DeliveryArea) echo.HandlerFunc {
	return func(c echo.Context) error {
		ctx := c.Request().Context()
		b, err := p.DB.Batch(ctx, c.Param("id"))
		if err != nil {
			return err
		}
		endpoint, err := p.DB.Endpoint(ctx, b.EndpointID)
		if err != nil {
			return err
		}
		if !area.Admin && endpoint.PartnerID != area.Scope(c) {
			return store.ErrNotFound
		}
		v := view.BatchView{Facts: batchFacts(area, b, endpoint), Apart: apartText(b.Reason), Now: p.Cfg.Now()}
		if v.Attempts, err = p.batchAttempts(ctx, area, b); err != nil {
			return err
		}
		if v.Deliveries, err = p.batchDeliveries(c, area, b); err != nil {
			return err
		}
		page := p.Page(c, "Batch of "+ui.Plural(len(b.Members), "event", "events"))
		page.Crumbs = append(page.Crumbs, deliveriesCrumb(area), ui.Crumb{Label: "Batch"})
		return p.Render(c, 200, view.Batch(page, v))
	}
}

func batchFacts(area site.DeliveryArea, b store.Batch, endpoint store.Endpoint) []ui.Item {
	return []ui.Item{
		{Label: "Batch id", Content: ui.Identifier(b.ID)},
		{Label: "Endpoint", Content: ui.Link(endpoint.Name, area.Base+"/endpoints/"+endpoint.ID)},
		{Label: "Events", Text: ui.Count(len(b.Members))},
		{Label: "Size", Text: ui.Bytes(b.Size)},
		{Label: "Made", Text: ui.Time(b.CreatedAt.Time)},
		{Label: "Idempotency-Key", Content: ui.Identifier(b.IdempotencyKey)},
		{Label: "Key valid until", Text: ui.Time(b.KeyExpiresAt.Time)},
	}
}

// apartText explains why a batch was taken apart.
func apartText(reason string) string {
	switch reason {
	case "":
		return ""
	case store.BatchRejected:
		return "The receiver refused this batch for what is in it, so each event was sent by itself afterwards, under a key of its own."
	}
	return "Not all of this batch could be sent any more: a subscription was stopped, or the time of a delivery was over. What was left was sent by itself, under keys of its own. " +
		"If an earlier try did arrive after all, the receiver knows the events by their source and id."
}

// batchAttempts are the requests made with a batch: what was sent and came back stands with its first member.
func (p *Pages) batchAttempts(ctx context.Context, area site.DeliveryArea, b store.Batch) ([]view.AttemptView, error) {
	if len(b.Members) == 0 {
		return nil, nil
	}
	all, err := p.DB.Attempts(ctx, b.Members[0])
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	with := all[:0]
	for _, a := range all {
		if a.BatchID == b.ID {
			a.BatchID = "" // this is its page
			with = append(with, a)
		}
	}
	views, _ := AttemptViews(ctx, with, area)
	return views, nil
}

// batchDeliveries lists the deliveries of a batch.
func (p *Pages) batchDeliveries(c echo.Context, area site.DeliveryArea, b store.Batch) (ui.DeliveryListView, error) {
	ctx, scope := c.Request().Context(), area.Scope(c)
	v := ui.DeliveryListView{ShowPartner: area.Admin, Now: p.Cfg.Now()}
	rows, total, err := p.DB.Deliveries(ctx, store.DeliveryFilter{IDs: b.Members, PartnerID: scope})
	if err != nil {
		return v, err
	}
	v.Table = ui.TableView{ID: "batch-deliveries", Caption: "Deliveries in this batch", Total: total, Noun: site.DeliveryNoun(ctx)}
	v.Rows, err = site.DeliveryRows(ctx, area, rows, p.DeliveryNamesOf(scope))
	return v, err
}

// batchItem names the deliveries sent in the same batch as a delivery.
func (p *Pages) batchItem(ctx context.Context, area site.DeliveryArea, d store.Delivery) ([]ui.Item, error) {
	if d.BatchID == "" {
		return nil, nil
	}
	b, err := p.DB.Batch(ctx, d.BatchID)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return []ui.Item{{Label: "Batch", Content: ui.Link("one of "+ui.Count(len(b.Members))+" in one request", area.Batch(b.ID))}}, nil
}
