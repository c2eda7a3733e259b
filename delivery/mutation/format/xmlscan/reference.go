package xmlscan

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"
)

// longest is more than the longest reference that can be right.
const longest = 12

// reference checks the reference that the text starts with and gives its length in bytes.
func reference(text []byte) (int, error) {
	_, n, err := resolve(text)
	return n, err
}

// resolve gives the character a reference stands for.
func resolve(text []byte) (rune, int, error) {
	end := bytes.IndexByte(text[:min(len(text), longest)], ';')
	if end < 2 {
		return 0, 0, malformed("a & that begins no reference")
	}
	name := string(text[1:end])
	switch name {
	case "lt":
		return '<', end + 1, nil
	case "gt":
		return '>', end + 1, nil
	case "amp":
		return '&', end + 1, nil
	case "apos":
		return '\'', end + 1, nil
	case "quot":
		return '"', end + 1, nil
	}
	if name[0] != '#' {
		return 0, 0, malformed("the entity %q is not declared; write the character itself, or a reference to it by number", name)
	}
	r, ok := number(name[1:])
	if !ok {
		return 0, 0, malformed("the reference %q is to no character that XML can have", name)
	}
	return r, end + 1, nil
}

func number(digits string) (rune, bool) {
	base := 10
	if hex, is := strings.CutPrefix(digits, "x"); is {
		digits, base = hex, 16
	}
	n, err := strconv.ParseUint(digits, base, 32)
	return rune(n), err == nil && n <= utf8.MaxRune && valid(rune(n))
}

// Unescape gives the text that raw bytes of an element stand for: references resolved, line ends made one newline.
// The bytes must have come from a scanner.
func Unescape(raw []byte) string { return string(AppendText(nil, raw)) }

// AppendText is Unescape onto a buffer.
func AppendText(to, raw []byte) []byte {
	if bytes.IndexByte(raw, '&') < 0 && bytes.IndexByte(raw, '\r') < 0 {
		return append(to, raw...)
	}
	for i := 0; i < len(raw); {
		switch c := raw[i]; c {
		case '&':
			r, n, err := resolve(raw[i:])
			if err != nil {
				return append(to, raw[i:]...)
			}
			to = utf8.AppendRune(to, r)
			i += n
		case '\r':
			to = append(to, '\n')
			if i++; i < len(raw) && raw[i] == '\n' {
				i++
			}
		default:
			to = append(to, c)
			i++
		}
	}
	return to
}

// Value gives what an attribute says whose raw bytes stand between the quotes: as [Unescape], and white space in it that is
// not written as a reference is spaces (XML 1.0, 3.3.3). The bytes must have come from a scanner.
func Value(raw []byte) string {
	if bytes.ContainsAny(raw, "\t\r\n") {
		raw = bytes.ReplaceAll(raw, []byte("\r\n"), []byte("\n"))
		raw = bytes.Map(func(r rune) rune {
			if r == '\t' || r == '\r' || r == '\n' {
				return ' '
			}
			return r
		}, raw)
	}
	return Unescape(raw)
}

// AppendCData appends what a CDATA section says: line ends are made one newline.
func AppendCData(to, raw []byte) []byte {
	for {
		at := bytes.IndexByte(raw, '\r')
		if at < 0 {
			return append(to, raw...)
		}
		to = append(append(to, raw[:at]...), '\n')
		raw = bytes.TrimPrefix(raw[at+1:], []byte("\n"))
	}
}

// AppendEscaped writes text so that it can stand in an element or in an attribute between double quotes.
func AppendEscaped(to []byte, text string) []byte {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '<':
			to = append(to, "&lt;"...)
		case '>':
			to = append(to, "&gt;"...)
		case '&':
			to = append(to, "&amp;"...)
		case '"':
			to = append(to, "&#34;"...)
		case '\t', '\n', '\r':
			to = append(append(append(to, "&#"...), strconv.Itoa(int(c))...), ';')
		default:
			to = append(to, c)
		}
	}
	return to
}

// CheckText reports why a text cannot be written in XML at all, such as a control character.
func CheckText(text string) error { return checkText([]byte(text), false) }
