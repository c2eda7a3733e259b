// Package outbound sends every request that leaves the program: webhook
// deliveries, token requests, key sets and discovery documents.
//
// It guarantees (SEC-20..27, CE-63) that a request goes over TLS 1.2 or newer
// to a server with a verified certificate, on an address that is public or
// allowed by the installation; that the address is judged at every connection,
// after the name was looked up; that no redirect is followed, no proxy is taken
// from the environment and no cookie is kept; and that time, header and body of
// the answer are bounded.
//
// The known hole: an open connection is not judged again. It ends after
// Config.IdleTimeout without use, and SetAllowed parts with all of them.
package outbound

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"sync/atomic"
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

// SetAllowed replaces Config.AllowPrefixes. Requests in flight finish; every later one dials again and is judged by the new
// list.
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

// roundTrip sends one request through the transport for its scheme.
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
	case req.URL.Scheme == "https", req.URL.Scheme == "http" && p.plain != nil:
		return nil
	default:
		return fmt.Errorf("scheme %q: %w", req.URL.Scheme, ErrBlockedAddress)
	}
}

// named returns req with our User-Agent. The header is copied first: a
// RoundTripper may not write to what its caller owns.
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

// RoundTrip implements http.RoundTripper.
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

// Read implements io.Reader.
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
