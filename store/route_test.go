package store_test

import (
	"cmp"
	"testing"

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
		rows, err := w.db.Routes(w.ctx)
		same(t, rows, err, []store.Route{q, r})
		w.fails(store.ErrConflict, func(tx *store.Tx) error {
			return tx.InsertRoute(w.ctx, &store.Route{FromPartnerID: w.partner.ID, ToPartnerID: w.own.ID, EventType: eventType})
		})
		w.write(func(tx *store.Tx) error { return tx.DeleteRoute(w.ctx, r.ID) })
		deleted, err := w.db.FanoutEpoch(w.ctx)
		same(t, deleted != inserted, err, true)
		rows, err = w.db.Routes(w.ctx)
		same(t, rows, err, []store.Route{q})
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
		rows, err := w.db.FanoutTargets(w.ctx)
		same(t, rows, err, []store.FanoutTarget{
			target("nl.a", paused, true), target(eventType, w.subscription, false), target(eventType, paused, true),
		})
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
			rolledBack, err := w.db.FanoutEpoch(w.ctx)
			same(t, rolledBack, err, before)
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
			got, err := w.db.Setting(w.ctx, "naam")
			same(t, got, err, want)
		}
	})
}
