package store_test

import (
	"errors"
	"testing"
	"time"

	"schakel/store"
)

func TestReadKey(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		var k store.ReadKey
		fill(&k, 1, "PartnerID")
		k.PartnerID = w.partner.ID
		w.write(func(tx *store.Tx) error { return tx.InsertReadKey(w.ctx, &k) })
		got, err := w.db.ReadKey(w.ctx, k.ID)
		same(t, got, err, k)
		got, err = w.db.ReadKeyBySecret(w.ctx, k.SecretHash)
		same(t, got, err, k)
		got, err = w.db.ReadKeyBySecret(w.ctx, "sha256:none")
		missing(t, got, err)

		young := store.ReadKey{PartnerID: w.partner.ID, Name: "young", SecretHash: "h2"}
		w.write(func(tx *store.Tx) error { return tx.InsertReadKey(w.ctx, &young) })
		rows, err := w.db.ReadKeys(w.ctx, w.partner.ID)
		same(t, rows, err, []store.ReadKey{young, k})
		rows, err = w.db.ReadKeys(w.ctx, w.own.ID)
		same(t, len(rows), err, 0)

		w.clock.Advance(time.Hour)
		w.write(func(tx *store.Tx) error {
			young.LastUsedAt, young.RevokedAt, young.RevokeReason = tx.Now, tx.Now, "lost"
			return errors.Join(tx.TouchReadKey(w.ctx, young.ID), tx.RevokeReadKey(w.ctx, young.ID, "lost"))
		})
		got, err = w.db.ReadKey(w.ctx, young.ID)
		same(t, got, err, young)
		err = w.db.Write(w.ctx, func(tx *store.Tx) error { return tx.RevokeReadKey(w.ctx, young.ID, "again") })
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("revoked twice: %v", err)
		}
	})
}
