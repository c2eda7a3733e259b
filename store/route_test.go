package store_test

import (
	"cmp"
	"errors"
	"testing"
	"time"

	"schakel/store"
)

func TestRoutes(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		r := store.Route{FromPartnerID: w.partner.ID, ToPartnerID: w.own.ID, EventType: eventType, CreatedBy: "acc_1"}
		q := store.Route{FromPartnerID: w.own.ID, ToPartnerID: w.partner.ID, EventType: eventType}
		epoch, _ := w.db.FanoutEpoch(w.ctx)
		w.write(func(tx *store.Tx) error { return tx.InsertRoute(w.ctx, &r) })
		w.write(func(tx *store.Tx) error { return tx.InsertRoute(w.ctx, &q) })
		inserted, err := w.db.FanoutEpoch(w.ctx)
		same(t, inserted != epoch, err, true)
		gives(t, []store.Route{q, r})(w.db.Routes(w.ctx))
		w.fails(store.ErrConflict, func(tx *store.Tx) error {
			return tx.InsertRoute(w.ctx, &store.Route{FromPartnerID: w.partner.ID, ToPartnerID: w.own.ID, EventType: eventType})
		})
		w.write(func(tx *store.Tx) error { return tx.DeleteRoute(w.ctx, r.ID) })
		deleted, err := w.db.FanoutEpoch(w.ctx)
		same(t, deleted != inserted, err, true)
		gives(t, []store.Route{q})(w.db.Routes(w.ctx))
		w.fails(store.ErrNotFound, func(tx *store.Tx) error { return tx.DeleteRoute(w.ctx, r.ID) })
	})
}

func TestFanoutTargets(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		own := w.newEndpoint(w.own.ID)
		paused := w.newSubscription(own, store.SubscriptionPaused, eventType, "nl.a")
		w.newSubscription(w.endpoint, store.SubscriptionRequested, eventType)
		w.newSubscription(w.endpoint, store.SubscriptionSuspended, eventType)
		target := func(typ string, s store.Subscription, isOwn bool) store.FanoutTarget {
			return store.FanoutTarget{EventType: typ, SubscriptionID: s.ID, PartnerID: s.PartnerID, EndpointID: s.EndpointID, Own: isOwn, Sending: s.Status == store.SubscriptionApproved}
		}
		gives(t, []store.FanoutTarget{
			target("nl.a", paused, true), target(eventType, w.subscription, false), target(eventType, paused, true),
		})(w.db.FanoutTargets(w.ctx))
	})
}

// Every change of what decides fan-out changes the epoch, in its own transaction: one that fails leaves no trace.
func TestFanoutEpoch(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		changes := map[string]func(tx *store.Tx) error{
			"endpoint": func(tx *store.Tx) error { e := w.endpoint; return tx.UpdateEndpoint(w.ctx, &e) },
			"types": func(tx *store.Tx) error {
				return tx.SetSubscriptionTypes(w.ctx, w.subscription.ID, []string{"nl.x"}, nil)
			},
			"status":  func(tx *store.Tx) error { s := w.subscription; return tx.UpdateSubscription(w.ctx, &s) },
			"partner": func(tx *store.Tx) error { p := w.partner; return tx.UpdatePartner(w.ctx, &p) },
		}
		for name, change := range changes {
			before, _ := w.db.FanoutEpoch(w.ctx)
			within := ""
			w.fails(errStop, func(tx *store.Tx) (err error) {
				if err := change(tx); err != nil {
					return err
				}
				within, err = tx.FanoutEpoch(w.ctx)
				return cmp.Or(err, errStop)
			})
			gives(t, before)(w.db.FanoutEpoch(w.ctx))
			w.write(change)
			if after, err := w.db.FanoutEpoch(w.ctx); after == before || after == within || err != nil {
				t.Errorf("%s: epoch is %s after %s, and %s in what was undone, %v", name, after, before, within, err)
			}
		}
	})
}

func TestSetting(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for _, want := range []string{"", "een", "twee"} {
			if want != "" {
				w.write(func(tx *store.Tx) error { return tx.SetSetting(w.ctx, "naam", want) })
			}
			gives(t, want)(w.db.Setting(w.ctx, "naam"))
		}
	})
}

func TestSwapSetting(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		swap := func(before, after string) error {
			return w.db.Write(w.ctx, func(tx *store.Tx) error { return tx.SwapSetting(w.ctx, "swapped", before, after) })
		}
		for i, step := range []struct {
			before, after string
			want          error
		}{
			{"absent", "1", store.ErrConflict}, {"", "1", nil}, {"", "2", store.ErrConflict}, {"1", "2", nil}, {"1", "3", store.ErrConflict}, {"2", "3", nil},
		} {
			if err := swap(step.before, step.after); !errors.Is(err, step.want) {
				t.Errorf("step %d: %v", i, err)
			}
		}
		got, err := w.db.Setting(w.ctx, "swapped")
		if err != nil || got != "3" {
			t.Errorf("got %q, %v", got, err)
		}
	})
}

func TestSubscription(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		other := w.newEndpoint(w.partner.ID)
		var s store.Subscription
		fill(&s, 2, "PartnerID", "EndpointID", "Status")
		s.PartnerID, s.EndpointID, s.Status, s.Types = w.partner.ID, w.endpoint.ID, store.SubscriptionRequested, []string{"nl.b", "nl.a"}
		s.Versions = map[string]string{"nl.b": "2"}
		w.write(func(tx *store.Tx) error { return tx.InsertSubscription(w.ctx, &s) })
		s.Types = []string{"nl.a", "nl.b"}
		gives(t, s)(w.db.Subscription(w.ctx, s.ID))

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
		gives(t, s)(w.db.Subscription(w.ctx, s.ID))
		missing(t)(w.db.Subscription(w.ctx, "sub_none"))
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
		gives(t, map[string]int{store.SubscriptionApproved: 2, store.SubscriptionPaused: 1})(w.db.CountSubscriptions(w.ctx))
	})
}
