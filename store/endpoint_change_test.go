package store_test

import (
	"slices"
	"testing"
	"time"

	"schakel/store"
)

// A change of status and of circuit is written once, with the probes that failed between; what an endpoint is now is never pruned.
func TestEndpointChanges(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		e := w.endpoint
		states := func(since store.Time) (all []string) {
			rows, err := w.db.EndpointChanges(w.ctx, e.ID, since)
			noErr(t, err)
			for _, r := range rows {
				all = append(all, r.Kind+" "+r.State)
			}
			return all
		}
		circuit := func(state string) {
			w.clock.Advance(time.Minute)
			e.Circuit = state
			w.write(func(tx *store.Tx) error { return tx.SaveCircuit(w.ctx, &e) })
		}
		status := func(state string) {
			w.clock.Advance(time.Minute)
			e.Status = state
			w.write(func(tx *store.Tx) error { return tx.UpdateEndpoint(w.ctx, &e) })
		}
		start := w.now()
		circuit(store.CircuitClosed) // as it was
		circuit(store.CircuitOpen)
		circuit(store.CircuitOpen)
		opened := w.in(0)
		status(store.EndpointPaused)
		status(store.EndpointPaused)
		circuit(store.CircuitClosed)
		status(store.EndpointActive)
		want := []string{"status active", "circuit open", "probe half-open", "status paused", "circuit closed", "status active"}
		if got := states(store.At(start.Add(-time.Hour))); !slices.Equal(got, want) {
			t.Errorf("changes %q, want %q", got, want)
		}
		if got := states(store.At(opened.Add(time.Second))); !slices.Equal(got, []string{"status active", "circuit open", "status paused", "circuit closed", "status active"}) {
			t.Errorf("changes since it opened %q", got)
		}
		w.clock.Advance(40 * 24 * time.Hour)
		w.write(func(tx *store.Tx) error {
			_, err := tx.PruneEndpointChanges(w.ctx, store.At(tx.Now.Add(-31*24*time.Hour)), "", 100)
			return err
		})
		if got := states(store.At(start.Add(-time.Hour))); !slices.Equal(got, []string{"circuit closed", "status active"}) {
			t.Errorf("left are %q", got)
		}
	})
}
