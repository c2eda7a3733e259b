package strictjson

import (
	"unicode/utf16"
	"unicode/utf8"
)

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
