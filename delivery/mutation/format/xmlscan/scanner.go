package xmlscan

import (
	"bytes"
	"errors"
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
