package store_test

import (
	"testing"

	"schakel/store"
)

func TestOrder(t *testing.T) { // guarantee G5
	each(t, func(t *testing.T, w *world) {
		events := w.newEvents(4)
		w.write(func(tx *store.Tx) error {
			rows := make([]store.Delivery, len(events))
			for i, key := range []string{"a", "a", "b", ""} {
				rows[i] = delivery([]string{"dlv_1", "dlv_2", "dlv_3", "dlv_4"}[i], events[i].ID, w.subscription, tx.Now)
				rows[i].OrderKey = key
			}
			return tx.InsertDeliveries(w.ctx, rows)
		})
		claim := func() (ids []string) {
			w.write(func(tx *store.Tx) error {
				claimed, err := tx.Claim(w.ctx, w.endpoint.ID, "node_a", 10, w.in(1))
				for _, c := range claimed {
					ids = append(ids, c.ID)
				}
				return err
			})
			return ids
		}
		same(t, claim(), nil, []string{"dlv_1", "dlv_3", "dlv_4"})
		gives(t, "dlv_1")(w.db.WaitsFor(w.ctx, "dlv_2"))
		outcome := func(id, status string) store.Outcome {
			d, err := w.db.Delivery(w.ctx, id)
			same(t, 0, err, 0)
			d.Status = status
			return store.Outcome{Lease: w.lease(id, "node_a"), Attempt: store.Attempt{DeliveryID: id, StartedAt: w.now()}, Delivery: d}
		}
		w.write(func(tx *store.Tx) error {
			return tx.Complete(w.ctx, []store.Outcome{
				outcome("dlv_1", store.DeliveryHeld), outcome("dlv_3", store.DeliveryDelivered), outcome("dlv_4", store.DeliveryDelivered),
			})
		})
		same(t, claim(), nil, []string(nil))
		w.write(func(tx *store.Tx) error {
			_, err := tx.Discard(w.ctx, "dlv_1", "sent by hand")
			return err
		})
		same(t, claim(), nil, []string{"dlv_2"})
		gives(t, "")(w.db.WaitsFor(w.ctx, "dlv_2"))
	})
}

func TestPullInOrder(t *testing.T) { // guarantee G5
	eachPuller(t, func(t *testing.T, p *puller) {
		events := p.newEvents(3)
		p.write(func(tx *store.Tx) error {
			rows := make([]store.Delivery, len(events))
			for i, key := range []string{"a", "a", "b"} {
				rows[i] = delivery([]string{"dlv_1", "dlv_2", "dlv_3"}[i], events[i].ID, p.sub, tx.Now)
				rows[i].OrderKey = key
			}
			return tx.InsertDeliveries(p.ctx, rows)
		})
		first := p.receive(10)
		same(t, len(first), nil, 2) // the first of a, and b
		same(t, p.received(10), nil, []string{})
		p.acknowledge(first, store.PullDone, store.PullDone)
		same(t, p.received(10), nil, []string{"dlv_2"})
	})
}
