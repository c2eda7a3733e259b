package contract

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
)

// readJSON decodes JSON (RFC 8259) into the types that Document.Root names. Unlike encoding/json it refuses duplicate
// names and lone surrogates, and it counts nodes before it makes them. Content must be valid UTF-8.
func readJSON(content []byte, limits Limits) (any, *problem) {
	r := &jsonReader{src: content, limits: limits, names: map[string]string{}}
	if bytes.HasPrefix(content, []byte("\ufeff")) {
		r.pos = len("\ufeff")
	}
	root, p := r.value(1)
	if p != nil {
		return nil, p
	}
	if r.space(); r.pos < len(r.src) {
		return nil, r.unexpected("the end of the document")
	}
	return root, nil
}

type jsonReader struct {
	src    []byte
	pos    int
	nodes  int
	limits Limits
	names  map[string]string // member names met, so that each is kept once
	path   int               // bytes of the names on the way to here
}

func (r *jsonReader) space() {
	for r.pos < len(r.src) {
		switch r.src[r.pos] {
		case ' ', '\t', '\n', '\r':
			r.pos++
		default:
			return
		}
	}
}

// peek skips space and gives the next byte, 0 at the end.
func (r *jsonReader) peek() byte {
	r.space()
	if r.pos == len(r.src) {
		return 0
	}
	return r.src[r.pos]
}

func (r *jsonReader) at(p *problem, offset int) *problem {
	p.offset = offset
	return p
}

func (r *jsonReader) unexpected(wanted string) *problem {
	found := "the document ends"
	if r.pos < len(r.src) {
		rest := []rune(string(r.src[r.pos:min(r.pos+4, len(r.src))]))
		found = fmt.Sprintf("there is %q", rest[0])
	}
	return r.at(&problem{
		code:   "json-syntax",
		detail: fmt.Sprintf("Here %s, where %s is expected.", found, wanted),
		remedy: "Mend the JSON; look for a missing or extra comma, quote or bracket just before this place.",
	}, r.pos)
}

func (r *jsonReader) count() *problem {
	if r.nodes++; r.nodes > r.limits.Nodes {
		return r.at(tooManyNodes(r.limits.Nodes), r.pos)
	}
	return nil
}

func (r *jsonReader) value(depth int) (any, *problem) {
	c := r.peek()
	if p := r.count(); p != nil {
		return nil, p
	}
	switch {
	case c == '{' || c == '[':
		if depth > r.limits.Depth {
			return nil, r.at(tooDeep(r.limits.Depth), r.pos)
		}
		r.pos++
		if c == '{' {
			return r.object(depth)
		}
		return r.array(depth)
	case c == '"':
		raw, plain, p := r.text()
		if p != nil {
			return nil, p
		}
		return r.unquote(raw, plain)
	case c == '-' || c >= '0' && c <= '9':
		return r.number()
	}
	return r.literal()
}

func (r *jsonReader) object(depth int) (any, *problem) {
	object := map[string]any{}
	if r.peek() == '}' {
		r.pos++
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
		value, p := r.value(depth + 1)
		if p != nil {
			return nil, p.within(key)
		}
		r.path -= len(key)
		object[key] = value
		if done, p := r.next('}'); done || p != nil {
			return object, p
		}
	}
}

func (r *jsonReader) array(depth int) (any, *problem) {
	list := []any{}
	if r.peek() == ']' {
		r.pos++
		return list, nil
	}
	for {
		value, p := r.value(depth + 1)
		if p != nil {
			return nil, p.within(strconv.Itoa(len(list)))
		}
		list = append(list, value)
		if done, p := r.next(']'); done || p != nil {
			return list, p
		}
	}
}

// next reads the comma before another member, or the bracket that closes.
func (r *jsonReader) next(closing byte) (done bool, p *problem) {
	switch r.peek() {
	case ',':
		r.pos++
		return false, nil
	case closing:
		r.pos++
		return true, nil
	}
	return false, r.unexpected(fmt.Sprintf("a comma or %q", closing))
}

// name reads a member name and its colon.
func (r *jsonReader) name() (start int, key string, p *problem) {
	if r.peek() != '"' {
		return 0, "", r.unexpected("a member name in double quotes")
	}
	if p := r.count(); p != nil {
		return 0, "", p
	}
	start = r.pos
	raw, plain, p := r.text()
	if p != nil {
		return 0, "", p
	}
	known, ok := r.names[string(raw)]
	if key = known; !ok {
		if key, p = r.unquote(raw, plain); p != nil {
			return 0, "", p
		}
		r.names[string(raw)] = key
	}
	if r.peek() != ':' {
		return 0, "", r.unexpected("a colon")
	}
	r.pos++
	return start, key, nil
}

func (r *jsonReader) literal() (any, *problem) {
	for _, l := range []struct {
		text  string
		value any
	}{{"true", true}, {"false", false}, {"null", nil}} {
		if bytes.HasPrefix(r.src[r.pos:], []byte(l.text)) {
			r.pos += len(l.text)
			return l.value, nil
		}
	}
	return nil, r.unexpected("a value")
}

func (r *jsonReader) number() (any, *problem) {
	start := r.pos
	for r.pos < len(r.src) && bytes.IndexByte([]byte("+-.eE0123456789"), r.src[r.pos]) >= 0 {
		r.pos++
	}
	text := string(r.src[start:r.pos])
	if !json.Valid(r.src[start:r.pos]) {
		r.pos = start
		return nil, r.unexpected("a number as JSON writes it")
	}
	if !reasonable(text) {
		return nil, r.at(badNumber(text), start)
	}
	return json.Number(text), nil
}
