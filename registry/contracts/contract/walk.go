package contract

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"schakel/registry/jsonpointer"
)

// The members below are maps from names that the author chose, so that a name such as "example" or "default" in them is
// no keyword.
func isNameMap(key string) bool {
	switch key {
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies",
		"schemas", "responses", "parameters", "examples", "requestBodies", "securitySchemes", "links", "callbacks",
		"pathItems", "mediaTypes", "paths", "webhooks", "channels", "operations", "messages", "servers", "operationTraits",
		"messageTraits", "replies", "replyAddresses", "correlationIds", "tags", "serverVariables", "variables", "content",
		"encoding", "additionalOperations", "channelBindings", "operationBindings", "messageBindings", "serverBindings":
		return true
	}
	return false
}

// isData reports whether a member holds data of the author's, in which "$ref" is not a reference.
func isData(key string, value any) bool {
	switch key {
	case "example", "default", "const", "enum", "value", "dataValue":
		return true
	case "examples":
		_, isList := value.([]any)
		return isList
	}
	return strings.HasPrefix(key, "x-")
}

// walk visits each object of the document that is not the author's data, in a fixed order; at writes its pointer.
func walk(root any, visit func(object map[string]any, at func() string)) {
	w := walker{visit: visit, sorted: true}
	w.value(root, false)
}

// walkAnyOrder is walk for what does not depend on the order, in less time.
func walkAnyOrder(root any, visit func(object map[string]any)) {
	w := walker{visit: func(object map[string]any, _ func() string) { visit(object) }}
	w.value(root, false)
}

type walker struct {
	visit  func(map[string]any, func() string)
	path   []byte
	sorted bool
}

func (w *walker) value(value any, names bool) {
	switch v := value.(type) {
	case map[string]any:
		if !names {
			w.visit(v, w.at)
		}
		w.members(v, names)
	case []any:
		for i, item := range v {
			w.descend(strconv.Itoa(i), item, false)
		}
	}
}

func (w *walker) at() string { return string(w.path) }

func (w *walker) members(object map[string]any, names bool) {
	if !w.sorted {
		for key, value := range object {
			if names || !isData(key, value) {
				w.descend("", value, !names && isNameMap(key))
			}
		}
		return
	}
	keys := make([]string, 0, len(object))
	for key, value := range object {
		if (names || !isData(key, value)) && isContainer(value) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		w.descend(key, object[key], !names && isNameMap(key))
	}
}

func (w *walker) descend(token string, value any, names bool) {
	if !isContainer(value) {
		return
	}
	length := len(w.path)
	w.path = append(append(w.path, '/'), jsonpointer.Escape(token)...)
	w.value(value, names)
	w.path = w.path[:length]
}

func isContainer(value any) bool {
	switch value.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// sortedKeys gives the member names of an object in a fixed order, so that findings come in a fixed order.
func sortedKeys[V any](object map[string]V) []string {
	if len(object) == 0 {
		return nil
	}
	keys := slices.AppendSeq(make([]string, 0, len(object)), maps.Keys(object))
	slices.Sort(keys)
	return keys
}

// child gives a member that is an object, else nil.
func child(object map[string]any, key string) map[string]any {
	value, _ := object[key].(map[string]any)
	return value
}

// items gives a member that is a list, else nil.
func items(object map[string]any, key string) []any {
	list, _ := object[key].([]any)
	return list
}

// texts gives the texts of a value that is a text or a list of texts.
func texts(value any) []string {
	switch v := value.(type) {
	case string:
		return []string{v}
	case []any:
		var list []string
		for _, item := range v {
			if text, ok := item.(string); ok {
				list = append(list, text)
			}
		}
		return list
	}
	return nil
}

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

func openAPIGrammar() grammar {
	pathItem := map[string]string{"additionalOperations": "{}" + kindOperation, "parameters": "[]" + kindParameter, "servers": "[]" + kindServer}
	for _, method := range methods() {
		pathItem[method] = kindOperation
	}
	content := "{}" + kindMediaType
	return grammar{
		"root": {"paths": "paths", "webhooks": "{}" + kindPathItem, "components": "components", "servers": "[]" + kindServer},
		"components": {
			"schemas": "{}" + kindSchema, "responses": "{}" + kindResponse, "parameters": "{}" + kindParameter, "examples": "{}example",
			"requestBodies": "{}requestBody", "headers": "{}" + kindHeader, "securitySchemes": "{}securityScheme", "links": "{}" + kindLink,
			"callbacks": "{}" + kindCallback, "pathItems": "{}" + kindPathItem, "mediaTypes": content,
		},
		"paths":      {"*": kindPathItem},
		kindPathItem: pathItem,
		kindOperation: {
			"parameters": "[]" + kindParameter, "requestBody": "requestBody", "responses": "{}" + kindResponse,
			"callbacks": "{}" + kindCallback, "servers": "[]" + kindServer,
		},
		kindCallback:  {"*": kindPathItem},
		kindParameter: {"schema": kindSchema, "content": content, "examples": "{}example"},
		kindHeader:    {"schema": kindSchema, "content": content, "examples": "{}example"},
		"requestBody": {"content": content},
		kindResponse:  {"headers": "{}" + kindHeader, "content": content, "links": "{}" + kindLink},
		kindMediaType: {
			"schema": kindSchema, "itemSchema": kindSchema, "examples": "{}example", "encoding": "{}encoding",
			"itemEncoding": "encoding", "prefixEncoding": "[]encoding",
		},
		"encoding": {"headers": "{}" + kindHeader},
		kindLink:   {"server": kindServer},
		kindSchema: schemaMembers(),
	}
}

// asyncAPIGrammar is the shape of an AsyncAPI 2.6 or 3.x document. A schema in another language, such as Avro, is of the
// kind payload and not visited further; asyncAPI.payload looks at it.
func asyncAPIGrammar() grammar {
	message := map[string]string{
		"headers": "payload", "payload": "payload", "correlationId": kindCorrelated, "traits": "[]messageTrait", "oneOf": "[]" + kindMessage,
	}
	return grammar{
		"root": {
			"channels": "{}" + kindChannel, "operations": "{}" + kindOperation, "servers": "{}" + kindServer, "components": "components", "info": "info",
		},
		"components": {
			"schemas": "{}payload", "servers": "{}" + kindServer, "channels": "{}" + kindChannel, "operations": "{}" + kindOperation,
			"messages": "{}" + kindMessage, "parameters": "{}" + kindParameter, "correlationIds": "{}" + kindCorrelated,
			"replies": "{}reply", "replyAddresses": "{}replyAddress", "operationTraits": "{}operationTrait", "messageTraits": "{}messageTrait",
			"securitySchemes": "{}securityScheme", "serverVariables": "{}serverVariable", "tags": "{}tag", "externalDocs": "{}externalDocs",
			"serverBindings": "{}serverBinding", "channelBindings": "{}channelBinding", "operationBindings": "{}operationBinding",
			"messageBindings": "{}messageBinding",
		},
		kindChannel: {
			"messages": "{}" + kindMessage, "parameters": "{}" + kindParameter, "publish": kindOperation, "subscribe": kindOperation,
		},
		kindOperation: {
			"message": kindMessage, "reply": "reply", "traits": "[]operationTrait", "security": "[]securityScheme",
		},
		"operationTrait": {"security": "[]securityScheme"},
		"securityScheme": {},
		kindMessage:      message,
		"messageTrait":   message,
		"reply":          {"address": "replyAddress"},
		kindParameter:    {"schema": kindSchema},
		kindSchema:       schemaMembers(),
		kindServer:       {"variables": "{}serverVariable", "security": "[]securityScheme"},
		"info":           {},
	}
}

// componentOf names the section of components that holds objects of a kind.
func componentOf(kind string) string {
	switch kind {
	case kindResponse, kindParameter, kindSchema, kindHeader, kindLink, kindCallback, kindPathItem, kindMediaType, kindServer,
		kindChannel, kindOperation, kindMessage, kindCorrelated, "example", "securityScheme", "operationTrait", "messageTrait",
		"serverVariable", "tag":
		return kind + "s"
	case "requestBody":
		return "requestBodies"
	case "reply":
		return "replies"
	case "replyAddress":
		return "replyAddresses"
	case "payload":
		return "schemas"
	}
	return ""
}
