package compare

import (
	"strconv"
	"strings"

	"schakel/registry/jsonpointer"

	"schakel/registry/contract"
)

// otherProperties is the name under patternProperties that stands for additionalProperties: oasdiff judges the former
// and not the latter.
const otherProperties = "additional properties"

// schemaAt copies a schema that stands at a pointer; an empty schema stands for what is absent or cannot be followed.
func (c *copier) schemaAt(value any, at string) any {
	copied := c.whole(value, at)
	if made, ok := copied.(map[string]any); ok {
		return single(made)
	}
	return copied
}

// branch copies a part of allOf. One that is written out is given a name, so that it is held against the part in the same
// place of the other document, and not taken for one that came or went.
func (c *copier) branch(value any, at string) any {
	object, ok := value.(map[string]any)
	if _, isReference := object["$ref"].(string); !ok || isReference {
		return c.schemaAt(value, at)
	}
	return map[string]any{"$ref": c.lift(at)}
}

// whole copies a schema as it is written.
func (c *copier) whole(value any, at string) any {
	c.copied++
	if c.copied > maxCopied {
		return map[string]any{}
	}
	if allowed, ok := value.(bool); ok {
		if allowed {
			return map[string]any{}
		}
		return false
	}
	object, ok := value.(map[string]any)
	if !ok {
		return map[string]any{}
	}
	if multi, ok := object["schema"]; ok && object["schemaFormat"] != nil && c.kind == contract.AsyncAPI {
		return c.whole(multi, at+"/schema")
	}
	if ref, ok := object["$ref"].(string); ok {
		return c.reference(object, ref, at)
	}
	return c.keywords(object, at)
}

// reference copies a reference, and what stands beside it where the specification lets that count.
func (c *copier) reference(object map[string]any, ref, at string) any {
	pointer, local := localPointer(ref)
	if !local {
		c.leave(ref, at)
		return map[string]any{}
	}
	if !c.leads(pointer) {
		return map[string]any{}
	}
	link := map[string]any{"$ref": c.lift(pointer)}
	if c.kind == contract.AsyncAPI || c.release == "3.0" || len(object) == 1 {
		return link
	}
	beside := c.keywords(object, at)
	if delete(beside, "title"); len(beside) == 0 {
		return link
	}
	return map[string]any{"allOf": []any{link, beside}}
}

// leads tells whether a chain of references comes to an end inside the document.
func (c *copier) leads(pointer string) bool {
	for range maxHops {
		value, ok := jsonpointer.Lookup(c.root, pointer)
		if !ok {
			return false
		}
		object, _ := value.(map[string]any)
		ref, isReference := object["$ref"].(string)
		if !isReference {
			return true
		}
		if pointer, ok = localPointer(ref); !ok {
			return true // the copy of that one stands for what is outside
		}
	}
	return false
}

// keywords copies what a schema says, each keyword in the form that the comparison can read.
func (c *copier) keywords(object map[string]any, at string) map[string]any {
	made := map[string]any{}
	flat := c.flatten(object, at)
	for _, key := range sortedKeys(object) {
		value := object[key]
		below := at + jsonpointer.Join(key)
		if key == "allOf" && flat != nil {
			continue
		}
		switch key {
		case "properties", "patternProperties", "dependentSchemas":
			c.schemaMap(made, key, value, below)
		case "allOf", "anyOf", "oneOf", "prefixItems":
			c.schemaList(made, key, value, below)
		case "not", "if", "then", "else", "contains", "propertyNames", "contentSchema":
			made[key] = c.schemaAt(value, below)
		case "unevaluatedItems", "unevaluatedProperties":
			if value != true {
				made[key] = open(c.schemaAt(value, below))
			}
		case "items", "additionalItems", "dependencies":
			c.olderKeyword(made, object, key, value, below)
		case "discriminator":
			c.discriminator(made, value)
		default:
			if kept, ok := assertion(key, value); ok {
				made[key] = kept
			}
		}
	}
	if flat != nil {
		flat.into(made)
	}
	c.additional(made, object, at)
	return made
}

func (c *copier) schemaMap(made map[string]any, key string, value any, at string) {
	object, _ := value.(map[string]any)
	list := map[string]any{}
	for _, name := range sortedKeys(object) {
		list[name] = c.schemaAt(object[name], at+jsonpointer.Join(name))
	}
	if len(list) > 0 {
		made[key] = list
	}
}

func (c *copier) schemaList(made map[string]any, key string, value any, at string) {
	given, _ := value.([]any)
	var list []any
	copied := c.schemaAt
	if key == "allOf" {
		copied = c.branch
	}
	for i, item := range given {
		list = append(list, copied(item, at+"/"+strconv.Itoa(i)))
	}
	if len(list) > 0 {
		made[key] = list
	}
}

// open writes the schema that allows nothing as an object, for the keywords where the comparison does not see false.
func open(schema any) any {
	if schema == false {
		return map[string]any{"not": map[string]any{}}
	}
	return schema
}

// olderKeyword turns what draft-07 says with items, additionalItems and dependencies into today's keywords.
func (c *copier) olderKeyword(made, object map[string]any, key string, value any, at string) {
	_, tuple := object["items"].([]any)
	switch {
	case key == "items" && tuple:
		c.schemaList(made, "prefixItems", value, at)
	case key == "items", key == "additionalItems" && tuple:
		made["items"] = c.schemaAt(value, at)
	case key == "dependencies":
		c.dependencies(made, value, at)
	}
}

func (c *copier) dependencies(made map[string]any, value any, at string) {
	object, _ := value.(map[string]any)
	required, schemas := map[string]any{}, map[string]any{}
	for _, name := range sortedKeys(object) {
		if list, ok := textList(object[name]); ok {
			required[name] = list
			continue
		}
		schemas[name] = c.schemaAt(object[name], at+jsonpointer.Join(name))
	}
	if len(required) > 0 {
		made["dependentRequired"] = required
	}
	if len(schemas) > 0 {
		made["dependentSchemas"] = schemas
	}
}

func (c *copier) discriminator(made map[string]any, value any) {
	object, _ := value.(map[string]any)
	name := text(object, "propertyName")
	if name == "" {
		name, _ = value.(string) // as AsyncAPI writes it
	}
	if name == "" {
		return
	}
	mapping := map[string]any{}
	for key, target := range child(object, "mapping") {
		ref, _ := target.(string)
		if !strings.ContainsAny(ref, "#/") {
			ref = "#/components/schemas/" + ref
		}
		if pointer, local := localPointer(ref); local && c.leads(pointer) {
			mapping[key] = c.lift(pointer)
		}
	}
	made["discriminator"] = map[string]any{"propertyName": name, "mapping": mapping}
}

// additional writes additionalProperties under the name that is judged; true says no more than leaving it out.
func (c *copier) additional(made, object map[string]any, at string) {
	value, ok := object["additionalProperties"]
	if !ok || value == true {
		return
	}
	if empty, isObject := value.(map[string]any); isObject && len(empty) == 0 {
		return
	}
	list, _ := made["patternProperties"].(map[string]any)
	if list == nil {
		list = map[string]any{}
		made["patternProperties"] = list
	}
	list[otherProperties] = c.schemaAt(value, at+"/additionalProperties")
}
