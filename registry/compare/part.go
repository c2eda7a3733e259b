package compare

import (
	"strconv"

	"schakel/registry/jsonpointer"
)

// part is a schema that both documents have and that is judged by itself: a payload, the headers of a message, the body of
// a webhook. It is put into both copies as an operation of its own.
type part struct {
	// read is set when the others read what the schema describes; else they send it.
	read bool
	side string
	// subject says what it is a part of, what how it is called in texts: "payload", "headers".
	subject, what string
	types         []string
}

// schemaAt is a schema with its pointer; the value is nil where a document says nothing.
type schemaAt struct {
	value any
	at    string
}

// pair holds both documents while they are put into shape for the comparison.
type pair struct {
	old, new *copier
	parts    map[string]part // by the path in the copies
	changes  []Change
	// types are the event types of both documents.
	types map[string]bool
}

func (p *pair) add(changes ...Change) { p.changes = append(p.changes, changes...) }

// compare asks for a part to be judged.
func (p *pair) compare(what part, before, after schemaAt) {
	path := "/-/" + strconv.Itoa(len(p.parts))
	p.parts[path] = what
	p.old.part(path, what, before)
	p.new.part(path, what, after)
}

func (c *copier) part(path string, what part, schema schemaAt) {
	to := jsonpointer.Join("paths", path)
	c.graft(to, schema.at)
	content := map[string]any{"application/json": map[string]any{"schema": c.schemaAt(schema.value, schema.at)}}
	if what.read {
		c.graft(to+"/get/responses/200/content/application~1json/schema", schema.at)
		c.paths[path] = map[string]any{"get": map[string]any{
			"responses": map[string]any{"200": map[string]any{"description": "", "content": content}},
		}}
		return
	}
	c.graft(to+"/post/requestBody/content/application~1json/schema", schema.at)
	c.paths[path] = map[string]any{"post": map[string]any{
		"requestBody": map[string]any{"required": true, "content": content}, "responses": map[string]any{},
	}}
}
