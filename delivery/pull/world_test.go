package pull

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"schakel/delivery/event"
	"schakel/delivery/outbox"
	"schakel/store"
	"schakel/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

const eventType = "nl.voorbeeld.aanmelding.ontvangen"

// world is an engine that accepts events, and a partner that pulls.
type world struct {
	testing.TB
	db    *store.DB
	clock *storetest.Clock
	own   store.Partner
	sub   store.Subscription
	eng   *outbox.Engine
	pull  *Service
	n     atomic.Int64
}

func newWorld(t testing.TB, db *store.DB, clock *storetest.Clock, change func(*Config)) *world {
	t.Helper()
	w := &world{TB: t, db: db, clock: clock}
	cfg := Config{DB: db, Now: clock.Now, Log: slog.New(slog.DiscardHandler), MaxReceives: 3}
	if change != nil {
		change(&cfg)
	}
	w.pull = New(cfg)
	p := store.Partner{Name: "North", Status: store.PartnerApproved}
	e := store.Endpoint{Name: "pull", Kind: store.EndpointPull, Status: store.EndpointActive}
	w.write(func(tx *store.Tx) error {
		w.own = store.Partner{Own: true, Name: "Own", Status: store.PartnerApproved}
		err := errors.Join(tx.InsertPartner(t.Context(), &w.own), tx.InsertPartner(t.Context(), &p))
		e.PartnerID = p.ID
		return errors.Join(err, tx.InsertEndpoint(t.Context(), &e))
	})
	w.sub = w.subscribe(e)
	w.eng = outbox.New(outbox.Config{DB: db, Now: clock.Now, Log: slog.New(slog.DiscardHandler), OnReady: w.pull.Wake})
	must(t, w.eng.Start(t.Context()))
	t.Cleanup(func() {
		if err := w.eng.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *world) subscribe(e store.Endpoint) store.Subscription {
	s := store.Subscription{PartnerID: e.PartnerID, EndpointID: e.ID, Status: store.SubscriptionApproved, Types: []string{eventType}}
	w.write(func(tx *store.Tx) error { return tx.InsertSubscription(context.Background(), &s) })
	s, err := w.db.Subscription(context.Background(), s.ID)
	must(w, err)
	return s
}

func each(t *testing.T, fn func(t *testing.T, w *world)) {
	t.Helper()
	t.Parallel()
	storetest.EachClock(t, func(t *testing.T, db *store.DB, clock *storetest.Clock) { fn(t, newWorld(t, db, clock, nil)) })
}

func (w *world) write(fn func(tx *store.Tx) error) {
	w.Helper()
	must(w, w.db.Write(context.Background(), fn))
}

// publish accepts n events and returns the JSON that the consumer must get of each.
func (w *world) publish(n int) (bodies []string) {
	w.Helper()
	s := outbox.Submission{ClientID: "cli_own", PartnerID: w.own.ID, FromOwn: true}
	for range n {
		body := fmt.Sprintf(`{"specversion":"1.0","id":"e%06d","source":"urn:nl:own","type":%q,"datacontenttype":"application/json","data":{ "b":1.50, "a":"é\u00e9" }}`,
			w.n.Add(1), eventType)
		ev, err := event.ParseJSON([]byte(body), event.Limits{})
		must(w, err)
		s.Events, bodies = append(s.Events, ev), append(bodies, body)
	}
	if _, err := w.eng.Accept(context.Background(), s); err != nil {
		w.Fatal(err)
	}
	return bodies
}

func (w *world) request(events int, wait time.Duration) Request {
	return Request{Subscription: w.sub, ClientID: "cli_1", Events: events, Wait: wait}
}

// receive gets up to n events without waiting.
func (w *world) receive(n int) []Received {
	w.Helper()
	got, err := w.pull.Receive(w.Context(), w.request(n, 0))
	must(w, err)
	return got
}

// wantCount receives and checks how many came.
func (w *world) wantCount(n int) []Received {
	w.Helper()
	got := w.receive(MaxEvents)
	if len(got) != n {
		w.Errorf("received %d events, want %d", len(got), n)
	}
	return got
}

func tokens(got []Received) (list []string) {
	for _, g := range got {
		list = append(list, g.LockToken)
	}
	return list
}

// wantSettled checks the answer of a verb.
func (w *world) wantSettled(s Settled, err error) func(succeeded int, codes ...string) {
	return func(succeeded int, codes ...string) {
		w.Helper()
		if err != nil || len(s.Succeeded) != succeeded || len(s.Failed) != len(codes) {
			w.Errorf("settled %+v, %v; want %d and %v", s, err, succeeded, codes)
			return
		}
		for i, f := range s.Failed {
			if f.Code != codes[i] || f.Text == "" {
				w.Errorf("failed with %+v, want %s", f, codes[i])
			}
		}
	}
}

func (w *world) setSubscription(status string) {
	w.Helper()
	w.write(func(tx *store.Tx) error {
		s, err := tx.Subscription(context.Background(), w.sub.ID)
		s.Status = status
		return errors.Join(err, tx.UpdateSubscription(context.Background(), &s))
	})
	w.eng.Changed()
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
