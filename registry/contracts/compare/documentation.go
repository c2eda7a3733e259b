package compare

import (
	"fmt"

	"schakel/registry/jsonpointer"
)

// documentationChanged is the code of a change that is of the document as a whole.
const documentationChanged = "documentation-changed"

// documentation reports, in one change, that texts for people changed: descriptions, titles, summaries, examples.
func (p *pair) documentation() {
	t := &texts{}
	t.walk(p.old.root, p.new.root, "", false)
	if t.count == 0 {
		return
	}
	said := "A text for people changed."
	if t.count > 1 {
		said = fmt.Sprintf("Texts for people changed in %d places.", t.count)
	}
	p.add(Change{
		Level: Info, Code: documentationChanged, Pointer: t.first, Side: SideBoth, Subjects: []string{"the document"},
		Text: said, Why: "Descriptions, titles, summaries and examples do not change what is sent or received.",
	})
}

// texts counts what differs among the texts of two documents, in the parts that both have.
type texts struct {
	count int
	first string
}

// walk goes down both documents; named is set where the members are names that someone chose, such as properties.
func (t *texts) walk(before, after any, at string, named bool) {
	switch was := before.(type) {
	case map[string]any:
		is, _ := after.(map[string]any)
		for _, key := range unionKeys(was, is) {
			if !named && isText(key) {
				if !same(was[key], is[key]) {
					t.found(at + jsonpointer.Join(key))
				}
			} else if data(key) && !named {
				continue
			} else if is != nil && is[key] != nil {
				t.walk(was[key], is[key], at+jsonpointer.Join(key), !named && namesChosen(key))
			}
		}
	case []any:
		is, _ := after.([]any)
		for i := range min(len(was), len(is)) {
			t.walk(was[i], is[i], at+"/"+itoa(i), false)
		}
	}
}

func (t *texts) found(at string) {
	if t.count++; t.first == "" {
		t.first = at
	}
}

func isText(key string) bool {
	switch key {
	case "description", "title", "summary", "example", "examples", "externalDocs", "tags", "contact", "license", "termsOfService", "$comment":
		return true
	}
	return false
}

// data are members whose value is no part of a contract's own structure.
func data(key string) bool {
	return key == "default" || key == "enum" || key == "const" || len(key) > 2 && key[:2] == "x-"
}

// namesChosen reports whether a member holds other members by a name of the author's choice.
func namesChosen(key string) bool {
	switch key {
	case "properties", "patternProperties", "dependentSchemas", "definitions", "$defs", "schemas", "messages", "channels",
		"operations", "servers", "parameters", "responses", "headers", "paths", "webhooks", "callbacks", "requestBodies",
		"securitySchemes", "links", "content", "variables", "mapping", "pathItems", "mediaTypes", "scopes", "availableScopes":
		return true
	}
	return false
}
