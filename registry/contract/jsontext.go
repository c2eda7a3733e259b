package contract

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// text reads a string up to its closing quote and gives what stands between the quotes; plain when nothing is escaped.
func (r *jsonReader) text() (raw []byte, plain bool, p *problem) {
	start := r.pos + 1
	plain = true
	for i := start; i < len(r.src); i++ {
		switch c := r.src[i]; {
		case c == '"':
			r.pos = i + 1
			return r.src[start:i], plain, nil
		case c == '\\':
			plain = false
			i++
		case c < ' ':
			r.pos = i
			return nil, false, r.unexpected("a text without unescaped control characters")
		}
	}
	r.pos = len(r.src)
	return nil, false, r.unexpected("a closing quote")
}

func (r *jsonReader) unquote(raw []byte, plain bool) (string, *problem) {
	if plain {
		return string(raw), nil
	}
	var b strings.Builder
	for rest := raw; len(rest) > 0; {
		i := bytes.IndexByte(rest, '\\')
		if i < 0 {
			b.Write(rest)
			break
		}
		b.Write(rest[:i])
		char, used := unescape(rest[i:])
		if used == 0 {
			return "", r.badEscape(len(rest) - i)
		}
		b.WriteRune(char)
		rest = rest[i+used:]
	}
	return b.String(), nil
}

func (r *jsonReader) badEscape(fromEnd int) *problem {
	return r.at(&problem{
		code:   "json-syntax",
		detail: "This escape in a text is unknown, or half of a surrogate pair.",
		remedy: "Write the character itself, or escape it as JSON does.",
	}, r.pos-1-fromEnd)
}

// unescape reads one escape, which starts with a backslash; used is 0 when it is wrong.
func unescape(s []byte) (char rune, used int) {
	if len(s) < 2 {
		return 0, 0
	}
	if i := strings.IndexByte(`"\/bfnrt`, s[1]); i >= 0 {
		return rune("\"\\/\b\f\n\r\t"[i]), 2
	}
	char, ok := hex4(s)
	if !ok {
		return 0, 0
	}
	if !utf16.IsSurrogate(char) {
		return char, 6
	}
	low, _ := hex4(s[6:])
	if char = utf16.DecodeRune(char, low); char == utf8.RuneError {
		return 0, 0
	}
	return char, 12
}

// hex4 reads a \u escape.
func hex4(s []byte) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(s[2:6]), 16, 32)
	return rune(n), err == nil
}

// reasonable keeps numbers away that would take more than a moment to compute with.
func reasonable(number string) bool {
	mantissa, exponent, ok := strings.Cut(strings.ToLower(number), "e")
	if len(mantissa) > 400 {
		return false
	}
	if !ok {
		return true
	}
	n, err := strconv.Atoi(exponent)
	return err == nil && n >= -400 && n <= 400
}
