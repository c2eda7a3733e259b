// Package outbound sends every request that leaves the program: webhook deliveries, token requests, key sets and discovery
// documents.
//
// It guarantees (SEC-20..27, CE-63) that a request goes over TLS 1.2 or newer to a server with a verified certificate, on an
// address that is public or allowed by the installation; that the address is judged at every connection, after the name was
// looked up, and the host against the list of the installation where it has one; that no redirect is followed, no proxy is taken from the environment and no cookie is kept; and that time, header
// and body of the answer are bounded.
//
// The known hole: an open connection is not judged again. It ends after Config.IdleTimeout without use, and SetAllowed parts with
// all of them.
package outbound

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// Client sends requests. It is safe for concurrent use; make one for the
// whole program, because connections are shared through it.
type Client struct {
	cfg  Config
	pool atomic.Pointer[pool]
}

// New makes a Client.
func New(cfg Config) *Client {
	c := &Client{cfg: cfg.withDefaults()}
	c.pool.Store(newPool(c.cfg, cfg.AllowPrefixes))
	return c
}

// SetAllowed replaces Config.AllowPrefixes. Requests in flight finish; every later one dials again and is judged by the new list.
func (c *Client) SetAllowed(prefixes []netip.Prefix) {
	old := c.pool.Swap(newPool(c.cfg, prefixes))
	old.closed.Store(true)
	old.closeIdle()
}

// CloseIdleConnections closes the connections that are open and unused.
func (c *Client) CloseIdleConnections() { c.pool.Load().closeIdle() }

// UserAgent returns the User-Agent of requests that set none.
func (c *Client) UserAgent() string { return c.cfg.UserAgent }

// HTTPClient returns an *http.Client with the same guard, for libraries that want one. It follows no redirect; reading a body
// past Config.MaxResponseBytes fails with ErrResponseTooLarge.
func (c *Client) HTTPClient() *http.Client {
	return &http.Client{
		Transport: cappedTransport{c},
		Timeout:   c.cfg.ResponseTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}
}

func (c *Client) roundTrip(req *http.Request) (*http.Response, error) {
	transport, err := c.transportFor(req)
	if err == nil {
		var answer *http.Response
		if answer, err = transport.RoundTrip(req); err == nil {
			return answer, nil
		}
	} else if req.Body != nil {
		err = errors.Join(err, req.Body.Close())
	}
	return nil, wrap(req.URL.Host, err)
}

func (c *Client) transportFor(req *http.Request) (*http.Transport, error) {
	p := c.pool.Load()
	if err := p.allows(req); err != nil {
		return nil, err
	}
	if req.URL.Scheme == "http" {
		return p.plain, nil
	}
	return p.secure, nil
}

// allows judges the URL of a request, but for its address.
func (p *pool) allows(req *http.Request) error {
	switch {
	case req.URL.User != nil:
		return fmt.Errorf("URL with credentials: %w", ErrBlockedAddress)
	case !listed(p.hosts, req.URL.Hostname()):
		return &UnlistedError{req.URL.Hostname()}
	case req.URL.Scheme == "https", req.URL.Scheme == "http" && p.plain != nil:
		return nil
	default:
		return fmt.Errorf("scheme %q: %w", req.URL.Scheme, ErrBlockedAddress)
	}
}

// named returns req with our User-Agent. The header is copied first: a RoundTripper may not write to what its caller owns.
func (c *Client) named(req *http.Request) *http.Request {
	if len(req.Header["User-Agent"]) > 0 {
		return req
	}
	copied := *req
	copied.Header = make(http.Header, len(req.Header)+1)
	for name, values := range req.Header {
		copied.Header[name] = values
	}
	copied.Header["User-Agent"] = []string{c.cfg.UserAgent}
	return &copied
}

// cappedTransport is the http.RoundTripper behind HTTPClient.
type cappedTransport struct{ client *Client }

func (t cappedTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	answer, err := t.client.roundTrip(t.client.named(req))
	if err != nil {
		return nil, err
	}
	answer.Body = &cappedBody{ReadCloser: answer.Body, host: req.URL.Host, left: t.client.cfg.MaxResponseBytes}
	return answer, nil
}

// CloseIdleConnections lets http.Client.CloseIdleConnections reach the pool.
func (t cappedTransport) CloseIdleConnections() { t.client.CloseIdleConnections() }

// cappedBody fails when more than its limit is read from it.
type cappedBody struct {
	io.ReadCloser
	host string
	left int64
}

func (b *cappedBody) Read(p []byte) (int, error) {
	// One byte more than the limit is asked for, to tell "full" from "too much".
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	if int64(n) > b.left {
		n = int(b.left)
		b.left = 0
		return n, wrap(b.host, ErrResponseTooLarge)
	}
	b.left -= int64(n)
	if err != nil && err != io.EOF {
		err = wrap(b.host, err)
	}
	return n, err
}

// Config restricts the destinations of requests and their cost. The zero value is the safe one: public addresses only, HTTPS
// only.
type Config struct {
	// AllowPrefixes are ranges the installation allows besides public addresses, such as 10.0.0.0/8. Default none. Addresses
	// of cloud metadata services stay blocked in any case.
	AllowPrefixes []netip.Prefix
	// Hosts are the only hosts that requests go to; the rules for addresses hold for them too. Default none, every host.
	Hosts []Host
	// AllowPlainHTTP also allows http:// when the final address is loopback. Default false. Meant for a demonstration on one
	// machine: tokens and events go unencrypted, and every service on loopback can be reached.
	AllowPlainHTTP bool
	// AllowUnsigned also allows http:// to every address that is allowed. Default false. For answers that need no encryption
	// because they are signed themselves and the same for everybody: those about revoked certificates.
	AllowUnsigned bool
	// RootCAs are the certificate authorities trusted for servers. Default nil, the authorities of the operating system.
	RootCAs *x509.CertPool
	// Resolver looks names up. Default Go's own resolver, never the C library,
	// which takes "127.1" and "2130706433" for addresses.
	Resolver *net.Resolver
	// DialTimeout bounds looking up and connecting, and the TLS handshake separately. Default 5 s.
	DialTimeout time.Duration
	// ResponseTimeout bounds a whole exchange, from dialling to the last byte
	// of the answer's body. Default 30 s. A context may only shorten it.
	ResponseTimeout time.Duration
	// MaxResponseBytes bounds the body of an answer. Default 64 KiB. A longer body is cut and its connection closed.
	MaxResponseBytes int64
	// MaxHeaderBytes bounds the answer's header. Default 32 KiB; a larger one fails the request.
	MaxHeaderBytes int64
	// MaxIdleConnsPerHost bounds the idle connections to one host. Default 64. Fewer than the requests in flight means
	// dialling again.
	MaxIdleConnsPerHost int
	// IdleTimeout closes a connection that was not used. Default 60 s.
	IdleTimeout time.Duration
	// UserAgent names us. Default "Schakel/1".
	UserAgent string
	// Now is the clock that durations are measured with. Default time.Now.
	Now func() time.Time

	// Servers remembers the certificates of the servers. Default a memory of its own; clients may share one.
	Servers *Servers
}

func (c Config) withDefaults() Config {
	c.Servers = cmp.Or(c.Servers, NewServers())
	c.DialTimeout = cmp.Or(max(c.DialTimeout, 0), 5*time.Second)
	c.ResponseTimeout = cmp.Or(max(c.ResponseTimeout, 0), 30*time.Second)
	c.MaxResponseBytes = cmp.Or(max(c.MaxResponseBytes, 0), 64<<10)
	c.MaxHeaderBytes = cmp.Or(max(c.MaxHeaderBytes, 0), 32<<10)
	c.MaxIdleConnsPerHost = cmp.Or(max(c.MaxIdleConnsPerHost, 0), 64)
	c.IdleTimeout = cmp.Or(max(c.IdleTimeout, 0), time.Minute)
	c.UserAgent = cmp.Or(c.UserAgent, "Schakel/1")
	if c.Now == nil {
		c.Now = time.Now
	}
	c.Resolver = cmp.Or(c.Resolver, &net.Resolver{PreferGo: true})
	return c
}

// pool is a guard with the connections that were made under it. A changed allow list replaces the whole pool: connections that
// were checked by the old guard can then never be used again.
type pool struct {
	hosts  []Host
	guard  *guard
	secure *http.Transport
	plain  *http.Transport // nil unless plain HTTP is allowed
	// plainGuard judges connections without TLS; nil like plain.
	plainGuard *guard
	closed     atomic.Bool // replaced by another pool
	mu         sync.Mutex
	owners     map[ownerKey]*owner
}

func newPool(cfg Config, allow []netip.Prefix) *pool {
	p := &pool{hosts: cfg.Hosts, guard: newGuard(allow, false), owners: make(map[ownerKey]*owner)}
	p.secure = newTransport(cfg, p.guard)
	switch {
	case cfg.AllowUnsigned && !cfg.AllowPlainHTTP:
		p.plain, p.plainGuard = p.secure, p.guard
	case cfg.AllowUnsigned:
		p.plainGuard = newGuard(append(loopbackPrefixes(), allow...), false)
	case cfg.AllowPlainHTTP:
		p.plainGuard = newGuard(nil, true)
	}
	if p.plain == nil && p.plainGuard != nil {
		p.plain = newTransport(cfg, p.plainGuard)
	}
	return p
}

func (p *pool) closeIdle() {
	p.secure.CloseIdleConnections()
	if p.plain != nil {
		p.plain.CloseIdleConnections()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, o := range p.owners {
		o.closeIdle()
	}
}

func newDialer(cfg Config, g *guard) *net.Dialer {
	return &net.Dialer{Timeout: cfg.DialTimeout, Resolver: cfg.Resolver, Control: g.control}
}

// newTransport leaves Proxy nil, so that the environment cannot send requests
// elsewhere, and asks for no compression, so that a small answer stays small.
func newTransport(cfg Config, g *guard) *http.Transport {
	return &http.Transport{
		DialContext:            newDialer(cfg, g).DialContext,
		TLSClientConfig:        newTLSConfig(cfg),
		TLSHandshakeTimeout:    cfg.DialTimeout,
		DisableCompression:     true,
		ForceAttemptHTTP2:      true,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: cfg.DialTimeout},
		MaxResponseHeaderBytes: cfg.MaxHeaderBytes,
		MaxIdleConnsPerHost:    cfg.MaxIdleConnsPerHost,
		IdleConnTimeout:        cfg.IdleTimeout,
	}
}

// newTLSConfig offers TLS 1.2 and 1.3 with AEAD suites only (SEC-20, SEC-21). Curves stay at Go's default, which prefers the
// hybrid ones (SEC-22), and the server's certificate and name are always verified (SEC-26).
func newTLSConfig(cfg Config) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		CipherSuites: []uint16{
			tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
			tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
			tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
			tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
			tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
			tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
		},
		RootCAs:            cfg.RootCAs,
		ClientSessionCache: tls.NewLRUClientSessionCache(256),
		VerifyConnection:   cfg.Servers.note,
	}
}
