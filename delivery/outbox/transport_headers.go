package outbox

import (
	"encoding/json"
	"net/http"
	"slices"
)

// headers makes a JSON object of what was sent or came back: a list of values by name, as encoding/json would. Every attempt
// has two of them.
func headers(h http.Header) string {
	if len(h) == 0 {
		return ""
	}
	var few [16]string
	names, size := few[:0], 2
	for name, values := range h {
		names = append(names, name)
		size += len(name) + 6
		for _, v := range values {
			size += len(v) + 3
		}
	}
	slices.Sort(names)
	b := append(make([]byte, 0, size), '{')
	for i, name := range names {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendValues(append(appendText(b, name), ':'), h[name])
	}
	return string(append(b, '}'))
}

func appendValues(b []byte, values []string) []byte {
	if values == nil {
		return append(b, "null"...)
	}
	b = append(b, '[')
	for i, v := range values {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendText(b, v)
	}
	return append(b, ']')
}

// appendText adds a JSON string.
func appendText(b []byte, text string) []byte {
	if plain(text) {
		return append(append(append(b, '"'), text...), '"')
	}
	quoted, err := json.Marshal(text)
	if err != nil {
		panic("a string cannot fail to encode: " + err.Error())
	}
	return append(b, quoted...)
}

// plain tells whether a text stands in JSON as it is.
func plain(text string) bool {
	for i := range len(text) {
		switch c := text[i]; {
		case c < ' ', c > '~', c == '"', c == '\\', c == '<', c == '>', c == '&':
			return false
		}
	}
	return true
}
