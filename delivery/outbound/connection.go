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
	"time"
)

// ErrUnasked means that a receiver sent bytes that no request asked for: an answer after the answer. HTTP/1.1 gives answers no
// name, so that the next request on the connection would take them for its own.
var ErrUnasked = errors.New("the receiver sent more than the answer to the request")

// ErrHeldBack means that the gate of a request was closed when it could have been sent (see WithGate). Nothing was sent.
var ErrHeldBack = errors.New("the request was not sent")

// line is a connection of HTTP/1.1 to one receiver for one owner. It carries one request at a time, and only when nothing has
// arrived that was not asked for.
type line struct {
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

// Read implements io.Reader.
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

func newLine(raw *rawConn, conn net.Conn) *line {
	l := &line{raw: raw, conn: conn}
	l.limit = limited{r: conn, left: noLimit}
	l.in, l.out = bufio.NewReader(&l.limit), bufio.NewWriter(conn)
	return l
}

func (l *line) close() { _ = l.conn.Close() }

// look reports what arrived on an idle line: nil when nothing did, ErrUnasked, or why the connection is over.
func (l *line) look() error {
	if l.in.Buffered() > 0 {
		return ErrUnasked
	}
	l.raw.looking = true
	_, err := l.in.Peek(1)
	l.raw.looking = false
	switch {
	case err == nil && l.tooLate():
		return io.EOF
	case err == nil:
		return ErrUnasked
	case errors.Is(err, errNothing) && l.raw.between():
		return nil
	case errors.Is(err, errNothing):
		return ErrUnasked
	}
	return err
}

// tooLate reports whether what arrived says that the receiver closes a connection on which no request came in time (408).
func (l *line) tooLate() bool {
	text, _ := l.in.Peek(min(len("HTTP/1.1 408"), l.in.Buffered()))
	return bytes.Equal(text, []byte("HTTP/1.1 408")) || bytes.Equal(text, []byte("HTTP/1.0 408"))
}

// bigBody is the length of a body from which on the answer is awaited while it is written: a receiver may refuse it early.
const bigBody = 32 << 10

// exchange sends a request and reads its answer. again reports whether the connection can carry another request, untouched that
// no byte of an answer came, so that a request that may be repeated can be sent on another line.
func (l *line) exchange(ctx context.Context, req *http.Request, cfg *Config) (resp *Response, again, untouched bool, err error) {
	stop := context.AfterFunc(ctx, func() { _ = l.raw.SetDeadline(time.Unix(1, 0)) })
	defer func() {
		if !stop() { // the time is over, or the caller does not wait any more
			again = false
			if err != nil {
				err = fmt.Errorf("%w: %w", ctx.Err(), err)
			}
		}
	}()
	l.used = true
	written := make(chan error, 1)
	big := req.ContentLength > bigBody
	if big {
		go func() { written <- l.write(req) }()
	} else if err := l.write(req); err != nil {
		// The receiver may have answered before it closed the connection.
		if resp, _, touched, readErr := l.read(req, cfg); readErr == nil || touched {
			return resp, false, false, readErr
		}
		return nil, false, true, err
	}
	resp, again, touched, err := l.read(req, cfg)
	if big {
		select {
		case writeErr := <-written:
			again = again && writeErr == nil
		default: // it was answered before it was all sent
			again = false
			l.close()
			<-written
		}
	}
	return resp, again, !touched, err
}

func (l *line) write(req *http.Request) error {
	if err := req.Write(l.out); err != nil {
		return err
	}
	return l.out.Flush()
}

// read reads the answer to a request. touched reports whether any byte of one came.
func (l *line) read(req *http.Request, cfg *Config) (resp *Response, again, touched bool, err error) {
	l.limit.left = cfg.MaxHeaderBytes
	defer func() { l.limit.left = noLimit }()
	if _, err := l.in.Peek(1); err != nil {
		return nil, false, errors.Is(err, ErrResponseTooLarge), err
	}
	var answer *http.Response
	for {
		if answer, err = http.ReadResponse(l.in, req); err != nil { //nolint:bodyclose // the line is closed when something of the last is left; 1xx have none
			if l.limit.left <= 0 {
				err = ErrResponseTooLarge
			}
			return nil, false, true, err
		}
		if answer.StatusCode >= 200 || answer.StatusCode == http.StatusSwitchingProtocols {
			break
		}
	}
	l.limit.left = noLimit
	resp = &Response{Status: answer.StatusCode, Header: answer.Header}
	err = resp.body(answer, cfg.MaxResponseBytes)
	again = err == nil && !resp.Truncated && !answer.Close && !req.Close && answer.StatusCode != http.StatusSwitchingProtocols
	return resp, again, true, err
}

// dialLine connects to the host of a request. The answer is no line but true when the receiver prefers HTTP/2.
func (o *owner) dialLine(ctx context.Context, secure bool, addr, host string) (*line, bool, error) {
	conn, err := o.dialer(secure).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, false, err
	}
	raw, err := newRawConn(conn)
	if err != nil || !secure {
		return newLine(raw, raw), false, err
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
	return newLine(raw, over), false, nil
}
