package store_test

import (
	"cmp"
	"errors"
	"slices"
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

func TestHasRecipient(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		const ownType = "nl.voorbeeld.eigen"
		sender := store.Partner{Name: "Sender", OIN: "00000001123456789001", Status: store.PartnerApproved}
		w.write(func(tx *store.Tx) error { return tx.InsertPartner(w.ctx, &sender) })
		has := func(eventType, from string, want bool) {
			t.Helper()
			gives(t, want)(w.db.HasRecipient(w.ctx, eventType, from))
		}
		route := func(from, to, eventType string) {
			t.Helper()
			r := store.Route{FromPartnerID: from, ToPartnerID: to, EventType: eventType}
			w.write(func(tx *store.Tx) error { return tx.InsertRoute(w.ctx, &r) })
		}
		has(eventType, sender.ID, false) // a partner is subscribed, but there is no route to it
		route(sender.ID, w.partner.ID, ownType)
		route(w.partner.ID, sender.ID, eventType)
		has(eventType, sender.ID, false) // nor of this type and in this direction
		route(sender.ID, w.partner.ID, eventType)
		has(eventType, sender.ID, true)
		has(eventType, w.partner.ID, false)
		has(eventType, "prt_none", false)
		has(ownType, sender.ID, false) // a route, but no subscription
		w.newSubscription(w.newEndpoint(w.own.ID), store.SubscriptionApproved, ownType)
		has(ownType, sender.ID, true) // the own organisation needs no route
		has(ownType, w.partner.ID, true)
		for _, c := range []struct {
			status string
			want   bool
		}{{store.SubscriptionPaused, true}, {store.SubscriptionEnded, false}} {
			w.subscription.Status = c.status
			w.write(func(tx *store.Tx) error { return tx.UpdateSubscription(w.ctx, &w.subscription) })
			has(eventType, sender.ID, c.want)
		}
	})
}

func TestAMQPWithoutRecipient(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		const ownType = "nl.voorbeeld.eigen"
		w.newSubscription(w.newEndpoint(w.own.ID), store.SubscriptionApproved, ownType)
		second := store.Partner{Name: "Second", OIN: "00000001123456789001", Status: store.PartnerApproved}
		w.write(func(tx *store.Tx) error { return tx.InsertPartner(w.ctx, &second) })
		b := w.newBroker("exchange")
		party := func(partner store.Partner, her int64, enabled bool) store.AMQPParty {
			p := store.AMQPParty{PartnerID: partner.ID, BrokerID: b.ID, Kind: store.AMQPHealth, Name: partner.Name, HerID: her, Enabled: enabled}
			w.write(func(tx *store.Tx) error { return tx.InsertAMQPParty(w.ctx, &p) })
			return p
		}
		process := func(p store.AMQPParty, subject, mode, sends, receives, handler string) store.AMQPProcess {
			x := store.AMQPProcess{PartyID: p.ID, OwnPartyID: p.ID, Subject: subject, Mode: mode, Sends: sends, Receives: receives, HandlerID: handler}
			w.write(func(tx *store.Tx) error { return tx.InsertAMQPProcess(w.ctx, &x) })
			return x
		}
		without := func(partner string, want ...store.AMQPProcess) {
			t.Helper()
			gives(t, want)(w.db.AMQPWithoutRecipient(w.ctx, partner))
		}
		without("")
		one, off, two := party(w.partner, 100, true), party(w.partner, 101, false), party(second, 102, true)
		unheard := process(one, "b", store.AMQPAsync, "", eventType, "")
		unanswered := process(one, "a", store.AMQPSync, "", eventType, "")
		process(one, "c", store.AMQPSync, "", eventType, w.endpoint.ID)
		process(one, "d", store.AMQPAsync, eventType, "", "")
		process(one, "e", store.AMQPAsync, "", ownType, "")
		process(off, "f", store.AMQPAsync, "", eventType, "")
		async := process(two, "g", store.AMQPAsync, "", eventType, w.endpoint.ID) // a handler answers requests only
		without("", unanswered, unheard, async)
		without(w.partner.ID, unanswered, unheard)
		without(second.ID, async)
		without("prt_none")
		receiving, err := w.db.AMQPReceiving(w.ctx)
		wanted := []store.AMQPReceiving{{PartnerID: w.partner.ID, EventType: eventType}, {PartnerID: w.partner.ID, EventType: ownType}, {PartnerID: second.ID, EventType: eventType}}
		slices.SortFunc(wanted, func(a, b store.AMQPReceiving) int {
			return cmp.Or(cmp.Compare(a.PartnerID, b.PartnerID), cmp.Compare(a.EventType, b.EventType))
		})
		same(t, receiving, err, wanted)

		r := store.Route{FromPartnerID: second.ID, ToPartnerID: w.partner.ID, EventType: eventType}
		w.write(func(tx *store.Tx) error { return tx.InsertRoute(w.ctx, &r) })
		without("", unanswered, unheard) // a route of one partner is not of another
		w.write(func(tx *store.Tx) error {
			w.partner.Status = store.PartnerSuspended
			return errors.Join(tx.DeleteRoute(w.ctx, r.ID), tx.UpdatePartner(w.ctx, &w.partner))
		})
		without("", async) // a suspended partner's are not in use
	})
}
