package replica

import (
	"compress/gzip"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"strconv"
	"strings"
)

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
