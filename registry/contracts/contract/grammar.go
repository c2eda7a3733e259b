package contract

import (
	"strconv"
	"strings"
)

// grammar lists, for each kind of object in a document, the kinds of its members. A kind with "[]" in
// front is a list of it, with "{}" a map by names of the author's choice; the member "*" stands for all others but
// extensions. What is not named is not visited.
type grammar map[string]map[string]string

// The kinds of object that rules look at, in both specifications.
const (
	kindSchema     = "schema"
	kindServer     = "server"
	kindParameter  = "parameter"
	kindHeader     = "header"
	kindMediaType  = "mediaType"
	kindOperation  = "operation"
	kindLink       = "link"
	kindCallback   = "callback"
	kindPathItem   = "pathItem"
	kindResponse   = "response"
	kindMessage    = "message"
	kindChannel    = "channel"
	kindCorrelated = "correlationId"
)

// schemaMembers lists the members of a schema that hold schemas, in any dialect of JSON Schema.
func schemaMembers() map[string]string {
	members := map[string]string{}
	for _, key := range []string{
		"items", "additionalItems", "contains", "additionalProperties", "propertyNames", "not", "if", "then", "else",
		"unevaluatedItems", "unevaluatedProperties", "contentSchema",
	} {
		members[key] = kindSchema
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf", "prefixItems"} {
		members[key] = "[]" + kindSchema
	}
	for _, key := range []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"} {
		members[key] = "{}" + kindSchema
	}
	return members
}

// visitor is called for each object, with the kind it must be. Objects that are references are visited too.
type visitor func(kind string, object map[string]any, at *place)

// visitAll visits the objects of a document in a fixed order.
func (g grammar) visitAll(root map[string]any, visit visitor) {
	g.object("root", root, top(), visit)
}

func (g grammar) object(kind string, object map[string]any, at *place, visit visitor) {
	visit(kind, object, at)
	members := g[kind]
	if members == nil {
		return
	}
	_, open := members["*"]
	if !open && len(object) > len(members) {
		for _, key := range sortedKeys(members) {
			if value, ok := object[key]; ok && isContainer(value) {
				g.value(members[key], value, at.to(key), visit)
			}
		}
		return
	}
	for _, key := range sortedKeys(object) {
		below := members[key]
		if below == "" && open && !strings.HasPrefix(key, "x-") && key != "$ref" {
			below = members["*"]
		}
		if below != "" && isContainer(object[key]) {
			g.value(below, object[key], at.to(key), visit)
		}
	}
}

func (g grammar) value(kind string, value any, at *place, visit visitor) {
	object, isObject := value.(map[string]any)
	list, isList := value.([]any)
	if of, ok := strings.CutPrefix(kind, "[]"); ok {
		for i, item := range list {
			g.value(of, item, at.to(strconv.Itoa(i)), visit)
		}
		return
	}
	if of, ok := strings.CutPrefix(kind, "{}"); ok {
		for _, name := range sortedKeys(object) {
			if isContainer(object[name]) {
				g.value(of, object[name], at.to(name), visit)
			}
		}
		return
	}
	switch {
	case isObject:
		g.object(kind, object, at, visit)
	case isList && kind == kindSchema: // items of older dialects
		g.value("[]"+kind, value, at, visit)
	}
}
