package deliveries

import (
	"context"
	"errors"

	"github.com/labstack/echo/v4"
	"schakel/store"
	view "schakel/templates/deliveries"
	"schakel/templates/i18n"
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
		v := view.BatchView{Facts: batchFacts(ctx, area, b, endpoint), Apart: apartText(ctx, b.Reason), Now: p.Cfg.Now()}
		if v.Attempts, err = p.batchAttempts(ctx, area, b); err != nil {
			return err
		}
		if v.Deliveries, err = p.batchDeliveries(c, area, b); err != nil {
			return err
		}
		page := p.Page(c, i18n.T(ctx, "deliveries.batches.title", len(b.Members)))
		page.Crumbs = append(page.Crumbs, deliveriesCrumb(ctx, area), ui.Crumb{Label: i18n.T(ctx, "deliveries.batch")})
		return p.Render(c, 200, view.Batch(page, v))
	}
}

func batchFacts(ctx context.Context, area site.DeliveryArea, b store.Batch, endpoint store.Endpoint) []ui.Item {
	return []ui.Item{
		{Label: i18n.T(ctx, "deliveries.batches.id"), Content: ui.Identifier(b.ID)},
		{Label: i18n.T(ctx, "deliveries.endpoint"), Content: ui.Link(endpoint.Name, area.Base+"/endpoints/"+endpoint.ID)},
		{Label: i18n.T(ctx, "deliveries.batches.events"), Text: i18n.Count(ctx, len(b.Members))},
		{Label: i18n.T(ctx, "deliveries.batches.size"), Text: i18n.Bytes(ctx, b.Size)},
		{Label: i18n.T(ctx, "deliveries.facts.made"), Text: i18n.Time(ctx, b.CreatedAt.Time)},
		{Label: "Idempotency-Key", Content: ui.Identifier(b.IdempotencyKey)},
		{Label: i18n.T(ctx, "deliveries.facts.key-until"), Text: i18n.Time(ctx, b.KeyExpiresAt.Time)},
	}
}

// apartText explains why a batch was taken apart.
func apartText(ctx context.Context, reason string) string {
	switch reason {
	case "":
		return ""
	case store.BatchRejected:
		return i18n.T(ctx, "deliveries.batches.rejected")
	}
	return i18n.T(ctx, "deliveries.batches.apart")
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
	v.Table = ui.TableView{ID: "batch-deliveries", Caption: i18n.T(ctx, "deliveries.batches.deliveries"), Total: total, Noun: site.DeliveryNoun(ctx)}
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
	return []ui.Item{{Label: i18n.T(ctx, "deliveries.batch"), Content: ui.Link(i18n.T(ctx, "deliveries.batches.one-of", len(b.Members)), area.Batch(b.ID))}}, nil
}
