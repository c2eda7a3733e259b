package outbound

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Response is an answer, read and closed.
type Response struct {
	Status    int           // any status, 3xx included: redirects are not followed (CE-63)
	Header    http.Header   // as received
	Body      []byte        // at most Config.MaxResponseBytes
	Truncated bool          // the body was longer, or broke off
	Duration  time.Duration // from dialling to the last byte that was read
	Unasked   bool          // DoFor: bytes came that no request asked for, with this answer or before it
}

// Do sends req and reads the answer. The context may shorten Config.ResponseTimeout. Do sets User-Agent when req has none and
// leaves req itself alone.
//
// An error is an *Error. When a status arrived and only its body failed, both results are set: the status counts, the body
// holds the part that arrived.
func (c *Client) Do(ctx context.Context, req *http.Request) (*Response, error) {
	started := c.cfg.Now()
	if until, ok := ctx.Deadline(); !ok || until.Sub(started) > c.cfg.ResponseTimeout {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.cfg.ResponseTimeout)
		defer cancel()
	}
	answer, err := c.roundTrip(c.named(req.WithContext(ctx)))
	if err != nil {
		return nil, err
	}
	resp := &Response{Status: answer.StatusCode, Header: answer.Header}
	err = resp.read(answer, c.cfg.MaxResponseBytes)
	resp.Duration = c.cfg.Now().Sub(started)
	if err != nil {
		return resp, wrap(req.URL.Host, err)
	}
	return resp, nil
}

// read takes the body up to its end, so that the connection can be used again.
// A body past the limit is not worth that: closing it closes the connection.
func (r *Response) read(answer *http.Response, most int64) error {
	defer answer.Body.Close()
	return r.body(answer, most)
}

func (r *Response) body(answer *http.Response, most int64) error {
	if answer.ContentLength == 0 {
		return nil
	}
	var buf bytes.Buffer
	if n := answer.ContentLength; n > 0 {
		// MinRead more than needed keeps ReadFrom from growing to see the end.
		buf.Grow(int(min(n, most)) + bytes.MinRead)
	}
	_, err := buf.ReadFrom(io.LimitReader(answer.Body, most+1))
	r.Body = buf.Bytes()
	if int64(len(r.Body)) > most {
		r.Body, r.Truncated = r.Body[:most], true
		return nil
	}
	r.Truncated = err != nil
	return err
}

// DoFor is Do over connections that no request of another owner shares; owner is the id of an endpoint. A request whose
// connection turns out to be closed before any byte of an answer came is sent again over another one, so its body must be
// readable again (GetBody) and its receiver must know it as the same, by its Idempotency-Key.
//
// A client certificate of the context (see WithCertificate) is shown to a receiver that asks for one. With req.Close the request has a
// connection of its own. DoFor does not believe an answer on a used connection with more
// bytes right behind it: the error is of KindUnasked, as when the receiver answers out of turn. The error is ErrHeldBack when
// the gate of the context is closed.
func (c *Client) DoFor(ctx context.Context, owner string, req *http.Request) (*Response, error) {
	started := c.cfg.Now()
	if until, ok := ctx.Deadline(); !ok || until.Sub(started) > c.cfg.ResponseTimeout {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.cfg.ResponseTimeout)
		defer cancel()
	}
	p := c.pool.Load()
	if err := p.allows(req); err != nil {
		return nil, wrap(req.URL.Host, err)
	}
	resp, err := p.owner(&c.cfg, owner, certificateOf(ctx)).do(ctx, c.named(req.WithContext(ctx)))
	if resp != nil {
		resp.Duration = c.cfg.Now().Sub(started)
	}
	if err != nil {
		return resp, wrap(req.URL.Host, err)
	}
	return resp, nil
}

// Forget closes the connections of an owner that was removed.
func (c *Client) Forget(name string) {
	p := c.pool.Load()
	p.mu.Lock()
	var gone []*owner
	for key, o := range p.owners {
		if key.name == name {
			gone = append(gone, o)
			delete(p.owners, key)
		}
	}
	p.mu.Unlock()
	for _, o := range gone {
		o.closeIdle()
	}
}

func (o *owner) do(ctx context.Context, req *http.Request) (*Response, error) {
	addr, name, err := addressOf(req.URL)
	if err != nil {
		return nil, err
	}
	secure := req.URL.Scheme == "https"
	key := req.URL.Scheme + " " + addr
	unasked := false
	for {
		if two := o.http2Transport(key); two != nil {
			return o.doHTTP2(ctx, key, two, req)
		}
		var c *connection
		if !req.Close {
			var dirty bool
			c, dirty = o.take(key)
			unasked = unasked || dirty
		}
		if c == nil {
			var wantsTwo bool
			if c, wantsTwo, err = o.dialConnection(ctx, secure, addr, name); err != nil {
				return nil, errors.Join(err, ctx.Err())
			}
			if wantsTwo {
				o.setHTTP2(key)
				continue
			}
		}
		resp, again, err := o.doOver(ctx, c, key, req)
		if again {
			if req, err = repeat(req); err == nil {
				continue
			}
		}
		if resp != nil {
			resp.Unasked = resp.Unasked || unasked
		}
		return resp, err
	}
}

// doOver sends a request over a connection. again reports that the connection was closed before the request, which goes over
// another one.
func (o *owner) doOver(ctx context.Context, c *connection, key string, req *http.Request) (resp *Response, again bool, err error) {
	if !passes(ctx) {
		if c.used {
			o.put(key, c)
		} else {
			c.close()
		}
		return nil, false, ErrHeldBack
	}
	o.mu.Lock()
	req.Close = req.Close || o.host(key).single
	o.mu.Unlock()
	reused := c.used
	resp, more, untouched, err := c.exchange(ctx, req, o.cfg)
	switch {
	case more && o.put(key, c):
		resp.Unasked = true
		if reused {
			return nil, false, ErrUnasked
		}
		return resp, false, nil
	case more:
		return resp, false, nil
	case resp != nil && c.in.Buffered() > 0 && !resp.Truncated:
		o.markUnasked(key)
		resp.Unasked = true
	}
	c.close()
	return resp, err != nil && reused && untouched && ctx.Err() == nil, err
}

// repeat returns a request that was sent, ready to be sent again.
func repeat(req *http.Request) (*http.Request, error) {
	if req.Body == nil || req.Body == http.NoBody {
		return req, nil
	}
	if req.GetBody == nil {
		return nil, io.ErrUnexpectedEOF
	}
	body, err := req.GetBody()
	if err != nil {
		return nil, fmt.Errorf("read body again: %w", err)
	}
	again := *req
	again.Body = body
	return &again, nil
}

// http2Transport returns the transport of a host that prefers HTTP/2; nil for all others.
func (o *owner) http2Transport(key string) *http.Transport {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.host(key).http2
}

func (o *owner) setHTTP2(key string) {
	t := newTransport(*o.cfg, o.pool.guard)
	t.Protocols = new(http.Protocols)
	t.Protocols.SetHTTP2(true)
	t.TLSClientConfig.ClientSessionCache = tls.NewLRUClientSessionCache(4)
	o.cert.AddTo(t.TLSClientConfig)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.host(key).http2 = t
}

// doHTTP2 sends a request over HTTP/2. When that fails the next request negotiates the version again.
func (o *owner) doHTTP2(ctx context.Context, key string, t *http.Transport, req *http.Request) (*Response, error) {
	if !passes(ctx) {
		return nil, ErrHeldBack
	}
	answer, err := t.RoundTrip(req)
	if err != nil {
		o.mu.Lock()
		if h := o.host(key); h.http2 == t {
			h.http2 = nil
		}
		o.mu.Unlock()
		t.CloseIdleConnections()
		return nil, err
	}
	resp := &Response{Status: answer.StatusCode, Header: answer.Header}
	return resp, resp.read(answer, o.cfg.MaxResponseBytes)
}
