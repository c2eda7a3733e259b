package outbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"schakel/delivery/event"
	"schakel/store"
	"schakel/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// receiver is a transport that answers as the test wants and records what came.
type receiver struct {
	mu     sync.Mutex
	answer func(c store.Claimed) Result
	got    []store.Claimed
	came   chan store.Claimed
}

func newReceiver() *receiver {
	return &receiver{came: make(chan store.Claimed, 10000), answer: func(store.Claimed) Result { return delivered() }}
}

func delivered() Result {
	return Result{Status: store.DeliveryDelivered, Attempt: store.Attempt{StatusCode: 202, StartedAt: store.At(time.Now())}}
}

func (r *receiver) Send(_ context.Context, _ store.Endpoint, c store.Claimed) Result {
	r.mu.Lock()
	r.got = append(r.got, c)
	answer := r.answer
	r.mu.Unlock()
	res := answer(c)
	r.came <- c
	return res
}

func (r *receiver) set(answer func(c store.Claimed) Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

// wait returns the next delivery that came.
func (r *receiver) wait(t *testing.T) store.Claimed {
	t.Helper()
	select {
	case c := <-r.came:
		return c
	case <-time.After(2 * time.Minute):
		t.Fatal("nothing came within two minutes")
		return store.Claimed{}
	}
}

// chain is an engine with an own organisation and what the test adds.
type chain struct {
	*testing.T
	db  *store.DB
	eng *Engine
	rcv *receiver
	own store.Partner
}

func newChain(t *testing.T, db *store.DB, change ...func(*Config)) *chain {
	t.Helper()
	c := &chain{T: t, db: db, rcv: newReceiver()}
	c.write(func(tx *store.Tx) error {
		c.own = store.Partner{Own: true, Name: "Own", Status: store.PartnerApproved}
		return tx.InsertPartner(t.Context(), &c.own)
	})
	cfg := Config{
		DB: db, Transports: map[string]Transport{store.EndpointWebhook: c.rcv}, Log: slog.New(slog.DiscardHandler),
		Poll: 200 * time.Millisecond, Circuit: CircuitPolicy{Failures: -1},
	}
	for _, fn := range change {
		fn(&cfg)
	}
	c.eng = New(cfg)
	must(t, c.eng.Start(t.Context()))
	t.Cleanup(c.stop)
	return c
}

// eachChain runs a test beside others, on a chain of each database.
func eachChain(t *testing.T, fn func(t *testing.T, c *chain)) {
	t.Helper()
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) { fn(t, newChain(t, db)) })
}

func (c *chain) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := c.eng.Stop(ctx); err != nil && !c.Failed() {
		c.Error(err)
	}
}

func (c *chain) write(fn func(tx *store.Tx) error) {
	c.Helper()
	must(c, c.db.Write(context.Background(), fn))
	if c.eng != nil {
		c.eng.Changed()
	}
}

// partner adds an approved partner with an endpoint and a subscription to types.
func (c *chain) partner(name string, types ...string) store.Subscription {
	c.Helper()
	p := store.Partner{Name: name, Status: store.PartnerApproved}
	c.write(func(tx *store.Tx) error { return tx.InsertPartner(c.Context(), &p) })
	return c.subscribe(p.ID, types...)
}

func (c *chain) subscribe(partnerID string, types ...string) store.Subscription {
	c.Helper()
	var s store.Subscription
	c.write(func(tx *store.Tx) error {
		e := store.Endpoint{PartnerID: partnerID, Name: "hook", Kind: store.EndpointWebhook, Status: store.EndpointActive, MaxConcurrency: 4, TimeoutMS: 1000}
		if err := tx.InsertEndpoint(c.Context(), &e); err != nil {
			return err
		}
		s = store.Subscription{PartnerID: partnerID, EndpointID: e.ID, Status: store.SubscriptionApproved, Types: types}
		return tx.InsertSubscription(c.Context(), &s)
	})
	return s
}

// changeEndpoint returns the endpoint as it became.
func (c *chain) changeEndpoint(id string, change func(e *store.Endpoint)) (e store.Endpoint) {
	c.Helper()
	c.write(func(tx *store.Tx) (err error) {
		if e, err = tx.Endpoint(c.Context(), id); err != nil {
			return err
		}
		change(&e)
		return tx.UpdateEndpoint(c.Context(), &e)
	})
	return e
}

func (c *chain) changeSubscription(id string, change func(s *store.Subscription)) {
	c.Helper()
	c.write(func(tx *store.Tx) error {
		s, err := tx.Subscription(c.Context(), id)
		if err != nil {
			return err
		}
		change(&s)
		return tx.UpdateSubscription(c.Context(), &s)
	})
}

func (c *chain) status(s store.Subscription, status string) {
	c.Helper()
	c.changeSubscription(s.ID, func(now *store.Subscription) { now.Status = status })
}

func testCloudEvent(t testing.TB, id, eventType string) event.Event {
	t.Helper()
	ev, err := event.ParseJSON(fmt.Appendf(nil, `{"specversion":"1.0","id":%q,"source":"urn:nld:oin:1","type":%q,"data":{"n":1.50}}`, id, eventType), event.Limits{})
	must(t, err)
	return ev
}

// accept accepts events of the own organisation.
func (c *chain) accept(eventType string, ids ...string) Receipt {
	c.Helper()
	return c.take(c.submission(c.own.ID, true, eventType, ids...))
}

func (c *chain) take(s Submission) Receipt {
	c.Helper()
	r, err := c.eng.Accept(c.Context(), s)
	must(c, err)
	return r
}

func (c *chain) submission(partnerID string, own bool, eventType string, ids ...string) Submission {
	s := Submission{ClientID: "cli_" + partnerID, PartnerID: partnerID, FromOwn: own, Key: uuid.NewString(), Fingerprint: []byte(strings.Join(ids, " "))}
	for _, id := range ids {
		s.Events = append(s.Events, testCloudEvent(c, id, eventType))
	}
	return s
}

// until waits until the first delivery of an event is in the state.
func (c *chain) until(eventID, status string) store.Delivery {
	c.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for {
		rows, err := c.db.DeliveriesOf(c.Context(), eventID)
		must(c, err)
		if len(rows) > 0 && rows[0].Status == status {
			return rows[0]
		}
		if time.Now().After(deadline) {
			c.Fatalf("deliveries of %s: %+v, want %s", eventID, rows, status)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// Rules: EDU-08.
func TestEventReachesEverySubscriptionOfItsType(t *testing.T) {
	eachChain(t, func(t *testing.T, c *chain) {
		c.partner("North", "nl.a", "nl.b")
		c.partner("South", "nl.a")
		c.partner("East", "nl.b")
		r := c.accept("nl.a", "1", "2")
		seen := map[string]int{}
		for range 4 {
			got := c.rcv.wait(t)
			seen[got.Event.CEID]++
			if string(got.Event.Data) != `{"n":1.50}` {
				t.Errorf("data %s, want it byte for byte", got.Event.Data)
			}
		}
		if seen["1"] != 2 || seen["2"] != 2 {
			t.Errorf("arrived %v, want each twice", seen)
		}
		d := c.until(r.Events[0].EventID, store.DeliveryDelivered)
		attempts, err := c.db.Attempts(t.Context(), d.ID)
		if err != nil || len(attempts) != 1 || attempts[0].Number != 1 || attempts[0].StatusCode != 202 {
			t.Errorf("attempts %+v, %v", attempts, err)
		}
	})
}

// Rules: CE-05, IDEM-15, IDEM-X02.
func TestSameEventIsOneEvent(t *testing.T) {
	eachChain(t, func(t *testing.T, c *chain) {
		c.partner("North", "nl.a")
		first := c.accept("nl.a", "1")
		again := c.accept("nl.a", "2", "1", "2")
		if again.Events[0].Duplicate || !again.Events[1].Duplicate || !again.Events[2].Duplicate {
			t.Errorf("receipt %+v, want the second and third marked as duplicates", again.Events)
		}
		if again.Events[1].EventID != first.Events[0].EventID || again.Events[2].EventID != again.Events[0].EventID {
			t.Errorf("receipt %+v does not name the event that was there", again.Events)
		}
		c.until(again.Events[0].EventID, store.DeliveryDelivered)
		if _, n, err := c.db.Deliveries(t.Context(), store.DeliveryFilter{}); n != 2 || err != nil {
			t.Errorf("%d deliveries, want 2 (%v)", n, err)
		}
	})
}

// Rules: IDEM-11, IDEM-14, IDEM-16.
func TestKeyAnswersTheSameAgain(t *testing.T) {
	eachChain(t, func(t *testing.T, c *chain) {
		s := c.submission(c.own.ID, true, "nl.a", "1", "2")
		first := c.take(s)
		again, err := c.eng.Accept(t.Context(), s)
		if err != nil || !again.Replayed || again.Events[1] != first.Events[1] {
			t.Errorf("IDEM-14: second answer %+v, %v", again, err)
		}
		other := s
		other.Fingerprint, other.Events = []byte("other"), []event.Event{testCloudEvent(t, "3", "nl.a")}
		if _, err := c.eng.Accept(t.Context(), other); !errors.Is(err, ErrKeyReused) {
			t.Errorf("IDEM-11: error %v, want ErrKeyReused", err)
		}
		other.ClientID = "cli_somebody_else"
		if r, err := c.eng.Accept(t.Context(), other); err != nil || r.Replayed {
			t.Errorf("IDEM-16: the key of another client: %+v, %v", r, err)
		}
		if _, n, err := c.db.Events(t.Context(), store.EventFilter{}); n != 3 || err != nil {
			t.Errorf("%d events, want 3 (%v)", n, err)
		}
	})
}

// Rules: IDEM-X05, E8.
func TestOneOfManyWithTheSameKeyIsHandled(t *testing.T) {
	eachChain(t, func(t *testing.T, c *chain) {
		s := c.submission(c.own.ID, true, "nl.a", "1")
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				if _, err := c.eng.Accept(t.Context(), s); err != nil && !errors.Is(err, ErrKeyInUse) {
					t.Errorf("error %v", err)
				}
			})
		}
		wg.Wait()
		if got := c.eng.Stats(); got.Accepted != 1 {
			t.Errorf("%d events accepted, want 1", got.Accepted)
		}
	})
}

// Rules: EDU-07.
func TestNothingGoesToARevokedSubscription(t *testing.T) { // guarantee G2
	eachChain(t, func(t *testing.T, c *chain) {
		s := c.partner("North", "nl.a")
		release := make(chan struct{})
		c.rcv.set(func(store.Claimed) Result { <-release; return delivered() })
		ids := make([]string, 40)
		for i := range ids {
			ids[i] = uuid.NewString()
		}
		c.accept("nl.a", ids...)
		for len(c.rcv.snapshot()) < 4 { // the endpoint's concurrency: the others wait
			time.Sleep(time.Millisecond)
		}
		c.status(s, store.SubscriptionSuspended)
		close(release)
		for range 4 {
			c.rcv.wait(t)
		}
		c.waitFor(func() bool { return c.count(store.DeliveryHeld) == 36 })
		if got := len(c.rcv.snapshot()); got != 4 {
			t.Errorf("%d attempts, want only the 4 that had begun before the revocation", got)
		}
		c.accept("nl.a", "later")
		c.status(s, store.SubscriptionApproved)
		c.waitFor(func() bool { return c.count(store.DeliveryDelivered) == 40 })
	})
}

func (r *receiver) snapshot() []store.Claimed {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]store.Claimed(nil), r.got...)
}

func (c *chain) count(status string) int {
	c.Helper()
	n, err := c.db.CountDeliveries(c.Context(), store.DeliveryFilter{Statuses: []string{status}})
	must(c, err)
	return n
}

func (c *chain) waitFor(ok func() bool) {
	c.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for !ok() {
		if time.Now().After(deadline) {
			byStatus, err := c.db.CountDeliveriesBy(c.Context(), "")
			c.Fatalf("did not come to pass within two minutes; deliveries: %v, %v", byStatus, err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// Rules: EDU-07.
func TestPartnersEventsStayBetweenItAndUs(t *testing.T) { // guarantee G3
	eachChain(t, func(t *testing.T, c *chain) {
		north, south := c.partner("North", "nl.a"), c.partner("South", "nl.a")
		own := c.subscribe(c.own.ID, "nl.a")
		reach := func(id string) map[string]bool {
			r := c.take(c.submission(north.PartnerID, false, "nl.a", id))
			rows, err := c.db.DeliveriesOf(t.Context(), r.Events[0].EventID)
			must(t, err)
			reached := map[string]bool{}
			for _, d := range rows {
				reached[d.SubscriptionID] = true
			}
			return reached
		}
		if got := reach("1"); len(got) != 1 || !got[own.ID] {
			t.Errorf("reached %v, want ours only: not another partner, and not back to the sender", got)
		}
		c.write(func(tx *store.Tx) error {
			return tx.InsertRoute(t.Context(), &store.Route{FromPartnerID: north.PartnerID, ToPartnerID: south.PartnerID, EventType: "nl.a"})
		})
		if got := reach("2"); !got[south.ID] {
			t.Errorf("reached %v, want the routed partner too", got)
		}
	})
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
