package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"schakel/registry/sorted"
)

// DeliveryNotice reports that deliveries to an endpoint became held or dead since people were told last (guarantee G10).
type DeliveryNotice struct {
	EndpointID string `db:"endpoint_id"`
	Status     string `db:"status"`      // DeliveryHeld or DeliveryDead
	RaisedAt   Time   `db:"raised_at"`   // when the first of them did; zero when people were told since
	NotifiedAt Time   `db:"notified_at"` // when people were told last; zero for never
	Loud       bool   `db:"loud"`        // a delivery of an event that is no notice is among them; see [IsNoticeType]
	TellSince  Time   `db:"tell_since"`  // RaisedAt of what subscribers have to be told of, by an event; zero for nothing
	TellAt     Time   `db:"tell_at"`     // when people were told of that
}

// raiseNotices notes the endpoints of those deliveries that are held or dead. It needs the endpoint, event type and state of each, and comes after all changes of deliveries in a
// transaction and takes the rows in one order, so that two nodes do not wait for each other.
func (tx *Tx) raiseNotices(ctx context.Context, rows []Delivery) error {
	var keys []DeliveryNotice
	for i := range rows {
		if d := &rows[i]; d.Status == DeliveryHeld || d.Status == DeliveryDead {
			if d.Status == DeliveryDead {
				tx.counting(d.EndpointID).Dead++
			}
			keys = append(keys, DeliveryNotice{EndpointID: d.EndpointID, Status: d.Status, Loud: !IsNoticeType(d.EventType)})
		}
	}
	sorted.By(keys, func(a, b DeliveryNotice) int {
		return cmp.Or(strings.Compare(a.EndpointID, b.EndpointID), strings.Compare(a.Status, b.Status))
	})
	for _, k := range slices.Compact(keys) { // a loud and a silent one beside each other come to the same, in two statements
		_, err := tx.exec(ctx, `INSERT INTO delivery_notice (endpoint_id, status, raised_at, loud) VALUES (?, ?, ?, ?)
			ON CONFLICT (endpoint_id, status) DO UPDATE SET raised_at = COALESCE(delivery_notice.raised_at, excluded.raised_at),
			loud = delivery_notice.loud OR excluded.loud`, k.EndpointID, k.Status, tx.Now, k.Loud)
		if err != nil {
			return fmt.Errorf("raise notice: %w", err)
		}
	}
	return nil
}

// dueNotices returns the notices that may be told of: raised by the first moment given, and not told of since the second.
const dueNotices = `raised_at IS NOT NULL AND raised_at <= ? AND (notified_at IS NULL OR notified_at <= ?)`

// HasDeliveryNotices reports whether DeliveryNotices would find something.
func (q *Queries) HasDeliveryNotices(ctx context.Context, raised, told Time) (bool, error) {
	ids, err := listOf[string](ctx, q, `SELECT endpoint_id FROM delivery_notice WHERE `+dueNotices+` LIMIT 1`, raised, told)
	return len(ids) > 0, err
}

// DeliveryNotices lists up to limit notices that were raised by a moment, the longest raised first, of endpoints that people were not
// told of since another. Until the transaction ends no other node gets them.
func (tx *Tx) DeliveryNotices(ctx context.Context, raised, told Time, limit int) ([]DeliveryNotice, error) {
	return listOf[DeliveryNotice](ctx, &tx.Queries, `SELECT * FROM delivery_notice WHERE `+dueNotices+`
		ORDER BY raised_at, endpoint_id, status LIMIT ?`+tx.skipLocked("delivery_notice"), raised, told, limit)
}

// DeliveryNoticed notes that a notice is done with. told reports whether people got a mail; it is false when nothing is held or
// dead any more. When they did, subscribers have to be told too, unless only deliveries of notices are stuck.
func (tx *Tx) DeliveryNoticed(ctx context.Context, n DeliveryNotice, told bool) error {
	if told {
		n.NotifiedAt = tx.Now
	}
	if told && n.Loud {
		n.TellSince, n.TellAt = n.RaisedAt, tx.Now
	}
	return tx.one(ctx, `UPDATE delivery_notice SET raised_at = NULL, loud = FALSE, notified_at = ?, tell_since = ?, tell_at = ? WHERE endpoint_id = ? AND status = ?`,
		n.NotifiedAt, n.TellSince, n.TellAt, n.EndpointID, n.Status)
}

// NoticesToTell lists up to limit notices that subscribers have to be told of, oldest first.
func (q *Queries) NoticesToTell(ctx context.Context, limit int) ([]DeliveryNotice, error) {
	return listOf[DeliveryNotice](ctx, q, `SELECT * FROM delivery_notice WHERE tell_at IS NOT NULL ORDER BY tell_at, endpoint_id, status LIMIT ?`, limit)
}

// TellNotice notes that subscribers were told of a notice, unless there is a newer one.
func (tx *Tx) TellNotice(ctx context.Context, n DeliveryNotice) error {
	return tx.do(ctx, `UPDATE delivery_notice SET tell_since = NULL, tell_at = NULL WHERE endpoint_id = ? AND status = ? AND tell_at = ?`, n.EndpointID, n.Status, n.TellAt)
}

// StoppedReasons are the reasons for which a delivery is held until an endpoint or a subscription may be sent to again: it is paused or suspended, and has not
// failed. What is held for any other is the error queue.
func StoppedReasons() []string {
	return []string{ReasonEndpointSuspended, ReasonSubscriptionPaused, ReasonSubscriptionSuspended, ReasonSubscriptionEnded}
}

// Stuck counts an endpoint's held deliveries or dead letters, for one kind of error.
type Stuck struct {
	Reason string
	Count  int // up to ListBound + 1, which stands for more than ListBound
	Newest Delivery
}

// StuckDeliveries lists what an endpoint has in a state, by kind of error, the most first, and how many that are in all. It counts
// as the list of deliveries does.
func (q *Queries) StuckDeliveries(ctx context.Context, e Endpoint, status string) (all []Stuck, total int, err error) {
	f := DeliveryFilter{EndpointID: e.ID, PartnerID: e.PartnerID, Statuses: []string{status}, Page: Page{Number: 1, Size: 1}}
	list, err := q.DeliveryList(ctx, f)
	if err != nil || list.Total == 0 {
		return nil, 0, err
	}
	reasons, err := q.DeliveryReasons(ctx, e.PartnerID, status)
	if err != nil {
		return nil, 0, err
	}
	for _, reason := range reasons {
		f.Reason = reason
		l, err := q.DeliveryList(ctx, f)
		if err != nil {
			return nil, 0, err
		}
		if len(l.Rows) > 0 {
			all = append(all, Stuck{reason, l.most(), l.Rows[0]})
		}
	}
	sorted.By(all, func(a, b Stuck) int { return cmp.Or(b.Count-a.Count, strings.Compare(a.Reason, b.Reason)) })
	return all, list.most(), nil
}

// most is the total of a list, more than ListBound when the search stopped before its end.
func (l DeliveryList) most() int {
	if l.Older != "" {
		return ListBound + 1
	}
	return l.Total
}
