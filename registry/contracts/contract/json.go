package contract

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"schakel/registry/strictjson"
	"schakel/templates/i18n"
)

// readJSON decodes JSON (RFC 8259) into the types that Document.Root names. Unlike encoding/json it refuses duplicate
// names and lone surrogates, and it counts nodes before it makes them. Content must be valid UTF-8.
func readJSON(content []byte, limits Limits) (any, *problem) {
	r := &jsonReader{Scanner: strictjson.Scanner{Buf: content, Depth: limits.Depth}, limits: limits, names: map[string]string{}}
	if bytes.HasPrefix(content, []byte("\ufeff")) {
		r.Pos = len("\ufeff")
	}
	root, p := r.value()
	if p != nil {
		return nil, p
	}
	if !r.AtEnd() {
		return nil, r.broken()
	}
	return root, nil
}

type jsonReader struct {
	strictjson.Scanner
	nodes  int
	limits Limits
	names  map[string]string // member names met, so that each is stored once
	path   int               // bytes of the names on the way to here
}

func (r *jsonReader) at(p *problem, offset int) *problem {
	p.offset = offset
	return p
}

// broken gives the fault that the scanner met, in words.
func (r *jsonReader) broken() *problem {
	r.Pos = r.Fault.Offset
	switch r.Fault.Kind {
	case strictjson.TooDeep:
		return r.at(tooDeep(r.limits.Depth), r.Pos)
	case strictjson.BadEscape:
		return r.badEscape(r.Pos)
	case strictjson.NoName:
		return r.unexpected("findings.json-wanted-name")
	case strictjson.NoColon:
		return r.unexpected("findings.json-wanted-colon")
	case strictjson.NoComma:
		return r.unexpected(i18n.M("findings.json-wanted-comma", strconv.QuoteRune(rune(r.Fault.Closing))))
	case strictjson.NoQuote:
		return r.unexpected("findings.json-wanted-quote")
	case strictjson.BareControl:
		return r.unexpected("findings.json-wanted-text")
	case strictjson.Trailing:
		return r.unexpected("findings.json-wanted-end")
	}
	return r.unexpected("findings.a-value")
}

func (r *jsonReader) unexpected(wanted i18n.Message) *problem {
	detail := i18n.M("findings.json-ends", wanted)
	if r.Pos < len(r.Buf) {
		rest := []rune(string(r.Buf[r.Pos:min(r.Pos+4, len(r.Buf))]))
		detail = i18n.M("findings.json-other", strconv.QuoteRune(rest[0]), wanted)
	}
	return r.at(&problem{
		code:   "json-syntax",
		detail: detail,
		remedy: "findings.json-syntax-remedy",
	}, r.Pos)
}

func (r *jsonReader) count() *problem {
	if r.nodes++; r.nodes > r.limits.Nodes {
		return r.at(tooManyNodes(r.limits.Nodes), r.Pos)
	}
	return nil
}

func (r *jsonReader) value() (any, *problem) {
	c := r.Peek()
	if p := r.count(); p != nil {
		return nil, p
	}
	switch {
	case c == '{':
		return r.object()
	case c == '[':
		return r.array()
	case c == '"':
		found, ok := r.Text()
		if !ok {
			return nil, r.broken()
		}
		return r.unquote(found)
	case c == '-' || c >= '0' && c <= '9':
		return r.number()
	}
	switch r.Word() {
	case 't':
		return true, nil
	case 'f':
		return false, nil
	case 'n':
		return nil, nil
	}
	return nil, r.broken()
}

func (r *jsonReader) object() (any, *problem) {
	object := map[string]any{}
	if !r.Open() {
		return nil, r.broken()
	}
	if r.Peek() == '}' {
		r.Close()
		return object, nil
	}
	for {
		start, key, p := r.name()
		if p != nil {
			return nil, p
		}
		if _, twice := object[key]; twice {
			return nil, r.at(duplicateKey(key), start).within(key)
		}
		if r.path += len(key); r.path > maxPath {
			return nil, r.at(pathTooLong(), start)
		}
		value, p := r.value()
		if p != nil {
			return nil, p.within(key)
		}
		r.path -= len(key)
		object[key] = value
		if more, ok := r.Next('}'); !ok {
			return nil, r.broken()
		} else if !more {
			return object, nil
		}
	}
}

func (r *jsonReader) array() (any, *problem) {
	list := []any{}
	if !r.Open() {
		return nil, r.broken()
	}
	if r.Peek() == ']' {
		r.Close()
		return list, nil
	}
	for {
		value, p := r.value()
		if p != nil {
			return nil, p.within(strconv.Itoa(len(list)))
		}
		list = append(list, value)
		if more, ok := r.Next(']'); !ok {
			return nil, r.broken()
		} else if !more {
			return list, nil
		}
	}
}

// name reads a member name and its colon.
func (r *jsonReader) name() (start int, key string, p *problem) {
	r.Peek()
	start = r.Pos
	if p := r.count(); p != nil {
		return 0, "", p
	}
	found, ok := r.Name()
	if !ok {
		return 0, "", r.broken()
	}
	raw := r.Buf[found.From:found.To]
	key, known := r.names[string(raw)]
	if !known {
		if key, p = r.unquote(found); p != nil {
			return 0, "", p
		}
		r.names[string(raw)] = key
	}
	return start, key, nil
}

// unquote gives the value of a string.
func (r *jsonReader) unquote(found strictjson.Text) (string, *problem) {
	raw := r.Buf[found.From:found.To]
	if found.Plain || bytes.IndexByte(raw, '\\') < 0 {
		return string(raw), nil
	}
	value, ok := strictjson.Unescape(make([]byte, 0, len(raw)), raw)
	if !ok {
		return "", r.badEscape(found.From + loneSurrogate(raw))
	}
	return string(value), nil
}

// loneSurrogate gives where the first surrogate without its other half is escaped.
func loneSurrogate(raw []byte) int {
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		end := i + 2
		if raw[i+1] == 'u' {
			end = i + 6
		}
		if _, ok := strictjson.Unescape(nil, raw[i:end]); !ok {
			if end = min(i+12, len(raw)); end < i+12 {
				return i
			}
			if _, ok := strictjson.Unescape(nil, raw[i:end]); !ok {
				return i
			}
		}
		i = end - 1
	}
	return 0
}

func (r *jsonReader) badEscape(offset int) *problem {
	return r.at(&problem{
		code:   "json-syntax",
		detail: "findings.json-escape",
		remedy: "findings.json-escape-remedy",
	}, offset)
}

func (r *jsonReader) number() (any, *problem) {
	start := r.Pos
	found, ok := r.Number()
	if !ok || r.Pos < len(r.Buf) && bytes.IndexByte([]byte("+-.eE0123456789"), r.Buf[r.Pos]) >= 0 {
		r.Pos = start
		return nil, r.unexpected("findings.json-wanted-number")
	}
	text := string(r.Buf[found.From:found.To])
	if !reasonable(text) {
		return nil, r.at(badNumber(text), start)
	}
	return json.Number(text), nil
}

// reasonable refuses numbers that would take more than a moment to compute with.
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
