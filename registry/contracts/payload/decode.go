package payload

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"schakel/registry/jsonpointer"
	"schakel/registry/strictjson"
)

// decode reads one JSON value, with numbers as they are written.
func decode(data []byte) (any, *Finding) {
	if value, ok := decodePlain(data); ok {
		return value, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var value any
	broken := decoder.Decode(&value) != nil // also when there is nothing
	if _, err := decoder.Token(); broken || !errors.Is(err, io.EOF) {
		return nil, &Finding{Code: "payload-broken", Detail: "findings.data-broken"}
	}
	if path, ok := tooLarge(value, nil); ok {
		return nil, &Finding{Pointer: jsonpointer.Join(path...), Code: "payload-number", Detail: "findings.data-number"}
	}
	return value, nil
}

// plain reads JSON as most events have it: not deep, without escapes, in UTF-8, with small numbers. All else, mistakes too, it leaves to
// encoding/json, which takes four times as long.
type plain struct {
	strictjson.Scanner
	text string // the strings and numbers that are read are parts of it
}

// plainDepth bounds how deep plain follows.
const plainDepth = 64

func decodePlain(data []byte) (any, bool) {
	if !utf8.Valid(data) {
		return nil, false
	}
	p := plain{Scanner: strictjson.Scanner{Buf: data, Depth: plainDepth}, text: string(data)}
	value, ok := p.value()
	return value, ok && p.AtEnd()
}

func (p *plain) value() (any, bool) {
	switch c := p.Peek(); c {
	case '{':
		return p.object()
	case '[':
		return p.array()
	case '"':
		found, ok := p.Text()
		if !ok {
			return nil, false
		}
		return p.unquoted(found)
	case 't', 'f':
		return c == 't', p.Word() != 0
	case 'n':
		return nil, p.Word() != 0
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return p.number()
	}
	return nil, false
}

func (p *plain) object() (any, bool) {
	object := make(map[string]any)
	if !p.Open() {
		return nil, false
	}
	if p.Peek() == '}' {
		return object, p.Close()
	}
	for {
		found, ok := p.Name()
		if !ok {
			return nil, false
		}
		name, ok := p.unquoted(found)
		if !ok {
			return nil, false
		}
		if object[name], ok = p.value(); !ok {
			return nil, false
		}
		if more, ok := p.Next('}'); !more {
			return object, ok
		}
	}
}

func (p *plain) array() (any, bool) {
	array := []any{}
	if !p.Open() {
		return nil, false
	}
	if p.Peek() == ']' {
		return array, p.Close()
	}
	for {
		item, ok := p.value()
		if !ok {
			return nil, false
		}
		array = append(array, item)
		if more, ok := p.Next(']'); !more {
			return array, ok
		}
	}
}

// unquoted gives the value of a string without escapes.
func (p *plain) unquoted(found strictjson.Text) (string, bool) {
	text := p.text[found.From:found.To]
	return text, found.Plain || strings.IndexByte(text, '\\') < 0
}

// number takes a number that costs nothing to compute with.
func (p *plain) number() (any, bool) {
	found, ok := p.Number()
	text := p.text[found.From:max(found.From, found.To)]
	if !ok || len(text) > maxDigits || !found.Whole && strings.ContainsAny(text, "eE") {
		return nil, false
	}
	return json.Number(text), true
}
