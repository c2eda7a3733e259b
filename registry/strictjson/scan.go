package strictjson

// Scanner walks JSON text (RFC 8259) once, without building anything. Whoever uses it has checked that the text is UTF-8.
// Its methods return false at the first breach of the grammar and leave the reason in Fault.
type Scanner struct {
	Buf   []byte
	Pos   int // of the next byte
	Depth int // levels that may still be opened
	Fault Fault
}

// fail notes a fault at the byte that comes next.
func (s *Scanner) fail(kind Kind) bool { return s.failAt(s.Pos, kind) }

func (s *Scanner) failAt(offset int, kind Kind) bool {
	s.Fault = Fault{Offset: offset, Kind: kind}
	return false
}

// Peek skips white space and gives the next byte, 0 at the end.
func (s *Scanner) Peek() byte {
	for s.Pos < len(s.Buf) {
		switch c := s.Buf[s.Pos]; c {
		case ' ', '\n', '\t', '\r':
			s.Pos++
		default:
			return c
		}
	}
	return 0
}

// AtEnd reports whether only white space is left.
func (s *Scanner) AtEnd() bool {
	if s.Peek(); s.Pos < len(s.Buf) {
		return s.fail(Trailing)
	}
	return true
}

// Value skips one value of any kind. The next byte must not be white space.
func (s *Scanner) Value() bool {
	switch c := s.Peek(); {
	case c == '"':
		_, ok := s.Text()
		return ok
	case c == '{':
		return s.object()
	case c == '[':
		return s.array()
	case c == '-' || isDigit(c):
		_, ok := s.Number()
		return ok
	default:
		return s.Word() != 0
	}
}

func (s *Scanner) object() bool {
	if !s.Open() {
		return false
	}
	if s.Peek() == '}' {
		return s.Close()
	}
	for {
		if _, ok := s.Name(); !ok || !s.Value() {
			return false
		}
		if more, ok := s.Next('}'); !more {
			return ok
		}
	}
}

func (s *Scanner) array() bool {
	if !s.Open() {
		return false
	}
	if s.Peek() == ']' {
		return s.Close()
	}
	for {
		if !s.Value() {
			return false
		}
		if more, ok := s.Next(']'); !more {
			return ok
		}
	}
}

// Open takes the opening bracket that comes next.
func (s *Scanner) Open() bool {
	if s.Depth == 0 {
		return s.fail(TooDeep)
	}
	s.Depth--
	s.Pos++
	return true
}

// Close takes the closing bracket that comes next.
func (s *Scanner) Close() bool {
	s.Depth++
	s.Pos++
	return true
}

// Next takes the comma that announces another element, or the closing bracket.
func (s *Scanner) Next(closing byte) (more, ok bool) {
	switch s.Peek() {
	case ',':
		s.Pos++
		return true, true
	case closing:
		return false, s.Close()
	default:
		s.Fault = Fault{Offset: s.Pos, Kind: NoComma, Closing: closing}
		return false, false
	}
}

// Name takes a member name and its colon.
func (s *Scanner) Name() (Text, bool) {
	if s.Peek() != '"' {
		return Text{}, s.fail(NoName)
	}
	name, ok := s.Text()
	if !ok {
		return name, false
	}
	if s.Peek() != ':' {
		return name, s.fail(NoColon)
	}
	s.Pos++
	s.Peek()
	return name, true
}

// Word takes true, false or null and gives its first letter, 0 when it is none.
func (s *Scanner) Word() byte {
	for _, word := range [...]string{"true", "false", "null"} {
		if end := s.Pos + len(word); end <= len(s.Buf) && string(s.Buf[s.Pos:end]) == word {
			s.Pos = end
			return word[0]
		}
	}
	s.fail(NoValue)
	return 0
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
