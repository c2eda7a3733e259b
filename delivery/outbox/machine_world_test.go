package outbox

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"pgregory.net/rapid"

	"schakel/delivery/pull"
	"schakel/delivery/webhook"
	"schakel/store"
	"schakel/store/storetest"
)

// keyLife is the lifetime of keys in the machine.
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

// known is an accepted event.
type known struct {
	identity, source, from, kind string
	at                           time.Time
	want                         []string // subscriptions
	only                         []string // the partners it is for; nil for all
}

// inHand is a delivery that a consumer received.
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
	if err := m.db.Close(); err != nil {
		m.Fatal(err)
	}
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

// schedule returns the retry schedule of the machine.
func schedule() webhook.Schedule {
	return webhook.Schedule{
		Waits: []time.Duration{5 * time.Second, time.Minute, 20 * time.Minute, 3 * time.Hour}, MaxAttempts: 4,
		Deadline: keyLife, MaxRetryAfter: 24 * time.Hour,
	}
}
