package contract

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
)

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
			o.warn("encoding-undeclared", at.to("encoding", name), fmt.Sprintf("The encoding is of a property %q that the schema does not describe.", shorten(name, 80)),
				"Correct the name, or add the property.")
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
		o.warn("link-operation", at.to("operationId"), fmt.Sprintf("No operation has the operationId %q.", shorten(id, 80)), "Correct it, or give the operation that id.")
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
		o.warn("link-operation", at, fmt.Sprintf("The reference %q leads to no operation of this document.", shorten(ref, 120)), "Correct the reference, or add the operation.")
	case how == outside && (err != nil || !address.IsAbs()):
		o.warn("link-operation", at, fmt.Sprintf("The relative reference %q leads out of this document, where its readers cannot follow.", shorten(ref, 120)),
			"Write the whole address of the other document, or bring the operation into this one.")
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
	const token = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"
	return regexp.MustCompile(`^\$(?:url|method|statusCode|(?:request|response)\.(?:header\.` + token + `|query\..+|path\..+|body(?:#(?:/(?:[^~/]|~[01])*)*)?))$`)
})

// expression reports a text that starts as a runtime expression and is none.
func (o *openAPIRules) expression(text string, at *place) {
	if !strings.HasPrefix(text, "$") || runtimeExpression().MatchString(text) {
		return
	}
	o.warn("runtime-expression", at, fmt.Sprintf("%q is not a runtime expression.", shorten(text, 100)),
		"Write $url, $method, $statusCode, or $request or $response followed by .header.NAME, .query.NAME, .path.NAME or .body#/POINTER.")
}
