package api

import (
	"bytes"
	"encoding/json"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"schakel/registry/jsonpointer"
	"schakel/web/site"
)

// CheckMembers refuses a JSON text that encoding/json would read as something else than it says: a member given twice, of
// which only the last counts; one whose name differs in case, which it takes for ours; null, which leaves a member as if it
// was absent, so that a filter selects more than was meant; and a text that is no object. shape is the type it is decoded into:
// the members of a map may have any names, and a json.RawMessage is left to its own reader. Syntax is left to the reader; base is the pointer of the text.
func CheckMembers(body []byte, shape reflect.Type, base string) error {
	w := memberWalk{decoder: json.NewDecoder(bytes.NewReader(body))}
	w.decoder.UseNumber()
	w.value(shape, base)
	return w.wrong
}

// memberWalk goes through a JSON text once and stops at the first thing that is wrong.
type memberWalk struct {
	decoder *json.Decoder
	depth   int
	wrong   error
}

// maxDepth is far more than any body of ours needs.
const maxDepth = 100

var rawMessage = reflect.TypeFor[json.RawMessage]()

// value reads one value; false ends the walk.
func (w *memberWalk) value(shape reflect.Type, at string) bool {
	if w.depth++; w.depth > maxDepth {
		w.wrong = notReadable("The body is nested too deep.")
		return false
	}
	defer func() { w.depth-- }()
	if shape == rawMessage {
		var skipped json.RawMessage
		return w.decoder.Decode(&skipped) == nil
	}
	shape = plain(shape)
	token, err := w.decoder.Token()
	if err != nil {
		return false
	}
	object := shape != nil && shape.Kind() == reflect.Struct
	switch {
	case token == json.Delim('{'):
		return w.object(shape, at)
	case token == json.Delim('['):
		return w.array(shape, at)
	case at == "" && object:
		w.wrong = notReadable("The body is not a JSON object.")
		return false
	case token == nil && shape != nil:
		return w.refuse(at, "this must not be a JSON null; leave the member out")
	}
	return true
}

func notReadable(why string) error { return site.NewProblem(http.StatusBadRequest, "json-syntax", why) }

func (w *memberWalk) object(shape reflect.Type, at string) bool {
	seen := make(map[string]bool)
	members := membersOf(shape)
	for w.decoder.More() {
		token, err := w.decoder.Token()
		name, ok := token.(string)
		if err != nil || !ok {
			return false
		}
		here := at + "/" + jsonpointer.Escape(name)
		if seen[name] {
			return w.refuse(here, "this member stands in the body twice")
		}
		seen[name] = true
		inner, known := members[name]
		if members != nil && !known {
			return w.refuse(here, "there is no such member here; look for a spelling mistake")
		}
		if shape != nil && shape.Kind() == reflect.Map {
			inner = shape.Elem()
		}
		if !w.value(inner, here) {
			return false
		}
	}
	_, err := w.decoder.Token()
	return err == nil
}

func (w *memberWalk) array(shape reflect.Type, at string) bool {
	var inner reflect.Type
	if shape != nil && shape.Kind() == reflect.Slice {
		inner = shape.Elem()
	}
	for i := 0; w.decoder.More(); i++ {
		if !w.value(inner, at+"/"+strconv.Itoa(i)) {
			return false
		}
	}
	_, err := w.decoder.Token()
	return err == nil
}

func (w *memberWalk) refuse(at, text string) bool {
	w.wrong = site.FieldProblem(strings.TrimPrefix(at, "/"), text)
	return false
}

// plain returns the type at the end of a chain of pointers.
func plain(shape reflect.Type) reflect.Type {
	for shape != nil && shape.Kind() == reflect.Pointer {
		shape = shape.Elem()
	}
	return shape
}

// membersOf are the members of a struct by their name in JSON; nil for what is no struct.
func membersOf(shape reflect.Type) map[string]reflect.Type {
	if shape == nil || shape.Kind() != reflect.Struct {
		return nil
	}
	members := make(map[string]reflect.Type)
	for _, field := range reflect.VisibleFields(shape) {
		if field.Anonymous || !field.IsExported() {
			continue
		}
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" {
			name = field.Name
		}
		members[name] = field.Type
	}
	return members
}
