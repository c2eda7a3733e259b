package outbox

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"schakel/store"
	"schakel/store/storetest"
)

// Rules: EDU-10, IDEM-12.
func TestNothingIsSentOutsideTheWindows(t *testing.T) {
	t.Parallel()
	clocks := func(t *testing.T, open func(testing.TB, ...storetest.Option) *store.DB) {
		clock := storetest.NewClock()
		db := open(t, storetest.WithClock(clock))
		c := newChain(t, db, func(cfg *Config) { cfg.Now = clock.Now })
		s := c.partner("North", "nl.a")
		c.windows(s, `{"timeZone":"UTC","open":[{"days":["sat"],"from":"10:00","to":"11:00"}]}`) // it is Saturday 09:26
		r := c.accept("nl.a", "1")
		if _, _, err := c.eng.SendTest(t.Context(), Actor{Kind: "account"}, s.EndpointID, "urn:own"); err != nil {
			t.Fatal(err)
		}
		if got := c.rcv.wait(t); got.SubscriptionID != "" {
			t.Errorf("first came %s, not the test event", got.Event.CEID)
		}
		c.waitFor(func() bool { return c.count(store.DeliveryDelivered) == 1 })
		c.until(r.Events[0].EventID, store.DeliveryPending)
		clock.Advance(40 * time.Minute)
		c.eng.Changed()
		c.until(r.Events[0].EventID, store.DeliveryDelivered)
		clock.Advance(time.Hour)
		c.eng.Changed()
		late := c.accept("nl.a", "2").Events[0].EventID
		c.acceptAndSee("nl.b") // so much the engine did meanwhile
		c.until(late, store.DeliveryPending)
		// The lifetime of the key goes on while the window is closed.
		clock.Advance(6*24*time.Hour + 21*time.Hour)
		c.eng.Changed()
		c.acceptAndSee("nl.c")
		if d := c.until(late, store.DeliveryPending); !clock.Now().Before(d.KeyExpiresAt.Time) {
			t.Fatal("the clock of this test went too far")
		}
		clock.Advance(4 * time.Hour)
		c.until(late, store.DeliveryDead)
	}
	t.Run("sqlite", func(t *testing.T) { t.Parallel(); clocks(t, storetest.SQLite) })
	t.Run("postgres", func(t *testing.T) { t.Parallel(); clocks(t, storetest.Postgres) })
}

func (c *chain) windows(s store.Subscription, text string) {
	c.Helper()
	c.changeEndpoint(s.EndpointID, func(e *store.Endpoint) { e.Windows = text })
	c.known(s.EndpointID, func(now store.Endpoint) bool { return now.Windows == text })
}

// acceptAndSee sends an event to another partner and waits until it came.
func (c *chain) acceptAndSee(eventType string) {
	c.Helper()
	s := c.partner("Other "+eventType, eventType)
	c.known(s.EndpointID, func(store.Endpoint) bool { return true })
	c.until(c.accept(eventType, eventType).Events[0].EventID, store.DeliveryDelivered)
}

func TestLaneWakesWhenItsWindowOpens(t *testing.T) {
	t.Parallel()
	e := store.Endpoint{
		Status: store.EndpointActive, MaxConcurrency: 4,
		Windows: `{"timeZone":"Europe/Amsterdam","open":[{"days":["mon","tue","wed","thu","fri"],"from":"07:00","to":"19:00"}]}`,
	}
	friday := time.Date(2026, 3, 27, 19, 0, 0, 0, time.UTC) // 20:00 there
	monday := time.Date(2026, 3, 30, 5, 0, 0, 0, time.UTC)  // 07:00 there, in summer time by now
	q := newEndpointQueue(e)
	if room := q.room(friday); room != 0 || !q.next().Equal(monday) {
		t.Errorf("room %d, looks again at %s", room, q.next())
	}
	q.due = friday.Add(-time.Hour)
	if !q.next().Equal(monday) {
		t.Errorf("with something due it looks again at %s", q.next())
	}
	q.due = monday.Add(time.Hour)
	q.ready = false
	if !q.next().Equal(monday.Add(time.Hour)) {
		t.Errorf("with nothing due before, it looks again at %s", q.next())
	}
	q.ready = true
	if room := q.room(monday); room == 0 {
		t.Error("no room when it opens")
	}
	q.tests = true
	if q.testRoom(monday) != 0 || q.testRoom(friday) != 1 {
		t.Error("a test event goes by itself only while the lane is closed")
	}
}

// Hours that cannot be read hold everything back, but for a test event: their receiver said that it may not always be sent to.
func TestUnreadableWindowsHold(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 27, 12, 0, 0, 0, time.UTC)
	for _, text := range []string{"x", "{}", `{"timeZone":"Mars/Olympus","open":[{"days":["mon"],"from":"00:00","to":"24:00"}]}`} {
		var log strings.Builder
		e := &Engine{cfg: Config{Log: slog.New(slog.NewTextHandler(&log, nil))}}
		q := newEndpointQueue(store.Endpoint{ID: "end_1", Status: store.EndpointActive, MaxConcurrency: 4, Windows: text})
		e.logUnreadable(q)
		e.logUnreadable(q)
		if room := q.room(now); room != 0 || !q.next().After(now) {
			t.Errorf("%s: room %d, looks again at %s", text, room, q.next())
		}
		if strings.Count(log.String(), "end_1") != 1 {
			t.Errorf("%s: told %q", text, log.String())
		}
		q.tests = true
		if q.testRoom(now) != 1 {
			t.Errorf("%s: no room for a test event", text)
		}
		q.configure(store.Endpoint{ID: "end_1", Status: store.EndpointActive, MaxConcurrency: 4})
		if q.room(now) == 0 {
			t.Errorf("%s: no room once it is mended", text)
		}
	}
}

func TestLaneWakesWhenItsPauseIsOver(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 27, 19, 0, 0, 0, time.UTC)
	q := newEndpointQueue(store.Endpoint{Status: store.EndpointActive, MaxConcurrency: 4})
	q.due, q.backoff.until = now, now.Add(time.Minute)
	if room := q.room(now); room != 0 || !q.next().Equal(q.backoff.until) {
		t.Errorf("room %d, looks again at %s", room, q.next())
	}
	q.backoff.until, q.lookAt = time.Time{}, now.Add(time.Second)
	q.due = now.Add(time.Hour)
	if room := q.room(now); room != 0 || !q.next().Equal(q.lookAt) {
		t.Errorf("filling a batch: room %d, looks again at %s", room, q.next())
	}
}

func TestNoTestOfAPullEndpoint(t *testing.T) {
	eachChain(t, func(t *testing.T, c *chain) {
		e := store.Endpoint{PartnerID: c.own.ID, Name: "fetch", Kind: store.EndpointPull, Status: store.EndpointActive}
		c.write(func(tx *store.Tx) error { return tx.InsertEndpoint(c.Context(), &e) })
		if _, _, err := c.eng.SendTest(t.Context(), Actor{Kind: "account"}, e.ID, "urn:own"); err != ErrNothingSent {
			t.Errorf("err = %v", err)
		}
	})
}

// Rules: EDU-18.
func TestScheduleOfTheSubscription(t *testing.T) {
	eachBatchChain(t, func(t *testing.T, c *chain, h *hook) {
		h.set(func(request) int { return 503 })
		s := c.partner("North", "nl.a")
		c.batches(h, s, func(e *store.Endpoint) { e.BatchEvents = 0 })
		c.changeSubscription(s.ID, func(s *store.Subscription) { s.Retry = `{"waits":["1ms"],"maxAttempts":3}` })
		c.waitFor(func() bool { known := c.eng.sendings.Load(); return known != nil && (*known)[s.ID].Retry != "" })
		d := c.until(c.accept("nl.a", "1").Events[0].EventID, store.DeliveryDead)
		if d.Attempts != 3 || d.Reason != "attempts-exhausted" {
			t.Errorf("%d attempts, %s", d.Attempts, d.Reason)
		}
	})
}

// TestNewEndpointGetsItsTestEvent tests an endpoint that was made while the engine runs and has no subscription yet.
func TestNewEndpointGetsItsTestEvent(t *testing.T) {
	eachChain(t, func(t *testing.T, c *chain) {
		c.partner("North", "nl.a")
		c.accept("nl.a", "1")
		c.rcv.wait(t) // by now the engine knows all endpoints there are
		ep := store.Endpoint{PartnerID: c.own.ID, Name: "new", Kind: store.EndpointWebhook, Status: store.EndpointActive, MaxConcurrency: 1, TimeoutMS: 1000}
		c.write(func(tx *store.Tx) error { return tx.InsertEndpoint(t.Context(), &ep) })
		c.eng.Changed()
		eventID, _, err := c.eng.SendTest(t.Context(), Actor{}, ep.ID, "urn:nld:oin:1")
		must(t, err)
		if got := c.rcv.wait(t); got.EventID != eventID || got.Event.CEType != TestEventType {
			t.Errorf("got %s of type %s", got.EventID, got.Event.CEType)
		}
	})
}
