package store_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"schakel/store"
)

func deliveryID(d store.Delivery) string { return d.ID }

// set writes columns of a delivery directly.
func (w *world) set(id, assignments string, args ...any) {
	w.t.Helper()
	_, pool := w.db.Pools()
	if _, err := pool.ExecContext(w.ctx, pool.Rebind(`UPDATE delivery SET `+assignments+` WHERE id = ?`), append(args, id)...); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) status(id string) string {
	w.t.Helper()
	d, err := w.db.Delivery(w.ctx, id)
	noErr(w.t, err)
	return d.Status
}

// Rules: IDEM-X03.
func TestDelivery(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		e := w.newEvents(1)[0]
		a := delivery("dlv_1", e.ID, w.subscription, w.in(time.Hour))
		b := delivery("dlv_2", e.ID, store.Subscription{PartnerID: w.partner.ID, EndpointID: w.endpoint.ID}, store.Time{})
		b.Status = store.DeliveryHeld
		b.KeyExpiresAt = w.now()
		w.write(func(tx *store.Tx) error { return tx.InsertDeliveries(w.ctx, []store.Delivery{b, a}) })
		a.CreatedAt, a.UpdatedAt, b.CreatedAt, b.UpdatedAt = w.now(), w.now(), w.now(), w.now()
		gives(t, b)(w.db.Delivery(w.ctx, b.ID))
		gives(t, []store.Delivery{a, b})(w.db.DeliveriesOf(w.ctx, e.ID))
		missing(t)(w.db.Delivery(w.ctx, "dlv_none"))
		w.fails(store.ErrConflict, func(tx *store.Tx) error { return tx.InsertDeliveries(w.ctx, []store.Delivery{a}) })
	})
}

func TestDeliveries(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		other := w.newSubscription(w.newEndpoint(w.own.ID), store.SubscriptionApproved)
		ids := w.newDeliveries(w.subscription, 3)
		w.clock.Advance(time.Hour)
		theirs := w.newDeliveries(other, 1)[0]
		w.set(ids[0], `status = 'dead', reason = 'gone', event_type = 'nl.x'`)
		w.set(ids[1], `status = 'held', reason = 'rejected'`)
		newest := []string{theirs, ids[2], ids[1], ids[0]}
		third, _ := w.db.Delivery(w.ctx, ids[2])
		event, _ := w.db.Event(w.ctx, third.EventID)
		type filter = store.DeliveryFilter
		for name, c := range map[string]struct {
			f     filter
			want  []string
			total int
		}{
			"all":          {filter{}, newest, 4},
			"page":         {filter{Page: store.Page{Number: 2, Size: 3}}, newest[3:], 4},
			"ids":          {filter{IDs: ids[:2]}, newest[2:], 2},
			"status":       {filter{Statuses: []string{"dead"}}, newest[3:], 1},
			"statuses":     {filter{Statuses: []string{"dead", "held"}}, newest[2:], 2},
			"reason":       {filter{Reason: "rejected"}, newest[2:3], 1},
			"reasons":      {filter{Reasons: []string{"rejected", "gone"}}, newest[2:], 2},
			"partner":      {filter{PartnerID: w.own.ID}, newest[:1], 1},
			"endpoint":     {filter{EndpointID: w.endpoint.ID}, newest[1:], 3},
			"subscription": {filter{SubscriptionID: other.ID}, newest[:1], 1},
			"event":        {filter{EventID: third.EventID}, newest[1:2], 1},
			"event type":   {filter{EventType: "nl.x"}, newest[3:], 1},
			"CloudEvent":   {filter{CEID: event.CEID}, newest[1:2], 1},
			"from":         {filter{From: w.now()}, newest[:1], 1},
			"until":        {filter{Until: w.now()}, newest[1:], 3},
			"made":         {filter{MadeFrom: w.now()}, newest[:1], 1},
			"made and of":  {filter{MadeFrom: w.now(), PartnerID: w.partner.ID}, []string{}, 0},
			"after":        {filter{AfterID: ids[1]}, newest[:2], 2},
			"nothing":      {filter{PartnerID: w.own.ID, Reason: "gone"}, []string{}, 0},
		} {
			t.Run(name, func(t *testing.T) {
				listed(t, deliveryID, c.want, c.total)(w.db.Deliveries(w.ctx, c.f))
				gives(t, c.total)(w.db.CountDeliveries(w.ctx, c.f))
				var again filter
				text, err := json.Marshal(c.f)
				same(t, json.Unmarshal(text, &again), err, nil)
				gives(t, c.total)(w.db.CountDeliveries(w.ctx, again))
			})
		}
		gives(t, ids[:2])(w.db.DeliveryIDs(w.ctx, filter{PartnerID: w.partner.ID}, 2))
		gives(t, ids[2:])(w.db.DeliveryIDs(w.ctx, filter{PartnerID: w.partner.ID, AfterID: ids[1]}, 2))
	})
}

// What is open at stopped endpoints can be listed with what is held, for whichever filter.
func TestDeliveriesAtStoppedEndpoints(t *testing.T) {
	for _, status := range []string{store.EndpointPaused, store.EndpointSuspended} {
		t.Run(status, func(t *testing.T) { deliveriesAtStopped(t, status) })
	}
}

func deliveriesAtStopped(t *testing.T, status string) {
	each(t, func(t *testing.T, w *world) {
		stopped := w.newSubscription(w.newEndpoint(w.own.ID), store.SubscriptionApproved)
		w.write(func(tx *store.Tx) error {
			ep, err := tx.Endpoint(w.ctx, stopped.EndpointID)
			ep.Status = status
			return errors.Join(err, tx.UpdateEndpoint(w.ctx, &ep))
		})
		ids := w.newDeliveries(w.subscription, 3)
		waiting := w.newDeliveries(stopped, 3)
		w.set(ids[0], `status = 'held', reason = 'endpoint-suspended'`)
		w.set(ids[1], `status = 'held', reason = 'rejected'`)
		w.set(waiting[1], `status = 'retrying', reason = 'timeout'`)
		w.set(waiting[2], `status = 'dead', reason = 'gone'`)
		first, err := w.db.Delivery(w.ctx, waiting[0])
		same(t, first.EndpointID, err, stopped.EndpointID)
		type filter = store.DeliveryFilter
		of := func(f filter) filter {
			f.Statuses, f.Reasons, f.Stopped = []string{store.DeliveryHeld}, []string{"endpoint-suspended"}, true
			return f
		}
		for name, c := range map[string]struct {
			f    filter
			want []string
		}{
			"all":     {of(filter{}), []string{waiting[1], waiting[0], ids[0]}},
			"page":    {of(filter{Page: store.Page{Number: 2, Size: 2}}), []string{ids[0]}},
			"partner": {of(filter{PartnerID: w.partner.ID}), ids[:1]},
			"of them": {of(filter{EndpointID: stopped.EndpointID}), []string{waiting[1], waiting[0]}},
			"event":   {of(filter{EventID: first.EventID}), waiting[:1]},
			"kind":    {of(filter{Reason: "timeout"}), waiting[1:2]},
		} {
			rows, total, err := w.db.Deliveries(w.ctx, c.f)
			var got []string
			for _, d := range rows {
				got = append(got, d.ID)
			}
			same(t, got, err, c.want)
			if name != "page" {
				same(t, total, nil, len(c.want))
			}
			gives(t, total)(w.db.CountDeliveries(w.ctx, c.f))
		}
	})
}

func TestDeliveryCounts(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ids := w.newDeliveries(w.subscription, 3)
		w.newDeliveries(w.newSubscription(w.newEndpoint(w.own.ID), store.SubscriptionApproved), 1)
		w.set(ids[0], `status = 'dead', reason = 'gone'`)
		w.set(ids[1], `status = 'held', reason = 'a'`)
		newest := func(f store.DeliveryFilter, most int) (ids []string) {
			rows, err := w.db.NewestDeliveries(w.ctx, f, most)
			noErr(t, err)
			for _, d := range rows {
				ids = append(ids, d.ID)
			}
			return ids
		}
		unsent := store.DeliveryFilter{PartnerID: w.partner.ID, Statuses: []string{"dead", "held"}}
		same(t, newest(unsent, 5), nil, []string{ids[1], ids[0]})
		same(t, newest(unsent, 1), nil, ids[1:2])
		same(t, newest(store.DeliveryFilter{IDs: ids[2:3]}, 5), nil, ids[2:3])
		gives(t, map[string]int{"dead": 1, "held": 1, "pending": 1})(w.db.CountDeliveriesBy(w.ctx, w.partner.ID))
		gives(t, map[string]int{"dead": 1, "held": 1, "pending": 2})(w.db.CountDeliveriesBy(w.ctx, ""))
		reasons, err := w.db.DeliveryReasons(w.ctx, w.partner.ID, "dead", "held")
		same(t, reasons, err, []string{"a", "gone"})
		reasons, err = w.db.DeliveryReasons(w.ctx, "", "dead")
		same(t, reasons, err, []string{"gone"})
		reasons, err = w.db.DeliveryReasons(w.ctx, w.own.ID)
		same(t, len(reasons), err, 0)
	})
}
