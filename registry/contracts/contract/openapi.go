package contract

import (
	"fmt"
	"slices"
	"strings"
)

func methods() []string {
	return []string{"get", "put", "post", "delete", "options", "head", "patch", "trace", "query"}
}

// openAPI holds what the rules on one OpenAPI document share.
type openAPI struct {
	*report
	root       map[string]any
	release    string
	schemes    map[string]any
	operations map[string]*place // operationId to the pointer that has it first
}

func checkOpenAPI(r *report, root map[string]any, release string) {
	o := &openAPI{report: r, root: root, release: release, operations: map[string]*place{}}
	components := child(root, "components")
	o.schemes = child(components, "securitySchemes")
	o.paths()
	o.security(root, nil)
	for _, name := range sortedKeys(child(root, "webhooks")) {
		o.pathItem(child(root, "webhooks")[name], top().to("webhooks", name), nil)
	}
	for _, name := range sortedKeys(child(components, "pathItems")) {
		o.pathItem(child(components, "pathItems")[name], top().to("components", "pathItems", name), nil)
	}
	for _, name := range sortedKeys(child(components, "callbacks")) {
		o.callback(child(components, "callbacks")[name], top().to("components", "callbacks", name))
	}
	o.objects()
}

// paths checks that no two templates match the same paths, and each path item.
func (o *openAPI) paths() {
	paths := child(o.root, "paths")
	first := map[string]string{}
	var different []string
	for _, path := range sortedKeys(paths) {
		if !strings.HasPrefix(path, "/") {
			continue
		}
		at := top().to("paths", path)
		o.pathTemplate(path, at)
		shape := templateShape(path)
		if other, twice := first[shape]; twice {
			o.error("path-duplicate", at, fmt.Sprintf("The path %q matches the same addresses as %q.", shorten(path, 100), shorten(other, 100)),
				"Keep one of the two and bring their operations together.")
		} else {
			first[shape] = path
			different = append(different, path)
		}
		o.pathItem(paths[path], at, &path)
	}
	o.ambiguous(different)
}

// templateShape is a path with the names in its braces left out.
func templateShape(path string) string {
	for _, name := range templateNames(path) {
		path = strings.Replace(path, "{"+name+"}", "{}", 1)
	}
	return path
}

// pathItem checks one path item; path is nil where its template is not known.
func (o *openAPI) pathItem(value any, at *place, path *string) {
	item, ok := value.(map[string]any)
	if !ok {
		return
	}
	if _, isReference := item["$ref"]; isReference {
		path = nil // what it refers to may declare the parameters
	}
	shared := o.parameters(item, at)
	for _, method := range methods() {
		if operation := child(item, method); operation != nil {
			o.operation(operation, at.to(method), path, shared)
		}
	}
	additional := child(item, "additionalOperations")
	for _, method := range sortedKeys(additional) {
		if operation, ok := additional[method].(map[string]any); ok {
			o.operation(operation, at.to("additionalOperations", method), path, shared)
		}
	}
}

func (o *openAPI) operation(operation map[string]any, at *place, path *string, shared []parameter) {
	o.operationID(operation, at)
	o.security(operation, at)
	own := o.parameters(operation, at)
	if path != nil {
		o.pathParameters(*path, at, shared, own)
	}
	callbacks := child(operation, "callbacks")
	for _, name := range sortedKeys(callbacks) {
		o.callback(callbacks[name], at.to("callbacks", name))
	}
}

func (o *openAPI) callback(value any, at *place) {
	callback, _ := value.(map[string]any)
	for _, expression := range sortedKeys(callback) {
		if !strings.HasPrefix(expression, "x-") && expression != "$ref" {
			o.pathItem(callback[expression], at.to(expression), nil)
		}
	}
}

func (o *openAPI) operationID(operation map[string]any, at *place) {
	id, ok := operation["operationId"].(string)
	if !ok {
		return
	}
	if other, twice := o.operations[id]; twice {
		o.error("operation-id-duplicate", at.to("operationId"), fmt.Sprintf("The operationId %q is also that of %s.", shorten(id, 100), shorten(other.String(), 200)),
			"Give each operation an operationId of its own.")
		return
	}
	o.operations[id] = at
}

// parameter is a declared parameter; its place is unknown when the reference to it leads outside.
type parameter struct {
	name, in string
	at       *place
	unknown  bool
}

// parameters reads the parameters of a path item or operation and reports those that stand there twice.
func (o *openAPI) parameters(owner map[string]any, at *place) []parameter {
	var list []parameter
	for i, value := range items(owner, "parameters") {
		where := at.to("parameters", fmt.Sprint(i))
		object, _ := o.refs.object(value, where)
		p := parameter{name: member(object, "name"), in: member(object, "in"), at: where, unknown: object == nil}
		twice := slices.ContainsFunc(list, func(other parameter) bool {
			same := p.name == other.name || p.in == "header" && strings.EqualFold(p.name, other.name)
			return !p.unknown && same && p.in == other.in
		})
		if twice && p.name != "" {
			o.error("parameter-duplicate", where, fmt.Sprintf("The parameter %q in %s stands here twice.", shorten(p.name, 80), p.in), "Remove one of the two.")
		}
		list = append(list, p)
	}
	return list
}

func (o *openAPI) pathParameters(path string, at *place, shared, own []parameter) {
	used := templateNames(path)
	all := slices.Concat(own, shared)
	incomplete := slices.ContainsFunc(all, func(p parameter) bool { return p.unknown })
	for _, name := range used {
		declared := slices.ContainsFunc(all, func(p parameter) bool { return p.in == "path" && p.name == name })
		if !declared && !incomplete {
			o.error("path-parameter-undeclared", at, fmt.Sprintf("The path has {%s}, but the operation has no path parameter of that name.", shorten(name, 80)),
				"Declare the parameter with in: path and required: true, at the operation or the path.")
		}
	}
	for _, p := range own {
		if p.in == "path" && !slices.Contains(used, p.name) {
			o.error("path-parameter-unused", p.at, fmt.Sprintf("The path parameter %q is not part of the path %q.", shorten(p.name, 80), shorten(path, 100)),
				"Add it to the path in braces, or remove it.")
		}
	}
}

// security checks that the security schemes an object requires are declared. From 3.2 on a name may be a URI.
func (o *openAPI) security(owner map[string]any, at *place) {
	for i, value := range items(owner, "security") {
		requirement, _ := value.(map[string]any)
		for _, name := range sortedKeys(requirement) {
			where := at.to("security", fmt.Sprint(i), name)
			if value, ok := o.schemes[name]; ok {
				scheme, _ := o.refs.object(value, nil)
				checkScopes(o.report, scheme, requirement[name], where, o.release == "3.0")
				continue
			}
			if o.release == "3.2" && strings.ContainsAny(name, "/#:") {
				continue
			}
			o.error("security-undefined", where, fmt.Sprintf("The security scheme %q is not declared.", shorten(name, 80)),
				"Declare it under components/securitySchemes, or correct the name.")
		}
	}
}
