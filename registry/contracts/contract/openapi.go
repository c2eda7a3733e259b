package contract

import (
	"fmt"
	"slices"
	"strings"

	"schakel/templates/i18n"
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
			o.error("path-duplicate", at, i18n.M("findings.path-duplicate", shorten(path, 100), shorten(other, 100)),
				"findings.path-duplicate-remedy")
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
		o.error("operation-id-duplicate", at.to("operationId"), i18n.M("findings.operation-id-duplicate", shorten(id, 100), shorten(other.String(), 200)),
			"findings.operation-id-duplicate-remedy")
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
			o.error("parameter-duplicate", where, i18n.M("findings.parameter-duplicate", shorten(p.name, 80), p.in), "findings.remove-one-of-two-remedy")
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
			o.error("path-parameter-undeclared", at, i18n.M("findings.path-parameter-undeclared", shorten(name, 80)),
				"findings.path-parameter-undeclared-remedy")
		}
	}
	for _, p := range own {
		if p.in == "path" && !slices.Contains(used, p.name) {
			o.error("path-parameter-unused", p.at, i18n.M("findings.path-parameter-unused", shorten(p.name, 80), shorten(path, 100)),
				"findings.path-parameter-unused-remedy")
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
			o.error("security-undefined", where, i18n.M("findings.security-undefined", shorten(name, 80)),
				"findings.security-undefined-remedy")
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
		o.error("path-template", at, i18n.M("findings.path-template", shown), "findings.path-template-remedy")
	}
	if strings.ContainsAny(bare, "?#") {
		o.warn("path-query", at, i18n.M("findings.path-query", shown), "findings.path-query-remedy")
	}
	if slices.Sort(names); len(slices.Compact(slices.Clone(names))) < len(names) {
		o.error("path-template-duplicate", at, i18n.M("findings.path-template-duplicate", shown), "findings.path-template-duplicate-remedy")
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
				o.warn("path-ambiguous", top().to("paths", path), i18n.M("findings.path-ambiguous", shorten(path, 100), shorten(strings.Join(other, "/"), 100)),
					"findings.path-ambiguous-remedy")
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
				r.warn("security-scope-undefined", at.to(fmt.Sprint(i)), i18n.M("findings.security-scope-undefined", shorten(name, 80)),
					"findings.security-scope-undefined-remedy")
			}
		}
	case onlyOAuth && kind != "openIdConnect" && kind != "":
		r.warn("security-scope-unexpected", at, i18n.M("findings.security-scope-unexpected", shorten(kind, 40)), "findings.security-scope-unexpected-remedy")
	}
}
