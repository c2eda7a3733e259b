package outline

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"schakel/templates/i18n"
)

// typeOf gives the type of a value in words: that of the first schema which names one.
func (b *builder) typeOf(parts []spot) i18n.Message {
	var kind i18n.Message
	var format string
	for _, p := range parts {
		if kind == "" {
			kind = b.kind(p)
		}
		format = cmp.Or(format, p.text("format"))
		if p.is("nullable") && kind != "" {
			kind = i18n.M("outline.type-or", kind, i18n.Raw("null"))
		}
	}
	has := func(key string) bool {
		return slices.ContainsFunc(parts, func(p spot) bool { return p.get(key).there() })
	}
	switch {
	case kind != "":
	case has("properties"):
		kind = i18n.Raw("object")
	case has("oneOf"):
		kind = "outline.one-of-several"
	case has("anyOf"):
		kind = "outline.any-of-several"
	case !has("const") && !has("enum") && !has("allOf"):
		kind = "outline.anything"
	}
	if format == "" {
		return kind
	}
	if kind == "" {
		return i18n.Raw("(" + format + ")")
	}
	return i18n.M("outline.type-format", kind, format)
}

// kind gives the type that one schema names, empty where it names none.
func (b *builder) kind(p spot) i18n.Message {
	var kinds []i18n.Message
	array := false
	switch v := p.object()["type"].(type) {
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
		target, ref := b.doc.follow(p.get("items"))
		if of := cmp.Or(lastName(ref), target.text("type")); of != "" {
			return i18n.M("outline.type-of", kind, of)
		}
	}
	return kind
}

// ruled are the members of a schema that limit a value, with their words.
func ruled() [][2]string {
	return [][2]string{
		{"minLength", "outline.rule-min-length"},
		{"maxLength", "outline.rule-max-length"},
		{"pattern", "outline.rule-pattern"},
		{"minimum", "outline.rule-minimum"},
		{"exclusiveMinimum", "outline.rule-exclusive-minimum"},
		{"maximum", "outline.rule-maximum"},
		{"exclusiveMaximum", "outline.rule-exclusive-maximum"},
		{"multipleOf", "outline.rule-multiple-of"},
		{"minItems", "outline.rule-min-items"},
		{"maxItems", "outline.rule-max-items"},
		{"minProperties", "outline.rule-min-properties"},
		{"maxProperties", "outline.rule-max-properties"},
		{"contentEncoding", "outline.rule-encoding"},
		{"contentMediaType", "outline.rule-media-type"},
		{"default", "outline.rule-default"},
	}
}

// rules gives the constraints on a value besides its type.
func (b *builder) rules(p spot) []i18n.Message {
	object := p.object()
	var said []i18n.Message
	if value, ok := object["const"]; ok {
		said = append(said, i18n.M("outline.rule-const", short(value)))
	}
	if values := p.get("enum").items(); len(values) > 0 {
		said = append(said, i18n.M("outline.rule-enum", oneOf(values)))
	}
	for _, rule := range ruled() {
		value, ok := object[rule[0]]
		if _, flag := value.(bool); ok && value != nil && !(flag && strings.HasPrefix(rule[0], "exclusive")) {
			said = append(said, i18n.M(rule[1], short(value)))
		}
	}
	// In OpenAPI 3.0 these are flags beside the limit.
	if p.is("exclusiveMinimum") || p.is("exclusiveMaximum") {
		said = append(said, "outline.rule-exclusive")
	}
	if p.is("uniqueItems") {
		said = append(said, "outline.rule-unique")
	}
	if object["additionalProperties"] == false || object["unevaluatedProperties"] == false {
		said = append(said, "outline.rule-closed")
	}
	said = append(said, b.discriminator(p)...)
	if value, ok := object["example"]; ok {
		said = append(said, i18n.M("outline.rule-example", short(value)))
	}
	if docs := p.get("externalDocs").text("url"); docs != "" {
		said = append(said, i18n.M("outline.rule-documentation", docs))
	}
	for _, e := range p.get("examples").items()[:min(len(p.get("examples").items()), 3)] {
		said = append(said, i18n.M("outline.rule-example", short(e.value)))
	}
	return said
}

// discriminator names the property that chooses among schemas, and its mapping.
func (b *builder) discriminator(p spot) []i18n.Message {
	name, plain := p.object()["discriminator"].(string) // AsyncAPI
	chooser := p.get("discriminator")
	if !plain {
		name = chooser.text("propertyName")
	}
	if name == "" {
		return nil
	}
	var pairs []string
	mapping := chooser.get("mapping")
	for _, value := range b.doc.names(mapping)[:min(len(b.doc.names(mapping)), 30)] {
		pairs = append(pairs, value+" → "+lastName(strings.TrimPrefix(mapping.text(value), "#")))
	}
	if len(pairs) == 0 {
		return []i18n.Message{i18n.M("outline.discriminator", name)}
	}
	return []i18n.Message{i18n.M("outline.discriminator-mapping", name, strings.Join(pairs, ", "))}
}

// maxChoices bounds the values of a list that are named.
const maxChoices = 60

func oneOf(values []spot) i18n.Message {
	var said []string
	for _, v := range values[:min(len(values), maxChoices)] {
		said = append(said, short(v.value))
	}
	if len(values) > maxChoices {
		return i18n.M("outline.and-more", strings.Join(said, ", "), len(values)-maxChoices)
	}
	return i18n.Raw(strings.Join(said, ", "))
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
	return cut(s, 200)
}
