package compare

import (
	"strings"

	"schakel/registry/jsonpointer"
)

// maxFlattened bounds how deep allOf is followed into the schemas that it builds on.
const maxFlattened = 20

// flattened takes the parts of allOf that only add properties into the schema itself, so that it makes no difference whether
// a contract writes properties out or builds on a shared schema. What says more than that stays in allOf.
type flattened struct {
	c          *copier
	properties map[string][]any // references to the schemas that each property has to fit
	required   map[string]bool
	rest       []any // parts of allOf that stay
	seen       map[string]bool
}

// flatten gives what the parts of allOf come down to; nil where nothing can be taken in.
func (c *copier) flatten(object map[string]any, at string) *flattened {
	list := items(object, "allOf")
	if len(list) == 0 || closed(object) || closed(c.opposite(at)) {
		return nil
	}
	f := &flattened{c: c, properties: map[string][]any{}, required: map[string]bool{}, seen: map[string]bool{at: true}}
	f.parts(list, at+"/allOf", 0)
	return f
}

// closed tells a schema that limits properties by what stands beside it.
func closed(object map[string]any) bool {
	return object["additionalProperties"] != nil || object["unevaluatedProperties"] != nil
}

// opposite gives what stands at the same place of the other document: both have to be rewritten the same way, or the
// rewriting itself would look like a change.
func (c *copier) opposite(at string) map[string]any {
	value, _ := jsonpointer.Lookup(c.other, at)
	object, _ := value.(map[string]any)
	return object
}

func (f *flattened) parts(list []any, at string, depth int) {
	for i, value := range list {
		place := at + "/" + itoa(i)
		object, from := f.c.object(value, place)
		if object != nil && f.seen[from] {
			continue // it was taken in, or is being so: it adds nothing
		}
		if object == nil || depth > maxFlattened || !onlyProperties(object) || !onlyProperties(f.c.opposite(from)) {
			f.rest = append(f.rest, f.c.branch(value, place))
			continue
		}
		f.seen[from] = true
		f.take(object, from, depth)
	}
}

func (f *flattened) take(object map[string]any, at string, depth int) {
	properties := child(object, "properties")
	for _, name := range sortedKeys(properties) {
		f.c.copied++
		if silent(properties[name]) && f.properties[name] != nil {
			continue
		}
		link := map[string]any{"$ref": f.c.lift(at + "/properties" + jsonpointer.Join(name))}
		f.properties[name] = append(f.properties[name], link)
	}
	for _, item := range items(object, "required") {
		if name, ok := item.(string); ok {
			f.required[name] = true
		}
	}
	f.parts(items(object, "allOf"), at+"/allOf", depth+1)
}

// onlyProperties tells a schema that names properties, and nothing else that counts.
func onlyProperties(object map[string]any) bool {
	for key, value := range object {
		switch key {
		case "properties", "required", "allOf", "title", "description", "example", "examples", "$comment", "externalDocs", "deprecated":
		case "type":
			if value != "object" {
				return false
			}
		default:
			if !strings.HasPrefix(key, "x-") {
				return false
			}
		}
	}
	return true
}

// into puts what was taken in into the copy of the schema.
func (f *flattened) into(made map[string]any) {
	if len(f.rest) > 0 {
		made["allOf"] = f.rest
	}
	if len(f.properties) > 0 || len(f.required) > 0 {
		if _, typed := made["type"]; !typed {
			made["type"] = "object"
		}
	}
	own, _ := made["properties"].(map[string]any)
	if own == nil && len(f.properties) > 0 {
		own = map[string]any{}
		made["properties"] = own
	}
	for name, list := range f.properties {
		if first, _ := own[name].(map[string]any); len(first) > 0 {
			list = append([]any{first}, list...)
		}
		own[name] = list[0]
		if len(list) > 1 {
			own[name] = map[string]any{"allOf": list}
		}
	}
	kept, _ := made["required"].([]any)
	for _, item := range kept {
		if name, ok := item.(string); ok {
			f.required[name] = true
		}
	}
	if len(f.required) > 0 {
		var list []any
		for _, name := range sortedKeys(f.required) {
			list = append(list, name)
		}
		made["required"] = list
	}
}

// silent tells a schema that says nothing of a value, only of what it is for.
func silent(value any) bool {
	object, ok := value.(map[string]any)
	for key := range object {
		if key != "description" && key != "title" && key != "example" && key != "examples" && !strings.HasPrefix(key, "x-") {
			return false
		}
	}
	return ok
}

// single gives the one schema that a schema comes down to, when it is no more than a wrapping for a description.
func single(made map[string]any) any {
	list, _ := made["allOf"].([]any)
	if len(list) != 1 || len(made) > 2 || len(made) == 2 && made["title"] == nil {
		return made
	}
	return list[0]
}
