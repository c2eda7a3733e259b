package xmlscan

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"
)

// checkText refuses characters XML does not allow, bytes that are not UTF-8, references to entities we do not know
// and, in text of an element, the end mark of a CDATA section.
func checkText(text []byte, markup bool) error {
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c >= ' ' && c < utf8.RuneSelf && c != '&' && c != ']' && c != '<', c == '\n', c == '\t', c == '\r':
			i++
		case c == '&' && markup:
			n, err := reference(text[i:])
			if err != nil {
				return err
			}
			i += n
		case c == '<' && markup:
			return malformed("a < in the value of an attribute")
		case c == ']' && markup && bytes.HasPrefix(text[i:], []byte("]]>")):
			return malformed("]]> in text")
		case c < ' ':
			return malformed("the control character 0x%02x", c)
		default:
			n, err := character(text[i:])
			if err != nil {
				return err
			}
			i += n
		}
	}
	return nil
}

func character(text []byte) (int, error) {
	r, n := utf8.DecodeRune(text)
	if r == utf8.RuneError && n <= 1 {
		return 0, malformed("bytes that are not UTF-8")
	}
	if !valid(r) {
		return 0, malformed("the character U+%04X", r)
	}
	return n, nil
}

// valid is the production Char of XML 1.0.
func valid(r rune) bool {
	return r == '\t' || r == '\n' || r == '\r' || r >= ' ' && r <= 0xD7FF || r >= 0xE000 && r <= 0xFFFD ||
		r >= 0x10000 && r <= utf8.MaxRune
}

// checkName refuses what is not a qualified name: a name, or two with a colon between them.
func checkName(name []byte) error {
	colon := bytes.IndexByte(name, ':')
	if colon >= 0 && checkPart(name[:colon]) && checkPart(name[colon+1:]) || colon < 0 && checkPart(name) {
		return nil
	}
	return malformed("the name %.60q", name)
}

func checkPart(name []byte) bool {
	if len(name) == 0 {
		return false
	}
	for i := 0; i < len(name); {
		c := rune(name[i])
		n := 1
		if c >= utf8.RuneSelf {
			if c, n = utf8.DecodeRune(name[i:]); c == utf8.RuneError && n <= 1 {
				return false
			}
		}
		if !nameStart(c) && (i == 0 || !nameRest(c)) {
			return false
		}
		i += n
	}
	return true
}

// nameStart is the production NameStartChar of XML 1.0 without the colon.
func nameStart(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_'
	}
	for _, span := range [...][2]rune{
		{0xC0, 0xD6},
		{0xD8, 0xF6},
		{0xF8, 0x2FF},
		{0x370, 0x37D},
		{0x37F, 0x1FFF},
		{0x200C, 0x200D},
		{0x2070, 0x218F},
		{0x2C00, 0x2FEF},
		{0x3001, 0xD7FF},
		{0xF900, 0xFDCF},
		{0xFDF0, 0xFFFD},
		{0x10000, 0xEFFFF},
	} {
		if r >= span[0] && r <= span[1] {
			return true
		}
	}
	return false
}

// nameRest holds the characters that NameChar adds to NameStartChar.
func nameRest(r rune) bool {
	return r >= '0' && r <= '9' || r == '-' || r == '.' || r == 0xB7 || r >= 0x300 && r <= 0x36F ||
		r >= 0x203F && r <= 0x2040
}

// CheckName reports why a prefix, which may be empty, and a local name make no qualified name.
func CheckName(prefix, local string) error {
	if !checkPart([]byte(local)) || prefix != "" && !checkPart([]byte(prefix)) {
		return malformed("the name %.60q", prefix+":"+local)
	}
	return nil
}

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
