package contract

import (
	"fmt"
	"slices"
	"strings"

	"schakel/registry/jsonpointer"
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
					fmt.Sprintf("The example stands at %q, outside of this contract, and may change or go there.", shorten(ref, 120)),
					"Give it as value; schakel contract bundle, and the choice to fetch on the page of the upload, do so with JSON, YAML and text that they can fetch.")
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
		r.add(SeverityError, "reference-unresolved", at, fmt.Sprintf("The reference %q leads to nothing in this document.", shown),
			"Correct the reference, or add what it refers to.")
	case circular:
		r.add(SeverityError, "reference-cycle", at, fmt.Sprintf("The reference %q leads back to itself.", shown),
			"Let one of the references in the circle hold the definition itself.")
	case outside:
		r.add(SeverityError, CodeReferenceMissing, at, fmt.Sprintf("What the reference %q leads to is not in this upload.", shown),
			"Upload a zip with the document and the files it refers to; schakel contract bundle, and the choice to fetch on the page of the upload, put what stands at an address into it. Until then it stays a draft.")
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
					fmt.Sprintf("Nothing in this document uses %q.", shorten(name, 80)), "Remove it, or leave it for others to refer to.")
			}
		}
	}
	if count > maxUnused {
		r.add(SeverityInfo, "component-unused", top().to("components").String, fmt.Sprintf("Nothing in this document uses %d more of its components.", count-maxUnused),
			"Remove them, or leave them for others to refer to.")
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
				fmt.Sprintf("No operation uses the channel %q.", shorten(name, 80)), "Add an operation that sends to it or receives from it, or remove it.")
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
			r.error("server-variable-undeclared", at, fmt.Sprintf("The address of the server has {%s}, but no variable of that name.", shorten(name, 80)),
				"Declare it under variables of the server, with a default.")
		}
	}
	for _, name := range sortedKeys(variables) {
		if !slices.Contains(used, name) && !strings.HasPrefix(name, "x-") {
			r.warn("server-variable-unused", at.to("variables", name), fmt.Sprintf("The variable %q is not part of the address of the server.", shorten(name, 80)),
				"Add it to the address in braces, or remove it.")
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
	r.add(severity, "server-variable-default", at.to("default").String, fmt.Sprintf("The default %q is not one of the values that enum allows.", shorten(chosen, 80)),
		"Choose one of the values, or add it to enum.")
}

// checkTags reports tags that stand in one list twice.
func checkTags(r *report, owner map[string]any, at *place) {
	first := map[string]bool{}
	for i, value := range items(owner, "tags") {
		tag, _ := r.refs.object(value, nil)
		name, ok := tag["name"].(string)
		if ok && first[name] {
			r.error("tag-duplicate", at.to("tags", fmt.Sprint(i)), fmt.Sprintf("The tag %q stands in this list twice.", shorten(name, 80)), "Keep one of the two.")
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
	r.error("reference-kind", at.to("$ref"), fmt.Sprintf("The reference leads to components/%s, where no %s stands.", shorten(list[0], 40), kindName(kind)),
		"Refer to components/"+section+", or move what it refers to.")
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
