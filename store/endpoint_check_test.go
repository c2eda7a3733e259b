package store_test

import (
	"testing"

	"schakel/store"
)

// An endpoint has one check at a time and keeps the newest few; one that got no result does not keep the next back.
func TestEndpointChecks(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		partner := store.Partner{Name: "A", Status: store.PartnerApproved}
		var endpoints [2]store.Endpoint
		w.write(func(tx *store.Tx) error {
			if err := tx.InsertPartner(w.ctx, &partner); err != nil {
				return err
			}
			for i := range endpoints {
				endpoints[i] = store.Endpoint{PartnerID: partner.ID, Name: "E", Kind: store.EndpointWebhook, Status: store.EndpointActive}
				if err := tx.InsertEndpoint(w.ctx, &endpoints[i]); err != nil {
					return err
				}
			}
			return nil
		})
		mine, other := endpoints[0].ID, endpoints[1].ID
		begin := func(id string) store.EndpointCheck {
			t.Helper()
			c := store.EndpointCheck{EndpointID: id, StartedBy: "Ada", ConfigVersion: 3}
			w.write(func(tx *store.Tx) error { return tx.BeginEndpointCheck(w.ctx, &c) })
			return c
		}
		first := begin(mine)
		begin(other)
		w.fails(store.ErrConflict, func(tx *store.Tx) error {
			return tx.BeginEndpointCheck(w.ctx, &store.EndpointCheck{EndpointID: mine})
		})
		first.Result, first.Faults, first.Report = "fault", 2, `{"findings":[]}`
		w.write(func(tx *store.Tx) error { return tx.FinishEndpointCheck(w.ctx, &first) })
		got, err := w.db.EndpointCheck(w.ctx, mine, first.ID)
		if err != nil || got.Faults != 2 || got.Report != first.Report || got.FinishedAt.IsZero() || got.ConfigVersion != 3 {
			t.Fatalf("%+v, %v", got, err)
		}
		missing(t)(w.db.EndpointCheck(w.ctx, other, first.ID))
		begin(mine) // gets no result
		w.clock.Advance(store.CheckPatience)
		for range store.MaxEndpointChecks + 1 {
			c := begin(mine)
			c.Result = "pass"
			w.write(func(tx *store.Tx) error { return tx.FinishEndpointCheck(w.ctx, &c) })
			w.clock.Advance(1000)
		}
		rows, err := w.db.EndpointChecks(w.ctx, mine)
		if err != nil || len(rows) != store.MaxEndpointChecks || rows[0].Result != "pass" || rows[0].Report != "" {
			t.Errorf("%d rows, %v", len(rows), err)
		}
		rows, err = w.db.EndpointChecks(w.ctx, other)
		if err != nil || len(rows) != 1 || rows[0].Runs(w.clock.Now()) {
			t.Errorf("%+v, %v", rows, err)
		}
	})
}
