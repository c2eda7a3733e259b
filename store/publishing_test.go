package store_test

import (
	"testing"

	"schakel/store"
)

// Who publishes what: clients with types, parties with processes by which messages come in, and the ways between partners.
func TestWhoPublishes(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		c := store.Client{PartnerID: w.partner.ID, Name: "C", AuthMethod: "private_key_jwt", Status: store.ClientActive, PublishTypes: []string{"nl.*"}}
		idle := store.Client{PartnerID: w.partner.ID, Name: "D", AuthMethod: "private_key_jwt", Status: store.ClientActive}
		w.write(func(tx *store.Tx) error {
			noErr(t, tx.InsertClient(w.ctx, &c))
			return tx.InsertClient(w.ctx, &idle)
		})
		clients, err := w.db.PublishingClients(w.ctx)
		same(t, len(clients), err, 1)
		same(t, clients[0].ID, nil, c.ID)
		receiving, err := w.db.AMQPReceiving(w.ctx)
		same(t, len(receiving), err, 0)
		ways := store.NewPassages([]store.Route{{FromPartnerID: "a", ToPartnerID: "b", EventType: "nl.x"}})
		for _, tt := range []struct {
			from, to, eventType string
			fromOwn, toOwn, may bool
		}{
			{"a", "b", "nl.x", false, false, true},
			{"b", "a", "nl.x", false, false, false},
			{"a", "b", "nl.y", false, false, false},
			{"o", "b", "nl.y", true, false, true},
			{"a", "o", "nl.y", false, true, true},
			{"a", "a", "nl.x", false, false, false},
		} {
			same(t, ways.May(tt.from, tt.fromOwn, tt.to, tt.toOwn, tt.eventType), nil, tt.may)
		}
		w.write(func(tx *store.Tx) error {
			noErr(t, tx.InsertLink(w.ctx, []byte("h"), "confirm-email", "ptn_1", w.in(1000000000)))
			return tx.RevokeLinks(w.ctx, "confirm-email", "ptn_1")
		})
		_, err = w.db.LinkSubject(w.ctx, []byte("h"), "confirm-email", w.now())
		if err != store.ErrNotFound {
			t.Errorf("a revoked link: %v", err)
		}
	})
}
