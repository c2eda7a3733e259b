package contract

import (
	"fmt"
	"slices"
	"strings"

	"schakel/registry/jsonpointer"
	"schakel/templates/i18n"
)

// checkRules applies the rules that no schema can state. Each works on what it can recognise and leaves what has a wrong
// shape to the schema.
func (d *Document) checkRules(r *report) {
	root, ok := d.Root.(map[string]any)
	if !ok {
		return
	}
	r.refs = newResolver(root)
	checkReferences(r, root)
	d.checkUnused(r, root)
	if d.Kind == OpenAPI {
		checkOpenAPI(r, root, d.release)
		return
	}
	checkAsyncAPI(r, root, d.release)
	checkEventTypes(r, d)
}

const maxAnchors = 10_000

func newResolver(root map[string]any) *resolver {
	r := &resolver{root: root, anchors: map[string]string{}, ends: map[string]*end{}}
	if self, ok := root["$self"].(string); ok && self != "" {
		r.anchors[self] = ""
	}
	walk(root, func(object map[string]any, at func() string) {
		for _, key := range []string{"$anchor", "$dynamicAnchor", "$id"} {
			name, ok := object[key].(string)
			if !ok || len(r.anchors) >= maxAnchors {
				continue
			}
			if key == "$id" {
				name, _, _ = strings.Cut(name, "#")
			} else {
				name = "#" + name
			}
			if name != "" {
				r.anchors[name] = at()
			}
		}
	})
	return r
}

// checkReferences holds each $ref, $dynamicRef and discriminator mapping against the document.
func checkReferences(r *report, root map[string]any) {
	walk(root, func(object map[string]any, at func() string) {
		for _, key := range []string{"$ref", "$dynamicRef"} {
			if ref, ok := object[key].(string); ok {
				r.reference(ref, func() string { return at() + jsonpointer.Join(key) })
			}
		}
		if ref, ok := object["externalValue"].(string); ok {
			if _, away := Address(ref); away && object["value"] == nil {
				r.add(SeverityWarning, "example-elsewhere", func() string { return at() + jsonpointer.Join("externalValue") },
					i18n.M("findings.example-elsewhere", shorten(ref, 120)),
					"findings.example-elsewhere-remedy")
			}
		}
		mapping := child(child(object, "discriminator"), "mapping")
		for _, name := range sortedKeys(mapping) {
			if ref, ok := mapping[name].(string); ok && strings.HasPrefix(ref, "#") {
				r.reference(ref, func() string { return at() + jsonpointer.Join("discriminator", "mapping", name) })
			}
		}
	})
}

func (r *report) reference(ref string, at func() string) {
	_, _, how := r.refs.follow(map[string]any{"$ref": ref}, "")
	if how != found {
		// What a reference leads to may itself lead to nothing; that is said at its own place.
		if _, _, first := r.refs.resolve(ref); first != found {
			how = first
		} else if how != circular {
			return
		}
	}
	shown := shorten(ref, 120)
	switch how {
	case missing:
		r.add(SeverityError, "reference-unresolved", at, i18n.M("findings.reference-unresolved", shown),
			"findings.reference-unresolved-remedy")
	case circular:
		r.add(SeverityError, "reference-cycle", at, i18n.M("findings.reference-cycle", shown),
			"findings.reference-cycle-remedy")
	case outside:
		r.add(SeverityError, CodeReferenceMissing, at, i18n.M("findings.reference-missing", shown),
			"findings.reference-missing-remedy")
	}
}

// templateNames gives the names between braces, in order.
func templateNames(template string) []string {
	var names []string
	for rest := template; ; {
		_, after, ok := strings.Cut(rest, "{")
		if !ok {
			return names
		}
		name, tail, ok := strings.Cut(after, "}")
		if !ok {
			return names
		}
		names, rest = append(names, name), tail
	}
}

// maxUnused bounds how many unused parts are named one by one.
const maxUnused = 10

// checkUnused reports components that nothing refers to. A document of components only is there for others to use.
func (d *Document) checkUnused(r *report, root map[string]any) {
	if root["paths"] == nil && root["webhooks"] == nil && root["channels"] == nil && root["operations"] == nil {
		return
	}
	used := d.usedParts(root)
	if used["*"] {
		return // names of their own can be referred to in more ways than are followed here
	}
	components := child(root, "components")
	count := 0
	for _, section := range sortedKeys(components) {
		if strings.HasPrefix(section, "x-") || section == "pathItems" || section == "messages" && d.Kind == AsyncAPI {
			continue
		}
		for _, name := range sortedKeys(child(components, section)) {
			part := child(child(components, section), name)
			if used[section+"/"+name] || section == "schemas" && part["allOf"] != nil { // a child of one with a discriminator
				continue
			}
			if count++; count <= maxUnused {
				r.add(SeverityInfo, "component-unused", top().to("components", section, name).String,
					i18n.M("findings.component-unused", shorten(name, 80)), "findings.component-unused-remedy")
			}
		}
	}
	if count > maxUnused {
		r.add(SeverityInfo, "component-unused", top().to("components").String, i18n.M("findings.components-unused", count-maxUnused),
			"findings.components-unused-remedy")
	}
}

// usedParts are the components that references, security requirements and discriminators name.
func (d *Document) usedParts(root map[string]any) map[string]bool {
	used := map[string]bool{}
	walkAnyOrder(root, func(object map[string]any) {
		for _, key := range []string{"$ref", "$dynamicRef"} {
			if ref, ok := object[key].(string); ok {
				if _, fragment, _ := strings.Cut(ref, "#"); fragment != "" {
					noteUse(used, "#"+fragment)
				}
			}
		}
		for _, name := range child(child(object, "discriminator"), "mapping") {
			if text, ok := name.(string); ok {
				used["schemas/"+text] = true
				noteUse(used, text)
			}
		}
		if id := member(object, "$id") + member(object, "$anchor") + member(object, "$dynamicAnchor"); id != "" {
			used["*"] = true
		}
		for _, value := range items(object, "security") {
			requirement, _ := value.(map[string]any)
			for name := range requirement {
				used["securitySchemes/"+name] = true
			}
		}
	})
	return used
}

func noteUse(used map[string]bool, ref string) {
	if list := underRoot(ref, "components"); len(list) >= 2 {
		used[list[0]+"/"+list[1]] = true
	}
}

// unusedChannels reports channels that no operation sends to or receives from, nor answers on. A document without
// operations is there for others to use.
func (a *asyncAPI) unusedChannels(channels, operations map[string]any) {
	if len(operations) == 0 {
		return
	}
	used := map[string]bool{}
	note := func(object map[string]any) {
		if ref, ok := object["$ref"].(string); ok {
			if list := underRoot(ref, "channels"); len(list) > 0 {
				used[list[0]] = true
			}
		}
	}
	walkAnyOrder(operations, note)
	walkAnyOrder(child(a.root, "components"), note)
	count := 0
	for _, name := range sortedKeys(channels) {
		if used[name] || strings.HasPrefix(name, "x-") {
			continue
		}
		if count++; count <= maxUnused {
			a.add(SeverityInfo, "channel-unused", top().to("channels", name).String,
				i18n.M("findings.channel-unused", shorten(name, 80)), "findings.channel-unused-remedy")
		}
	}
}

// checkServerVariables holds the variables of a server against the names in its address, and their values against
// their own enum. It is an error where the specification says must: the enum of OpenAPI from 3.1 on.
func checkServerVariables(r *report, server map[string]any, address string, at *place, enumBinds bool) {
	variables := child(server, "variables")
	used := templateNames(address)
	for _, name := range distinct(used) {
		if _, ok := variables[name]; !ok {
			r.error("server-variable-undeclared", at, i18n.M("findings.server-variable-undeclared", shorten(name, 80)),
				"findings.server-variable-undeclared-remedy")
		}
	}
	for _, name := range sortedKeys(variables) {
		if !slices.Contains(used, name) && !strings.HasPrefix(name, "x-") {
			r.warn("server-variable-unused", at.to("variables", name), i18n.M("findings.server-variable-unused", shorten(name, 80)),
				"findings.address-braces-remedy")
		}
		variable, where := r.refs.object(variables[name], at.to("variables", name))
		checkVariable(r, variable, where, enumBinds)
	}
}

func checkVariable(r *report, variable map[string]any, at *place, enumBinds bool) {
	chosen, ok := variable["default"].(string)
	allowed, limited := variable["enum"].([]any)
	if !ok || !limited || slices.Contains(texts(allowed), chosen) {
		return
	}
	severity := SeverityWarning
	if enumBinds {
		severity = SeverityError
	}
	r.add(severity, "server-variable-default", at.to("default").String, i18n.M("findings.server-variable-default", shorten(chosen, 80)),
		"findings.server-variable-default-remedy")
}

// checkTags reports tags that stand in one list twice.
func checkTags(r *report, owner map[string]any, at *place) {
	first := map[string]bool{}
	for i, value := range items(owner, "tags") {
		tag, _ := r.refs.object(value, nil)
		name, ok := tag["name"].(string)
		if ok && first[name] {
			r.error("tag-duplicate", at.to("tags", fmt.Sprint(i)), i18n.M("findings.tag-duplicate", shorten(name, 80)), "findings.keep-one-remedy")
		}
		first[name] = ok
	}
}

// checkReferenceKind reports a reference into a section of components that holds something else than is wanted here.
func checkReferenceKind(r *report, kind string, object map[string]any, at *place) {
	ref, ok := object["$ref"].(string)
	section := componentOf(kind)
	if !ok || section == "" {
		return
	}
	list := underRoot(ref, "components")
	if len(list) != 2 || list[0] == section || strings.HasPrefix(list[0], "x-") || strings.HasSuffix(kind, "Trait") {
		return
	}
	r.error("reference-kind", at.to("$ref"), i18n.M("findings.reference-kind", shorten(list[0], 40), kindName(kind)),
		i18n.M("findings.reference-kind-remedy", section))
}

func kindName(kind string) string {
	if kind == "payload" {
		kind = kindSchema
	}
	var words strings.Builder
	for _, c := range kind {
		if c >= 'A' && c <= 'Z' {
			words.WriteByte(' ')
		}
		words.WriteString(strings.ToLower(string(c)))
	}
	return words.String()
}
