package store_test

import (
	"errors"
	"testing"
	"time"

	"schakel/store"
)

// The queue of a registered id is its last part, and a queue below it stays below it.
//
// Rules: AMQP-20, AMQP-50, INC-26
func TestAMQPQueueName(t *testing.T) {
	t.Parallel()
	for id, want := range map[string][2]string{
		"host/ns/8141703_async":                {"8141703_async", ""},
		"93238_sync":                           {"93238_sync", ""},
		"":                                     {"", ""},
		"$odd":                                 {"$odd", ""},
		"93238_async/$DeadLetterQueue":         {"93238_async/$DeadLetterQueue", "93238_async"},
		"host/ns/93238_async/$deadletterqueue": {"93238_async/$deadletterqueue", "93238_async"},
		"host/ns/93238_async/$Transfer/$DeadLetterQueue":         {"93238_async/$Transfer/$DeadLetterQueue", "93238_async"},
		"amqp.example/NHNTESTServiceBus/93238_async/$Management": {"93238_async/$Management", "93238_async"},
	} {
		if name, parent := store.AMQPQueueName(id), store.AMQPParentQueue(id); name != want[0] || parent != want[1] {
			t.Errorf("%q: %q below %q", id, name, parent)
		}
	}
}

// A queue whose messages expire is notified of once, again when its time to live changed, and again when it was well in between.
//
// Rules: AMQP-42, INC-22
func TestAMQPQueues(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		b := w.newBroker("exchange")
		say := func(queues ...store.AMQPQueue) []string {
			t.Helper()
			var names []string
			w.write(func(tx *store.Tx) error {
				if err := tx.SaveAMQPQueues(w.ctx, b.ID, queues, store.At(tx.Now.Add(-24*time.Hour))); err != nil {
					return err
				}
				losing, err := tx.TakeAMQPLosing(w.ctx)
				for _, q := range losing {
					names = append(names, q.Name)
				}
				return err
			})
			w.clock.Advance(time.Hour)
			return names
		}
		well, short := store.AMQPQueue{Name: "well", PartyID: "p", Known: true}, store.AMQPQueue{Name: "short", PartyID: "p", Known: true, TTLMS: 900_000}
		same(t, say(well, short), nil, []string{"short"})
		same(t, say(well, short), nil, []string(nil))
		short.TTLMS = 60_000
		same(t, say(well, short), nil, []string{"short"})
		short.TTLMS = 0
		same(t, say(well, short), nil, []string(nil))
		short.ExpiresMS = 1000
		same(t, say(well, short), nil, []string{"short"})
		expire := func() {
			w.write(func(tx *store.Tx) error { return tx.AMQPExpired(w.ctx, b.ID, "p", "well") })
		}
		expire()
		same(t, say(well), nil, []string{"well"})
		expire()
		same(t, say(well), nil, []string(nil))
		rows, err := w.db.AMQPQueues(w.ctx)
		if err != nil || len(rows) != 2 || rows[0].Name != "short" || !rows[0].Loses(w.clock.Now()) || rows[0].ExpiresMS != 1000 || rows[1].ExpiredAt.IsZero() || !rows[1].Loses(w.clock.Now()) {
			t.Errorf("%+v, %v", rows, err)
		}
		w.clock.Advance(store.AMQPExpiryShown)
		if rows[1].Loses(w.clock.Now()) {
			t.Error("what expired long ago still counts")
		}
		expire()
		same(t, say(well), nil, []string{"well"})
		if rows, err = w.db.AMQPQueues(w.ctx); err != nil || len(rows) != 1 {
			t.Errorf("a queue that nothing is said of stays: %+v, %v", rows, err)
		}
		w.write(func(tx *store.Tx) error { return tx.DeleteAMQPBroker(w.ctx, b.ID) })
		if rows, err = w.db.AMQPQueues(w.ctx); err != nil || len(rows) != 0 {
			t.Errorf("a queue of a broker that is gone stays: %+v, %v", rows, err)
		}
	})
}

// A type is sent by AMQP while an endpoint of that kind has a subscription to it that takes events.
func TestSentByAMQP(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		check := func(step string, any, sent bool) {
			t.Helper()
			gotAny, err := w.db.AnyAMQPEndpoint(w.ctx)
			gotSent, err2 := w.db.SentByAMQP(w.ctx, "no.example.sent")
			if err := errors.Join(err, err2); err != nil || gotAny != any || gotSent != sent {
				t.Errorf("%s: any %v, sent %v, %v", step, gotAny, gotSent, err)
			}
		}
		check("nothing", false, false)
		hook := store.Endpoint{PartnerID: w.partner.ID, Name: "hook", Kind: store.EndpointWebhook, Status: store.EndpointActive, MaxConcurrency: 1, TimeoutMS: 1000}
		e := store.Endpoint{PartnerID: w.partner.ID, Name: "amqp", Kind: store.EndpointAMQP, Status: store.EndpointActive, MaxConcurrency: 1, TimeoutMS: 1000}
		w.write(func(tx *store.Tx) error {
			return errors.Join(tx.InsertEndpoint(w.ctx, &hook), tx.InsertEndpoint(w.ctx, &e))
		})
		subscribe := func(endpoint store.Endpoint, status string, types ...string) {
			w.write(func(tx *store.Tx) error {
				return tx.InsertSubscription(w.ctx, &store.Subscription{PartnerID: w.partner.ID, EndpointID: endpoint.ID, Status: status, Types: types})
			})
		}
		subscribe(hook, store.SubscriptionApproved, "no.example.sent")
		subscribe(e, store.SubscriptionRequested, "no.example.sent")
		subscribe(e, store.SubscriptionApproved, "no.example.other")
		check("not subscribed", true, false)
		subscribe(e, store.SubscriptionApproved, "no.example.sent")
		check("subscribed", true, true)
	})
}
