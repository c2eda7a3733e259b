package outbox

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"schakel/store"
	"schakel/store/storetest"
)

// stuckPeople records the endpoints it was notified of.
type stuckPeople struct {
	nopNotifier
	mu    sync.Mutex
	heard []string
}

func (p *stuckPeople) DeliveriesStuck(_ context.Context, _ *store.Tx, notices []store.DeliveryNotice) ([]bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	notified := make([]bool, len(notices))
	for i, n := range notices {
		p.heard = append(p.heard, n.EndpointID+" "+n.Status)
		notified[i] = true
	}
	return notified, nil
}

func (p *stuckPeople) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.heard)
}

// People are notified of what a receiver rejects, once, whatever the number of deliveries and of nodes; of later ones in an hour.
func TestPeopleAreToldOfHeldDeliveriesOnce(t *testing.T) {
	t.Parallel()
	for name, open := range storetest.Both() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := storetest.NewClockAt(time.Now())
			db := open(t, storetest.WithClock(clock))
			people := &stuckPeople{}
			c := newChain(t, db, func(cfg *Config) { cfg.Notifier, cfg.Now = people, clock.Now })
			s := c.partner("North", "nl.a")
			c.rcv.set(func(store.Claimed) Result { return failed(store.DeliveryHeld, 400, time.Time{}) })
			c.accept("nl.a", "1", "2", "3")
			c.waitFor(func() bool { return c.count(store.DeliveryHeld) == 3 })

			nodes := make([]*Engine, 4)
			for i := range nodes {
				nodes[i] = New(Config{DB: db, Notifier: people, Now: clock.Now, Log: slog.New(slog.DiscardHandler)})
			}
			tell := func() {
				var all sync.WaitGroup
				for _, n := range nodes {
					all.Go(func() {
						if err := n.notifyStuck(t.Context()); err != nil {
							t.Error(err)
						}
					})
				}
				all.Wait()
			}
			tell()
			if n := people.count(); n != 0 {
				t.Fatalf("told before those right behind the first were counted: %q", people.heard)
			}
			clock.Advance(noticeGather)
			c.waitFor(func() bool { return people.count() > 0 })
			c.accept("nl.a", "4")
			c.waitFor(func() bool { return c.count(store.DeliveryHeld) == 4 })
			tell()
			if n := people.count(); n != 1 {
				t.Fatalf("told %d times within the hour: %q", n, people.heard)
			}
			clock.Advance(noticeEach)
			tell()
			c.waitFor(func() bool { return people.count() >= 2 })
			tell()
			if n := people.count(); n != 2 || people.heard[1] != s.EndpointID+" "+store.DeliveryHeld {
				t.Errorf("told %d times after the hour: %q", n, people.heard)
			}
		})
	}
}
