package outbound

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"
	"time"
)

// ErrUnasked means that a receiver sent bytes that no request asked for: an answer after the answer. HTTP/1.1 gives answers no
// name, so that the next request on the connection would take them for its own.
var ErrUnasked = errors.New("the receiver sent more than the answer to the request")

// ErrHeldBack means that the gate of a request was closed when it could have been sent (see WithGate). Nothing was sent.
var ErrHeldBack = errors.New("the request was not sent")

// connection is a connection of HTTP/1.1 to one receiver for one owner. It carries one request at a time, and only while no
// unasked bytes have arrived.
type connection struct {
	raw   *rawConn
	conn  net.Conn // raw, or TLS over it
	limit limited
	in    *bufio.Reader
	out   *bufio.Writer
	used  bool      // it carried a request
	since time.Time // when it became idle
}

// limited bounds the header of an answer.
type limited struct {
	r    io.Reader
	left int64
}

const noLimit = 1 << 62

func (c *limited) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, ErrResponseTooLarge
	}
	if int64(len(p)) > c.left {
		p = p[:c.left]
	}
	n, err := c.r.Read(p)
	c.left -= int64(n)
	return n, err
}

func newConnection(raw *rawConn, conn net.Conn) *connection {
	c := &connection{raw: raw, conn: conn}
	c.limit = limited{r: conn, left: noLimit}
	c.in, c.out = bufio.NewReader(&c.limit), bufio.NewWriter(conn)
	return c
}

func (c *connection) close() { _ = c.conn.Close() }

// look reports on an idle connection: nil when nothing arrived, ErrUnasked, or the error that ended it.
func (c *connection) look() error {
	if c.in.Buffered() > 0 {
		return ErrUnasked
	}
	c.raw.nonBlocking = true
	_, err := c.in.Peek(1)
	c.raw.nonBlocking = false
	switch {
	case err == nil && c.tooLate():
		return io.EOF
	case err == nil:
		return ErrUnasked
	case errors.Is(err, errWouldBlock) && c.raw.between():
		return nil
	case errors.Is(err, errWouldBlock):
		return ErrUnasked
	}
	return err
}

// tooLate reports whether the receiver closes a connection on which no request came in time (408).
func (c *connection) tooLate() bool {
	text, _ := c.in.Peek(min(len("HTTP/1.1 408"), c.in.Buffered()))
	return bytes.Equal(text, []byte("HTTP/1.1 408")) || bytes.Equal(text, []byte("HTTP/1.0 408"))
}

// bigBody is the length of a body from which on the answer is awaited while it is written: a receiver may reject it early.
const bigBody = 32 << 10

// exchange sends a request and reads its answer. again reports whether the connection can carry another request, untouched
// that no byte of an answer came, so that a request that may be repeated can be sent on another connection.
func (c *connection) exchange(ctx context.Context, req *http.Request, cfg *Config) (resp *Response, again, untouched bool, err error) {
	stop := context.AfterFunc(ctx, func() { _ = c.raw.SetDeadline(time.Unix(1, 0)) })
	defer func() {
		if !stop() { // the time is over, or the caller does not wait any more
			again = false
			if err != nil {
				err = fmt.Errorf("%w: %w", ctx.Err(), err)
			}
		}
	}()
	c.used = true
	written := make(chan error, 1)
	big := req.ContentLength > bigBody
	if big {
		go func() { written <- c.write(req) }()
	} else if err := c.write(req); err != nil {
		// The receiver may have answered before it closed the connection.
		if resp, _, touched, readErr := c.read(req, cfg); readErr == nil || touched {
			return resp, false, false, readErr
		}
		return nil, false, true, err
	}
	resp, again, touched, err := c.read(req, cfg)
	if big {
		select {
		case writeErr := <-written:
			again = again && writeErr == nil
		default: // it was answered before it was all sent
			again = false
			c.close()
			<-written
		}
	}
	return resp, again, !touched, err
}

func (c *connection) write(req *http.Request) error {
	if err := req.Write(c.out); err != nil {
		return err
	}
	return c.out.Flush()
}

// read reads the answer to a request. touched reports whether any byte of one came.
func (c *connection) read(req *http.Request, cfg *Config) (resp *Response, again, touched bool, err error) {
	c.limit.left = cfg.MaxHeaderBytes
	defer func() { c.limit.left = noLimit }()
	if _, err := c.in.Peek(1); err != nil {
		return nil, false, errors.Is(err, ErrResponseTooLarge), err
	}
	var answer *http.Response
	for {
		if answer, err = http.ReadResponse(c.in, req); err != nil { //nolint:bodyclose // the connection is closed when something of the last is left; 1xx have none
			if c.limit.left <= 0 {
				err = ErrResponseTooLarge
			}
			return nil, false, true, err
		}
		if answer.StatusCode >= 200 || answer.StatusCode == http.StatusSwitchingProtocols {
			break
		}
	}
	c.limit.left = noLimit
	resp = &Response{Status: answer.StatusCode, Header: answer.Header}
	err = resp.body(answer, cfg.MaxResponseBytes)
	again = err == nil && !resp.Truncated && !answer.Close && !req.Close && answer.StatusCode != http.StatusSwitchingProtocols
	return resp, again, true, err
}

// dialConnection connects to the host of a request. It returns no connection but true when the receiver prefers HTTP/2.
func (o *owner) dialConnection(ctx context.Context, secure bool, addr, host string) (*connection, bool, error) {
	conn, err := o.dialer(secure).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, false, err
	}
	raw, err := newRawConn(conn)
	if err != nil || !secure {
		return newConnection(raw, raw), false, err
	}
	raw.tls = true
	cfg := o.tls.Clone()
	cfg.ServerName = host
	over := tls.Client(raw, cfg)
	ctx, cancel := context.WithTimeout(ctx, o.cfg.DialTimeout)
	defer cancel()
	if err := over.HandshakeContext(ctx); err != nil {
		_ = raw.Close()
		return nil, false, err
	}
	if over.ConnectionState().NegotiatedProtocol == "h2" {
		_ = raw.Close()
		return nil, true, nil
	}
	return newConnection(raw, over), false, nil
}

// rawConn is the TCP connection under a connection. It can be read without waiting, and follows the framing of TLS to know
// whether part of a record has arrived.
type rawConn struct {
	net.Conn
	sys         syscall.RawConn
	nonBlocking bool // a read returns errWouldBlock instead of waiting
	tls         bool
	head        []byte // of the TLS record that is arriving, as far as it came
	left        int    // bytes of it that have not arrived
}

func newRawConn(conn net.Conn) (*rawConn, error) {
	r := &rawConn{Conn: conn}
	s, ok := conn.(syscall.Conn)
	if !ok {
		return nil, errors.New("the connection is not one of the operating system")
	}
	var err error
	r.sys, err = s.SyscallConn()
	return r, err
}

// wouldBlockError is the error of a read that would have to wait. It is temporary, so that crypto/tls does not remember it.
type wouldBlockError struct{}

func (wouldBlockError) Error() string   { return "nothing has arrived" }
func (wouldBlockError) Timeout() bool   { return true }
func (wouldBlockError) Temporary() bool { return true }

var errWouldBlock error = wouldBlockError{}

func (r *rawConn) Read(p []byte) (int, error) {
	if !r.nonBlocking {
		n, err := r.Conn.Read(p)
		r.count(p[:n])
		return n, err
	}
	if len(p) == 0 {
		return 0, nil
	}
	var n int
	var failed error
	err := r.sys.Read(func(fd uintptr) bool {
		for {
			if n, failed = syscall.Read(int(fd), p); failed != syscall.EINTR {
				return true
			}
		}
	})
	switch {
	case err != nil:
		return 0, err
	case failed == syscall.EAGAIN:
		return 0, errWouldBlock
	case failed != nil:
		return 0, failed
	case n == 0:
		return 0, io.EOF
	}
	r.count(p[:n])
	return n, nil
}

// tlsHeader is the length of the header of a TLS record; its last two bytes are the length of the rest.
const tlsHeader = 5

// count follows the framing of TLS through the bytes read.
func (r *rawConn) count(p []byte) {
	for r.tls && len(p) > 0 {
		if r.left > 0 {
			n := min(r.left, len(p))
			r.left, p = r.left-n, p[n:]
			continue
		}
		n := min(tlsHeader-len(r.head), len(p))
		r.head, p = append(r.head, p[:n]...), p[n:]
		if len(r.head) == tlsHeader {
			r.left, r.head = int(r.head[3])<<8|int(r.head[4]), r.head[:0]
		}
	}
}

// between reports whether no part of a TLS record has arrived without the rest.
func (r *rawConn) between() bool { return r.left == 0 && len(r.head) == 0 }
