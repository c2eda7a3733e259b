package strictjson

import (
	"unicode/utf16"
	"unicode/utf8"
)

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

// Fault is the first thing that is wrong with a text.
type Fault struct {
	Offset  int // in bytes
	Kind    Kind
	Closing byte // of NoComma: the bracket that could stand there too
}

// Kind is a kind of fault; the first six name what is expected at the place.
type Kind byte

// The kinds of faults.
const (
	NoValue     Kind = iota + 1 // a value
	NoName                      // a member name in double quotes
	NoColon                     // the colon behind a member name
	NoComma                     // a comma or the closing bracket
	NoDigit                     // a digit of a number
	NoQuote                     // the quote that closes a string; at the end of the text
	BadEscape                   // an escape that does not exist
	BareControl                 // a control character in a string that is not escaped
	TooDeep                     // nesting beyond the limit
	Trailing                    // more behind the value
)

// Number is a JSON number in the input: Buf[From:To].
type Number struct {
	From, To int
	Whole    bool // without fraction and exponent
}

// Number takes a number; the scanner stands on its sign or first digit.
func (s *Scanner) Number() (Number, bool) {
	found := Number{From: s.Pos, Whole: true}
	if s.Buf[s.Pos] == '-' {
		s.Pos++
	}
	if s.Pos < len(s.Buf) && s.Buf[s.Pos] == '0' {
		s.Pos++
	} else if !s.digits() {
		return found, false
	}
	if s.skip('.', '.') {
		found.Whole = false
		if !s.digits() {
			return found, false
		}
	}
	if s.skip('e', 'E') {
		found.Whole = false
		s.skip('+', '-')
		if !s.digits() {
			return found, false
		}
	}
	found.To = s.Pos
	return found, true
}

func (s *Scanner) digits() bool {
	start := s.Pos
	for s.Pos < len(s.Buf) && isDigit(s.Buf[s.Pos]) {
		s.Pos++
	}
	return s.Pos > start || s.fail(NoDigit)
}

func (s *Scanner) skip(a, b byte) bool {
	if s.Pos < len(s.Buf) && (s.Buf[s.Pos] == a || s.Buf[s.Pos] == b) {
		s.Pos++
		return true
	}
	return false
}

// Text is a JSON string in the input: Buf[From:To], without the quotes.
type Text struct {
	From, To int
	Plain    bool // printable ASCII without escapes: the literal is the value
}

// Text takes a string; the scanner stands on its opening quote.
func (s *Scanner) Text() (Text, bool) {
	buf, plain := s.Buf, true
	for i := s.Pos + 1; i < len(buf); i++ {
		switch c := buf[i]; {
		case c == '"':
			found := Text{s.Pos + 1, i, plain}
			s.Pos = i + 1
			return found, true
		case c == '\\':
			n := escape(buf[i:])
			if n == 0 {
				return Text{}, s.failAt(i, BadEscape)
			}
			plain = false
			i += n - 1
		case c < 0x20:
			return Text{}, s.failAt(i, BareControl)
		case c >= 0x7F:
			plain = false
		}
	}
	return Text{}, s.failAt(len(buf), NoQuote)
}

// escape returns the length of the escape that b starts with, 0 when it is broken.
func escape(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(b) >= 6 && isHex(b[2]) && isHex(b[3]) && isHex(b[4]) && isHex(b[5]) {
			return 6
		}
	}
	return 0
}

// Unescape appends the value of a string the scanner has taken. It reports
// false when an escaped surrogate stands alone, for then there is no value.
func Unescape(dst, raw []byte) ([]byte, bool) {
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			dst = append(dst, raw[i])
			continue
		}
		i++
		if raw[i] != 'u' {
			dst = append(dst, escaped(raw[i]))
			continue
		}
		r := hexRune(raw[i+1:])
		i += 4
		if utf16.IsSurrogate(r) {
			if i+6 >= len(raw) || raw[i+1] != '\\' || raw[i+2] != 'u' {
				return dst, false
			}
			if r = utf16.DecodeRune(r, hexRune(raw[i+3:])); r == utf8.RuneError {
				return dst, false
			}
			i += 6
		}
		dst = utf8.AppendRune(dst, r)
	}
	return dst, true
}

func escaped(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	default:
		return c
	}
}

// hexRune reads four hexadecimal digits that have been checked.
func hexRune(b []byte) rune {
	return rune(hexValue(b[0]))<<12 | rune(hexValue(b[1]))<<8 | rune(hexValue(b[2]))<<4 | rune(hexValue(b[3]))
}

func hexValue(c byte) byte {
	if isDigit(c) {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}

func isHex(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }
