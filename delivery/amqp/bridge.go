package amqp

import (
	"cmp"
	"context"
	"crypto/x509"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	goamqp "github.com/Azure/go-amqp"
	"golang.org/x/sys/unix"
	"schakel/delivery/amqp/certs"
	"schakel/delivery/amqp/cms"
	"schakel/delivery/amqp/link"
	"schakel/delivery/amqp/xsd"
	"schakel/delivery/event"
	"schakel/delivery/jwe"
	"schakel/delivery/outbox"
	"schakel/delivery/webhook"
	"schakel/store"
	"schakel/templates/i18n"
)

// Conn is the connection to one broker; [link.Connection] is one.
type Conn interface {
	// Send writes a message to a queue and returns nil once the broker accepted it (AMQP-07).
	Send(ctx context.Context, queue string, m *goamqp.Message) error
	// Receive hands each message of a queue to handle, which settles it, until ctx ends.
	Receive(ctx context.Context, queue string, credit int, handle link.Handler) error
	// Exists tells with an error that a queue cannot be written to (AMQP-107).
	Exists(ctx context.Context, queue string) error
	// Lifetimes asks how long the messages of queues live (INC-22).
	Lifetimes(ctx context.Context, queues []string) (map[string]link.Lifetime, error)
	// Stop closes the connection.
	Stop(ctx context.Context) error
}

// Engine accepts events and completes deliveries for the bridge.
type Engine interface {
	Accept(ctx context.Context, s outbox.Submission) (outbox.Receipt, error)
	Resend(ctx context.Context, actor outbox.Actor, deliveryID string) error
	Discard(ctx context.Context, actor outbox.Actor, deliveryID, reason string) error
}

// Key is a certificate of an own party with its private key.
type Key struct {
	cms.Identity
	Purpose string // store.AMQPSign or store.AMQPEncrypt
	Chain   []*x509.Certificate
}

// Vault protects messages at rest.
type Vault interface {
	SealBytes(purpose string, plain []byte) []byte
	OpenBytes(purpose string, sealed []byte) ([]byte, error)
}

// Config holds the dependencies and settings of a bridge. All funcs must be set unless they say otherwise.
type Config struct {
	DB   *store.DB
	Now  func() time.Time
	Log  *slog.Logger
	Node string // name of this process among those on the database
	// Connect opens the connection to a broker; changed receives each change of its state.
	Connect func(ctx context.Context, b store.AMQPBroker, changed func(link.State)) (Conn, error)
	// Keys gives the certificates of an own party with their private keys.
	Keys func(ctx context.Context, partyID string) ([]Key, error)
	// Check reports whether a certificate may be used now: validity, usage, revocation (AMQP-58 to AMQP-61).
	Check func(ctx context.Context, c *x509.Certificate, others []*x509.Certificate, use certs.Usage) (certs.Result, error)
	// CheckOffline reports whether a certificate is of the right usage, for own ones at the start (AMQP-69). Default the
	// rule of the profile.
	CheckOffline func(c *x509.Certificate, use certs.Usage) error
	// Trusts reports whether a certificate leads to a trusted root, without asking anybody. Default all do.
	Trusts func(c *x509.Certificate, others []*x509.Certificate) bool
	// Refresh asks the address registry for a party again, and forgets what was known of its certificates (AMQP-62).
	// Default nothing is asked.
	Refresh func(ctx context.Context, partyID string) error
	// Schemas are the XSDs of the operator; nil validates no document (AMQP-111).
	Schemas *xsd.Set
	// CMS bounds the bodies that are read, and names the algorithms that are rejected. Default all that the package accepts.
	CMS cms.Limits
	// Schedule gives the time at which a failed delivery is tried again.
	Schedule func(ctx context.Context, c store.Claimed) webhook.Schedule
	// Handle has an endpoint of ours answer a synchronous request (AMQP-94).
	Handle func(ctx context.Context, endpointID string, e *event.Event, key string) (answer []byte, err error)
	// Encrypter encrypts the data of CloudEvents whose subscription asks for that; without it they are not sent.
	Encrypter *jwe.Service
	// WhyNot tells why a client may not send events of a type and source; empty when it may. An error has the message wait at the broker.
	WhyNot func(ctx context.Context, clientID, eventType, source string) (string, error)
	// Audience limits a CloudEvent that names its recipient, as over HTTP. Default nobody is left out.
	Audience func(ctx context.Context, ev *event.Event) (store.Audience, error)
	// Subjects gives the codes of list 8279 that are known besides those of the processes (AMQP-21). Default none.
	Subjects func(ctx context.Context) []string
	// Vault protects the messages that wait for a person.
	Vault Vault
	// RejectUnwanted reports whether a message that nobody is subscribed to gets a negative AppRec; otherwise it is held until
	// somebody is. Default it is held.
	RejectUnwanted func(ctx context.Context) bool
	// Notify notifies the administrators, in the transaction that notes it. Default nobody is notified.
	Notify func(ctx context.Context, tx *store.Tx, n Notice) error
	// Clock reports whether the clock is synchronised (AMQP-54). Default SystemClock.
	Clock func() ClockState
	// Limits bounds events that come in.
	Limits event.Limits
	Options
}

// Options deviate from the profile where an operator chooses so; the zero value is the profile as we read it.
type Options struct {
	// AnswerWait makes an AppRec overdue when the party sets no time of its own; default 4 h (AMQP-117).
	AnswerWait time.Duration
	// MissingFields answers a missing field with required-field-missing; by default with invalid-field-value (INC-04).
	MissingFields bool
	// HeaderXML answers an unreadable header with xml-not-interpretable; by default with not-well-formed-xml (INC-01).
	HeaderXML bool
	// FullQueueNames writes to and replyTo as registered; by default the name of the queue alone (INC-26).
	FullQueueNames bool
	// SyncTimeout limits a synchronous exchange; default 15 s (AMQP-43).
	SyncTimeout time.Duration
	// Poll is the interval at which parties, answers and overdue messages are looked at; default 2 s.
	Poll time.Duration
	// Concurrency limits the messages of a queue that are handled at once; default 8.
	Concurrency int
	// Patience limits the tries of the answer to a message before the message is settled all the same: the answer waits in
	// the database; default 10 s (INC-10).
	Patience time.Duration
	// KeepRefused keeps messages that are refused or rejected as they came, encrypted, for as long as they are listed.
	KeepRefused bool
	// CheckWait is the first wait of a message whose certificate cannot be checked; it doubles each time. Default 5 s (AMQP-61).
	CheckWait time.Duration
}

// Bridge connects the engine to brokers. Make one for a process; it is safe for concurrent use.
type Bridge struct {
	cfg        Config
	engine     Engine
	dir        atomic.Pointer[directory]
	loading    sync.Mutex   // held while dir is made
	loads      atomic.Int64 // how often that was begun
	reload     chan struct{}
	answers    chan struct{}
	checks     chan struct{}
	outages    sync.Map // ids of parties of whom a message could not be checked
	operations chan struct{}
	waiting    waiters
	writes     *writes

	mu      sync.Mutex
	brokers map[string]*broker
	cancel  context.CancelFunc
	done    sync.WaitGroup
	clock   atomic.Pointer[ClockState]

	stating sync.Mutex
	states  map[string]link.State // of connections, by broker
	changed bool                  // since they were stored
}

// New makes a bridge that is not started.
func New(cfg Config) *Bridge {
	cfg.AnswerWait = cmp.Or(cfg.AnswerWait, 4*time.Hour)
	cfg.SyncTimeout = cmp.Or(cfg.SyncTimeout, 15*time.Second)
	cfg.Poll = cmp.Or(cfg.Poll, 2*time.Second)
	cfg.Patience = cmp.Or(cfg.Patience, 10*time.Second)
	cfg.Concurrency = cmp.Or(cfg.Concurrency, 8)
	cfg.CheckWait = cmp.Or(cfg.CheckWait, 5*time.Second)
	if cfg.Refresh == nil {
		cfg.Refresh = func(context.Context, string) error { return nil }
	}
	if cfg.CheckOffline == nil {
		cfg.CheckOffline = certs.New(certs.Config{Now: cfg.Now}).CheckOffline
	}
	if cfg.Subjects == nil {
		cfg.Subjects = func(context.Context) []string { return nil }
	}
	if cfg.Notify == nil {
		cfg.Notify = func(context.Context, *store.Tx, Notice) error { return nil }
	}
	if cfg.RejectUnwanted == nil {
		cfg.RejectUnwanted = func(context.Context) bool { return false }
	}
	b := &Bridge{cfg: cfg, reload: make(chan struct{}, 1), answers: make(chan struct{}, 1), operations: make(chan struct{}, 1), checks: make(chan struct{}, 1), brokers: map[string]*broker{}, states: map[string]link.State{}}
	b.dir.Store(&directory{})
	b.writes = &writes{db: cfg.DB}
	return b
}

// Join gives the bridge the engine that it is a transport of; it must be called before Start.
func (b *Bridge) Join(e Engine) { b.engine = e }

// Name implements the program's service interface.
func (b *Bridge) Name() string { return "amqp" }

// Start reads who exchanges messages with whom and starts the loops. A broker that is not there is no error: it is tried
// until it is.
func (b *Bridge) Start(ctx context.Context) error {
	if err := b.load(ctx); err != nil {
		return err
	}
	ctx, b.cancel = context.WithCancel(context.WithoutCancel(ctx))
	b.align(ctx)
	b.done.Go(func() { b.watch(ctx) })
	b.done.Go(func() { b.answerLoop(ctx) })
	b.done.Go(func() { b.checkLoop(ctx) })
	b.done.Go(func() { b.operationLoop(ctx) })
	b.done.Go(func() { b.sweepLoop(ctx) })
	b.done.Go(func() { b.queueLoop(ctx) })
	return nil
}

// Stop reads nothing more, finishes what is in hand and closes the connections. What was not settled comes again.
func (b *Bridge) Stop(ctx context.Context) error {
	b.cancel()
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		b.done.Wait()
		_ = b.writes.do(ctx, func(*store.Tx) error { return nil }) // those before it are done then
		b.closeAll(ctx)
	}()
	select {
	case <-stopped:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Reload has brokers and parties read again, soon.
func (b *Bridge) Reload() { signal(b.reload) }

func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// pause waits, and reports whether to go on.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

func (b *Bridge) now() store.Time { return store.At(b.cfg.Now()) }

// ClockState reports whether the clock of this machine follows a time server, as the profile requires (AMQP-54).
type ClockState struct {
	Synchronised bool
	Known        bool          // the system reported it
	Error        time.Duration // the largest error it may have, as the system says
	Detail       i18n.Message  // for people
}

// maxClockError is the error beyond which a clock counts as not synchronised.
const maxClockError = 2 * time.Second

// Clock gives the state of the clock as it was last looked at.
func (b *Bridge) Clock() ClockState {
	if s := b.clock.Load(); s != nil {
		return *s
	}
	return ClockState{Detail: "amqp.clock.not-looked"}
}

func (b *Bridge) lookAtClock() {
	look := b.cfg.Clock
	if look == nil {
		look = SystemClock
	}
	s := look()
	b.clock.Store(&s)
}

// SystemClock asks the kernel, which any time service tells.
func SystemClock() ClockState {
	var t unix.Timex
	state, err := unix.Adjtimex(&t)
	if err != nil {
		return ClockState{Detail: "amqp.clock.untold"}
	}
	s := ClockState{Known: true, Error: time.Duration(t.Maxerror) * time.Microsecond}
	s.Synchronised = state != unix.TIME_ERROR && t.Status&unix.STA_UNSYNC == 0 && s.Error < maxClockError
	switch {
	case s.Synchronised:
		s.Detail = i18n.M("amqp.clock.right-text", s.Error.Round(time.Millisecond).String())
	case t.Status&unix.STA_UNSYNC != 0 || state == unix.TIME_ERROR:
		s.Detail = "amqp.clock.no-server"
	default:
		s.Detail = i18n.M("amqp.clock.wrong-by", s.Error.Round(time.Millisecond).String())
	}
	return s
}
