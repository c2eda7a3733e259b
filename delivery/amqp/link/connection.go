package link

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"sync"
	"time"

	amqp "github.com/Azure/go-amqp"
)

// Connection is one broker as one party sees it. It is safe for concurrent use.
type Connection struct {
	cfg   Config
	url   *url.URL
	board *board
	tries failures

	mu       sync.Mutex
	change   chan struct{}        // closed and renewed when pool or failed changes
	pool     *senders             // nil while there is no connection to send over
	failed   error                // why there is none; nil while the first is being made
	verified map[string]time.Time // queues that a probe found, and when
	cancel   context.CancelFunc
	done     chan struct{}
	running  sync.WaitGroup // what Send left to finish
}

// errNotRunning is why nothing can be sent before Start and after Stop.
var errNotRunning = errors.New("the connection is not started")

// New makes a connection; Start opens it. The error describes the problem of the
// configuration, in words for the one who wrote it.
func New(cfg Config) (*Connection, error) {
	cfg, target, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Connection{
		cfg: cfg, url: target, board: newBoard(cfg), change: make(chan struct{}),
		failed: errNotRunning, verified: map[string]time.Time{},
	}, nil
}

// Dialect gives the dialect of the broker.
func (c *Connection) Dialect() Dialect { return c.cfg.Dialect }

// State gives how the connection does now.
func (c *Connection) State() State { return c.board.State() }

// Start begins to connect and keeps the connection until Stop; it returns at once.
// The context it gets ends the start, not the connection.
func (c *Connection) Start(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cancel != nil {
		return nil
	}
	c.failed = nil
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c.cancel, c.done = cancel, make(chan struct{})
	go c.run(run, c.done)
	return nil
}

// Stop closes the connection and waits until sends have ended; their outcome, when it
// did not come, is Lost. Receivers end by their own contexts.
func (c *Connection) Stop(ctx context.Context) error {
	c.mu.Lock()
	cancel, done := c.cancel, c.done
	c.cancel = nil
	c.mu.Unlock()
	if cancel == nil {
		return nil
	}
	cancel()
	ended := make(chan struct{})
	go func() {
		<-done
		c.running.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Wait returns when there is a connection to send over, or the context ends.
func (c *Connection) Wait(ctx context.Context) error {
	for {
		c.mu.Lock()
		pool, change := c.pool, c.change
		c.mu.Unlock()
		if pool != nil {
			return nil
		}
		select {
		case <-change:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (c *Connection) run(ctx context.Context, done chan struct{}) {
	defer close(done)
	defer c.board.set("", Stopped, nil)
	for failures := 0; ; {
		opened := c.cfg.Clock()
		err := c.once(ctx)
		if ctx.Err() != nil {
			c.install(nil, errNotRunning)
			return
		}
		failures = c.failures(failures, opened)
		c.board.set("", Waiting, err) // first, so that a caller that fails finds the reason in the state
		c.install(nil, err)
		c.cfg.Log.WarnContext(ctx, "broker connection lost", "broker", c.url.Host, "failures", failures, "error", err)
		if !pause(ctx, c.cfg.wait(failures)) {
			c.install(nil, errNotRunning)
			return
		}
	}
}

// failures counts on, or begins again after a connection that held longer than the
// longest wait: one that is taken and dropped at once must not be hammered.
func (c *Connection) failures(before int, opened time.Time) int {
	if c.cfg.Clock().Sub(opened) > c.cfg.Retry.Max {
		return 1
	}
	return before + 1
}

// once makes a connection and stays until it is lost.
func (c *Connection) once(ctx context.Context) error {
	c.board.set("", Connecting, nil)
	w, err := c.dial(ctx)
	if err != nil {
		return err
	}
	defer w.close()
	c.board.set("", Opened, nil)
	c.install(newSenders(c, w), nil)
	c.cfg.Log.InfoContext(ctx, "broker connected", "broker", c.url.Host)
	select {
	case <-w.conn.Done():
		return errors.Join(w.lost(), errLost)
	case <-ctx.Done():
		return ctx.Err()
	}
}

var errLost = errors.New("the broker connection ended")

// install sets the line to send over, and wakes all that wait for one.
func (c *Connection) install(pool *senders, failed error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pool, c.failed = pool, failed
	close(c.change)
	c.change = make(chan struct{})
}

// ready gives what to send over. While the first connection is made it waits; after a failure it does not (AMQP-08).
func (c *Connection) ready(ctx context.Context, queue string) (*senders, error) {
	for {
		c.mu.Lock()
		pool, failed, change := c.pool, c.failed, c.change
		c.mu.Unlock()
		switch {
		case pool != nil:
			return pool, nil
		case failed != nil:
			return nil, &Error{Kind: Unavailable, Queue: queue, Err: failed}
		}
		select {
		case <-change:
		case <-ctx.Done():
			return nil, &Error{Kind: Unavailable, Queue: queue, Err: ctx.Err()}
		}
	}
}

// hangUp ends a connection that cannot be trusted any more; it is made again.
func (c *Connection) hangUp(w *wire) { _ = w.raw.Close() }

// closeGrace limits the time that a broker takes to close.
const closeGrace = time.Second

// wire is one open connection with one session.
type wire struct {
	raw     net.Conn
	conn    *amqp.Conn
	session *amqp.Session
}

// dial opens a wire, within ConnectTimeout.
func (c *Connection) dial(ctx context.Context) (*wire, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.ConnectTimeout)
	defer cancel()
	raw, err := c.dialRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect to broker: %w", err)
	}
	conn, err := amqp.NewConn(ctx, raw, c.options())
	if err != nil {
		_ = raw.Close()
		return nil, fmt.Errorf("open AMQP connection: %w", err)
	}
	w := &wire{raw: raw, conn: conn}
	if w.session, err = conn.NewSession(ctx, nil); err != nil {
		w.close()
		return nil, fmt.Errorf("begin AMQP session: %w", err)
	}
	return w, nil
}

func (c *Connection) dialRaw(ctx context.Context) (net.Conn, error) {
	raw, err := c.cfg.Dial(ctx, "tcp", address(c.url))
	if err != nil || c.url.Scheme == "amqp" {
		return raw, err
	}
	config := c.cfg.TLS.Clone()
	if config == nil {
		config = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	if config.ServerName == "" {
		config.ServerName = c.url.Hostname()
	}
	secure := tls.Client(raw, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = raw.Close()
		return nil, err
	}
	return secure, nil
}

func (c *Connection) options() *amqp.ConnOptions {
	options := &amqp.ConnOptions{HostName: c.cfg.Dialect.virtualHost(c.url.Path), IdleTimeout: c.cfg.IdleTimeout, WriteTimeout: c.cfg.ConnectTimeout}
	if options.HostName == "" {
		options.HostName = c.url.Hostname()
	}
	switch c.cfg.SASL {
	case Plain:
		options.SASLType = amqp.SASLTypePlain(c.cfg.Username, c.cfg.Password)
	case External:
		options.SASLType = amqp.SASLTypeExternal("")
	default:
		options.SASLType = amqp.SASLTypeAnonymous()
	}
	return options
}

// close says goodbye, and hangs up when that takes too long. Nothing of the wire runs when it returns.
func (w *wire) close() {
	hangUp := time.AfterFunc(closeGrace, func() { _ = w.raw.Close() })
	defer hangUp.Stop()
	_ = w.conn.Close()
}

func (w *wire) lost() error {
	if err := w.conn.Err(); err != nil {
		return fmt.Errorf("connection lost: %w", err)
	}
	return nil
}

func address(target *url.URL) string {
	port := target.Port()
	switch {
	case port != "":
	case target.Scheme == "amqps":
		port = "5671"
	default:
		port = "5672"
	}
	return net.JoinHostPort(target.Hostname(), port)
}
