package ingest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"schakel/delivery/mutation/archive"
	"schakel/delivery/mutation/format"
)

// lineReader bounds how much is read between two groups, and knows the lines of it.
type lineReader struct {
	counter
	most, left int64
	before     int     // lines that ended before marks
	marks      []int64 // where lines ended
	err        error   // what went wrong below, but for the end
}

// Read implements io.Reader.
func (r *lineReader) Read(p []byte) (int, error) {
	if r.left <= 0 {
		r.err = fmt.Errorf("%w: a group of more than %d bytes", format.ErrLimit, r.most)
		return 0, r.err
	}
	start := r.n
	n, err := r.counter.Read(p[:min(int64(len(p)), r.left)])
	r.left -= int64(n)
	for at := 0; ; at++ {
		next := bytes.IndexByte(p[at:n], '\n')
		if next < 0 {
			break
		}
		at += next
		r.marks = append(r.marks, start+int64(at))
	}
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}

// line is the line in which a byte stands, from 1. It forgets the lines before it.
func (r *lineReader) line(offset int64) int {
	n := 0
	for n < len(r.marks) && r.marks[n] < offset {
		n++
	}
	r.before += n
	r.marks = append(r.marks[:0], r.marks[n:]...)
	return r.before + 1
}

// rewind lets the next group have as many bytes again.
func (r *lineReader) rewind() { r.left = r.most }

// FromNDJSON reads a group a line. Blank lines do not count. The end of the input ends the last line, so the transport
// has to show an input that was cut off, as HTTP does.
func FromNDJSON(name string, r io.Reader, limits format.Limits) Source {
	in := &counter{from: &unmarked{from: r}}
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, min(64<<10, groupBytes(limits))), int(groupBytes(limits)))
	s := &lineSource{counter: in, name: name, lines: lines, most: groupMutations(limits), bytes: groupBytes(limits)}
	lines.Split(s.split)
	return s
}

// split works as bufio.ScanLines; it also notes a line without its end, and looks at each byte of a long line once.
func (s *lineSource) split(data []byte, atEOF bool) (int, []byte, error) {
	seen := min(s.seen, len(data))
	if end := bytes.IndexByte(data[seen:], '\n'); end >= 0 {
		s.seen, end = 0, end+seen
		return end + 1, data[:end], nil
	}
	s.seen = len(data)
	if atEOF && len(data) > 0 {
		s.cut = true
		return len(data), data, nil
	}
	return 0, nil, nil
}

// broken tells a line that was cut off from one that is wrong, which no more bytes would make right.
func (s *lineSource) broken(raw []byte) error {
	if err := s.lines.Err(); err != nil {
		return err
	}
	err := json.Unmarshal(raw, &struct{}{}) // which looks at the syntax of the whole line first
	if s.cut && (err == nil || err.Error() == jsonEnds) {
		return fmt.Errorf("%w: %w", format.ErrTruncated, io.ErrUnexpectedEOF)
	}
	return fmt.Errorf("%w: the line is not one value: %w", ErrJSON, err)
}

// jsonEnds holds the error text of encoding/json for a value without its end; there is no type of error for it.
const jsonEnds = "unexpected end of JSON input"

type lineSource struct {
	*counter
	name  string
	lines *bufio.Scanner
	most  int // mutations of a group
	bytes int64
	seen  int  // bytes of the line on its way in that are not its end
	cut   bool // the last line has no end
	line  int
	count int
	err   error
}

// Header implements Source.
func (s *lineSource) Header() (*format.Header, error) { return nil, nil }

// Next implements Source.
func (s *lineSource) Next() (*format.Group, archive.Position, error) {
	at := archive.Position{File: s.name, Index: 1, Group: s.count + 1}
	if s.err != nil {
		return nil, at, s.err
	}
	g, err := s.next()
	if err == nil {
		s.count++
		return g, at, nil
	}
	s.err = err
	if !errors.Is(err, io.EOF) {
		s.err = &format.Error{File: s.name, Line: s.line, Group: s.count + 1, Err: err}
	}
	return nil, at, s.err
}

func (s *lineSource) next() (*format.Group, error) {
	for s.lines.Scan() {
		s.line++
		if raw := bytes.TrimSpace(s.lines.Bytes()); len(raw) > 0 {
			if !json.Valid(raw) {
				return nil, s.broken(raw)
			}
			return readGroup(raw, s.count+1, s.line, s.most)
		}
	}
	switch err := s.lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		s.line++
		return nil, fmt.Errorf("%w: a group of more than %d bytes", format.ErrLimit, s.bytes)
	case err != nil:
		return nil, err
	}
	return nil, io.EOF
}
