package payload

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"unicode/utf8"

	"schakel/registry/jsonpointer"
)

// decode reads one JSON value, with numbers as they are written.
func decode(data []byte) (any, *Finding) {
	if value, ok := decodePlain(data); ok {
		return value, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var value any
	err := decoder.Decode(&value)
	if err == nil {
		_, err = decoder.Token()
	}
	if !errors.Is(err, io.EOF) {
		return nil, &Finding{Code: "payload-broken", Detail: "this is not one JSON value"}
	}
	if path, ok := tooLarge(value, nil); ok {
		return nil, &Finding{Pointer: jsonpointer.Join(path...), Code: "payload-number", Detail: "this number has more digits or a larger exponent than receivers can be expected to read"}
	}
	return value, nil
}

// plain reads JSON as most events have it: not deep, without escapes, in UTF-8, with small numbers. All else, mistakes too,
// it leaves to encoding/json, which takes four times as long.
type plain struct {
	text string // the strings and numbers that are read are parts of it
	pos  int
}

// plainDepth bounds how deep plain follows.
const plainDepth = 64

func decodePlain(data []byte) (any, bool) {
	if !utf8.Valid(data) {
		return nil, false
	}
	p := plain{text: string(data)}
	value, ok := p.value(plainDepth)
	return value, ok && p.peek() == 0 && p.pos == len(p.text)
}

// peek skips white space and gives the next byte; 0 at the end.
func (p *plain) peek() byte {
	for ; p.pos < len(p.text); p.pos++ {
		switch c := p.text[p.pos]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

// took takes the byte when it comes next, behind white space.
func (p *plain) took(c byte) bool {
	if p.peek() != c {
		return false
	}
	p.pos++
	return true
}

func (p *plain) value(depth int) (any, bool) {
	switch c := p.peek(); c {
	case '{':
		return p.object(depth)
	case '[':
		return p.array(depth)
	case '"':
		return p.string()
	case 't':
		return true, p.word("true")
	case 'f':
		return false, p.word("false")
	case 'n':
		return nil, p.word("null")
	default:
		return p.number()
	}
}

func (p *plain) word(word string) bool {
	end := p.pos + len(word)
	if end > len(p.text) || p.text[p.pos:end] != word {
		return false
	}
	p.pos = end
	return true
}

func (p *plain) object(depth int) (any, bool) {
	p.pos++
	object := make(map[string]any)
	if depth == 0 || p.took('}') {
		return object, depth > 0
	}
	for {
		if p.peek() != '"' {
			return nil, false
		}
		name, ok := p.string()
		if !ok || !p.took(':') {
			return nil, false
		}
		if object[name], ok = p.value(depth - 1); !ok {
			return nil, false
		}
		if !p.took(',') {
			return object, p.took('}')
		}
	}
}

func (p *plain) array(depth int) (any, bool) {
	p.pos++
	array := []any{}
	if depth == 0 || p.took(']') {
		return array, depth > 0
	}
	for {
		item, ok := p.value(depth - 1)
		if !ok {
			return nil, false
		}
		array = append(array, item)
		if !p.took(',') {
			return array, p.took(']')
		}
	}
}

// string takes a string without escapes.
func (p *plain) string() (string, bool) {
	p.pos++
	from := p.pos
	for ; p.pos < len(p.text); p.pos++ {
		switch c := p.text[p.pos]; {
		case c == '"':
			p.pos++
			return p.text[from : p.pos-1], true
		case c < ' ', c == '\\':
			return "", false
		}
	}
	return "", false
}

// number takes a number that costs nothing to compute with.
func (p *plain) number() (any, bool) {
	from := p.pos
	p.skip('-')
	first := p.pos
	if p.digits(); p.pos == first || p.text[first] == '0' && p.pos > first+1 {
		return nil, false
	}
	if p.skip('.') && !p.digits() {
		return nil, false
	}
	if p.pos < len(p.text) && (p.text[p.pos] == 'e' || p.text[p.pos] == 'E') || p.pos-from > maxDigits {
		return nil, false
	}
	return json.Number(p.text[from:p.pos]), true
}

func (p *plain) skip(c byte) bool {
	if p.pos < len(p.text) && p.text[p.pos] == c {
		p.pos++
		return true
	}
	return false
}

// digits takes digits and reports whether there are any.
func (p *plain) digits() bool {
	from := p.pos
	for p.pos < len(p.text) && '0' <= p.text[p.pos] && p.text[p.pos] <= '9' {
		p.pos++
	}
	return p.pos > from
}
