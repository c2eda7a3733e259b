package store_test

import (
	"testing"
	"time"

	"schakel/store"
)

func TestSubscription(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		other := w.newEndpoint(w.partner.ID)
		var s store.Subscription
		fill(&s, 2, "PartnerID", "EndpointID", "Status")
		s.PartnerID, s.EndpointID, s.Status, s.Types = w.partner.ID, w.endpoint.ID, store.SubscriptionRequested, []string{"nl.b", "nl.a"}
		s.Versions = map[string]string{"nl.b": "2"}
		w.write(func(tx *store.Tx) error { return tx.InsertSubscription(w.ctx, &s) })
		s.Types = []string{"nl.a", "nl.b"}
		got, err := w.db.Subscription(w.ctx, s.ID)
		same(t, got, err, s)

		w.clock.Advance(time.Second)
		fill(&s, 4, "ID", "PartnerID", "EndpointID", "DatasetID", "CreatedAt")
		s.EndpointID, s.Status, s.Types = other.ID, store.SubscriptionApproved, []string{"nl.c"}
		s.Versions = nil
		w.write(func(tx *store.Tx) error {
			if err := tx.SetSubscriptionTypes(w.ctx, s.ID, s.Types, s.Versions); err != nil {
				return err
			}
			return tx.UpdateSubscription(w.ctx, &s)
		})
		s.Accepting, s.Sending = true, true
		got, err = w.db.Subscription(w.ctx, s.ID)
		same(t, got, err, s)
		got, err = w.db.Subscription(w.ctx, "sub_none")
		missing(t, got, err)
		w.fails(store.ErrConflict, func(tx *store.Tx) error {
			return tx.SetSubscriptionTypes(w.ctx, s.ID, []string{"nl.twice", "nl.twice"}, nil)
		})
	})
}

func TestSubscriptionStatusDecidesWhatItMay(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for status, want := range map[string][2]bool{
			store.SubscriptionRequested: {false, false},
			store.SubscriptionApproved:  {true, true},
			store.SubscriptionPaused:    {true, false},
			store.SubscriptionSuspended: {false, false},
			store.SubscriptionEnded:     {false, false},
			store.SubscriptionRejected:  {false, false},
		} {
			s, err := w.db.Subscription(w.ctx, w.newSubscription(w.endpoint, status).ID)
			same(t, [2]bool{s.Accepting, s.Sending}, err, want)
		}
	})
}

func TestSubscriptions(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		own := w.newEndpoint(w.own.ID)
		a := w.newSubscription(own, store.SubscriptionApproved, "nl.a", eventType)
		b := w.newSubscription(w.endpoint, store.SubscriptionPaused)
		all := []string{b.ID, a.ID, w.subscription.ID}
		id := func(s store.Subscription) string { return s.ID }
		for name, c := range map[string]struct {
			f     store.SubscriptionFilter
			want  []string
			total int
		}{
			"all":      {store.SubscriptionFilter{}, all, 3},
			"page":     {store.SubscriptionFilter{Page: store.Page{Number: 2, Size: 1}}, all[1:2], 3},
			"partner":  {store.SubscriptionFilter{PartnerID: w.own.ID}, []string{a.ID}, 1},
			"endpoint": {store.SubscriptionFilter{EndpointID: w.endpoint.ID}, []string{b.ID, w.subscription.ID}, 2},
			"status":   {store.SubscriptionFilter{Status: store.SubscriptionPaused}, []string{b.ID}, 1},
			"type":     {store.SubscriptionFilter{EventType: eventType}, []string{a.ID, w.subscription.ID}, 2},
			"none":     {store.SubscriptionFilter{Status: "x"}, []string{}, 0},
			"dataset":  {store.SubscriptionFilter{DatasetID: "x"}, []string{}, 0},
			"open":     {store.SubscriptionFilter{Open: true, EventType: eventType}, []string{a.ID, w.subscription.ID}, 2},
			"before":   {store.SubscriptionFilter{Before: all[0]}, all[1:], 2},
			"datasets": {store.SubscriptionFilter{OfDatasets: true}, []string{}, 0},
			"types":    {store.SubscriptionFilter{OfTypes: true}, all, 3},
		} {
			t.Run(name, func(t *testing.T) { listed(t, id, c.want, c.total)(w.db.Subscriptions(w.ctx, c.f)) })
		}
		rows, _, err := w.db.Subscriptions(w.ctx, store.SubscriptionFilter{PartnerID: w.own.ID})
		same(t, rows[0].Types, err, []string{"nl.a", eventType})
		counts, err := w.db.CountSubscriptions(w.ctx)
		same(t, counts, err, map[string]int{store.SubscriptionApproved: 2, store.SubscriptionPaused: 1})
	})
}
