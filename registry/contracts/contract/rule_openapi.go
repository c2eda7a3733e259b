package contract

import (
	"fmt"
	"slices"
	"strings"
)

// openAPIRules are the rules on single objects of an OpenAPI document, wherever they stand.
type openAPIRules struct {
	*openAPI
	schemas *schemaRules
	tags    map[string]bool // those the document declares; nil when it declares none
	told    map[string]bool // tags that were reported
}

// objects visits each object once.
func (o *openAPI) objects() {
	rules := &openAPIRules{openAPI: o, told: map[string]bool{}}
	rules.schemas = &schemaRules{report: o.report, fit: newFitter(o.refs, OpenAPI, o.release), arrays: o.release == "3.0"}
	if _, declared := o.root["tags"]; declared {
		rules.tags = map[string]bool{}
		for _, value := range items(o.root, "tags") {
			tag, _ := value.(map[string]any)
			rules.tags[member(tag, "name")] = true
		}
	}
	checkTags(o.report, o.root, top())
	o.tagParents()
	openAPIGrammar().visitAll(o.root, rules.object)
}

func (o *openAPIRules) object(kind string, object map[string]any, at *place) {
	if _, isReference := object["$ref"]; isReference && kind != kindPathItem {
		checkReferenceKind(o.report, kind, object, at)
		o.siblings(object, at)
		if kind != kindSchema || o.release == "3.0" {
			return
		}
	}
	switch kind {
	case kindSchema:
		o.schemas.check(object, at)
		checkMapping(o.report, child(child(o.root, "components"), "schemas"), object, at)
	case kindServer:
		checkServerVariables(o.report, object, member(object, "url"), at, o.release != "3.0")
	case kindParameter:
		o.parameterHeader(object, at)
		o.samples(object, at)
	case kindHeader, kindMediaType:
		o.samples(object, at)
		o.encodings(object, at)
	case kindOperation:
		o.responses(object, at)
		o.operationTags(object, at)
	case kindResponse:
		o.responseHeaders(object, at)
	case kindLink:
		o.link(object, at)
	case kindCallback:
		o.expressions(object, at)
	}
}

// siblings reports what stands beside a reference in OpenAPI 3.0 and is ignored there.
func (o *openAPIRules) siblings(object map[string]any, at *place) {
	if o.release != "3.0" {
		return
	}
	for _, key := range sortedKeys(object) {
		if key != "$ref" && !strings.HasPrefix(key, "x-") {
			o.warn("reference-siblings", at.to(key), fmt.Sprintf("The member %q stands beside a reference, where OpenAPI 3.0 ignores it.", shorten(key, 80)),
				"Put the reference in allOf beside it, or use OpenAPI 3.1 or later.")
			return
		}
	}
}

// parameterHeader reports header parameters that OpenAPI has its own place for.
func (o *openAPIRules) parameterHeader(parameter map[string]any, at *place) {
	name := member(parameter, "name")
	if member(parameter, "in") != "header" {
		return
	}
	if slices.ContainsFunc([]string{"Accept", "Content-Type", "Authorization"}, func(own string) bool { return strings.EqualFold(own, name) }) {
		o.warn("header-ignored", at.to("name"), fmt.Sprintf("A parameter for the header %s is ignored.", name),
			"Describe it by the media types of content, or by a security scheme, and remove the parameter.")
	}
	o.headerName(name, at.to("name"))
}

func (o *openAPIRules) responseHeaders(response map[string]any, at *place) {
	for _, name := range sortedKeys(child(response, "headers")) {
		where := at.to("headers", name)
		if strings.EqualFold(name, "Content-Type") {
			o.warn("header-ignored", where, "The header Content-Type is ignored here.", "Describe it by the media types of content, and remove the header.")
		}
		o.headerName(name, where)
	}
}

// headerName wants the token of RFC 9110.
func (o *openAPIRules) headerName(name string, at *place) {
	allowed := func(c rune) bool {
		return c < 0x80 && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("!#$%&'*+-.^_`|~", c))
	}
	if name == "" || strings.ContainsFunc(name, func(c rune) bool { return !allowed(c) }) {
		o.warn("header-name", at, fmt.Sprintf("%q cannot be the name of an HTTP header.", shorten(name, 80)), "Use letters, digits and hyphens.")
	}
}

// responses reports an operation that says nothing of its success.
func (o *openAPIRules) responses(operation map[string]any, at *place) {
	responses := child(operation, "responses")
	if len(responses) == 0 {
		return // 3.0 requires one by its schema; later versions do not
	}
	for code := range responses {
		if code == "default" || code == "$ref" || strings.HasPrefix(code, "x-") || strings.HasPrefix(code, "1") || strings.HasPrefix(code, "2") || strings.HasPrefix(code, "3") {
			return
		}
	}
	o.warn("response-success", at.to("responses"), "The operation has answers to failures only.", "Describe what it answers when all goes well.")
}

func (o *openAPIRules) operationTags(operation map[string]any, at *place) {
	for i, name := range texts(operation["tags"]) {
		if o.tags != nil && !o.tags[name] && !o.told[name] {
			o.told[name] = true
			o.add(SeverityInfo, "tag-undeclared", at.to("tags", fmt.Sprint(i)).String, fmt.Sprintf("The tag %q is not under tags of the document.", shorten(name, 80)),
				"Add it there with a description, or correct the name.")
		}
	}
}

// tagParents checks the tree of tags that OpenAPI 3.2 has.
func (o *openAPI) tagParents() {
	parents := map[string]string{}
	for _, value := range items(o.root, "tags") {
		tag, _ := value.(map[string]any)
		parents[member(tag, "name")] = member(tag, "parent")
	}
	for i, value := range items(o.root, "tags") {
		tag, _ := value.(map[string]any)
		name, parent := member(tag, "name"), member(tag, "parent")
		if parent == "" || o.release != "3.2" {
			continue
		}
		at := top().to("tags", fmt.Sprint(i), "parent")
		if _, known := parents[parent]; !known {
			o.error("tag-parent", at, fmt.Sprintf("The tag %q is not declared.", shorten(parent, 80)), "Declare it under tags, or correct the name.")
			continue
		}
		for hops := 0; parent != "" && hops <= len(parents); hops++ {
			if parent == name {
				o.error("tag-parent", at, fmt.Sprintf("The tag %q is below itself.", shorten(name, 80)), "Take one parent of the circle away.")
				break
			}
			parent = parents[parent]
		}
	}
}
