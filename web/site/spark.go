package site

import (
	"context"

	"schakel/store"
	"schakel/templates/ui"
)

// Sparks draws the last 24 hours of each endpoint named, with one query for all. One of which nothing was counted has an empty
// drawing.
func (p *Portal) Sparks(ctx context.Context, endpointIDs []string) (map[string]ui.SparkView, error) {
	counts, err := p.DB.TrafficOfEach(ctx, endpointIDs, store.At(p.Cfg.Now()))
	return sparks(counts), err
}

// PartnerSparks draws the last 24 hours of all endpoints together of each partner named, with one query for all.
func (p *Portal) PartnerSparks(ctx context.Context, partnerIDs []string) (map[string]ui.SparkView, error) {
	counts, err := p.DB.TrafficOfPartners(ctx, partnerIDs, store.At(p.Cfg.Now()))
	return sparks(counts), err
}

func sparks(counts map[string][]store.Traffic) map[string]ui.SparkView {
	drawn := make(map[string]ui.SparkView, len(counts))
	for id, points := range counts {
		var v ui.SparkView
		for _, point := range points {
			v.Delivered, v.Failed = append(v.Delivered, point.Delivered), append(v.Failed, point.Failed)
		}
		drawn[id] = v
	}
	return drawn
}

// FillSparks draws the traffic of the endpoints of a list, best only those of its page.
func (p *Portal) FillSparks(ctx context.Context, rows []ui.EndpointRow) error {
	ids := make([]string, len(rows))
	for i := range rows {
		ids[i] = rows[i].ID
	}
	drawn, err := p.Sparks(ctx, ids)
	for i := range rows {
		rows[i].Spark = drawn[rows[i].ID]
	}
	return err
}
