package outbound

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// pool is a guard with the connections that were made under it. A changed
// allow list replaces the whole pool: connections that were checked by the old
// guard can then never be used again.
type pool struct {
	guard  *guard
	secure *http.Transport
	plain  *http.Transport // nil unless plain HTTP is allowed
	// plainGuard judges connections without TLS; nil like plain.
	plainGuard *guard
	closed     atomic.Bool // replaced by another pool
	mu         sync.Mutex
	owners     map[string]*owner
}

func newPool(cfg Config, allow []netip.Prefix) *pool {
	p := &pool{guard: newGuard(allow, false), owners: make(map[string]*owner)}
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

// newTLSConfig offers TLS 1.2 and 1.3 with AEAD suites only (SEC-20, SEC-21).
// Curves stay at Go's default, which prefers the hybrid ones (SEC-22), and the
// server's certificate and name are always verified (SEC-26).
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
	}
}
