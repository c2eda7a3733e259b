package outline

import (
	"encoding/json"
	"net/url"
	"strings"

	"schakel/registry/jsonpointer"
)

// document reads a decoded document.
type document struct {
	root map[string]any
	old  bool // AsyncAPI 2
}

// maxHops is far more references in a row than anyone writes.
const maxHops = 20

// follow gives what a value stands for, with its pointer when a reference led there.
func (d *document) follow(value any) (any, string) {
	at := ""
	for range maxHops {
		object, _ := value.(map[string]any)
		ref, ok := object["$ref"].(string)
		if !ok {
			return value, at
		}
		pointer, local := strings.CutPrefix(ref, "#")
		if !local {
			return nil, ""
		}
		if decoded, err := url.PathUnescape(pointer); err == nil {
			pointer = decoded
		}
		if value, ok = jsonpointer.Lookup(d.root, pointer); !ok {
			return nil, ""
		}
		at = pointer
	}
	return nil, ""
}

func (d *document) object(value any) map[string]any {
	value, _ = d.follow(value)
	object, _ := value.(map[string]any)
	return object
}

// lastName is the last part of a pointer.
func lastName(pointer string) string {
	list, _ := jsonpointer.Tokens(pointer)
	if len(list) == 0 {
		return ""
	}
	return list[len(list)-1]
}

func text(object map[string]any, key string) string {
	s, _ := object[key].(string)
	return s
}

func child(object map[string]any, key string) map[string]any {
	c, _ := object[key].(map[string]any)
	return c
}

func list(object map[string]any, key string) []any {
	l, _ := object[key].([]any)
	return l[:min(len(l), 500)]
}

const (
	maxExample  = 8_000 // bytes
	maxExamples = 10
)

// sample writes an example as JSON, or as it stands when it is text.
func sample(value any) string {
	s, ok := value.(string)
	if !ok {
		written, err := json.MarshalIndent(value, "", "  ")
		if err != nil {
			return ""
		}
		s = string(written)
	}
	if len(s) > maxExample {
		s = strings.ToValidUTF8(s[:maxExample], "") + "\n…"
	}
	return s
}

// examplesOf collects the examples of a schema, media type or message.
func (d *document) examplesOf(object map[string]any) []Example {
	var found []Example
	if value, ok := object["example"]; ok {
		found = append(found, Example{"Example", sample(value)})
	}
	for _, item := range list(object, "examples") {
		example, _ := item.(map[string]any)
		value, isMessage := example["payload"]
		if !isMessage {
			value = item
		}
		found = append(found, Example{"Example " + text(example, "name"), sample(value)})
	}
	examples := child(object, "examples")
	for _, name := range names(examples) {
		if example := d.object(examples[name]); example["value"] != nil {
			found = append(found, Example{"Example " + name, sample(example["value"])})
		} else if example["dataValue"] != nil {
			found = append(found, Example{"Example " + name, sample(example["dataValue"])})
		}
	}
	for i := range found {
		found[i].Name = strings.TrimSpace(found[i].Name)
	}
	return found[:min(len(found), maxExamples)]
}
