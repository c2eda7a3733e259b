package event

import (
	"bytes"
	"encoding/base64"
	"strings"
	"unicode/utf8"

	"schakel/registry/strictjson"
)

// takeData sets the data of an event that was read from JSON (CE-42, CE-43).
func (r *reader) takeData(e *Event) {
	given := r.data.to > 0
	switch contentType := &r.draft.slots[slotDataContentType]; {
	case given && r.data.base64Given:
		r.add(r.data.offBase64, "data_base64", CodeDataTwice, "events.mistake.data-twice")
	case r.data.base64Given:
		r.takeBase64(e)
	case !given:
	case contentType.given && !isMediaType(contentType.value):
		// The problem is recorded; the form of the data is unknown.
	case isJSON(e.DataContentType):
		e.DataKind, e.Data = DataJSON, r.Buf[r.data.from:r.data.to]
	default:
		r.takeText(e)
	}
}

func (r *reader) takeText(e *Event) {
	raw := r.Buf[r.data.from:r.data.to]
	if raw[0] != '"' {
		r.add(r.data.from, "data", CodeDataNotText, "events.mistake.data-not-text")
		return
	}
	raw = raw[1 : len(raw)-1]
	if bytes.IndexByte(raw, '\\') >= 0 {
		decoded, ok := strictjson.Unescape(make([]byte, 0, len(raw)), raw)
		if !ok {
			r.add(r.data.from, "data", CodeCharacters, "events.mistake.data-characters")
			return
		}
		raw = decoded
	}
	e.DataKind, e.Data = DataText, raw
}

func (r *reader) takeBase64(e *Event) {
	if !r.data.base64Readable {
		r.add(r.data.offBase64, "data_base64", CodeDataBase64, "events.mistake.base64-string")
		return
	}
	raw := r.Buf[r.data.base64.From:r.data.base64.To]
	decoded, ok := decodeBase64(raw, r.data.base64.Plain)
	if !ok {
		r.add(r.data.offBase64, "data_base64", CodeDataBase64, "events.mistake.base64")
		return
	}
	if problem := e.setBytes(decoded, r.limits.Depth-1); problem != nil && e.DataContentType != "" {
		r.add(r.data.offBase64, "data_base64", CodeDataNotJSON, "events.mistake.base64-not-json")
	}
}

func decodeBase64(raw []byte, plain bool) ([]byte, bool) {
	if !plain {
		unescaped, ok := strictjson.Unescape(nil, raw)
		// The decoder of the standard library passes over line breaks.
		if !ok || bytes.ContainsAny(unescaped, "\r\n") {
			return nil, false
		}
		raw = unescaped
	}
	decoded := make([]byte, base64.StdEncoding.DecodedLen(len(raw)))
	n, err := base64.StdEncoding.Strict().Decode(decoded, raw)
	return decoded[:n], err == nil
}

// setBytes sets data that came as bytes. It is JSON or text where the content type says so and the bytes agree. Where the content
// type says JSON, or says nothing, and the bytes do not agree, it returns the reason and sets binary.
func (e *Event) setBytes(data []byte, depth int) *fault {
	e.DataKind, e.Data = DataBinary, data
	switch {
	case isJSON(e.DataContentType):
		if problem := checkJSON(data, depth); problem != nil {
			return problem
		}
		e.DataKind = DataJSON
	case isText(e.DataContentType) && utf8.Valid(data):
		e.DataKind = DataText
	}
	return nil
}

// checkJSON reports why data is not one JSON value, nil when it is.
func checkJSON(data []byte, depth int) *fault {
	if !utf8.Valid(data) {
		return &fault{firstBroken(data), CodeUTF8, "events.mistake.data-utf8"}
	}
	s := strictjson.Scanner{Buf: data, Depth: depth}
	if s.Peek(); !s.Value() || !s.AtEnd() {
		return syntaxFault(&s)
	}
	return nil
}

// isMediaType reports whether s is a media type of RFC 2046: a type, a subtype and parameters with a value (CE-17).
func isMediaType(s string) bool {
	kind, rest := cutToken(s)
	if kind == "" || !strings.HasPrefix(rest, "/") {
		return false
	}
	subtype, rest := cutToken(rest[1:])
	if subtype == "" {
		return false
	}
	for rest != "" {
		if _, _, rest = cutParameter(rest); rest == broken {
			return false
		}
	}
	return true
}

// broken is the rest that cutParameter returns when there was no parameter.
const broken = "\x00"

// cutParameter takes `; name=value` from the front of s.
func cutParameter(s string) (name, value, rest string) {
	s = strings.TrimLeft(s, " \t")
	if !strings.HasPrefix(s, ";") {
		return "", "", broken
	}
	name, s = cutToken(strings.TrimLeft(s[1:], " \t"))
	if name == "" || !strings.HasPrefix(s, "=") {
		return "", "", broken
	}
	if strings.HasPrefix(s[1:], `"`) {
		value, rest = cutQuoted(s[2:])
		return name, value, rest
	}
	value, rest = cutToken(s[1:])
	if value == "" {
		return "", "", broken
	}
	return name, value, rest
}

// cutQuoted takes the rest of a quoted string, its opening quote already gone.
func cutQuoted(s string) (value, rest string) {
	var text strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '"' {
			return text.String(), s[i+1:]
		}
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		if s[i] < 0x20 && s[i] != '\t' || s[i] >= 0x7F {
			return "", broken
		}
		text.WriteByte(s[i])
	}
	return "", broken
}

func cutToken(s string) (token, rest string) {
	for i := 0; i < len(s); i++ {
		if c := s[i]; !isLetter(c) && !isDigit(c) && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return s[:i], s[i:]
		}
	}
	return s, ""
}

// essence returns a media type in lower case without its parameters.
func essence(mediaType string) string {
	mediaType, _, _ = strings.Cut(mediaType, ";")
	return strings.ToLower(strings.TrimSpace(mediaType))
}

// charset returns the charset parameter of a media type in lower case, "" when it has none.
func charset(mediaType string) string {
	_, rest, _ := strings.Cut(mediaType, ";")
	rest = ";" + rest
	for rest != "" && rest != ";" {
		var name, value string
		if name, value, rest = cutParameter(rest); rest == broken {
			return ""
		}
		if strings.EqualFold(name, "charset") {
			return strings.ToLower(value)
		}
	}
	return ""
}

func isUTF8Charset(name string) bool { return name == "" || name == "utf-8" || name == "us-ascii" }

// isJSON reports whether data of this content type is JSON: subtype json or
// suffix +json; none given means application/json (CE-43).
func isJSON(contentType string) bool {
	base := essence(contentType)
	return base == "" || strings.HasSuffix(base, "/json") || strings.HasSuffix(base, "+json")
}

// isText reports whether data of this content type is UTF-8 text by its name.
func isText(contentType string) bool {
	base := essence(contentType)
	named := strings.HasPrefix(base, "text/") || strings.HasSuffix(base, "/xml") || strings.HasSuffix(base, "+xml")
	return named && isUTF8Charset(charset(contentType))
}
