package contract

import (
	"fmt"
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

// maxAnchors bounds the pointers kept for anchors.
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
