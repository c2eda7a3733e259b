package outbound

import (
	"context"
	"errors"
	"net"
	"net/url"
)

// Reach connects to the host of an https address as a request to it would, and closes the connection without sending anything. An error
// is an *Error.
func (c *Client) Reach(ctx context.Context, raw string) error {
	u, err := url.Parse(raw)
	if err != nil {
		return &Error{Kind: KindProtocol, Host: raw, cause: err}
	}
	if err := c.CheckURL(raw); errors.Is(err, ErrBlockedAddress) {
		return &Error{Kind: KindBlockedAddress, Host: u.Host, cause: err}
	}
	addr, _, err := addressOf(u)
	if err != nil {
		return wrap(u.Host, err)
	}
	p := c.pool.Load()
	g := p.guard
	if u.Scheme == "http" && p.plainGuard != nil {
		g = p.plainGuard
	}
	conn, err := newDialer(c.cfg, g).DialContext(ctx, "tcp", addr)
	if err != nil {
		return wrap(u.Host, err)
	}
	_ = conn.(*net.TCPConn).SetLinger(0) // the other side learns at once that nothing comes
	return conn.Close()
}
