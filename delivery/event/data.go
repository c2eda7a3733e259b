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
		r.add(r.data.offBase64, "data_base64", CodeDataTwice, "the event has data and data_base64; keep one")
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
		r.add(r.data.from, "data", CodeDataNotText,
			"datacontenttype is not JSON, so data must be a JSON string with the text; for bytes use data_base64")
		return
	}
	raw = raw[1 : len(raw)-1]
	if bytes.IndexByte(raw, '\\') >= 0 {
		decoded, ok := strictjson.Unescape(make([]byte, 0, len(raw)), raw)
		if !ok {
			r.add(r.data.from, "data", CodeCharacters, "data holds half a surrogate pair; write whole characters")
			return
		}
		raw = decoded
	}
	e.DataKind, e.Data = DataText, raw
}

func (r *reader) takeBase64(e *Event) {
	if !r.data.base64Readable {
		r.add(r.data.offBase64, "data_base64", CodeDataBase64, "data_base64 must be a string with base64 (RFC 4648, 4)")
		return
	}
	raw := r.Buf[r.data.base64.From:r.data.base64.To]
	decoded, ok := decodeBase64(raw, r.data.base64.Plain)
	if !ok {
		r.add(r.data.offBase64, "data_base64", CodeDataBase64,
			"data_base64 is not base64 (RFC 4648, 4); use the standard alphabet with padding and no line breaks")
		return
	}
	if problem := e.setBytes(decoded, r.limits.Depth-1); problem != nil && e.DataContentType != "" {
		r.add(r.data.offBase64, "data_base64", CodeDataNotJSON,
			"datacontenttype is JSON but data_base64 does not hold JSON; correct one of them")
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

// setBytes sets data that came as bytes. It is JSON or text where the content
// type says so and the bytes agree. Where the content type says JSON, or says
// nothing, and the bytes do not agree, it returns the reason and sets binary.
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
		return &fault{firstBroken(data), CodeUTF8, "it is not UTF-8"}
	}
	s := strictjson.Scanner{Buf: data, Depth: depth}
	if s.Peek(); !s.Value() || !s.AtEnd() {
		problem := syntaxFault(&s)
		problem.detail = strings.TrimPrefix(problem.detail, "the JSON text breaks off; ")
		return problem
	}
	return nil
}
