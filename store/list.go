package store

import (
	"context"
	"fmt"
)

// ListBound is up to where long lists, of deliveries and events, are counted: counting a million rows for every page would
// make it slow. A total above it, which is ListBound + 1, says that there is more.
const ListBound = 10_000

// longPage is page for a list that may hold millions: its total goes no further than ListBound + 1.
func (q *Queries) longPage(ctx context.Context, rows any, columns, from string, w where, order string, p Page) (int, error) {
	total, err := q.countUpTo(ctx, ListBound+1, from, w)
	if err != nil {
		return 0, err
	}
	limit, offset := p.limits()
	query := fmt.Sprintf(`SELECT %s FROM %s%s ORDER BY %s LIMIT %d OFFSET %d`, columns, from, w.sql(), order, limit, offset)
	return total, q.list(ctx, rows, query, w.args...)
}

func (q *Queries) countUpTo(ctx context.Context, most int, from string, w where) (int, error) {
	var n int
	return n, q.get(ctx, &n, fmt.Sprintf(`SELECT COUNT(*) FROM (SELECT 1 FROM %s%s LIMIT %d) counted`, from, w.sql(), most), w.args...)
}

// DeliveryGroup is how many deliveries of one type there are for one subscription.
type DeliveryGroup struct {
	PartnerID      string `db:"partner_id"`
	EndpointID     string `db:"endpoint_id"`
	SubscriptionID string `db:"subscription_id"`
	EventType      string `db:"event_type"`
	Count          int    `db:"n"`
}

// GroupDeliveries counts what a filter selects by endpoint, subscription and event type, the largest groups first. It counts no
// further than [ListBound] + 1 deliveries in all.
func (q *Queries) GroupDeliveries(ctx context.Context, f DeliveryFilter) ([]DeliveryGroup, error) {
	w := f.where(q)
	var rows []DeliveryGroup
	return rows, q.list(ctx, &rows, fmt.Sprintf(`SELECT partner_id, endpoint_id, subscription_id, event_type, COUNT(*) AS n
		FROM (SELECT partner_id, endpoint_id, subscription_id, event_type FROM delivery%s LIMIT %d) selected`, w.sql(), ListBound+1)+`
		GROUP BY partner_id, endpoint_id, subscription_id, event_type ORDER BY COUNT(*) DESC, endpoint_id, subscription_id, event_type`, w.args...)
}
