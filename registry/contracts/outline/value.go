package outline

import (
	"cmp"
	"strings"

	"schakel/templates/i18n"
)

// value is a parameter or header: its schema, and what stands around it.
func (b *builder) value(name string, around spot, anchor string, in use) *Node {
	schema := around.get("schema")
	content := around.get("content")
	for _, media := range b.doc.names(content) {
		schema = b.doc.target(content.get(media)).get("schema")
	}
	if !schema.there() && (around.get("enum").there() || around.get("default").there()) {
		schema = spot{map[string]any{"type": "string", "enum": around.object()["enum"], "default": around.object()["default"]}, around.at}
	}
	n := &Node{Anchor: anchor}
	if schema.there() {
		n = b.schema(schema, anchor, in)
	}
	n.Name, n.Required = name, around.is("required") || around.text("in") == "path"
	n.Text = cmp.Or(around.text("description"), n.Text)
	n.Deprecated = n.Deprecated || around.is("deprecated")
	n.Pointers = append(n.Pointers, around.at)
	if style := around.text("style"); style != "" {
		n.Rules = append(n.Rules, i18n.M("outline.rule-style", style))
	}
	if explode, said := around.object()["explode"]; said {
		n.Rules = append(n.Rules, i18n.M("outline.rule-explode", short(explode)))
	}
	if location := around.text("location"); location != "" {
		n.Rules = append(n.Rules, i18n.M("outline.location", location))
	}
	for _, e := range b.doc.examplesOf(around) {
		n.Rules = append(n.Rules, i18n.M("outline.rule-example", cut(e.code, 200)))
	}
	return n
}

func cut(s string, longest int) string {
	if len(s) <= longest {
		return s
	}
	return strings.ToValidUTF8(s[:longest], "") + "…"
}
