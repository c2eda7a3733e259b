package store_test

import (
	"fmt"
	"testing"
	"time"

	"schakel/store"
)

func (w *world) quarantine(key string, n int) store.Quarantine {
	w.t.Helper()
	q := store.Quarantine{
		PartnerID: w.partner.ID, ClientID: w.client.ID, IdempotencyKey: key, Fingerprint: []byte{1}, FirstAnswer: []byte("{}"), ReleaseKey: "r-" + key,
	}
	events := make([]store.QuarantinedEvent, n)
	for i := range events {
		events[i] = store.QuarantinedEvent{Attributes: []byte(fmt.Sprintf(`{"id":"%d"}`, i)), DataKind: 1, Data: []byte("1")}
	}
	w.write(func(tx *store.Tx) error { return tx.InsertQuarantine(w.ctx, &q, events) })
	return q
}

// A quarantined request is kept once with its events, is decided once, and goes when that is long ago.
func TestQuarantine(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		q := w.quarantine("k1", 3)
		again := q
		w.fails(store.ErrConflict, func(tx *store.Tx) error { return tx.InsertQuarantine(w.ctx, &again, nil) })
		found, err := w.db.QuarantineOf(w.ctx, w.client.ID, "k1", []byte{1})
		same(t, found, err, q)
		found, err = w.db.Quarantine(w.ctx, q.ID)
		same(t, found, err, q)
		if _, err := w.db.QuarantineOf(w.ctx, w.client.ID, "k1", []byte{2}); err == nil {
			t.Error("another content is found")
		}
		events, err := w.db.QuarantinedEvents(w.ctx, q.ID)
		if err != nil || len(events) != 3 || string(events[2].Attributes) != `{"id":"2"}` || string(events[2].Data) != "1" {
			t.Errorf("%v, %v", events, err)
		}
		open := w.quarantine("k2", 1)
		if n, err := w.db.CountQuarantined(w.ctx); n != 2 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		rows, total, err := w.db.Quarantines(w.ctx, store.QuarantineFilter{PartnerID: w.partner.ID, ClientID: w.client.ID, Status: store.QuarantineOpen})
		if err != nil || total != 2 || rows[0].ID != open.ID {
			t.Errorf("%v, %d, %v", rows, total, err)
		}
		w.write(func(tx *store.Tx) error {
			return tx.DecideQuarantine(w.ctx, q.ID, store.QuarantineDiscarded, "nonsense", "Ada")
		})
		w.fails(store.ErrConflict, func(tx *store.Tx) error {
			return tx.DecideQuarantine(w.ctx, q.ID, store.QuarantineReleased, "", "Bob")
		})
		if found, err = w.db.Quarantine(w.ctx, q.ID); err != nil || found.Status != store.QuarantineDiscarded || found.Reason != "nonsense" || found.DecidedBy != "Ada" {
			t.Errorf("%+v, %v", found, err)
		}
		w.clock.Advance(time.Hour)
		gone := w.prune(func(tx *store.Tx, cursor string) (store.Pruned, error) {
			return tx.PruneQuarantine(w.ctx, tx.Now, cursor, 2)
		}, 2)
		if left, err := w.db.CountQuarantined(w.ctx); gone != 4 || left != 1 || err != nil {
			t.Errorf("%d rows went, %d left, %v", gone, left, err)
		}
	})
}

// What a subscription was handed is known until it is pruned, each subscription apart.
// Rules: EDU-18b.
func TestHanded(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		a := store.Handed{SubscriptionID: "sub_a", Identity: store.EventIdentity("urn:x", "1")}
		b := store.Handed{SubscriptionID: "sub_b", Identity: a.Identity}
		if a.Identity == store.EventIdentity("urn:x1", "") || a.Identity == store.EventIdentity("urn:x", "2") || len(a.Identity) != 32 {
			t.Error("identities are mixed up")
		}
		hand := func(all ...store.Handed) (fresh map[store.Handed]bool) {
			w.write(func(tx *store.Tx) (err error) {
				fresh, err = tx.InsertHanded(w.ctx, all)
				return err
			})
			return fresh
		}
		if f := hand(a); !f[a] {
			t.Error("the first is not new")
		}
		if f := hand(b, a, b); f[a] || !f[b] {
			t.Errorf("%v: each subscription has its own", f)
		}
		e := w.newEvents(1)[0]
		w.write(func(tx *store.Tx) error {
			return tx.InsertLeftOut(w.ctx, []store.LeftOut{{EventID: e.ID, SubscriptionID: "sub_a", PartnerID: "par_a"}})
		})
		if rows, err := w.db.LeftOutOf(w.ctx, e.ID); err != nil || len(rows) != 1 || rows[0].SubscriptionID != "sub_a" {
			t.Errorf("%v, %v", rows, err)
		}
		w.clock.Advance(time.Second)
		gone := w.prune(func(tx *store.Tx, cursor string) (store.Pruned, error) {
			return tx.PruneHanded(w.ctx, tx.Now, cursor, 2)
		}, 2)
		if f := hand(a); gone != 3 || !f[a] {
			t.Errorf("%d rows went, %v", gone, f)
		}
	})
}

// The switch to leave out repeated events reaches the fan-out.
func TestSubscriptionDedupe(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.subscription.Dedupe = true
		w.write(func(tx *store.Tx) error { return tx.UpdateSubscription(w.ctx, &w.subscription) })
		if rows, err := w.db.FanoutTargets(w.ctx); err != nil || len(rows) != 1 || !rows[0].Dedupe {
			t.Errorf("%+v, %v", rows, err)
		}
	})
}
