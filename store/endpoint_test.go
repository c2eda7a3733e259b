package store_test

import (
	"testing"
	"time"

	"schakel/store"
)

func TestEndpoint(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		var e store.Endpoint
		fill(&e, 1, "PartnerID", "WaitUntil", "ProbeOwner", "UnaskedAt")
		e.PartnerID = w.partner.ID
		w.write(func(tx *store.Tx) error { return tx.InsertEndpoint(w.ctx, &e) })
		same(t, e.Circuit, nil, store.CircuitClosed)
		gives(t, e)(w.db.Endpoint(w.ctx, e.ID))

		w.clock.Advance(time.Second)
		fill(&e, 2, "ID", "PartnerID", "Kind", "StatusAt", "Circuit", "CircuitFailures", "CircuitOpenedAt", "CircuitProbeAt", "CircuitPlannedAt", "WaitUntil", "ProbeOwner", "UnaskedAt", "InboxAnswer", "CreatedAt")
		version := e.ConfigVersion
		w.write(func(tx *store.Tx) error { return tx.UpdateEndpoint(w.ctx, &e) })
		same(t, e.ConfigVersion, nil, version+1)
		same(t, e.StatusAt, nil, w.now())
		w.clock.Advance(time.Second)
		w.write(func(tx *store.Tx) error { return tx.UpdateEndpoint(w.ctx, &e) })
		same(t, e.StatusAt, nil, w.in(-time.Second)) // the state did not change
		gives(t, e)(w.db.Endpoint(w.ctx, e.ID))

		e.Circuit, e.CircuitFailures, e.CircuitOpenedAt, e.CircuitProbeAt = store.CircuitOpen, 5, w.now(), w.in(time.Minute)
		w.write(func(tx *store.Tx) error { return tx.SaveCircuit(w.ctx, &e) })
		gives(t, e)(w.db.Endpoint(w.ctx, e.ID))
		missing(t)(w.db.Endpoint(w.ctx, "ept_none"))
		gives(t, []store.Endpoint{{ID: e.ID, PartnerID: e.PartnerID, Name: e.Name}})(w.db.EndpointNames(w.ctx, []string{e.ID, "ept_none"}))
		gives(t, map[string]store.Endpoint{e.ID: {ID: e.ID, Kind: e.Kind, Status: e.Status, Windows: e.Windows, Circuit: e.Circuit, CircuitProbeAt: e.CircuitProbeAt}})(w.db.EndpointStates(w.ctx, []string{e.ID, "ept_none"}))
		sub := w.newSubscription(e, store.SubscriptionPaused)
		gives(t, map[string]store.Subscription{sub.ID: {ID: sub.ID, Status: sub.Status}})(w.db.SubscriptionStates(w.ctx, []string{sub.ID, "sub_none"}))
	})
}

// Rules: EDU-12.
func TestProbeNow(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ids := w.newDeliveries(w.subscription, 4)
		w.set(ids[0], "lease_owner = 'node', due_at = ?", w.in(time.Minute)) // in the hands of a node
		w.set(ids[1], "status = 'retrying', due_at = ?", w.in(3*time.Hour))
		w.set(ids[2], "status = 'retrying', due_at = ?", w.in(2*time.Hour))
		w.set(ids[3], "due_at = ?, key_expires_at = ?", w.in(time.Hour), w.in(-time.Second))
		planned := w.in(10 * time.Minute)
		w.endpoint.Circuit, w.endpoint.CircuitOpenedAt, w.endpoint.CircuitProbeAt = store.CircuitOpen, w.now(), planned
		w.write(func(tx *store.Tx) error { return tx.SaveCircuit(w.ctx, &w.endpoint) })
		probe := func(want bool) {
			t.Helper()
			w.write(func(tx *store.Tx) error {
				delivery, err := tx.ProbeNow(w.ctx, &w.endpoint)
				if (delivery == ids[2]) != want {
					t.Errorf("%q goes with the probe", delivery)
				}
				return err
			})
			e, err := w.db.Endpoint(w.ctx, w.endpoint.ID)
			same(t, [2]store.Time{e.CircuitProbeAt, e.CircuitPlannedAt}, err, [2]store.Time{w.now(), planned})
		}
		epoch, err := w.db.FanoutEpoch(w.ctx)
		if err != nil {
			t.Fatal(err)
		}
		probe(true)
		if now, err := w.db.FanoutEpoch(w.ctx); err != nil || now == epoch {
			t.Errorf("nodes are not told: %v", err)
		}
		for i, want := range []store.Time{w.in(time.Minute), w.in(3 * time.Hour), w.now(), w.in(time.Hour)} {
			d, err := w.db.Delivery(w.ctx, ids[i])
			same(t, d.DueAt, err, want)
		}
		due := w.now()
		w.clock.Advance(time.Second)
		probe(true) // what is due stays so, and when the probe was planned is not forgotten
		d, err := w.db.Delivery(w.ctx, ids[2])
		same(t, d.DueAt, err, due)
		for _, id := range ids[1:3] {
			w.set(id, "status = 'dead', due_at = NULL")
		}
		probe(false)
	})
}

func TestEndpoints(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		own := w.newEndpoint(w.own.ID)
		gone := w.newEndpoint(w.partner.ID)
		gone.Status = store.EndpointEnded
		w.write(func(tx *store.Tx) error { return tx.UpdateEndpoint(w.ctx, &gone) })
		id := func(e store.Endpoint) string { return e.ID }
		rows, err := w.db.Endpoints(w.ctx, "")
		listed(t, id, []string{own.ID, w.endpoint.ID}, 2)(rows, len(rows), err)
		rows, err = w.db.Endpoints(w.ctx, w.partner.ID)
		listed(t, id, []string{w.endpoint.ID}, 1)(rows, len(rows), err)

		w.endpoint.Status = store.EndpointEnded
		w.write(func(tx *store.Tx) error { return tx.UpdateEndpoint(w.ctx, &w.endpoint) })
		s, err := w.db.Subscription(w.ctx, w.subscription.ID)
		same(t, [2]bool{s.Accepting, s.Sending}, err, [2]bool{false, false})
	})
}

// waits returns the wait of the world's endpoint as all nodes see it.
func (w *world) waits() store.EndpointWait {
	w.t.Helper()
	rows, err := w.db.EndpointWaits(w.ctx)
	if err != nil || len(rows) > 1 {
		w.t.Fatalf("%+v, %v", rows, err)
	}
	if len(rows) == 0 {
		return store.EndpointWait{}
	}
	return rows[0]
}

func (w *world) takeProbe(owner string, until store.Time) (taken bool, now store.EndpointWait) {
	w.t.Helper()
	w.write(func(tx *store.Tx) (err error) {
		taken, now, err = tx.TakeProbe(w.ctx, w.endpoint.ID, owner, until)
		return err
	})
	return taken, now
}

// Rules: EDU-10.
func TestEndpointWait(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		id := w.endpoint.ID
		extend := func(until store.Time) {
			w.write(func(tx *store.Tx) error { return tx.ExtendWait(w.ctx, id, until) })
		}
		taken, now := w.takeProbe("a", w.in(time.Hour))
		same(t, taken, nil, false) // nothing asked for a wait
		same(t, now.Until, nil, store.Time{})
		extend(w.in(time.Minute))
		extend(w.in(time.Second)) // a shorter one ends no longer one
		same(t, w.waits(), nil, store.EndpointWait{EndpointID: id, Until: w.in(time.Minute)})
		taken, now = w.takeProbe("a", w.in(time.Hour))
		same(t, taken, nil, false)
		same(t, now.Until, nil, w.in(time.Minute))
		w.write(func(tx *store.Tx) error { return tx.ShortenWait(w.ctx, id, w.in(time.Second)) })
		w.clock.Advance(time.Second)

		taken, _ = w.takeProbe("a", w.in(time.Minute))
		same(t, taken, nil, true)
		taken, now = w.takeProbe("b", w.in(time.Minute))
		same(t, taken, nil, false) // one probe at a time
		same(t, now, nil, store.EndpointWait{EndpointID: id, Until: w.in(time.Minute), ProbeOwner: "a"})
		ended := func(owner string) (ended bool) {
			w.write(func(tx *store.Tx) (err error) { ended, err = tx.EndWait(w.ctx, id, owner); return err })
			return ended
		}
		same(t, ended("b"), nil, false)
		w.write(func(tx *store.Tx) error { return tx.GiveProbeBack(w.ctx, id, "a") })
		taken, _ = w.takeProbe("b", w.in(time.Minute))
		same(t, taken, nil, true)
		extend(w.in(time.Second)) // its receiver asks again while the probe is under way
		same(t, w.waits(), nil, store.EndpointWait{EndpointID: id, Until: w.in(time.Second)})
		same(t, ended("b"), nil, false)

		w.clock.Advance(time.Second)
		w.takeProbe("b", w.in(time.Minute))
		w.write(func(tx *store.Tx) error { return tx.FreeProbes(w.ctx, "b") })
		w.takeProbe("a", w.in(time.Minute))
		w.write(func(tx *store.Tx) error { return tx.FreeProbes(w.ctx, "") }) // all of them
		taken, _ = w.takeProbe("c", w.in(time.Minute))
		same(t, taken, nil, true)
		same(t, ended("c"), nil, true)
		same(t, w.waits(), nil, store.EndpointWait{})
	})
}

// What is known of a receiver is forgotten when the endpoint leads to another address.
func TestAnotherAddressForgets(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		note := func() (noted bool) {
			w.write(func(tx *store.Tx) (err error) { noted, err = tx.NoteUnasked(w.ctx, w.endpoint.ID); return err })
			return noted
		}
		same(t, note(), nil, true)
		same(t, note(), nil, false)
		w.write(func(tx *store.Tx) error { return tx.ExtendWait(w.ctx, w.endpoint.ID, w.in(time.Hour)) })
		for _, step := range []struct {
			url  string
			kept bool
		}{{w.endpoint.URL, true}, {w.endpoint.URL + "/other", false}} {
			ep := w.endpoint
			ep.URL = step.url
			w.write(func(tx *store.Tx) error { return tx.UpdateEndpoint(w.ctx, &ep) })
			got, err := w.db.Endpoint(w.ctx, ep.ID)
			same(t, !got.UnaskedAt.IsZero() && got.WaitsAt(w.now().Time), err, step.kept)
		}
	})
}
