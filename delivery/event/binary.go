package event

import (
	"net/http"
	"strings"
	"unicode/utf8"
)

const (
	headerPrefix      = "ce-"
	contentTypeHeader = "Content-Type"
)

// ParseBinary reads an event in binary mode: ce- headers for the attributes, Content-Type for datacontenttype, the body for the
// data (CE-53, CE-54). The event's data shares memory with body. A body is required (CE-60). Errors: *Invalid, *TooLarge.
func ParseBinary(header http.Header, body []byte, limits Limits) (Event, error) {
	limits = limits.withDefaults()
	if size := attributeBytes(header) + len(body); size > limits.EventBytes {
		return Event{}, &TooLarge{Limit: "event bytes", Index: -1, Max: limits.EventBytes, Got: size}
	}
	f := findings{body: body, index: -1}
	e := compose(headerPairs(header, &f), &f, limits)
	if len(body) == 0 {
		f.add(noPlace, "", CodeEmptyBody, "events.mistake.empty-body-binary")
	} else {
		e.takeBody(body, &f, limits)
	}
	if err := f.err(); err != nil {
		return Event{}, err
	}
	return e, nil
}

// headerPairs returns the attributes in headers, decoded.
func headerPairs(header http.Header, f *findings) []pair {
	pairs := make([]pair, 0, len(header))
	for key, values := range header {
		name, ok := attributeName(key)
		if !ok || len(values) == 0 {
			continue
		}
		if name == "datacontenttype" {
			f.add(noPlace, name, CodeHeaderRefused, "events.mistake.header-refused")
			continue
		}
		value, ok := decodeHeader(values[0])
		if !ok {
			f.add(noPlace, name, CodeHeaderEncoding, "events.mistake.header-encoding", shown(name))
		}
		for range values {
			pairs = append(pairs, pair{name: name, value: value, broken: !ok})
		}
	}
	return contentTypePair(header, pairs)
}

func contentTypePair(header http.Header, pairs []pair) []pair {
	for _, value := range header.Values(contentTypeHeader) {
		pairs = append(pairs, pair{name: "datacontenttype", value: value})
	}
	return pairs
}

func attributeName(key string) (string, bool) {
	if len(key) < len(headerPrefix) || !strings.EqualFold(key[:len(headerPrefix)], headerPrefix) {
		return "", false
	}
	return strings.ToLower(key[len(headerPrefix):]), true
}

func hasAttributes(header http.Header) bool {
	for key := range header {
		if _, ok := attributeName(key); ok {
			return true
		}
	}
	return false
}

// attributeBytes returns the size of the attributes on the wire, with ": " and the line end.
func attributeBytes(header http.Header) int {
	size := 0
	for key, values := range header {
		if _, ok := attributeName(key); ok || key == contentTypeHeader {
			for _, value := range values {
				size += len(key) + len(value) + 4
			}
		}
	}
	return size
}

// BinaryHeader returns the headers of the event in binary mode; Data is the body. Values are percent-encoded (CE-54), integers
// and booleans become strings. Use it only when CanBinary.
func (e *Event) BinaryHeader() http.Header {
	header := make(http.Header, 12)
	for name, value := range e.All() {
		if name != "datacontenttype" {
			header.Set(headerPrefix+name, encodeHeader(value))
		}
	}
	if contentType := e.contentType(); contentType != "" {
		header.Set(contentTypeHeader, contentType)
	}
	return header
}

// CanBinary reports whether binary mode can carry the event: it has a payload (CE-60), its content type is not itself that of
// a CloudEvent (CE-52), and it is not text with a declared charset other than the UTF-8 it is stored in.
func (e *Event) CanBinary() bool {
	mode, err := Detect(e.contentType())
	misnamed := e.DataKind == DataText && !isUTF8Charset(charset(e.DataContentType))
	return len(e.Data) > 0 && mode == Binary && err == nil && !misnamed
}

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

// encodeHeader writes a value so that only U+0021 to U+007E without the double quote and the percent sign stand bare (CE-54).
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
