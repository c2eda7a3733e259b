package outbox

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"schakel/delivery/event"
	"schakel/delivery/outbound"
	"schakel/delivery/webhook"
	"schakel/store"
	"schakel/store/storetest"
)

// ordered makes a subscription want its events in order of an attribute.
func (c *chain) ordered(s store.Subscription, attribute string) {
	c.Helper()
	c.changeSubscription(s.ID, func(s *store.Subscription) { s.OrderBy = attribute })
}

func (c *chain) acceptSubject(id, subject string) Accepted {
	c.Helper()
	ev, err := event.ParseJSON(fmt.Appendf(nil, `{"specversion":"1.0","id":%q,"source":"urn:nld:oin:1","type":"nl.a","subject":%q}`, id, subject), event.Limits{})
	must(c, err)
	r := c.take(Submission{ClientID: "cli_a", PartnerID: c.own.ID, FromOwn: true, Events: []event.Event{ev}})
	return r.Events[0]
}

// Rules: EDU-N09.
func TestEventsWithTheSameKeyComeInOrder(t *testing.T) { // guarantee G5
	eachChain(t, func(t *testing.T, c *chain) {
		c.ordered(c.partner("North", "nl.a"), "subject")
		c.rcv.set(func(store.Claimed) Result {
			if rand.IntN(3) == 0 {
				return failed(store.DeliveryRetrying, 503, time.Now().Add(10*time.Millisecond))
			}
			return delivered()
		})
		const subjects, each = 5, 12
		for n := range each {
			for s := range subjects {
				c.acceptSubject(fmt.Sprintf("%d-%02d", s, n), fmt.Sprint(s))
			}
		}
		c.waitFor(func() bool { return c.count(store.DeliveryDelivered) == subjects*each })
		came := map[string][]string{}
		for _, got := range c.rcv.snapshot() {
			came[got.Event.CESubject] = append(came[got.Event.CESubject], got.Event.CEID)
		}
		for subject, ids := range came {
			if !slices.IsSorted(ids) {
				t.Errorf("subject %s came as %v", subject, ids)
			}
		}
	})
}

func TestRejectedEventHoldsThoseBehindIt(t *testing.T) { // guarantee G5
	eachChain(t, func(t *testing.T, c *chain) {
		c.ordered(c.partner("North", "nl.a"), "subject")
		c.rcv.set(func(d store.Claimed) Result {
			if d.Event.CEID == "1" {
				return failed(store.DeliveryHeld, 400, time.Time{})
			}
			return delivered()
		})
		first := c.acceptSubject("1", "a")
		rejected := c.until(first.EventID, store.DeliveryHeld)
		second := c.acceptSubject("2", "a")
		c.until(c.acceptSubject("3", "b").EventID, store.DeliveryDelivered) // another key goes on
		waiting := c.until(second.EventID, store.DeliveryPending)
		if behind, err := c.db.WaitsFor(t.Context(), waiting.ID); err != nil || behind != rejected.ID {
			t.Errorf("it waits for %q, want %q (%v)", behind, rejected.ID, err)
		}
		must(t, c.eng.Discard(t.Context(), Actor{Name: "Anna"}, rejected.ID, "sent by hand"))
		c.until(second.EventID, store.DeliveryDelivered)
	})
}

// A key with a backlog is sent without a claim for each delivery, in order, and stops at the first that does not arrive: what
// was claimed behind it is given back, and goes when that one has arrived (guarantee G5).
func TestRunStopsAtTheFirstFailure(t *testing.T) {
	eachChain(t, func(t *testing.T, c *chain) {
		sub := c.partner("North", "nl.a")
		c.ordered(sub, "subject")
		c.endpoint(sub.EndpointID, store.EndpointPaused)
		const events = 60
		var last Accepted
		for n := range events {
			last = c.acceptSubject(fmt.Sprintf("%03d", n), "a")
		}
		failedOnce := false
		c.rcv.set(func(d store.Claimed) Result {
			if d.Event.CEID == "040" && !failedOnce {
				failedOnce = true
				return failed(store.DeliveryRetrying, 503, time.Now().Add(50*time.Millisecond))
			}
			return delivered()
		})
		c.endpoint(sub.EndpointID, store.EndpointActive)
		c.until(last.EventID, store.DeliveryDelivered)
		var came []string
		runs := 0
		for _, d := range c.rcv.snapshot() {
			came = append(came, d.Event.CEID)
			if !d.Behind {
				runs++
			}
		}
		if len(came) != events+1 || !slices.IsSorted(came) || came[40] != "040" || came[41] != "040" {
			t.Errorf("came as %v", came)
		}
		if runs > events/3 {
			t.Errorf("%d deliveries were claimed in %d claims", events, runs)
		}
	})
}

// BenchmarkOrderedBacklog drains 100,000 waiting deliveries by HTTP, ordered by 1, 100 and 100,000 keys and unordered, in turns
// of some seconds each, and prints the median rate of each and how long events for another endpoint took meanwhile. Each
// database is drained by an engine of its own. The iterations of the benchmark do not count: use -benchtime 1x.
func BenchmarkOrderedBacklog(b *testing.B) {
	for _, kind := range []store.Dialect{store.SQLite, store.Postgres} {
		b.Run(string(kind), func(b *testing.B) {
			open := storetest.SQLite
			if kind == store.Postgres {
				open = storetest.Postgres
			}
			var drains []*orderedDrain
			for _, keys := range []int{0, 1, 100, orderedWaiting} {
				drains = append(drains, newOrderedDrain(b, open(b), keys))
			}
			b.ResetTimer()
			for range orderedRounds {
				for _, d := range drains {
					d.turn(b)
				}
			}
			for _, d := range drains {
				d.report(b, drains[0])
			}
		})
	}
}

const (
	orderedWaiting = 100_000
	orderedRounds  = 3
	orderedTurn    = 4 * time.Second
)

// orderedDrain is a backlog with its database, and what its turns came to.
type orderedDrain struct {
	keys      int
	db        *store.DB
	received  atomic.Int64
	server    *httptest.Server
	neighbour string // type of events for another endpoint
	own       store.Partner
	rates     []float64
	mu        sync.Mutex
	sent      map[string]time.Time // accepted events of the neighbour, by id
	took      []time.Duration
}

func newOrderedDrain(b *testing.B, db *store.DB, keys int) *orderedDrain {
	d := &orderedDrain{keys: keys, db: db, neighbour: "nl.voorbeeld.buur.v1", sent: make(map[string]time.Time)}
	d.server = httptest.NewServer(http.HandlerFunc(d.receive))
	b.Cleanup(d.server.Close)
	f := newBacklog(b, db)
	err := db.Write(b.Context(), func(tx *store.Tx) error {
		e, err := tx.Endpoint(b.Context(), f.subscription.EndpointID)
		if err != nil {
			return err
		}
		e.URL, e.MaxConcurrency, e.TimeoutMS = d.server.URL+"/backlog", 8, 10_000
		if err := tx.UpdateEndpoint(b.Context(), &e); err != nil {
			return err
		}
		d.own = store.Partner{Own: true, Name: "Own", Status: store.PartnerApproved}
		if err := tx.InsertPartner(b.Context(), &d.own); err != nil {
			return err
		}
		other := store.Endpoint{PartnerID: e.PartnerID, Kind: store.EndpointWebhook, URL: d.server.URL + "/other", Status: store.EndpointActive, MaxConcurrency: 8, TimeoutMS: 10_000}
		if err := tx.InsertEndpoint(b.Context(), &other); err != nil {
			return err
		}
		return tx.InsertSubscription(b.Context(), &store.Subscription{
			PartnerID: e.PartnerID, EndpointID: other.ID, Status: store.SubscriptionApproved, Types: []string{d.neighbour},
		})
	})
	must(b, err)
	if keys > 0 {
		f.key = func(n int) string { return fmt.Sprint("key ", n/(orderedWaiting/keys)) } // all of a key come together
	}
	f.add(b, orderedWaiting)
	return d
}

func (d *orderedDrain) receive(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.WriteHeader(http.StatusAccepted)
	if r.URL.Path == "/backlog" {
		d.received.Add(1)
		return
	}
	came := time.Now()
	_, id, _ := strings.Cut(string(body), `"id":"`)
	id, _, _ = strings.Cut(id, `"`)
	if ce := r.Header.Get("Ce-Id"); ce != "" {
		id = ce
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if at, ok := d.sent[id]; ok {
		d.took = append(d.took, came.Sub(at))
	}
}

func (d *orderedDrain) turn(b *testing.B) {
	client := outbound.New(outbound.Config{AllowPlainHTTP: true, AllowPrefixes: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, MaxIdleConnsPerHost: 128})
	eng := New(Config{DB: d.db, Log: slog.New(slog.DiscardHandler), Transports: map[string]Transport{store.EndpointWebhook: &Webhook{
		Sender: webhook.NewSender(webhook.Config{Client: client}), Schedule: webhook.DefaultSchedule(), Now: time.Now,
	}}})
	must(b, eng.Start(b.Context()))
	before, began := d.received.Load(), time.Now()
	for time.Since(began) < orderedTurn {
		id := uuid.NewString()
		ev, err := event.ParseJSON(fmt.Appendf(nil, `{"specversion":"1.0","id":%q,"source":"urn:x","type":%q}`, id, d.neighbour), event.Limits{})
		if err != nil {
			b.Fatal(err)
		}
		d.mu.Lock()
		d.sent[id] = time.Now()
		d.mu.Unlock()
		if _, err := eng.Accept(b.Context(), Submission{ClientID: "cli_own", PartnerID: d.own.ID, FromOwn: true, Events: []event.Event{ev}}); err != nil {
			b.Fatal(err)
		}
		<-time.After(20 * time.Millisecond)
	}
	d.rates = append(d.rates, float64(d.received.Load()-before)/time.Since(began).Seconds())
	ctx, cancel := context.WithTimeout(context.WithoutCancel(b.Context()), time.Minute)
	defer cancel()
	if err := eng.Stop(ctx); err != nil {
		b.Log(err)
	}
}

func (d *orderedDrain) report(b *testing.B, unordered *orderedDrain) {
	d.mu.Lock()
	defer d.mu.Unlock()
	slices.Sort(d.took)
	at := func(part float64) float64 {
		if len(d.took) == 0 {
			return -1
		}
		return float64(d.took[int(float64(len(d.took)-1)*part)].Microseconds()) / 1000
	}
	b.Logf("%7d keys: %6.0f/s (%3.0f %% of unordered; turns %.0f); neighbour p50 %.1f ms, p99 %.1f ms of %d",
		d.keys, median(d.rates), 100*median(d.rates)/median(unordered.rates), d.rates, at(.5), at(.99), len(d.took))
	b.ReportMetric(median(d.rates), fmt.Sprintf("deliveries/s-%d-keys", d.keys))
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
