package format

import (
	"errors"
	"io"

	"schakel/delivery/mutation/format/xmlscan"
)

// Limits bounds what a file may ask. A zero field takes its default.
type Limits struct {
	Depth     int // elements in elements; default 101
	State     int // bytes of one state; default 16 MiB
	Group     int // bytes of the states of one group; default 64 MiB
	Mutations int // of one group; default 100,000
	Header    int // elements in the header; default 10,000
}

// DefaultLimits bound a reader that is given no others; writers stay within them.
func DefaultLimits() Limits { return Limits{}.filled() }

func (l Limits) filled() Limits {
	or := func(n *int, value int) {
		if *n <= 0 {
			*n = value
		}
	}
	or(&l.Depth, 101)
	or(&l.State, 16<<20)
	or(&l.Group, 64<<20)
	or(&l.Mutations, 100_000)
	or(&l.Header, 10_000)
	return l
}

// Reader reads one file. It is not safe for concurrent use.
type Reader struct {
	scan   *xmlscan.Scanner
	file   string
	limits Limits
	header Header
	begun  bool // the header is read
	next   bool // the current token is the start of a group
	over   bool // the message has ended
	// wrapped: a writer put the element that follows around an object
	wrapped bool
	group   int // the group being read, from 1; 0 outside
	count   int // groups begun
	spare   int // bytes left for the states of the group
	left    int // elements left for the header
	outer   []xmlscan.Outer
	err     error
}

// NewReader reads the file of that name from r. The name is for errors only.
func NewReader(file string, r io.Reader, limits Limits) *Reader {
	limits = limits.filled()
	scan := xmlscan.New(r, xmlscan.Limits{Depth: limits.Depth, Token: limits.State})
	return &Reader{scan: scan, file: file, limits: limits, left: limits.Header}
}

// Header reads as far as the first group. It may be called again.
func (r *Reader) Header() (Header, error) {
	if r.begun || r.err != nil {
		return r.header, r.err
	}
	if err := r.readHeader(); err != nil {
		return Header{}, r.fail(err)
	}
	r.begun = true
	return r.header, nil
}

// Next gives the next group, which is the caller's to keep, or io.EOF after the end of a whole file. Nothing of a group
// that is not whole is given. Errors are *Error.
func (r *Reader) Next() (*Group, error) {
	if _, err := r.Header(); err != nil {
		return nil, err
	}
	if !r.next {
		if err := r.toGroup(); err != nil {
			return nil, r.fail(err)
		}
	}
	r.next = false
	g, err := r.readGroup()
	if err != nil {
		return nil, r.fail(err)
	}
	return g, nil
}

// fail notes that nothing can follow, and where.
func (r *Reader) fail(err error) error {
	r.err = err
	if errors.Is(err, io.EOF) {
		return err
	}
	located := &Error{File: r.file, Group: r.group, Err: err}
	located.Line, located.Column = r.scan.Place()
	var syntax *xmlscan.SyntaxError
	if errors.As(err, &syntax) {
		located.Err = syntax.Bare()
		if syntax.Line > 0 {
			located.Line, located.Column = syntax.Line, syntax.Column
		}
	}
	r.err = located
	return r.err
}

// element gives the next Start or End; it refuses text in between.
func (r *Reader) element() (*xmlscan.Token, error) {
	for {
		tok, err := r.scan.Next()
		if err != nil {
			return nil, err
		}
		switch tok.Kind {
		case xmlscan.Start, xmlscan.End:
			return tok, nil
		case xmlscan.Instruction:
			r.wrapped = r.wrapped || isWrapped(tok)
		case xmlscan.CData:
			return nil, malformed("text where an element belongs")
		case xmlscan.Text:
			if !blank(tok.Text) {
				return nil, malformed("text where an element belongs")
			}
		}
	}
}

func blank(text []byte) bool {
	for _, c := range text {
		if c != ' ' && c != '\n' && c != '\r' && c != '\t' {
			return false
		}
	}
	return true
}

// ours gives the name of the current element, and reports whether it is of the format.
func (r *Reader) ours(tok *xmlscan.Token) (string, bool) {
	space := r.scan.Namespace()
	if space != Namespace1 && space != Namespace2 || r.header.Version != "" && space != r.header.Version {
		return "", false
	}
	return string(xmlscan.Local(tok.Name)), true
}
