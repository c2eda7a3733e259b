package outbox

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"schakel/delivery/trace"
	"schakel/store"
)

// Config configures an Engine. Each field has a default but DB.
type Config struct {
	DB *store.DB
	// Transports holds the transports by kind of endpoint. An endpoint of another kind keeps its deliveries waiting.
	Transports map[string]Transport
	// Notifier notifies people of the engine's own decisions; default nopNotifier.
	Notifier Notifier
	// Now is the clock; default time.Now.
	Now func() time.Time
	Log *slog.Logger
	// KeyLifetime is the validity of an Idempotency-Key, in and out; default 7 days (IDEM-07).
	KeyLifetime time.Duration
	// Lease is the time within which other nodes on PostgreSQL take over the claims of a dead node; default 30 s. A node that
	// lives keeps its claims: see nodes.go. The claim of an owner without a known heartbeat ends this long after the
	// time-out of its attempt.
	Lease time.Duration
	// Poll is the interval at which the engine looks for work that no signal announced; default 5 s.
	Poll time.Duration
	// Circuit configures when the circuit of a failing endpoint opens.
	Circuit CircuitPolicy
	// OnReady is called with the endpoints that may have due deliveries now, on whichever node they came in; nil stands for
	// all. It returns at once. Default no-op.
	OnReady func(endpoints map[string]struct{})
	// Live, when set, returns the settings that may change while the engine runs; it answers soon and may cache its answer.
	Live func(ctx context.Context) (Policy, error)
	// WhyNot returns why intake rejects events of a type and source from a client now, as a sentence; empty when it accepts
	// them. It is called when a quarantined request is released. By default nothing is rejected.
	WhyNot func(ctx context.Context, client store.Client, eventType, source string) (string, error)
	// Traces, when set, records a span for each attempt.
	Traces *trace.Recorder
	// Deadline bounds the transactions that accept, claim and write outcomes on PostgreSQL; default 30 s.
	Deadline time.Duration
	// MaxBatch bounds the events of one group commit; default 512.
	MaxBatch int
	// MaxInFlight bounds the deliveries this node holds at once, over all endpoints; default 4096.
	MaxInFlight int
}

// Engine accepts and delivers events. Make one for a process; it is safe for concurrent use.
type Engine struct {
	cfg  Config
	node string

	submissions   chan *pending
	intakeStopped chan struct{} // closed when nothing reads submissions any more
	intakeOnce    sync.Once
	inFlight      inFlightKeys
	fanout        fanout

	wake     chan struct{}
	outcomes chan sendResult
	jobs     chan struct{}
	sweep    chan struct{}
	expiry   chan struct{}

	mu           sync.Mutex
	queues       map[string]*endpointQueue
	circuitMoves uint64 // counts what was done to circuits; the mutex guards it
	// queuesEpoch is the epoch of the database that the queues were read at; the dispatcher writes it.
	queuesEpoch string
	held        int  // deliveries claimed and not completed, over all queues
	draining    bool // no sender starts any more

	stats     stats
	closing   atomic.Bool
	live      atomic.Pointer[Policy]
	sendings  atomic.Pointer[map[string]store.Sending] // by subscription that says itself how it is sent
	heartbeat heartbeat
	senders   sync.WaitGroup
	sending   context.Context // of all attempts
	abort     func()          // ends the attempts under way
	pool      *senderPool
	stop      []func() // stops the loops in the order they may stop
}

// New makes an engine that is not started.
func New(cfg Config) *Engine {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	cfg.Log = cmp.Or(cfg.Log, slog.Default())
	cfg.Notifier = cmp.Or[Notifier](cfg.Notifier, nopNotifier{})
	cfg.Circuit = cfg.Circuit.withDefaults()
	if cfg.OnReady == nil {
		cfg.OnReady = func(map[string]struct{}) {}
	}
	if cfg.WhyNot == nil {
		cfg.WhyNot = func(context.Context, store.Client, string, string) (string, error) { return "", nil }
	}
	cfg.KeyLifetime = cmp.Or(cfg.KeyLifetime, 7*24*time.Hour)
	cfg.Lease = cmp.Or(cfg.Lease, 30*time.Second)
	cfg.Poll = cmp.Or(cfg.Poll, 5*time.Second)
	cfg.Deadline = cmp.Or(cfg.Deadline, 30*time.Second)
	cfg.MaxBatch = cmp.Or(cfg.MaxBatch, 512)
	cfg.MaxInFlight = cmp.Or(cfg.MaxInFlight, 4096)
	sending, abort := context.WithCancel(context.Background())
	return &Engine{
		sending:       sending,
		abort:         abort,
		cfg:           cfg,
		node:          cfg.DB.NewID("node"),
		submissions:   make(chan *pending, 4096),
		intakeStopped: make(chan struct{}),
		wake:          make(chan struct{}, 1),
		outcomes:      make(chan sendResult, cfg.MaxInFlight),
		jobs:          make(chan struct{}, 1),
		sweep:         make(chan struct{}, 1),
		expiry:        make(chan struct{}, 1),
		queues:        make(map[string]*endpointQueue),
	}
}

// Name implements the program's service interface.
func (e *Engine) Name() string { return "engine" }

// Node names this node among those that share the database.
func (e *Engine) Node() string { return e.node }

// Start frees the leases of a dead process and starts the loops.
func (e *Engine) Start(ctx context.Context) error {
	shown, err := e.prepare(ctx)
	if err != nil {
		return err
	}
	e.pool = newSenderPool()
	e.loop(e.trafficLoop) // the first, so that it stops last and writes what the others counted
	if e.cfg.DB.Dialect() == store.SQLite {
		e.loop(e.writeLoop)
	} else {
		e.loop(e.heartbeatLoop) // until the last outcome is written
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

// prepare frees the leases of a dead process, and returns the time of the newest delivery.
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

// every calls fn now and at each interval, until ctx ends.
func every(ctx context.Context, interval time.Duration, fn func()) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		fn()
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// Stop rejects new events, claims nothing more, waits for what is in flight and writes its outcomes. It breaks off an attempt
// that is still in flight when two thirds of the time have passed and releases its delivery with its key, so that a receiver
// that hangs takes no time from the parts of the program that stop later. What has not ended by the end of ctx is sent again
// after the next start.
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
		e.pool.stop()
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

// Ready returns an error unless the engine works: the database answers and it is not stopping.
func (e *Engine) Ready(ctx context.Context) error {
	if e.closing.Load() {
		return errors.New("stopping")
	}
	_, err := e.cfg.DB.FanoutEpoch(ctx)
	return err
}

// Changed announces that partners, endpoints, subscriptions or deliveries changed. Call it after the change is committed; once
// it returns no attempt starts that the change forbids, on any node (guarantee G2). On PostgreSQL it waits some milliseconds
// for that: other nodes may start attempts by what they read right before the change.
func (e *Engine) Changed() {
	e.changed()
	if e.cfg.DB.Dialect() == store.Postgres {
		<-time.After(2 * epochAge)
	}
}

// changed is Changed for this node alone.
func (e *Engine) changed() {
	e.fanout.invalidate()
	e.wakeAll()
	signal(e.sweep)
}

func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

type stats struct {
	accepted, duplicates, handed, delivered, retried, held, dead, expired atomic.Int64
}

// Stats is a reading of the engine's counters, all since the start of the process but InFlight.
type Stats struct {
	Accepted, Duplicates           int64 // events
	Handed                         int64 // new deliveries that went to their senders without a claim
	Delivered, Retried, Held, Dead int64 // outcomes of attempts
	Expired                        int64 // deliveries discarded because their event expired
	InFlight                       int   // deliveries this node holds now
}

// Stats reads the counters.
func (e *Engine) Stats() Stats {
	e.mu.Lock()
	inFlight := e.held
	e.mu.Unlock()
	s := &e.stats
	return Stats{
		Accepted: s.accepted.Load(), Duplicates: s.duplicates.Load(), Handed: s.handed.Load(), Delivered: s.delivered.Load(), Retried: s.retried.Load(),
		Held: s.held.Load(), Dead: s.dead.Load(), Expired: s.expired.Load(), InFlight: inFlight,
	}
}

func (s *stats) accept(r Receipt) {
	for _, a := range r.Events {
		if a.Duplicate {
			s.duplicates.Add(1)
		} else {
			s.accepted.Add(1)
		}
	}
}

func (s *stats) outcome(status string) {
	switch status {
	case store.DeliveryDelivered:
		s.delivered.Add(1)
	case store.DeliveryRetrying:
		s.retried.Add(1)
	case store.DeliveryHeld:
		s.held.Add(1)
	case store.DeliveryDead:
		s.dead.Add(1)
	}
}
