package outbound

import (
	"cmp"
	"crypto/x509"
	"net"
	"net/netip"
	"time"
)

// Config restricts the destinations of requests and their cost. The zero value is the safe one: public addresses only, HTTPS
// only.
type Config struct {
	// AllowPrefixes are ranges the installation allows besides public addresses, such as 10.0.0.0/8. Default none. Addresses
	// of cloud metadata services stay blocked in any case.
	AllowPrefixes []netip.Prefix
	// AllowPlainHTTP also allows http:// when the final address is loopback.
	// Default false. Meant for a demonstration on one machine: tokens and
	// events go unencrypted, and every service on loopback can be reached.
	AllowPlainHTTP bool
	// AllowUnsigned also allows http:// to every address that is allowed. Default false. For answers that need no encryption
	// because they are signed themselves and the same for everybody: those about revoked certificates.
	AllowUnsigned bool
	// RootCAs are the certificate authorities trusted for servers. Default nil,
	// the authorities of the operating system.
	RootCAs *x509.CertPool
	// Resolver looks names up. Default Go's own resolver, never the C library,
	// which takes "127.1" and "2130706433" for addresses.
	Resolver *net.Resolver
	// DialTimeout bounds looking up and connecting, and the TLS handshake
	// separately. Default 5 s.
	DialTimeout time.Duration
	// ResponseTimeout bounds a whole exchange, from dialling to the last byte
	// of the answer's body. Default 30 s. A context may only shorten it.
	ResponseTimeout time.Duration
	// MaxResponseBytes bounds the body of an answer. Default 64 KiB. A longer body is cut and its connection closed.
	MaxResponseBytes int64
	// MaxHeaderBytes bounds the answer's header. Default 32 KiB; a larger one
	// fails the request.
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
}

func (c Config) withDefaults() Config {
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
