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

func (o *openAPI) pathTemplate(path string, at *place) {
	shown := shorten(path, 100)
	names := templateNames(path)
	bare := path
	for _, name := range names {
		bare = strings.Replace(bare, "{"+name+"}", "", 1)
	}
	if strings.ContainsAny(bare, "{}") || slices.Contains(names, "") {
		o.error("path-template", at, fmt.Sprintf("The braces in the path %q do not enclose names.", shown), "Write {name} for each part that varies.")
	}
	if strings.ContainsAny(bare, "?#") {
		o.warn("path-query", at, fmt.Sprintf("The path %q has a query or fragment in it.", shown), "Describe the query by parameters with in: query.")
	}
	if slices.Sort(names); len(slices.Compact(slices.Clone(names))) < len(names) {
		o.error("path-template-duplicate", at, fmt.Sprintf("The path %q has one name in braces twice.", shown), "Give each part that varies a name of its own.")
	}
}

// maxPathPairs bounds how many pairs of paths are held against each other.
const maxPathPairs = 1_000_000

// ambiguous reports two paths that some address matches both, neither of which is the more concrete.
func (o *openAPI) ambiguous(paths []string) {
	byLength := map[int][][]string{}
	work := maxPathPairs
	for _, path := range paths {
		parts := strings.Split(path, "/")
		for _, other := range byLength[len(parts)] {
			if work--; work < 0 {
				return
			}
			if bothWays(parts, other) {
				o.warn("path-ambiguous", top().to("paths", path), fmt.Sprintf("An address can match both %q and %q.", shorten(path, 100), shorten(strings.Join(other, "/"), 100)),
					"Give one of the two a fixed part where the other has one, for tools do not agree on which counts.")
				break
			}
		}
		byLength[len(parts)] = append(byLength[len(parts)], parts)
	}
}

// bothWays reports whether each of two paths has a name in braces where the other has a text, and they are alike else.
func bothWays(a, b []string) bool {
	first, second := false, false
	for i := range a {
		openA, openB := strings.HasPrefix(a[i], "{") && strings.HasSuffix(a[i], "}"), strings.HasPrefix(b[i], "{") && strings.HasSuffix(b[i], "}")
		switch {
		case openA && !openB:
			first = true
		case openB && !openA:
			second = true
		case !openA && a[i] != b[i]:
			return false
		}
	}
	return first && second
}

// scopes holds the scopes that a requirement names against those of the scheme.
func checkScopes(r *report, scheme map[string]any, wanted any, at *place, onlyOAuth bool) {
	names := texts(wanted)
	switch kind := member(scheme, "type"); {
	case len(names) == 0 || scheme == nil:
	case kind == "oauth2":
		known := map[string]bool{}
		for _, flow := range child(scheme, "flows") {
			flow, _ := flow.(map[string]any)
			for _, member := range []string{"scopes", "availableScopes"} {
				for name := range child(flow, member) {
					known[name] = true
				}
			}
		}
		for i, name := range names {
			if !known[name] {
				r.warn("security-scope-undefined", at.to(fmt.Sprint(i)), fmt.Sprintf("No flow of the security scheme has the scope %q.", shorten(name, 80)),
					"Add it to the scopes of a flow, or correct the name.")
			}
		}
	case onlyOAuth && kind != "openIdConnect" && kind != "":
		r.warn("security-scope-unexpected", at, fmt.Sprintf("A security scheme of type %s has no scopes.", shorten(kind, 40)), "Leave the list empty, or use a later version of the specification.")
	}
}
