// Package xmlscan reads XML as a stream of tokens whose bytes are left as they came.
//
// It exists beside encoding/xml for three reasons: a payload has to leave as it came, byte for byte, with only the namespace
// declarations around it known; every size has a bound; and deliveries of many gigabytes have to be read at the speed of a
// disk. registry/xmlscan, which reads small documents for their values, holds one in memory whole and rests on encoding/xml, so
// it gives no bytes back as they came and is too small for such deliveries. This package takes UTF-8 only. It refuses document
// type declarations, and with them every entity but the five of XML itself (MUT-30). Names and namespaces are checked as XML
// 1.0 and its namespaces ask.
package xmlscan

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Scanner reads tokens. It is not safe for concurrent use.
type Scanner struct {
	buffer
	limits  Limits
	tokens  Token
	names   []byte // the qualified names of the open elements, one after the other
	opens   []int  // where each of them starts in names
	scope   scope
	size    int   // bytes of the current token
	line    int   // of the current token
	newline int64 // position of the last newline before the current token
	empty   bool  // the current token is <a/>: its End is owed
	closing bool  // the current token is an End: its element closes at the next call
	rooted  bool  // the root element was seen
	bom     bool  // the document starts with a byte order mark
	err     error
}

// New reads a document from r.
func New(r io.Reader, limits Limits) *Scanner {
	s := &Scanner{limits: limits.filled(), line: 1, newline: -1}
	s.buffer = buffer{src: r, capture: -1, buf: make([]byte, firstSize(r))}
	return s
}

// Next gives the next token, or io.EOF after the end of a whole document. Other errors are *SyntaxError.
// Comments and instructions come as tokens without content.
func (s *Scanner) Next() (*Token, error) {
	if s.err != nil {
		return nil, s.err
	}
	if err := s.next(); err != nil {
		s.err = s.locate(err)
		return nil, s.err
	}
	return &s.tokens, nil
}

func (s *Scanner) locate(err error) error {
	var syntax *SyntaxError
	if errors.As(err, &syntax) && syntax.Line == 0 {
		syntax.Line, syntax.Column = s.line, s.column()
	}
	return err
}

func (s *Scanner) column() int { return int(s.offset() - s.newline) }

func (s *Scanner) next() error {
	if s.closing {
		s.closing = false
		s.close()
	}
	if s.empty {
		s.empty, s.closing = false, true
		s.tokens.Kind, s.tokens.Attrs = End, nil
		return nil
	}
	s.advance()
	more, err := s.have(1)
	if err != nil {
		return err
	}
	if !more {
		return s.finish()
	}
	if s.offset() == 0 {
		if err := s.utf8(); err != nil {
			return err
		}
	}
	s.tokens = Token{Attrs: s.tokens.Attrs[:0], Line: s.line, Column: s.column(), Offset: s.offset()}
	if s.buf[s.tok] != '<' {
		return s.text()
	}
	return s.markup()
}

// advance moves to the byte behind the current token and counts the lines of it.
func (s *Scanner) advance() {
	for at := 0; ; at++ {
		next := bytes.IndexByte(s.view(at, s.size), '\n')
		if next < 0 {
			break
		}
		at += next
		s.newline = s.offset() + int64(at)
		s.line++
	}
	s.tok += s.size
	s.size = 0
}

func (s *Scanner) finish() error {
	if !s.rooted || len(s.opens) > 0 {
		return &SyntaxError{Err: ErrTruncated}
	}
	return io.EOF
}

func (s *Scanner) text() error {
	at, err := s.find("<", 0, s.limits.Token)
	if err != nil {
		return err
	}
	if at < 0 {
		at = s.end - s.tok
		if len(s.opens) > 0 {
			return &SyntaxError{Err: ErrTruncated}
		}
	}
	s.size = at
	s.tokens.Kind, s.tokens.Text = Text, s.view(0, at)
	if len(s.opens) == 0 {
		return s.outside()
	}
	return checkText(s.tokens.Text, true)
}

// utf8 refuses the encoding that a document can begin in besides UTF-8, before it is taken for something else.
func (s *Scanner) utf8() error {
	if more, err := s.have(2); err != nil || !more {
		return err
	}
	switch string(s.view(0, 2)) {
	case "\xFE\xFF", "\xFF\xFE", "<\x00", "\x00<":
		return malformed("it is in UTF-16; only UTF-8 is read")
	}
	return nil
}

// outside takes white space around the root element, and the byte order mark, which is no part of its token.
func (s *Scanner) outside() error {
	if s.tokens.Offset == 0 {
		s.tokens.Text, s.bom = bytes.CutPrefix(s.tokens.Text, []byte("\xEF\xBB\xBF"))
	}
	if len(bytes.TrimLeft(s.tokens.Text, " \t\r\n")) > 0 {
		return malformed("text outside the root element")
	}
	return nil
}

// Depth counts the open elements; the one of a Start or End token is among them.
func (s *Scanner) Depth() int { return len(s.opens) }

// Capture keeps the bytes from the current token on, until Captured is called.
func (s *Scanner) Capture() { s.capture = s.offset() }

// Held counts the bytes captured until the end of the current token.
func (s *Scanner) Held() int { return int(s.offset()-s.capture) + s.size }

// Captured ends a capture and gives its bytes, the current token included. They hold until the next token.
func (s *Scanner) Captured() []byte {
	from := int(s.capture - s.base)
	s.capture = -1
	return s.buf[from : s.tok+s.size]
}

// Place gives the start of the current token: its line and its column in bytes, from 1.
func (s *Scanner) Place() (line, column int) { return s.line, s.column() }

// Token is the current token, which Next gave.
func (s *Scanner) Token() *Token { return &s.tokens }

// Kind tells tokens apart.
type Kind uint8

// The kinds of tokens. An element without content gives a Start and an End.
const (
	Start Kind = iota + 1
	End
	Text
	CData
	Comment
	Instruction
)

// Attr is an attribute with its value as it stood between the quotes. Declarations of namespaces are among them.
type Attr struct {
	Name  []byte
	Value []byte
}

// Token is a piece of the document. Its bytes hold until the next token is asked for.
type Token struct {
	Kind         Kind
	Name         []byte // of Start and End: the qualified name as written
	Attrs        []Attr // of Start
	Empty        bool   // of Start and End: the element was written <a/>
	Text         []byte // of Text, CData: the raw content
	Line, Column int    // where it starts, from 1; the column counts bytes
	Offset       int64  // where it starts, from 0
}

// Defaults of Limits that a writer stays within.
const (
	MostAttributes = 200
	MostNamespaces = 500
)

// Limits bounds what a document may ask of the reader. A zero field takes its default.
type Limits struct {
	Depth      int // elements in elements; default 100
	Token      int // bytes of one tag, text or comment; default 16 MiB
	Attributes int // of one element; default 200
	Namespaces int // declarations in scope at once; default 500
}

func (l Limits) filled() Limits {
	or := func(n *int, value int) {
		if *n <= 0 {
			*n = value
		}
	}
	or(&l.Depth, 100)
	or(&l.Token, 16<<20)
	or(&l.Attributes, MostAttributes)
	or(&l.Namespaces, MostNamespaces)
	return l
}

// What a caller may want to tell apart.
var (
	// ErrLimit is met when a document exceeds one of the Limits.
	ErrLimit = errors.New("the document exceeds a limit")
	// ErrDoctype is met at a document type declaration, which is never read (MUT-30).
	ErrDoctype = errors.New("a document type declaration is not accepted")
	// ErrTruncated is met when the document ends before its root element does.
	ErrTruncated = errors.New("the document ends in the middle")
	// ErrMalformed is met when the document is not well-formed XML in UTF-8.
	ErrMalformed = errors.New("the document is not well-formed")
)

// SyntaxError gives the place of a problem in a document.
type SyntaxError struct {
	Line, Column int    // both from 1; the column counts bytes
	What         string // empty when Err says it all
	Err          error  // one of the errors of this package, or what the reader below answered
}

// Error names the place first.
func (e *SyntaxError) Error() string {
	if e.What == "" {
		return fmt.Sprintf("line %d, column %d: %v", e.Line, e.Column, e.Err)
	}
	return fmt.Sprintf("line %d, column %d: %v: %s", e.Line, e.Column, e.Err, e.What)
}

// Unwrap gives the kind of the error.
func (e *SyntaxError) Unwrap() error { return e.Err }

func malformed(what string, args ...any) error {
	return &SyntaxError{What: fmt.Sprintf(what, args...), Err: ErrMalformed}
}

// NewLimit is an ErrLimit that says which one.
func NewLimit(what string, args ...any) error {
	return &SyntaxError{What: fmt.Sprintf(what, args...), Err: ErrLimit}
}

// Bare is the error without its place.
func (e *SyntaxError) Bare() error {
	if e.What == "" {
		return e.Err
	}
	return fmt.Errorf("%w: %s", e.Err, e.What)
}
