package contract

import (
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
