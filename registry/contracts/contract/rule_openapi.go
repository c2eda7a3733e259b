package contract

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"schakel/templates/i18n"
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
			o.warn("reference-siblings", at.to(key), i18n.M("findings.reference-siblings", shorten(key, 80)),
				"findings.reference-siblings-remedy")
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
		o.warn("header-ignored", at.to("name"), i18n.M("findings.header-ignored", name),
			"findings.header-ignored-remedy")
	}
	o.headerName(name, at.to("name"))
}

func (o *openAPIRules) responseHeaders(response map[string]any, at *place) {
	for _, name := range sortedKeys(child(response, "headers")) {
		where := at.to("headers", name)
		if strings.EqualFold(name, "Content-Type") {
			o.warn("header-ignored", where, "findings.header-content-type", "findings.header-content-type-remedy")
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
		o.warn("header-name", at, i18n.M("findings.header-name", shorten(name, 80)), "findings.header-name-remedy")
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
	o.warn("response-success", at.to("responses"), "findings.response-success", "findings.response-success-remedy")
}

func (o *openAPIRules) operationTags(operation map[string]any, at *place) {
	for i, name := range texts(operation["tags"]) {
		if o.tags != nil && !o.tags[name] && !o.told[name] {
			o.told[name] = true
			o.add(SeverityInfo, "tag-undeclared", at.to("tags", fmt.Sprint(i)).String, i18n.M("findings.tag-undeclared", shorten(name, 80)),
				"findings.tag-undeclared-remedy")
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
			o.error("tag-parent", at, i18n.M("findings.tag-parent", shorten(parent, 80)), "findings.tag-parent-remedy")
			continue
		}
		for hops := 0; parent != "" && hops <= len(parents); hops++ {
			if parent == name {
				o.error("tag-parent", at, i18n.M("findings.tag-below-itself", shorten(name, 80)), "findings.tag-below-itself-remedy")
				break
			}
			parent = parents[parent]
		}
	}
}

// samples holds the examples of a parameter, header or media type against its schema.
func (o *openAPIRules) samples(owner map[string]any, at *place) {
	_, one := owner["example"]
	examples := child(owner, "examples")
	schema, ok := owner["schema"]
	if !ok || !o.inJSON(at) {
		return
	}
	if one {
		o.schemas.sample(owner["example"], schema, at.to("example"))
	}
	for _, name := range sortedKeys(examples) {
		example, where := o.refs.object(examples[name], at.to("examples", name))
		for _, key := range []string{"value", "dataValue"} {
			if value, ok := example[key]; ok {
				o.schemas.sample(value, schema, where.to(key))
			}
		}
	}
}

// inJSON reports whether examples are written as the data they stand for: not so for a media type such as XML.
func (o *openAPIRules) inJSON(at *place) bool {
	above := at.up()
	if above == nil || above.token != "content" && above.token != "mediaTypes" {
		return true
	}
	return strings.Contains(strings.ToLower(at.token), "json")
}

// encodings checks that each encoding is of a property.
func (o *openAPIRules) encodings(media map[string]any, at *place) {
	encoding := child(media, "encoding")
	if encoding == nil {
		return
	}
	for _, name := range sortedKeys(encoding) {
		if has, sure := o.schemas.declares(media["schema"], name, 0); sure && !has && !o.open(media["schema"]) {
			o.warn("encoding-undeclared", at.to("encoding", name), i18n.M("findings.encoding-undeclared", shorten(name, 80)),
				"findings.encoding-undeclared-remedy")
		}
	}
}

// open reports whether a schema describes no properties, or allows others.
func (o *openAPIRules) open(schema any) bool {
	object, _ := o.refs.object(schema, nil)
	_, others := object["additionalProperties"].(map[string]any)
	return child(object, "properties") == nil || others
}

// link checks the operation that a link leads to, and the expressions it is filled with.
func (o *openAPIRules) link(link map[string]any, at *place) {
	if id, ok := link["operationId"].(string); ok && o.operations[id] == nil {
		o.warn("link-operation", at.to("operationId"), i18n.M("findings.link-operation-id", shorten(id, 80)), "findings.link-operation-id-remedy")
	}
	if ref, ok := link["operationRef"].(string); ok {
		o.operationRef(ref, at.to("operationRef"))
	}
	for _, name := range sortedKeys(child(link, "parameters")) {
		if text, ok := child(link, "parameters")[name].(string); ok {
			o.expression(text, at.to("parameters", name))
		}
	}
	if text, ok := link["requestBody"].(string); ok {
		o.expression(text, at.to("requestBody"))
	}
}

// operationRef only warns: the document can be read without the operation that a link leads to. What stands at an address of
// another API is its owner's; a relative one leads nowhere from where the register serves the contract.
func (o *openAPIRules) operationRef(ref string, at *place) {
	_, _, how := o.refs.resolve(ref)
	address, err := url.Parse(resolveURI(member(o.root, "$self"), ref))
	switch {
	case how != outside && !o.isOperation(ref):
		o.warn("link-operation", at, i18n.M("findings.link-operation", shorten(ref, 120)), "findings.link-operation-remedy")
	case how == outside && (err != nil || !address.IsAbs()):
		o.warn("link-operation", at, i18n.M("findings.link-relative", shorten(ref, 120)),
			"findings.link-relative-remedy")
	}
}

// isOperation reports whether a reference within the document names a method of a path item, which may itself be referred to.
func (o *openAPIRules) isOperation(ref string) bool {
	i := strings.LastIndexByte(ref, '/')
	if i < 0 {
		return false
	}
	method := ref[i+1:]
	if !strings.HasSuffix(ref[:i], "/additionalOperations") && !slices.Contains(methods(), method) {
		return false
	}
	item, _ := o.refs.object(map[string]any{"$ref": ref[:i]}, nil)
	return child(item, method) != nil
}

// expressions checks the addresses of a callback.
func (o *openAPIRules) expressions(callback map[string]any, at *place) {
	for _, address := range sortedKeys(callback) {
		if strings.HasPrefix(address, "x-") || address == "$ref" {
			continue
		}
		if strings.HasPrefix(address, "$") {
			o.expression(address, at.to(address))
		}
		for _, name := range templateNames(address) {
			if strings.HasPrefix(name, "$") {
				o.expression(name, at.to(address))
			}
		}
	}
}

// runtimeExpression is the grammar of OpenAPI's runtime expressions.
var runtimeExpression = sync.OnceValue(func() *regexp.Regexp {
	const token = "[!#$%&'*+.^_`|~0-9A-Za-z-]+" // #nosec G101 -- a pattern of RFC 9110
	return regexp.MustCompile(`^\$(?:url|method|statusCode|(?:request|response)\.(?:header\.` + token + `|query\..+|path\..+|body(?:#(?:/(?:[^~/]|~[01])*)*)?))$`)
})

// expression reports a text that starts as a runtime expression and is none.
func (o *openAPIRules) expression(text string, at *place) {
	if !strings.HasPrefix(text, "$") || runtimeExpression().MatchString(text) {
		return
	}
	o.warn("runtime-expression", at, i18n.M("findings.runtime-expression", shorten(text, 100)),
		"findings.runtime-expression-remedy")
}
