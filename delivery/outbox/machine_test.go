package outbox

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
	"schakel/delivery/pull"
	"schakel/delivery/webhook"
	"schakel/store"
	"schakel/store/needs"
	"schakel/store/storetest"
)

// TestMachine does what can be done to the engine in any order: publishing, repeats of requests, changes of subscriptions,
// endpoints, partners and routes, every kind of answer and none, pulling, what people do with deliveries, the clock,
// retention, and crashes between any two steps. The loops of the engine stand still and the test takes their steps, so
// that what failed can be repeated and made small. After each step the database must be what the rules say, told in
// another way than the engine does, and in the end everything must have gone where it should (guarantees G1 to G6).
//
// The flags -rapid.checks and -rapid.steps make it longer.
//
// Rules: EDU-07, EDU-08, EDU-09, EDU-10, EDU-11, EDU-17, EDU-18, EDU-18b, EDU-N09, EDU-N11, IDEM-07, IDEM-09, IDEM-11, IDEM-12, IDEM-13, IDEM-14, IDEM-15.
func TestMachine(t *testing.T) {
	t.Parallel()
	given := make(map[string]bool)
	flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
	histories, shared := 40, 6
	switch {
	case needs.Raced: // .ci/test plays all of them without the search for data races
		histories, shared = 6, 2
	case !needs.All():
		histories = 5
	}
	for _, on := range []struct {
		name          string
		open          func(testing.TB, ...storetest.Option) *store.DB
		checks, nodes int
	}{{"sqlite", storetest.SQLite, histories, 1}, {"postgres", storetest.Postgres, shared, 2}} {
		t.Run(on.name, func(t *testing.T) { // one after the other: they share the flags
			limits(t, given, map[string]string{
				"rapid.checks": strconv.Itoa(on.checks), "rapid.steps": "40", "rapid.nofailfile": "true",
				"rapid.seed": "101", // the same histories each time; -rapid.seed=0 draws others
			})
			rapid.Check(t, func(rt *rapid.T) {
				clock := storetest.NewClock()
				m := newMachine(rt, on.open(t, storetest.WithClock(clock)), clock, on.nodes)
				defer m.close()
				rt.Repeat(m.actions())
				m.step(rt, "drain", m.drain)
			})
		})
	}
}

// limits sets flags of this test binary that whoever runs it did not set.
func limits(t *testing.T, given map[string]bool, values map[string]string) {
	t.Helper()
	for name, value := range values {
		if given[name] {
			continue
		}
		must(t, flag.Set(name, value))
	}
}

const keyLife = 7 * 24 * time.Hour

// machine is a chain as the test remembers it.
type machine struct {
	*rapid.T  // of the step being taken
	ctx       context.Context
	clock     *storetest.Clock
	db        *store.DB
	transport *scripted
	nodes     []*node
	pull      *pull.Service
	own       store.Partner
	partners  []string // those of others
	hooks     []string // endpoints that are sent to
	subs      []string
	ever      map[string]bool // nodes there were, by name
	doing     string          // the step being taken
	now       *view           // how it was after the last step

	version   int // of the next body
	sent      []Submission
	keys      map[string]storedKey
	events    map[string]*known    // by our id
	identity  map[string]string    // client, source and id to our id
	handed    map[string]time.Time // subscription and (source, id), for those that want nothing twice
	got       map[string]bool      // event and subscription that have a delivery
	hand      []inHand             // what consumers pulled
	toDeliver int                  // acknowledgements of this step
}

// storedKey is the submission that an Idempotency-Key stands for.
type storedKey struct {
	fingerprint string
	events      []Accepted
	expires     time.Time
}

type known struct {
	identity, source, from, kind string
	at                           time.Time
	want                         []string // subscriptions
	only                         []string // the partners it is for; nil for all
}

type inHand struct {
	sub   store.Subscription
	token string
	done  bool
}

func newMachine(rt *rapid.T, db *store.DB, clock *storetest.Clock, nodes int) *machine {
	m := &machine{
		T: rt, ctx: context.Background(), clock: clock, db: db, ever: map[string]bool{}, keys: map[string]storedKey{},
		events: map[string]*known{}, identity: map[string]string{}, handed: map[string]time.Time{}, got: map[string]bool{},
		pull: pull.New(pull.Config{DB: db, Now: clock.Now, Log: slog.New(slog.DiscardHandler), MaxReceives: 4}),
	}
	m.transport = newScripted(m)
	m.settle()
	for range nodes {
		m.nodes = append(m.nodes, m.newNode())
	}
	m.look()
	return m
}

func (m *machine) close() {
	for _, n := range m.nodes {
		m.drop(n)
	}
	m.must(m.db.Close())
}

// settle makes the partners, endpoints and subscriptions there are in the beginning.
func (m *machine) settle() {
	m.write(func(tx *store.Tx) error {
		m.own = store.Partner{Own: true, Name: "Own", Status: store.PartnerApproved}
		return tx.InsertPartner(m.ctx, &m.own)
	})
	for _, name := range []string{"A", "B", "C"} {
		p := store.Partner{Name: name, Status: store.PartnerApproved}
		m.write(func(tx *store.Tx) error { return tx.InsertPartner(m.ctx, &p) })
		m.partners = append(m.partners, p.ID)
	}
	a, b, c := m.partners[0], m.partners[1], m.partners[2]
	plain := m.endpoint(store.Endpoint{PartnerID: a, MaxConcurrency: 1})
	batch := m.endpoint(store.Endpoint{PartnerID: b, MaxConcurrency: 1, BatchEvents: 3, BatchWaitMS: 2000})
	own := m.endpoint(store.Endpoint{PartnerID: m.own.ID, MaxConcurrency: 2, BatchEvents: 2})
	pulled := m.endpoint(store.Endpoint{PartnerID: c, Kind: store.EndpointPull})
	office := m.endpoint(store.Endpoint{PartnerID: c, MaxConcurrency: 2, Windows: office})
	m.hooks = []string{plain.ID, batch.ID, own.ID, office.ID}
	for _, s := range []store.Subscription{
		{EndpointID: plain.ID, PartnerID: a, OrderBy: "subject", Types: []string{"nl.a", "nl.b"}},
		{EndpointID: plain.ID, PartnerID: a, Types: []string{"nl.a"}},
		{EndpointID: batch.ID, PartnerID: b, Types: []string{"nl.a", "nl.b"}},
		{EndpointID: batch.ID, PartnerID: b, OrderBy: "subject", Types: []string{"nl.b"}},
		{EndpointID: own.ID, PartnerID: m.own.ID, Dedupe: true, Types: []string{"nl.a", "nl.b"}},
		{EndpointID: pulled.ID, PartnerID: c, OrderBy: "subject", Types: []string{"nl.a", "nl.b"}},
		{EndpointID: office.ID, PartnerID: c, Types: []string{"nl.a"}},
	} {
		m.subscribe(s)
	}
}

// office holds the delivery windows of the last endpoint; inOffice computes them in another way.
const office = `{"timeZone":"UTC","open":[{"days":["mon","tue","wed","thu","fri","sat","sun"],"from":"08:00","to":"18:00"}]}`

func inOffice(at time.Time) bool { return at.UTC().Hour() >= 8 && at.UTC().Hour() < 18 }

func (m *machine) endpoint(e store.Endpoint) store.Endpoint {
	e.Name, e.Status, e.TimeoutMS = fmt.Sprint("Endpoint ", len(m.hooks)), store.EndpointActive, 10_000
	if e.Kind == "" {
		e.Kind = store.EndpointWebhook
	}
	m.write(func(tx *store.Tx) error { return tx.InsertEndpoint(m.ctx, &e) })
	return e
}

// subscribe adds a subscription; one without a state is approved.
func (m *machine) subscribe(s store.Subscription) {
	if s.Status == "" {
		s.Status = store.SubscriptionApproved
	}
	m.write(func(tx *store.Tx) error { return tx.InsertSubscription(m.ctx, &s) })
	m.subs = append(m.subs, s.ID)
}

// write changes the database and notifies all nodes, as the registry does.
func (m *machine) write(fn func(tx *store.Tx) error) {
	m.must(m.db.Write(m.ctx, fn))
	for _, n := range m.nodes {
		n.eng.Changed()
	}
}

func (m *machine) must(err error) {
	if err != nil {
		m.Fatalf("%s: %v", m.doing, err)
	}
}

// Fatalf ends the run. Its text leaves out ids and times: only runs that fail alike can be made smaller.
func (m *machine) Fatalf(format string, args ...any) {
	m.Logf(format, args...)
	m.T.Fatal(format)
}

func schedule() webhook.Schedule {
	return webhook.Schedule{
		Waits: []time.Duration{5 * time.Second, time.Minute, 20 * time.Minute, 3 * time.Hour}, MaxAttempts: 4,
		Deadline: keyLife, MaxRetryAfter: 24 * time.Hour,
	}
}

// view is a reading of the database after a step.
type view struct {
	partners   map[string]string // states
	endpoints  map[string]store.Endpoint
	subs       map[string]store.Subscription
	routes     []store.Route
	deliveries map[string]store.Delivery
	list       []store.Delivery // oldest first
	ended      map[string]bool  // deliveries that have been delivered, dead or discarded at least once
}

func isOpen(d store.Delivery) bool {
	return d.Status == store.DeliveryPending || d.Status == store.DeliveryRetrying
}

// waitsFor lists the deliveries before this one, of the same key, that have never ended.
func (v *view) waitsFor(d store.Delivery) (all []string) {
	for _, o := range v.list {
		if d.OrderKey != "" && o.SubscriptionID == d.SubscriptionID && o.OrderKey == d.OrderKey && o.ID < d.ID && !v.ended[o.ID] {
			all = append(all, o.ID)
		}
	}
	return all
}

// inLine checks what the database says of the order of deliveries with one key: of those that may still be sent, and those
// that are held, all but the first are behind it.
func (v *view) inLine() (wrong string) {
	first := map[string]bool{}
	for _, d := range v.list { // oldest first
		if d.OrderKey == "" || !isOpen(d) && d.Status != store.DeliveryHeld {
			continue
		}
		queue := d.SubscriptionID + " " + d.OrderKey
		if d.Behind != first[queue] {
			return d.ID
		}
		first[queue] = true
	}
	return ""
}

// routed reports whether an administrator lets events of a type pass.
func (v *view) routed(from, to, kind string) bool {
	return slices.ContainsFunc(v.routes, func(r store.Route) bool {
		return r.FromPartnerID == from && r.ToPartnerID == to && r.EventType == kind
	})
}

// sending reports whether attempts for a subscription may start, but for its endpoint.
func (v *view) sending(sub store.Subscription) bool {
	return sub.Status == store.SubscriptionApproved && v.partners[sub.PartnerID] == store.PartnerApproved && v.endpoints[sub.EndpointID].Status != store.EndpointEnded
}

func (m *machine) read() *view {
	v := &view{
		partners: map[string]string{}, endpoints: map[string]store.Endpoint{}, subs: map[string]store.Subscription{},
		deliveries: map[string]store.Delivery{}, ended: map[string]bool{},
	}
	for _, id := range append(m.partners, m.own.ID) {
		p, err := m.db.Partner(m.ctx, id)
		m.must(err)
		v.partners[id] = p.Status
	}
	subs, _, err := m.db.Subscriptions(m.ctx, store.SubscriptionFilter{})
	m.must(err)
	for _, s := range subs {
		v.subs[s.ID] = s
		e, err := m.db.Endpoint(m.ctx, s.EndpointID)
		m.must(err)
		v.endpoints[e.ID] = e
	}
	v.routes, err = m.db.Routes(m.ctx)
	m.must(err)
	v.list, _, err = m.db.Deliveries(m.ctx, store.DeliveryFilter{})
	m.must(err)
	slices.SortFunc(v.list, func(a, b store.Delivery) int { return strings.Compare(a.ID, b.ID) })
	for _, d := range v.list {
		v.deliveries[d.ID] = d
		v.ended[d.ID] = m.now != nil && m.now.ended[d.ID] || !isOpen(d) && d.Status != store.DeliveryHeld
	}
	return v
}

func (m *machine) look() {
	m.transport.check(m)
	before, after := m.now, m.read()
	if before != nil {
		m.judge(before, after)
	}
	m.transport.mu.Lock()
	m.now = after
	m.transport.mu.Unlock()
}
