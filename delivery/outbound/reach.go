package outbound

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/url"
)

// Reach connects to the host of an https address as a request to it would, and closes the connection without sending anything. An error
// is an *Error.
func (c *Client) Reach(ctx context.Context, raw string) error {
	conn, _, err := c.Dial(ctx, raw)
	if err != nil {
		return err
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // the other side learns at once that nothing comes
	}
	return conn.Close()
}

// Dial connects to the host of an address as a request to it would, without TLS, for who looks at the TLS of a host. It returns the
// name that the certificate of the host must have. An error is an *Error.
func (c *Client) Dial(ctx context.Context, raw string) (conn net.Conn, name string, err error) {
	u, err := url.Parse(raw)
	if err != nil {
		return nil, "", &Error{Kind: KindProtocol, Host: raw, cause: err}
	}
	if err := c.CheckURL(raw); errors.Is(err, ErrBlockedAddress) {
		return nil, "", &Error{Kind: KindBlockedAddress, Host: u.Host, cause: err}
	}
	addr, name, err := addressOf(u)
	if err != nil {
		return nil, "", wrap(u.Host, err)
	}
	p := c.pool.Load()
	g := p.guard
	if u.Scheme == "http" && p.plainGuard != nil {
		g = p.plainGuard
	}
	conn, err = newDialer(c.cfg, g).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, "", wrap(u.Host, err)
	}
	return conn, name, nil
}

// TLS returns the settings of TLS that requests are sent with. They are the caller's own.
func (c *Client) TLS() *tls.Config { return newTLSConfig(c.cfg) }
