package event

import (
	"strings"
	"unicode/utf8"
)

// decodeHeader undoes the encoding of a ce- header (CE-54): first quoted
// strings, which older senders use, then one round of percent-decoding.
func decodeHeader(value string) (string, bool) {
	if strings.IndexByte(value, '"') >= 0 {
		unquoted, ok := unquote(value)
		if !ok {
			return "", false
		}
		value = unquoted
	}
	if strings.IndexByte(value, '%') >= 0 {
		decoded, ok := unpercent(value)
		if !ok {
			return "", false
		}
		value = decoded
	}
	// Overlong forms such as %C0%A0 are not valid UTF-8 to Go.
	return value, utf8.ValidString(value)
}

func unquote(value string) (string, bool) {
	var out strings.Builder
	inside := false
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case c == '"':
			inside = !inside
			continue
		case inside && c == '\\':
			if i++; i == len(value) {
				return "", false
			}
		}
		out.WriteByte(value[i])
	}
	return out.String(), !inside
}

func unpercent(value string) (string, bool) {
	var out strings.Builder
	for i := 0; i < len(value); i++ {
		c := value[i]
		if c == '%' {
			if i+2 >= len(value) || !isHex(value[i+1]) || !isHex(value[i+2]) {
				return "", false
			}
			c = hexValue(value[i+1])<<4 | hexValue(value[i+2])
			i += 2
		}
		out.WriteByte(c)
	}
	return out.String(), true
}

// encodeHeader writes a value so that only U+0021 to U+007E without the double
// quote and the percent sign stand bare (CE-54).
func encodeHeader(value string) string {
	bare := true
	for i := 0; i < len(value) && bare; i++ {
		bare = isBare(value[i])
	}
	if bare {
		return value
	}
	const hex = "0123456789ABCDEF"
	out := make([]byte, 0, len(value)+16)
	for i := 0; i < len(value); i++ {
		if c := value[i]; isBare(c) {
			out = append(out, c)
		} else {
			out = append(out, '%', hex[c>>4], hex[c&15])
		}
	}
	return string(out)
}

func isBare(c byte) bool { return 0x21 <= c && c <= 0x7E && c != '"' && c != '%' }

func validText(value string) bool { return utf8.ValidString(value) && allowed(value) }
