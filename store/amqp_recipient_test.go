package store_test

import (
	"cmp"
	"errors"
	"slices"
	"testing"

	"schakel/store"
)

func TestHasRecipient(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		const ownType = "nl.voorbeeld.eigen"
		sender := store.Partner{Name: "Sender", OIN: "00000001123456789001", Status: store.PartnerApproved}
		w.write(func(tx *store.Tx) error { return tx.InsertPartner(w.ctx, &sender) })
		has := func(eventType, from string, want bool) {
			t.Helper()
			got, err := w.db.HasRecipient(w.ctx, eventType, from)
			same(t, got, err, want)
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
			rows, err := w.db.AMQPWithoutRecipient(w.ctx, partner)
			same(t, rows, err, want)
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
