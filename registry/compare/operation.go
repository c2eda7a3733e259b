package compare

import (
	"net/http"
	"strconv"
	"strings"

	"schakel/registry/jsonpointer"
)

// methods are the members of a path item that are operations.
func methods() []string {
	return []string{"get", "put", "post", "delete", "options", "head", "patch", "trace", "query"}
}

// copyPaths copies all that can be called.
func (c *copier) copyPaths() {
	paths := child(c.root, "paths")
	for _, path := range sortedKeys(paths) {
		if !strings.HasPrefix(path, "/") {
			continue
		}
		item, at := c.object(paths[path], jsonpointer.Join("paths", path))
		to := jsonpointer.Join("paths", path)
		c.graft(to, at)
		c.paths[path] = c.pathItem(item, at, to)
	}
}

func (c *copier) pathItem(item map[string]any, at, to string) map[string]any {
	made := map[string]any{}
	if list := c.parameters(item, at, to); len(list) > 0 {
		made["parameters"] = list
	}
	for _, method := range methods() {
		if operation, ok := item[method].(map[string]any); ok {
			made[method] = c.operation(operation, at+"/"+method, to+"/"+method)
		}
	}
	others := map[string]any{}
	for _, method := range sortedKeys(child(item, "additionalOperations")) {
		operation := child(child(item, "additionalOperations"), method)
		if operation != nil && validMethod(method) {
			below := "/additionalOperations" + jsonpointer.Join(method)
			others[method] = c.operation(operation, at+below, to+below)
		}
	}
	if len(others) > 0 {
		made["additionalOperations"] = others
	}
	return made
}

// validMethod tells a method of its own from those that have a member in the path item.
func validMethod(method string) bool {
	for _, known := range methods() {
		if strings.EqualFold(method, known) {
			return false
		}
	}
	_, err := http.NewRequest(method, "/", http.NoBody)
	return err == nil && method != ""
}

func (c *copier) operation(operation map[string]any, at, to string) map[string]any {
	made := map[string]any{"responses": c.responses(operation, at, to)}
	if id := text(operation, "operationId"); id != "" {
		made["operationId"] = id
	}
	if operation["deprecated"] == true {
		made["deprecated"] = true
	}
	if list := c.parameters(operation, at, to); len(list) > 0 {
		made["parameters"] = list
	}
	if body, from := c.object(operation["requestBody"], at+"/requestBody"); body != nil {
		c.graft(to+"/requestBody", from)
		made["requestBody"] = map[string]any{
			"required": body["required"] == true, "content": c.content(body, from, to+"/requestBody"),
		}
	}
	return made
}

// parameters copies all but those that take the whole query string, which are compared as a part of their own.
func (c *copier) parameters(owner map[string]any, at, to string) []any {
	var list []any
	for i, value := range items(owner, "parameters") {
		parameter, from := c.object(value, at+"/parameters/"+strconv.Itoa(i))
		name, in := text(parameter, "name"), text(parameter, "in")
		if name == "" || in != "query" && in != "header" && in != "path" && in != "cookie" {
			continue
		}
		place := to + "/parameters/" + strconv.Itoa(len(list))
		c.graft(place, from)
		made := map[string]any{"name": name, "in": in, "required": parameter["required"] == true || in == "path"}
		for _, key := range []string{"style", "explode", "allowReserved", "allowEmptyValue", "deprecated"} {
			if simple(parameter[key]) {
				made[key] = parameter[key]
			}
		}
		c.described(made, parameter, from, place)
		list = append(list, made)
	}
	return list
}

func simple(value any) bool {
	switch value.(type) {
	case string, bool:
		return true
	}
	return false
}

// described copies the schema or the content of a parameter or header.
func (c *copier) described(made, owner map[string]any, at, to string) {
	if schema, ok := owner["schema"]; ok {
		made["schema"] = c.schemaAt(schema, at+"/schema")
		return
	}
	if content := c.content(owner, at, to); len(content) > 0 {
		made["content"] = content
		return
	}
	made["schema"] = map[string]any{}
}

func (c *copier) responses(operation map[string]any, at, to string) map[string]any {
	made := map[string]any{}
	responses := child(operation, "responses")
	for _, status := range sortedKeys(responses) {
		below := "/responses" + jsonpointer.Join(status)
		response, from := c.object(responses[status], at+below)
		if response == nil || strings.HasPrefix(status, "x-") {
			continue
		}
		c.graft(to+below, from)
		headers := map[string]any{}
		given := child(response, "headers")
		for _, name := range sortedKeys(given) {
			header, place := c.object(given[name], from+"/headers"+jsonpointer.Join(name))
			if header == nil || strings.EqualFold(name, "content-type") {
				continue
			}
			c.graft(to+below+"/headers"+jsonpointer.Join(name), place)
			copied := map[string]any{"required": header["required"] == true}
			c.described(copied, header, place, to+below+"/headers"+jsonpointer.Join(name))
			headers[name] = copied
		}
		made[status] = map[string]any{"description": "", "headers": headers, "content": c.content(response, from, to+below)}
	}
	return made
}

// content copies media types; a media type may be a reference from 3.2 on.
func (c *copier) content(owner map[string]any, at, to string) map[string]any {
	made := map[string]any{}
	given := child(owner, "content")
	for _, name := range sortedKeys(given) {
		mediaType, from := c.object(given[name], at+"/content"+jsonpointer.Join(name))
		if mediaType == nil {
			continue
		}
		c.graft(to+"/content"+jsonpointer.Join(name), from)
		copied := map[string]any{}
		for _, key := range []string{"schema", "itemSchema"} {
			if schema, ok := mediaType[key]; ok {
				copied[key] = c.schemaAt(schema, from+"/"+key)
			}
		}
		made[name] = copied
	}
	return made
}
