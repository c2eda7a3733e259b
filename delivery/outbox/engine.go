// Package outbox is the delivery engine: it takes events in, keeps them and hands them to the ways out.
//
// The database is the queue. An event, its idempotency key and one delivery per approved subscription are written in
// one transaction; Accept returns after that transaction is on disk (guarantee G1). Deliveries are claimed for a lease
// time, sent, and their outcomes written back in batches. A crash between sending and writing back means that the
// same event is sent once more with the same id and Idempotency-Key, never that it is lost.
//
// A delivery goes only along these arrows. Its event is pruned only when it is delivered or discarded.
//
//	accepted, replayed
//	    │
//	    ▼       no answer, 429, 5xx, released, lease over
//	┌ pending ─────────────────────────────────► retrying ┐
//	│   ▲                                                 │
//	├───┼────────── 2xx, acknowledged ────────────────────┼─► delivered ─┐
//	│   │                                                 │              │
//	├───┼────────── other answers, rejected by the ───────┼─► held ──────┤
//	│   │           consumer, paused, suspended           │              │
//	└───┼────────── 410, tries over, key over, ended ─────┴─► dead ──────┤
//	    │                                                                │
//	    └────────── resent by a person; held: what stopped it is over ───┘
//
//	held, dead ──── discarded by a person, with a reason ───► discarded
//	pending, retrying, held by a pause ──── its event expired ► discarded
//	held, dead ──── the 2xx of an attempt that was under way ─► delivered
//
// Deliveries of one key in order: the states of a key and who changes its head stand in store/order.go, how a key with a
// backlog is sent in run.go.
//
// The known hole: a node that stands still, or is cut off from the database, for longer than a lease in the middle of an attempt
// has sent a delivery that another node has taken over. Receivers see the same id and key twice.
package outbox

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"schakel/store"
)

// Config of an Engine. Each field has a default but DB.
type Config struct {
	DB *store.DB
	// Ways are the ways out by kind of endpoint. An endpoint of another kind keeps its deliveries waiting.
	Ways map[string]Way
	// Notifier tells people what the engine did by itself; default nobody.
	Notifier Notifier
	// Now is the clock; default time.Now.
	Now func() time.Time
	Log *slog.Logger
	// KeyLifetime is how long an Idempotency-Key is valid, in and out; default 7 days (IDEM-07).
	KeyLifetime time.Duration
	// Lease is within what time other nodes on PostgreSQL take over what a dead node had claimed; default 30 s. A node that
	// lives keeps what it has claimed: see heart.go. Where no heartbeat is known of the owner of a claim, it ends this long after the time-out
	// of its attempt.
	Lease time.Duration
	// Poll is how often the engine looks for work that nobody told it of; default 5 s.
	Poll time.Duration
	// Circuit says when an endpoint that does not work is left alone.
	Circuit CircuitPolicy
	// OnReady is told which endpoints may have due deliveries now, on whichever node they came in; nil stands for all.
	// It returns at once. Default nothing.
	OnReady func(endpoints map[string]struct{})
	// Live, when set, is asked for what may change while the engine runs; it answers soon and may keep its answer.
	Live func(ctx context.Context) (Policy, error)
	// WhyNot tells why intake refuses events of a type and source from a client now, as a sentence; empty when it takes
	// them. It is asked when a quarantined request is released. Default nothing is refused.
	WhyNot func(ctx context.Context, client store.Client, eventType, source string) (string, error)
	// Deadline bounds the transactions that take in, claim and write outcomes on PostgreSQL; default 30 s.
	Deadline time.Duration
	// MaxBatch bounds the events of one group commit; default 512.
	MaxBatch int
	// MaxInFlight bounds the deliveries this node holds at once, over all endpoints; default 4096.
	MaxInFlight int
}

// Engine moves events. Make one for a process; it is safe for concurrent use.
type Engine struct {
	cfg  Config
	node string

	submissions chan *pending
	intakeOver  chan struct{} // closed when nothing reads submissions any more
	intakeEnd   sync.Once
	inFlight    inFlightKeys
	fanout      fanout

	wake     chan struct{}
	outcomes chan finished
	jobs     chan struct{}
	sweep    chan struct{}
	expiry   chan struct{}

	mu    sync.Mutex
	lanes map[string]*lane
	// laneEpoch is the state of the database that the lanes are of; the dispatcher writes it.
	laneEpoch string
	held      int  // deliveries claimed and not completed, over all lanes
	draining  bool // no sender starts any more

	stats   stats
	closing atomic.Bool
	live    atomic.Pointer[Policy]
	retries atomic.Pointer[map[string]string] // how subscriptions that say so themselves are retried
	heart   heart
	senders sync.WaitGroup
	sending context.Context // of all attempts
	abort   func()          // ends the attempts under way
	crew    *crew
	stop    []func() // stops the loops in the order they may stop
}

// New makes an engine that is not started.
func New(cfg Config) *Engine {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	if cfg.Notifier == nil {
		cfg.Notifier = nobody{}
	}
	cfg.Circuit = cfg.Circuit.withDefaults()
	if cfg.OnReady == nil {
		cfg.OnReady = func(map[string]struct{}) {}
	}
	if cfg.WhyNot == nil {
		cfg.WhyNot = func(context.Context, store.Client, string, string) (string, error) { return "", nil }
	}
	setDefault(&cfg.KeyLifetime, 7*24*time.Hour)
	setDefault(&cfg.Lease, 30*time.Second)
	setDefault(&cfg.Poll, 5*time.Second)
	setDefault(&cfg.Deadline, 30*time.Second)
	setDefault(&cfg.MaxBatch, 512)
	setDefault(&cfg.MaxInFlight, 4096)
	sending, abort := context.WithCancel(context.Background())
	return &Engine{
		sending:     sending,
		abort:       abort,
		cfg:         cfg,
		node:        cfg.DB.NewID("node"),
		submissions: make(chan *pending, 4096),
		intakeOver:  make(chan struct{}),
		wake:        make(chan struct{}, 1),
		outcomes:    make(chan finished, cfg.MaxInFlight),
		jobs:        make(chan struct{}, 1),
		sweep:       make(chan struct{}, 1),
		expiry:      make(chan struct{}, 1),
		lanes:       make(map[string]*lane),
	}
}

// Name implements the program's service interface.
func (e *Engine) Name() string { return "engine" }

// Start frees what a dead process held and starts the loops.
func (e *Engine) Start(ctx context.Context) error {
	shown, err := e.prepare(ctx)
	if err != nil {
		return err
	}
	e.crew = newCrew()
	if e.cfg.DB.Dialect() == store.SQLite {
		e.loop(e.writeLoop)
	} else {
		e.loop(e.heartLoop) // until the last outcome is written
		e.loop(e.commitLoop)
		e.loop(e.completeLoop)
	}
	e.loop(func(ctx context.Context) { e.clockLoop(ctx, shown) })
	e.loop(e.sweepLoop)
	e.loop(e.noticeLoop)
	e.loop(e.expireLoop)
	e.loop(e.jobLoop)
	e.loop(e.listenLoop)
	e.loop(e.dispatchLoop)
	return nil
}

// prepare frees what a dead process held, and tells when the newest delivery was made.
func (e *Engine) prepare(ctx context.Context) (time.Time, error) {
	if e.cfg.DB.Dialect() == store.SQLite {
		// One process at a time works on a SQLite file, so whatever is leased was leased by a dead one.
		err := e.cfg.DB.Write(ctx, func(tx *store.Tx) error { return errors.Join(tx.FreeAllLeases(ctx), tx.FreeProbes(ctx, "")) })
		if err != nil {
			return time.Time{}, err
		}
	}
	return e.startClock(ctx)
}

// loop runs fn until stopped; loops stop in reverse order.
func (e *Engine) loop(fn func(ctx context.Context)) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		fn(ctx)
	}()
	e.stop = append(e.stop, func() {
		cancel()
		<-done
	})
}

// Stop takes nothing more in, claims nothing more, waits for what is in flight and writes its outcomes. An attempt that is still
// under way when two thirds of the time have passed is broken off and its delivery given back with its key, so that a receiver that
// hangs takes no time from the parts of the program that stop later. What has not ended by the end of ctx is sent again after the
// next start.
func (e *Engine) Stop(ctx context.Context) error {
	e.closing.Store(true)
	if deadline, ok := ctx.Deadline(); ok { // by the time of the process, as that of every context
		patience := time.AfterFunc(time.Until(deadline)*2/3, e.abort)
		defer patience.Stop()
	}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		last := len(e.stop) - 1
		e.stop[last]() // dispatch first, then wait for the senders, whose outcomes the completer still takes
		e.mu.Lock()
		e.draining = true
		e.mu.Unlock()
		e.senders.Wait()
		e.crew.dismiss()
		for i := last - 1; i >= 0; i-- {
			e.stop[i]()
		}
	}()
	select {
	case <-stopped:
		return e.cfg.DB.Write(ctx, func(tx *store.Tx) error {
			if _, err := tx.FreeLeases(ctx, e.node); err != nil {
				return err
			}
			if err := tx.FreeProbes(ctx, e.node); err != nil {
				return err
			}
			return tx.EndNode(ctx, e.node)
		})
	case <-ctx.Done():
		e.abort()
		e.cfg.Log.WarnContext(ctx, "deliveries were still in flight; they are sent again after the next start")
		return nil
	}
}

// Ready tells whether the engine works: the database answers and it is not stopping.
func (e *Engine) Ready(ctx context.Context) error {
	if e.closing.Load() {
		return errors.New("stopping")
	}
	_, err := e.cfg.DB.FanoutEpoch(ctx)
	return err
}

// Changed tells the engine that partners, endpoints, subscriptions or deliveries changed. It is called after the change
// is committed; once it returns no attempt starts that the change forbids, on any node (guarantee G2). On PostgreSQL it
// waits some milliseconds for that: other nodes may start attempts by what they read right before the change.
func (e *Engine) Changed() {
	e.changed()
	if e.cfg.DB.Dialect() == store.Postgres {
		<-time.After(2 * epochAge)
	}
}

// changed is Changed for this node alone.
func (e *Engine) changed() {
	e.fanout.invalidate()
	e.cfg.OnReady(nil)
	e.mu.Lock()
	for _, l := range e.lanes {
		l.ready = true
	}
	e.mu.Unlock()
	signal(e.sweep)
	signal(e.wake)
}

func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

func setDefault[T int | time.Duration](field *T, value T) {
	if *field == 0 {
		*field = value
	}
}

// Notifier tells people what the engine decided by itself. It is called inside the transaction of the decision.
type Notifier interface {
	// EndpointFailing: nothing has arrived at the endpoint since its circuit opened. cause says what came of the last attempt.
	EndpointFailing(ctx context.Context, tx *store.Tx, endpoint store.Endpoint, cause string) error
	EndpointSuspended(ctx context.Context, tx *store.Tx, endpoint store.Endpoint, reason string) error
	SubscriptionEnded(ctx context.Context, tx *store.Tx, subscription store.Subscription, reason string) error
	// RequestQuarantined: a client used an Idempotency-Key again with other content, and nothing of it waited yet.
	RequestQuarantined(ctx context.Context, tx *store.Tx, request store.Quarantine) error
	// DeliveriesStuck: deliveries to these endpoints became held or dead since the last time. It returns those of which people were
	// told, by the place in the list.
	DeliveriesStuck(ctx context.Context, tx *store.Tx, notices []store.DeliveryNotice) (told []bool, err error)
}

type nobody struct{}

func (nobody) EndpointFailing(context.Context, *store.Tx, store.Endpoint, string) error { return nil }

func (nobody) EndpointSuspended(context.Context, *store.Tx, store.Endpoint, string) error { return nil }

func (nobody) SubscriptionEnded(context.Context, *store.Tx, store.Subscription, string) error {
	return nil
}

func (nobody) RequestQuarantined(context.Context, *store.Tx, store.Quarantine) error { return nil }

func (nobody) DeliveriesStuck(_ context.Context, _ *store.Tx, notices []store.DeliveryNotice) ([]bool, error) {
	return make([]bool, len(notices)), nil
}
