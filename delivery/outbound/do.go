package outbound

import (
	"bytes"
	"context"
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

// body is read without closing.
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
