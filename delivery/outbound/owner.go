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

// A connection of HTTP/1.1 that a receiver answered twice on holds an answer for whoever sends the next request on it. So the
// connections of each owner, an endpoint, are its own; none is used again on which anything arrived unasked; and until a receiver
// has shown on some of them that nothing comes late, each rests before its second request. When unasked bytes come all the same,
// each request to that receiver goes over a connection of its own from then on.
//
// The known hole: an unasked answer that is under way while the next request is sent looks like the answer to it. Only a receiver
// that answered well before, and begins to answer late and twice, can be believed that way, until the answer that comes too many
// is seen. HTTP/2 names the request of each answer.
const (
	// rest is how long a line is idle before its second request, as long as its receiver is not known.
	rest = 100 * time.Millisecond
	// rested counts the lines that have to be silent that long for the receiver to be known.
	rested = 3
)

// owner is whose connections are kept apart from those of all others.
type owner struct {
	cfg   *Config
	pool  *pool
	tls   *tls.Config
	mu    sync.Mutex
	hosts map[string]*host // by scheme and address
}

// host is what is known of one address of an owner, and the lines to it that are idle, the one used last at the end.
type host struct {
	idle    []*line
	known   int  // lines that rested in silence
	single  bool // it sent what nobody asked for: one request for each connection
	two     *http.Transport
	sweeper *time.Timer
}

func (p *pool) owner(cfg *Config, name string) *owner {
	p.mu.Lock()
	defer p.mu.Unlock()
	o := p.owners[name]
	if o == nil {
		o = &owner{cfg: cfg, pool: p, tls: newTLSConfig(*cfg), hosts: make(map[string]*host)}
		o.tls.ClientSessionCache = tls.NewLRUClientSessionCache(4)
		o.tls.NextProtos = []string{"h2", "http/1.1"}
		p.owners[name] = o
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

// take takes an idle line that nothing arrived on; nil when there is none. unasked reports whether one was dropped for what
// arrived on it.
func (o *owner) take(key string) (l *line, unasked bool) {
	for {
		var seasoned bool
		o.mu.Lock()
		if l, seasoned = o.host(key).pop(o.cfg.Now()); l == nil {
			o.mu.Unlock()
			return nil, unasked
		}
		o.mu.Unlock()
		err := l.look()
		o.mu.Lock()
		if h := o.host(key); err == nil && seasoned && !h.single {
			h.known++
		} else if errors.Is(err, ErrUnasked) {
			h.single, unasked = true, true
		}
		o.mu.Unlock()
		if err == nil {
			return l, unasked
		}
		l.close()
	}
}

// pop takes the line that was used last, or of a host that is not known the one that rested longest. seasoned reports whether it
// has rested.
func (h *host) pop(now time.Time) (l *line, seasoned bool) {
	n := len(h.idle)
	switch {
	case n == 0 || h.single:
		return nil, false
	case h.known >= rested:
		l, h.idle = h.idle[n-1], h.idle[:n-1]
		return l, false
	case now.Sub(h.idle[0].since) < rest:
		return nil, false
	}
	l, h.idle = h.idle[0], h.idle[1:]
	return l, true
}

// put keeps a line for another request. It reports whether anything has arrived on it unasked.
func (o *owner) put(key string, l *line) (unasked bool) {
	if l.in.Buffered() > 0 {
		o.unasked(key)
		l.close()
		return true
	}
	l.since = o.cfg.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	h := o.host(key)
	if o.pool.closed.Load() || h.single || len(h.idle) >= o.cfg.MaxIdleConnsPerHost {
		l.close()
		return false
	}
	h.idle = append(h.idle, l)
	if h.sweeper == nil {
		h.sweeper = time.AfterFunc(o.cfg.IdleTimeout, func() { o.sweep(h) })
	}
	return false
}

// unasked has each request to a host go over a connection of its own.
func (o *owner) unasked(key string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.host(key).single = true
}

// sweep closes lines that were idle for too long, and comes again while there are others.
func (o *owner) sweep(h *host) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := o.cfg.Now()
	kept := h.idle[:0]
	for _, l := range h.idle {
		if now.Sub(l.since) < o.cfg.IdleTimeout {
			kept = append(kept, l)
		} else {
			l.close()
		}
	}
	clear(h.idle[len(kept):])
	if h.idle = kept; len(kept) == 0 {
		h.sweeper = nil
		return
	}
	h.sweeper.Reset(o.cfg.IdleTimeout / 2)
}

// closeIdle closes what is open and unused.
func (o *owner) closeIdle() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, h := range o.hosts {
		for _, l := range h.idle {
			l.close()
		}
		h.idle = nil
		if h.two != nil {
			h.two.CloseIdleConnections()
		}
	}
}

// addressOf is the address that a URL is connected to, and the name that its certificate must have.
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

// WithGate returns a context for requests of DoFor that asks gate right before each is written; when it answers false nothing is
// written, and the error is ErrHeldBack. A nil gate is open.
func WithGate(ctx context.Context, gate func() bool) context.Context {
	return context.WithValue(ctx, gateKey{}, gate)
}

// passes reports whether the gate of a request is open.
func passes(ctx context.Context) bool {
	gate, ok := ctx.Value(gateKey{}).(func() bool)
	return !ok || gate == nil || gate()
}
