package outline

import (
	"encoding/json"
	"fmt"
	"schakel/templates/i18n"
	"slices"
	"strings"
)

// Table is a schema as a list of fields, or a list of parameters or headers.
type Table struct {
	Title  i18n.Message
	Text   string
	Fields []Field
	// More is set when there are more fields than are shown.
	More bool
}

// Field is one field of a schema; nested ones have the names of the way to them.
type Field struct {
	Name string // such as address.street or pupils[].id; empty for the value as a whole
	Type i18n.Message
	// Ref is the pointer of the shared schema that describes it further.
	Ref                  string
	Required, Deprecated bool
	Text                 string         // Markdown
	Rules                []i18n.Message // such as at most 20 characters
}

const (
	maxDepth  = 6
	maxFields = 300
)

type walk struct {
	doc    *document
	fields []Field
	open   map[string]bool // pointers that are being expanded
	steps  int
	more   bool
}

// table makes the table of a schema that stands at a pointer; empty when unknown.
func (d *document) table(title i18n.Message, schema any, at string) Table {
	w := &walk{doc: d, open: map[string]bool{at: at != ""}}
	value, target := d.follow(schema)
	if target != "" {
		w.open[target] = true
	}
	object, _ := value.(map[string]any)
	whole := w.field("", object, false)
	if strings.HasPrefix(target, "/components/schemas/") {
		whole.Ref = target
	}
	whole.Text = ""
	w.fields = append(w.fields, whole)
	w.children("", object, 0)
	return Table{Title: title, Fields: w.fields, More: w.more}
}

func (w *walk) full() bool {
	if w.steps++; len(w.fields) >= maxFields || w.steps > 50*maxFields {
		w.more = true
	}
	return w.more
}

func (w *walk) add(name string, schema any, required bool, depth int) {
	if w.full() {
		return
	}
	value, target := w.doc.follow(schema)
	object, _ := value.(map[string]any)
	field := w.field(name, object, required)
	outer, _ := schema.(map[string]any)
	if said := text(outer, "description"); said != "" {
		field.Text = said
	}
	if strings.HasPrefix(target, "/components/schemas/") {
		field.Ref = target
		w.fields = append(w.fields, field)
		return
	}
	w.fields = append(w.fields, field)
	if target != "" {
		if w.open[target] {
			return
		}
		w.open[target] = true
		defer delete(w.open, target)
	}
	w.children(name, object, depth+1)
}

func (w *walk) children(name string, object map[string]any, depth int) {
	if depth > maxDepth {
		w.more = w.more || len(child(object, "properties")) > 0
		return
	}
	for _, item := range list(object, "allOf") {
		w.merge(name, item, depth)
	}
	required := list(object, "required")
	properties := child(object, "properties")
	for _, key := range names(properties) {
		w.add(join(name, key), properties[key], slices.Contains(required, any(key)), depth)
	}
	if items := child(object, "items"); items != nil && !plain(items) {
		w.add(name+"[]", items, false, depth)
	}
	if others := child(object, "additionalProperties"); others != nil {
		w.add(join(name, "*"), others, false, depth)
	}
	for _, key := range []string{"oneOf", "anyOf"} {
		for i, item := range list(object, key) {
			w.add(fmt.Sprintf("%s%s[%d]", spaced(name), key, i+1), item, false, depth)
		}
	}
}

// merge adds the fields of a schema that all of which holds, as if they stood here.
func (w *walk) merge(name string, schema any, depth int) {
	if w.full() {
		return
	}
	value, target := w.doc.follow(schema)
	if target != "" {
		if w.open[target] {
			return
		}
		w.open[target] = true
		defer delete(w.open, target)
	}
	object, _ := value.(map[string]any)
	w.children(name, object, depth+1)
}

// plain reports whether the type of a schema says all of it.
func plain(schema map[string]any) bool {
	_, isType := schema["type"].(string)
	return isType && len(schema) == 1
}

func join(name, key string) string {
	if name == "" {
		return key
	}
	return name + "." + key
}

func spaced(name string) string {
	if name == "" {
		return ""
	}
	return name + " "
}

func (w *walk) field(name string, object map[string]any, required bool) Field {
	return Field{
		Name: name, Type: w.typeOf(object), Required: required, Deprecated: object["deprecated"] == true,
		Text: text(object, "description"), Rules: rules(object),
	}
}

func (w *walk) typeOf(object map[string]any) i18n.Message {
	var kinds []i18n.Message
	array := false
	switch v := object["type"].(type) {
	case string:
		kinds, array = []i18n.Message{i18n.Raw(v)}, v == "array"
	case []any:
		for _, item := range v[:min(len(v), 10)] {
			if s, ok := item.(string); ok {
				kinds, array = append(kinds, i18n.Raw(s)), array || s == "array"
			}
		}
	}
	kind := joined("outline.type-or", kinds)
	if array {
		if of := w.itemName(object["items"]); of != "" {
			kind = i18n.M("outline.type-of", kind, of)
		}
	}
	switch {
	case kind == "" && object["properties"] != nil:
		kind = i18n.Raw("object")
	case kind == "" && object["oneOf"] != nil:
		kind = "outline.one-of-several"
	case kind == "" && object["anyOf"] != nil:
		kind = "outline.any-of-several"
	case kind == "" && object["const"] == nil && object["enum"] == nil && object["allOf"] == nil:
		kind = "outline.anything"
	}
	if format := text(object, "format"); format != "" {
		if kind == "" {
			return i18n.Raw("(" + format + ")")
		}
		kind = i18n.M("outline.type-format", kind, format)
	}
	return kind
}

func (w *walk) itemName(items any) string {
	value, target := w.doc.follow(items)
	if target != "" {
		return lastName(target)
	}
	object, _ := value.(map[string]any)
	kind, _ := object["type"].(string)
	return kind
}

// rules gives the constraints on a value besides its type.
func rules(object map[string]any) []i18n.Message {
	var said []i18n.Message
	say := func(member, key string) {
		if value, ok := object[member]; ok {
			said = append(said, i18n.M(key, short(value)))
		}
	}
	say("const", "outline.rule-const")
	if values := list(object, "enum"); len(values) > 0 {
		said = append(said, i18n.M("outline.rule-enum", oneOf(values)))
	}
	say("minLength", "outline.rule-min-length")
	say("maxLength", "outline.rule-max-length")
	say("pattern", "outline.rule-pattern")
	say("minimum", "outline.rule-minimum")
	say("exclusiveMinimum", "outline.rule-exclusive-minimum")
	say("maximum", "outline.rule-maximum")
	say("exclusiveMaximum", "outline.rule-exclusive-maximum")
	say("multipleOf", "outline.rule-multiple-of")
	say("minItems", "outline.rule-min-items")
	say("maxItems", "outline.rule-max-items")
	say("default", "outline.rule-default")
	if object["readOnly"] == true {
		said = append(said, "outline.rule-read-only")
	}
	if object["writeOnly"] == true {
		said = append(said, "outline.rule-write-only")
	}
	return said
}

func oneOf(values []any) i18n.Message {
	var words []string
	for _, v := range values[:min(len(values), 30)] {
		words = append(words, short(v))
	}
	if len(values) > 30 {
		return i18n.M("outline.and-more", strings.Join(words, ", "), len(values)-30)
	}
	return i18n.Raw(strings.Join(words, ", "))
}

func short(value any) string {
	s, ok := value.(string)
	if !ok {
		written, err := json.Marshal(value)
		if err != nil {
			return ""
		}
		s = string(written)
	}
	if len(s) > 200 {
		s = strings.ToValidUTF8(s[:200], "") + "…"
	}
	return s
}
