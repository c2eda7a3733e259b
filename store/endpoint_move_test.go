package store_test

import (
	"testing"
	"time"

	"schakel/store"
)

// One change of an endpoint waits at a time, its challenge is asked for by one node, and its secrets go once it is decided.
func TestEndpointMoves(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ask := func(mode string) store.EndpointMove {
			t.Helper()
			m := store.EndpointMove{EndpointID: w.endpoint.ID, PartnerID: w.partner.ID, Mode: mode, URL: "https://new.example", TokenSecret: "sealed", Certificates: "[]", AskedName: "Pat"}
			w.write(func(tx *store.Tx) error {
				m.ExpiresAt = store.At(tx.Now.Add(time.Hour))
				return tx.InsertEndpointMove(w.ctx, &m)
			})
			return m
		}
		first := ask(store.MoveApproval)
		if rows, err := w.db.MovesToApprove(w.ctx, store.At(w.clock.Now())); err != nil || len(rows) != 1 || rows[0].ID != first.ID || !rows[0].WaitsAt(store.At(w.clock.Now())) {
			t.Errorf("to approve: %+v, %v", rows, err)
		}
		second := ask(store.MoveProof)
		w.fails(store.ErrConflict, func(tx *store.Tx) error { return tx.DecideEndpointMove(w.ctx, &first) })
		claim := func(since time.Time) (rows []store.EndpointMove) {
			w.write(func(tx *store.Tx) (err error) {
				rows, err = tx.ClaimEndpointMoves(w.ctx, store.At(since))
				return err
			})
			return rows
		}
		before := w.clock.Now().Add(-time.Minute)
		if due, err := w.db.HasMovesDue(w.ctx, store.At(w.clock.Now()), store.At(before)); err != nil || !due {
			t.Errorf("due: %v, %v", due, err)
		}
		if rows := claim(before); len(rows) != 1 || rows[0].ID != second.ID {
			t.Errorf("claimed %+v", rows)
		}
		if rows := claim(before); len(rows) != 0 {
			t.Errorf("claimed twice: %+v", rows)
		}
		w.write(func(tx *store.Tx) error { return tx.NoteMoveTried(w.ctx, second.ID, "no answer") })
		if got, err := w.db.EndpointMove(w.ctx, w.endpoint.ID); err != nil || got.Tried != "no answer" || got.TriedAt.IsZero() || got.TokenSecret != "sealed" {
			t.Errorf("tried: %+v, %v", got, err)
		}
		w.clock.Advance(2 * time.Hour)
		w.write(func(tx *store.Tx) error {
			rows, err := tx.ExpireEndpointMoves(w.ctx)
			if err == nil && (len(rows) != 1 || rows[0].ID != second.ID) {
				t.Errorf("expired %+v", rows)
			}
			return err
		})
		if got, err := w.db.EndpointMove(w.ctx, w.endpoint.ID); err != nil || got.Status != store.MoveExpired || got.TokenSecret != "" || got.Certificates != "" {
			t.Errorf("expired: %+v, %v", got, err)
		}
	})
}
