package contract

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// writeOrdered writes a document as JSON, the same values always as the same bytes: first what a reader looks for first,
// then the rest by name.
func writeOrdered(root any) []byte {
	w := &orderedWriter{rank: map[string]int{}}
	for i, key := range []string{
		"openapi", "asyncapi", "$self", "id", "info", "jsonSchemaDialect", "servers", "defaultContentType", "tags", "paths", "webhooks",
		"channels", "operations", "$ref", "$id", "$schema", "name", "title", "summary", "description", "type", "format",
		"required", "properties",
	} {
		w.rank[key] = i - 100
	}
	w.rank["components"], w.rank["security"] = 2, 1
	w.value(root, 0)
	w.WriteByte('\n')
	return w.Bytes()
}

type orderedWriter struct {
	bytes.Buffer
	rank map[string]int
}

func (w *orderedWriter) value(value any, depth int) {
	switch v := value.(type) {
	case map[string]any:
		keys := sortedKeys(v)
		slices.SortStableFunc(keys, func(a, b string) int { return w.rank[a] - w.rank[b] })
		w.WriteByte('{')
		for i, key := range keys {
			w.separate(i, depth+1)
			w.scalar(key)
			w.WriteString(": ")
			w.value(v[key], depth+1)
		}
		w.end('}', len(keys), depth)
	case []any:
		w.WriteByte('[')
		for i, item := range v {
			w.separate(i, depth+1)
			w.value(item, depth+1)
		}
		w.end(']', len(v), depth)
	default:
		w.scalar(value)
	}
}

func (w *orderedWriter) separate(i, depth int) {
	if i > 0 {
		w.WriteByte(',')
	}
	w.WriteString("\n" + strings.Repeat(" ", 2*depth))
}

func (w *orderedWriter) end(bracket byte, members, depth int) {
	if members > 0 {
		w.WriteString("\n" + strings.Repeat(" ", 2*depth))
	}
	w.WriteByte(bracket)
}

// scalar writes a text as it is, with no signs escaped for HTML.
func (w *orderedWriter) scalar(value any) {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil { // no value of a document fails
		w.WriteString("null")
		return
	}
	w.Truncate(w.Len() - 1)
}
