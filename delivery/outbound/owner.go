package outbound

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// A connection of HTTP/1.1 that a receiver answered twice on holds an answer for the next request on it, whose ever that is. So the
// connections of each owner, an endpoint, are its own; none is used again on which anything arrived unasked; and until a receiver
// has proven on some of them that nothing comes late, each stays idle before its second request. When unasked bytes come all the
// same, each request to that receiver goes over a connection of its own from then on.
//
// The known hole: an unasked answer in flight while the next request is sent looks like the answer to it. Only a receiver that
// answered well before, and begins to answer late and twice, can be believed that way, until the surplus answer is seen. HTTP/2
// names the request of each answer.
const (
	// idleBeforeReuse is the idle time of a connection before its second request, until its receiver is proven.
	idleBeforeReuse = 100 * time.Millisecond
	// provenAfter connections that stay silent that long prove a receiver.
	provenAfter = 3
)

// owner holds connections apart from those of all others, and of the same owner with another client certificate.
type owner struct {
	cfg   *Config
	pool  *pool
	cert  *Certificate // nil for none
	tls   *tls.Config
	mu    sync.Mutex
	hosts map[string]*host // by scheme and address
}

// host holds the state of one address of an owner, and its idle connections, the one used last at the end.
type host struct {
	idle    []*connection
	proven  int  // connections that stayed silent while idle
	single  bool // it sent unasked bytes: one request for each connection
	http2   *http.Transport
	sweeper *time.Timer
}

func (p *pool) owner(cfg *Config, name string, cert *Certificate) *owner {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := keyOf(name, cert)
	o := p.owners[key]
	if o == nil {
		o = &owner{cfg: cfg, pool: p, cert: cert, tls: newTLSConfig(*cfg), hosts: make(map[string]*host)}
		o.tls.ClientSessionCache = tls.NewLRUClientSessionCache(4)
		o.tls.NextProtos = []string{"h2", "http/1.1"}
		cert.AddTo(o.tls)
		p.owners[key] = o
	}
	return o
}

func (o *owner) dialer(secure bool) *net.Dialer {
	if secure {
		return newDialer(*o.cfg, o.pool.guard)
	}
	return newDialer(*o.cfg, o.pool.plainGuard)
}

// host must be called with the mutex held.
func (o *owner) host(key string) *host {
	h := o.hosts[key]
	if h == nil {
		h = new(host)
		o.hosts[key] = h
	}
	return h
}

// take takes an idle connection on which nothing arrived; nil when there is none. unasked reports whether one was dropped for
// unasked bytes.
func (o *owner) take(key string) (c *connection, unasked bool) {
	for {
		var seasoned bool
		o.mu.Lock()
		if c, seasoned = o.host(key).pop(o.cfg.Now()); c == nil {
			o.mu.Unlock()
			return nil, unasked
		}
		o.mu.Unlock()
		err := c.look()
		o.mu.Lock()
		if h := o.host(key); err == nil && seasoned && !h.single {
			h.proven++
		} else if errors.Is(err, ErrUnasked) {
			h.single, unasked = true, true
		}
		o.mu.Unlock()
		if err == nil {
			return c, unasked
		}
		c.close()
	}
}

// pop takes the connection that was used last, or of a host that is not proven the one that was idle longest. seasoned reports
// whether it was idle for long enough.
func (h *host) pop(now time.Time) (c *connection, seasoned bool) {
	n := len(h.idle)
	switch {
	case n == 0 || h.single:
		return nil, false
	case h.proven >= provenAfter:
		c, h.idle = h.idle[n-1], h.idle[:n-1]
		return c, false
	case now.Sub(h.idle[0].since) < idleBeforeReuse:
		return nil, false
	}
	c, h.idle = h.idle[0], h.idle[1:]
	return c, true
}

// put keeps a connection for another request. It reports whether anything has arrived on it unasked.
func (o *owner) put(key string, c *connection) (unasked bool) {
	if c.in.Buffered() > 0 {
		o.markUnasked(key)
		c.close()
		return true
	}
	c.since = o.cfg.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	h := o.host(key)
	if o.pool.closed.Load() || h.single || len(h.idle) >= o.cfg.MaxIdleConnsPerHost {
		c.close()
		return false
	}
	h.idle = append(h.idle, c)
	if h.sweeper == nil {
		h.sweeper = time.AfterFunc(o.cfg.IdleTimeout, func() { o.sweep(h) })
	}
	return false
}

// markUnasked makes each request to a host go over a connection of its own.
func (o *owner) markUnasked(key string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.host(key).single = true
}

// sweep closes connections that were idle for too long, and schedules itself again while there are others.
func (o *owner) sweep(h *host) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := o.cfg.Now()
	remaining := h.idle[:0]
	for _, c := range h.idle {
		if now.Sub(c.since) < o.cfg.IdleTimeout {
			remaining = append(remaining, c)
		} else {
			c.close()
		}
	}
	clear(h.idle[len(remaining):])
	if h.idle = remaining; len(remaining) == 0 {
		h.sweeper = nil
		return
	}
	h.sweeper.Reset(o.cfg.IdleTimeout / 2)
}

// closeIdle closes the connections that are open and unused.
func (o *owner) closeIdle() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, h := range o.hosts {
		for _, c := range h.idle {
			c.close()
		}
		h.idle = nil
		if h.http2 != nil {
			h.http2.CloseIdleConnections()
		}
	}
}

// addressOf returns the address that a URL is connected to, and the name that its certificate must have.
func addressOf(u *url.URL) (addr, name string, err error) {
	name, port := u.Hostname(), u.Port()
	if !isASCII(name) {
		if name, err = hostASCII(name); err != nil {
			return "", "", &net.DNSError{Err: "invalid name", Name: u.Hostname(), IsNotFound: true}
		}
	}
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(name, port), name, nil
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// gateKey is the context key of the gate of a request.
type gateKey struct{}

// WithGate returns a context for requests of DoFor that calls gate right before each is written; when it returns false nothing
// is written, and the error is ErrHeldBack. A nil gate is open.
func WithGate(ctx context.Context, gate func() bool) context.Context {
	return context.WithValue(ctx, gateKey{}, gate)
}

// passes reports whether the gate of a request is open.
func passes(ctx context.Context) bool {
	gate, ok := ctx.Value(gateKey{}).(func() bool)
	return !ok || gate == nil || gate()
}
