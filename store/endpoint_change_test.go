package store_test

import (
	"errors"
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

// The address before another one stays known, also when what else changed is pruned; one that comes back is no exception.
func TestPreviousAddress(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		e := w.endpoint
		move := func(url string) {
			w.clock.Advance(time.Minute)
			e.URL = url
			w.write(func(tx *store.Tx) error { return tx.UpdateEndpoint(w.ctx, &e) })
		}
		first := e.URL
		move(first) // as it was
		if was, err := w.db.PreviousAddress(w.ctx, e.ID); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("it always had one address: %+v %v", was, err)
		}
		move("https://second.example/in?key=a")
		move("https://third.example/in")
		moved := w.in(0)
		w.clock.Advance(40 * 24 * time.Hour)
		w.write(func(tx *store.Tx) error {
			_, err := tx.PruneEndpointChanges(w.ctx, store.At(tx.Now.Add(-31*24*time.Hour)), "", 100)
			return err
		})
		gives(t, store.EndpointChange{Kind: store.ChangeAddress, At: moved, State: "https://second.example/in?key=a"})(w.db.PreviousAddress(w.ctx, e.ID))
		move(first)
		was, err := w.db.PreviousAddress(w.ctx, e.ID)
		same(t, was.State, err, "https://third.example/in")
	})
}
