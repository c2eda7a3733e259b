package store_test

import (
	"errors"
	"testing"
	"time"

	"schakel/store"
)

// Subscribers of a type are partners with a subscription that takes events, each once, and never the own organisation.
func TestSubscribersOf(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		rows, err := w.db.SubscribersOf(w.ctx, "nl.a")
		same(t, len(rows), err, 0)
		e := store.Endpoint{PartnerID: w.partner.ID, Name: "E", Kind: store.EndpointPull, Status: store.EndpointActive}
		own := store.Endpoint{PartnerID: w.own.ID, Name: "O", Kind: store.EndpointPull, Status: store.EndpointActive}
		w.write(func(tx *store.Tx) error {
			noErr(t, tx.InsertEndpoint(w.ctx, &e))
			noErr(t, tx.InsertEndpoint(w.ctx, &own))
			for _, to := range []store.Endpoint{e, e, own} {
				s := store.Subscription{PartnerID: to.PartnerID, EndpointID: to.ID, Status: store.SubscriptionApproved, Types: []string{"nl.a"}}
				noErr(t, tx.InsertSubscription(w.ctx, &s))
			}
			waits := store.Subscription{PartnerID: w.partner.ID, EndpointID: e.ID, Status: store.SubscriptionRequested, Types: []string{"nl.b"}}
			return tx.InsertSubscription(w.ctx, &waits)
		})
		rows, err = w.db.SubscribersOf(w.ctx, "nl.a")
		same(t, len(rows), err, 1)
		same(t, rows[0].ID, nil, w.partner.ID)
		rows, err = w.db.SubscribersOf(w.ctx, "nl.b")
		same(t, len(rows), err, 0)
	})
}

// The last answer about a mandate takes the place of the one before.
func TestMandate(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		save := func(m store.Mandate) {
			w.write(func(tx *store.Tx) error { return tx.SaveMandate(w.ctx, &m) })
		}
		yes := store.Mandate{Intermediary: "a", Organisation: "b", Service: "s", Mandated: true, AskedAt: w.in(0)}
		no := store.Mandate{Intermediary: "a", Organisation: "b", Service: "s", AskedAt: w.in(time.Hour)}
		other := store.Mandate{Intermediary: "a", Organisation: "a", Service: "s", Mandated: true, AskedAt: w.in(0)}
		save(yes)
		gives(t, yes)(w.db.Mandate(w.ctx, "a", "b", "s"))
		save(no)
		save(other)
		gives(t, no)(w.db.Mandate(w.ctx, "a", "b", "s"))
		rows, err := w.db.MandatesOf(w.ctx, "a", 10)
		same(t, len(rows), err, 2)
		same(t, rows[0], nil, other)
		if _, err := w.db.Mandate(w.ctx, "a", "b", "t"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("another service: %v", err)
		}
	})
}
