package event

import "strconv"

// scanner walks JSON text (RFC 8259) once, without building anything. The caller has checked that the text is UTF-8. The
// methods return false at the first breach of the grammar and leave the reason in fault.
type scanner struct {
	buf   []byte
	pos   int
	depth int // levels that may still be opened
	fault fault
}

type fault struct {
	off          int
	code, detail string
}

func (s *scanner) fail(off int, code, detail string) bool {
	s.fault = fault{off, code, detail}
	return false
}

func (s *scanner) syntax(detail string) bool {
	if s.pos >= len(s.buf) {
		detail = "the JSON text breaks off; " + detail
	}
	return s.fail(s.pos, CodeSyntax, detail)
}

// peek skips white space and returns the next byte, 0 at the end.
func (s *scanner) peek() byte {
	for s.pos < len(s.buf) {
		switch c := s.buf[s.pos]; c {
		case ' ', '\n', '\t', '\r':
			s.pos++
		default:
			return c
		}
	}
	return 0
}

func (s *scanner) atEnd() bool {
	if s.peek(); s.pos < len(s.buf) {
		return s.fail(s.pos, CodeSyntax, "nothing may follow the JSON value; remove what stands after it")
	}
	return true
}

// value skips one value of any kind. The next byte must not be white space.
func (s *scanner) value() bool {
	switch c := s.peek(); {
	case c == '"':
		_, ok := s.text()
		return ok
	case c == '{':
		return s.object()
	case c == '[':
		return s.array()
	case c == '-' || isDigit(c):
		_, ok := s.number()
		return ok
	default:
		return s.word() != 0
	}
}

func (s *scanner) object() bool {
	if !s.open() {
		return false
	}
	if s.peek() == '}' {
		return s.close()
	}
	for {
		if _, ok := s.name(); !ok || !s.value() {
			return false
		}
		if more, ok := s.next('}'); !more {
			return ok
		}
	}
}

func (s *scanner) array() bool {
	if !s.open() {
		return false
	}
	if s.peek() == ']' {
		return s.close()
	}
	for {
		if !s.value() {
			return false
		}
		if more, ok := s.next(']'); !more {
			return ok
		}
	}
}

func (s *scanner) open() bool {
	if s.depth == 0 {
		return s.fail(s.pos, CodeDepth, "the JSON nests too deep; flatten the data or refer to it with dataref")
	}
	s.depth--
	s.pos++
	return true
}

func (s *scanner) close() bool {
	s.depth++
	s.pos++
	return true
}

// next takes the comma that announces another element, or the closing bracket.
func (s *scanner) next(closing byte) (more, ok bool) {
	switch s.peek() {
	case ',':
		s.pos++
		return true, true
	case closing:
		return false, s.close()
	default:
		return false, s.syntax(`expected "," or "` + string(closing) + `"`)
	}
}

// name takes a member name and its colon.
func (s *scanner) name() (text, bool) {
	if s.peek() != '"' {
		return text{}, s.syntax("expected a member name in double quotes")
	}
	name, ok := s.text()
	if !ok {
		return name, false
	}
	if s.peek() != ':' {
		return name, s.syntax(`expected ":" after the member name`)
	}
	s.pos++
	s.peek()
	return name, true
}

// word takes true, false or null and returns its first letter, 0 when it is none.
func (s *scanner) word() byte {
	for _, word := range [...]string{"true", "false", "null"} {
		if end := s.pos + len(word); end <= len(s.buf) && string(s.buf[s.pos:end]) == word {
			s.pos = end
			return word[0]
		}
	}
	s.syntax("expected a JSON value")
	return 0
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// number is a JSON number in the input: buf[from:to].
type number struct {
	from, to int
	whole    bool // without fraction and exponent
}

// number takes a number; the scanner stands on its sign or first digit.
func (s *scanner) number() (number, bool) {
	found := number{from: s.pos, whole: true}
	if s.buf[s.pos] == '-' {
		s.pos++
	}
	if s.pos < len(s.buf) && s.buf[s.pos] == '0' {
		s.pos++
	} else if !s.digits() {
		return found, false
	}
	if s.skip('.', '.') {
		found.whole = false
		if !s.digits() {
			return found, false
		}
	}
	if s.skip('e', 'E') {
		found.whole = false
		s.skip('+', '-')
		if !s.digits() {
			return found, false
		}
	}
	found.to = s.pos
	return found, true
}

func (s *scanner) digits() bool {
	start := s.pos
	for s.pos < len(s.buf) && isDigit(s.buf[s.pos]) {
		s.pos++
	}
	return s.pos > start || s.syntax("expected a digit")
}

func (s *scanner) skip(a, b byte) bool {
	if s.pos < len(s.buf) && (s.buf[s.pos] == a || s.buf[s.pos] == b) {
		s.pos++
		return true
	}
	return false
}

// isInt32 reports whether the literal is an Integer of CloudEvents (CE-03).
func isInt32(literal string) bool {
	_, err := strconv.ParseInt(literal, 10, 32)
	return err == nil
}
