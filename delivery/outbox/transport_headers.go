package outbox

import (
	"encoding/json"
	"net/http"
	"slices"
)

// headers encodes the header of a request or an answer as a JSON object: a list of values by name, as encoding/json would. It
// runs twice for every attempt.
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

// plain reports whether a text is the same in JSON.
func plain(text string) bool {
	for i := range len(text) {
		switch c := text[i]; {
		case c < ' ', c > '~', c == '"', c == '\\', c == '<', c == '>', c == '&':
			return false
		}
	}
	return true
}
