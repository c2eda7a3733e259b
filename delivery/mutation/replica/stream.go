package replica

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

// stream reads a file over HTTP and goes on where it was when the line is cut, as long as the file is the same one: it asks
// for the rest (Range) on the condition (If-Range) that the file still has the tag it had.
type stream struct {
	c    *client
	mu   sync.Mutex      // it may be closed while it is read
	ctx  context.Context //nolint:containedctx // that of the one who reads
	stop context.CancelFunc
	url  *url.URL
	body io.ReadCloser // nil: to be opened
	idle *time.Timer
	at   int64  // bytes read
	size int64  // of the whole file; -1 is not known
	tag  string // what the file is recognised by; empty: nothing
	sum  uint32 // of what was read, by which a file without a tag is recognised too
	lent bool   // it was made for this follower, and can be made again
	pack bool   // it comes packed once more, so that its bytes are not those the source counts
	vain int    // tries in a row that brought nothing
	err  error
}

// openStream asks for a file; errors that asking again will not mend come at once.
func (c *client) openStream(ctx context.Context, u *url.URL, lent bool) (io.ReadCloser, error) {
	ctx, stop := context.WithCancel(ctx)
	s := &stream{c: c, ctx: ctx, stop: stop, url: u, size: -1, lent: lent}
	for {
		err := s.connect()
		if err == nil {
			return s, nil
		}
		if err := s.again(err); err != nil {
			stop()
			return nil, err
		}
	}
}

// Read reads on, over as many connections as it takes.
func (s *stream) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.err == nil {
		if s.body == nil {
			if err := s.connect(); err != nil {
				s.err = s.again(err)
				continue
			}
		}
		s.idle.Reset(s.c.o.Idle)
		n, err := s.body.Read(p)
		s.idle.Stop() // whoever reads may take its time
		s.at += int64(n)
		s.sum = crc32.Update(s.sum, castagnoli(), p[:n])
		if n > 0 {
			s.vain = 0
		}
		switch {
		case err == nil && n > 0:
			return n, nil
		case errors.Is(err, io.EOF) && (s.size < 0 || s.at == s.size):
			s.err = io.EOF
		case s.size >= 0 && s.at > s.size:
			s.err = fault(ErrChanged, "it is longer than the source said")
		case err != nil:
			s.drop()
			s.err = s.again(fmt.Errorf("the line was cut after %d bytes: %w", s.at, notEnd(err)))
		}
		if n > 0 {
			return n, nil
		}
	}
	return 0, s.err
}

// Close ends the reading, also one that waits.
func (s *stream) Close() error {
	s.stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop()
	if s.err == nil {
		s.err = http.ErrBodyReadAfterClose
	}
	return nil
}

func (s *stream) drop() {
	if s.body != nil {
		s.idle.Stop()
		s.body.Close()
		s.body = nil
	}
}

// again waits before the next try; an error says that there will be none.
func (s *stream) again(err error) error {
	var wait time.Duration
	if e, ok := errors.AsType[*laterError](err); ok {
		wait = e.wait
	} else if status, _ := statusOf(err); status != 0 || errors.Is(err, ErrChanged) {
		return s.lapsed(err, status)
	}
	if s.vain++; s.vain >= s.c.o.Tries || s.ctx.Err() != nil {
		return fmt.Errorf("gave up after %d tries: %v", s.vain, err) //nolint:errorlint // an end that came too soon would pass for a broken zip
	}
	s.c.o.Log.WarnContext(s.ctx, "the download goes on", "at", s.at, "err", err)
	return s.c.o.Wait(s.ctx, max(backoff(s.vain-1), wait))
}

// lapsed makes ErrChanged of an answer that says that what was made for this follower is no longer there.
func (s *stream) lapsed(err error, status int) error {
	if s.lent && (status == http.StatusNotFound || status == http.StatusGone || status == http.StatusForbidden) {
		return fmt.Errorf("%w, and no longer has what it made: %w", ErrChanged, err)
	}
	return err
}

// laterError is an answer that asks to come back.
type laterError struct {
	error
	wait time.Duration
}

func (e *laterError) Unwrap() error { return e.error }

// connect asks for the file, or for the rest of it.
func (s *stream) connect() error {
	header := http.Header{"Accept-Encoding": {"identity"}}
	if s.at > 0 && s.tag != "" && !s.pack {
		header.Set("Range", "bytes="+strconv.FormatInt(s.at, 10)+"-")
		header.Set("If-Range", s.tag)
	}
	ctx, cancel := context.WithCancel(s.ctx)
	idle := time.AfterFunc(s.c.o.Idle, cancel)                     // a line on which nothing comes is as good as cut
	resp, err := s.c.send(ctx, http.MethodGet, s.url, nil, header) //nolint:bodyclose // drop closes it
	if err != nil {
		idle.Stop()
		cancel()
		return err
	}
	s.body, s.idle = &cancelled{resp.Body, cancel}, idle
	if err := s.accept(resp); err != nil {
		s.drop()
		return err
	}
	return nil
}

// cancelled ends its request when it is closed.
type cancelled struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (c *cancelled) Close() error {
	c.cancel()
	return c.ReadCloser.Close()
}

// accept checks that a response brings the missing bytes.
func (s *stream) accept(resp *http.Response) error {
	switch resp.StatusCode {
	case http.StatusPartialContent:
		return s.rest(resp)
	case http.StatusOK:
		return s.whole(resp)
	case http.StatusRequestedRangeNotSatisfiable:
		return s.none(resp)
	}
	raw, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	err := answer{status: resp.StatusCode, header: resp.Header, body: raw, from: resp.Request.URL}.problem()
	if temporary(resp.StatusCode) {
		return &laterError{err, retryAfter(resp.Header, s.c.o.Now())}
	}
	return err
}

// none takes a 416: the file ends where the reading ended, or before.
func (s *stream) none(resp *http.Response) error {
	if resp.Header.Get("Content-Range") != fmt.Sprintf("bytes */%d", s.at) {
		return fault(ErrChanged, "it now ends before byte %d", s.at)
	}
	s.size = s.at
	s.body = &unpacked{http.NoBody, s.body}
	return nil
}

// rest takes a 206, which must begin where the reading ended, and be of the file as it was.
func (s *stream) rest(resp *http.Response) error {
	if now := s.otherTag(resp.Header); now != "" {
		return fault(ErrChanged, "its tag was %.60s and now is %.60s", s.tag, now)
	}
	if packed := resp.Header.Get("Content-Encoding"); packed != "" && packed != "identity" {
		return fault(ErrChanged, "a part of it comes packed as %.20q", packed)
	}
	span, ok := strings.CutPrefix(resp.Header.Get("Content-Range"), "bytes ")
	from, _, _ := strings.Cut(span, "-")
	_, total, _ := strings.Cut(span, "/")
	start, err := strconv.ParseInt(from, 10, 64)
	if !ok || err != nil || start != s.at {
		return fault(ErrChanged, "bytes from %d were asked, and %.40q came", s.at, span)
	}
	if size, err := strconv.ParseInt(total, 10, 64); err == nil {
		if s.size >= 0 && size != s.size {
			return fault(ErrChanged, "it had %d bytes and now has %d", s.size, size)
		}
		s.size = size
	}
	return nil
}

// whole takes a 200: the start, or the file once more. Of the same file what was read is passed over.
func (s *stream) whole(resp *http.Response) error {
	size, err := s.unpack(resp)
	if err != nil {
		return err
	}
	tag := tagOf(resp.Header)
	if s.at == 0 {
		s.tag, s.size = tag, size
		return nil
	}
	if tag != s.tag || s.size >= 0 && size >= 0 && size != s.size {
		return fault(ErrChanged, "the source has other bytes than before the line was cut")
	}
	return s.passOver()
}

// passOver reads what was read before, which must be the same.
func (s *stream) passOver() error {
	sum := crc32.New(castagnoli())
	for left := s.at; left > 0; {
		s.idle.Reset(s.c.o.Idle)
		n, err := io.CopyN(sum, s.body, min(left, 1<<20))
		if left -= n; err != nil {
			return fmt.Errorf("pass over what was read: %w", notEnd(err))
		}
	}
	if sum.Sum32() != s.sum {
		return fault(ErrChanged, "the source has other bytes than before the line was cut")
	}
	return nil
}

// unpack undoes what a server packs although it was asked not to, and gives the size of the file, -1 when that is not known.
func (s *stream) unpack(resp *http.Response) (size int64, err error) {
	packed := strings.ToLower(resp.Header.Get("Content-Encoding"))
	switch packed {
	case "", "identity":
		return resp.ContentLength, nil
	case "gzip", "x-gzip":
	default:
		return 0, fmt.Errorf("get %s: it comes packed as %.20q, which was not asked for", resp.Request.URL.Path, packed)
	}
	in, err := gzip.NewReader(s.body)
	if err != nil {
		return 0, fmt.Errorf("unpack %s: %w", resp.Request.URL.Path, notEnd(err))
	}
	s.pack = true
	s.body = &unpacked{in, s.body}
	return -1, nil
}

// unpacked closes what is unpacked.
type unpacked struct {
	io.Reader
	raw io.Closer
}

func (u *unpacked) Close() error { return u.raw.Close() }

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// otherTag gives the tag in a header when it is of the kind that is known and another one.
func (s *stream) otherTag(h http.Header) string {
	now := h.Get("Last-Modified")
	if strings.HasPrefix(s.tag, `"`) {
		now = h.Get("ETag")
	}
	if s.at == 0 || now == s.tag {
		return ""
	}
	return now
}

// tagOf is a strong entity tag, or else the time of the last change.
func tagOf(h http.Header) string {
	if tag := h.Get("ETag"); tag != "" && !strings.HasPrefix(tag, "W/") {
		return tag
	}
	return h.Get("Last-Modified")
}
