package lint

import (
	"fmt"
	"mime"
	"net/url"
	"slices"
	"strings"
)

// events holds the messages of an AsyncAPI document that define event types against the profile.
func (c *checker) events() {
	words := text(child(c.root, "info"), "description")
	for _, e := range c.readEvents() {
		for _, t := range e.types {
			c.typeName(t.Type, e.at)
		}
		c.objectReference(e)
		c.meanings(e, words)
		c.sensitive(e)
		c.attributeNames(e)
		c.sources(e)
		c.dataKinds(e)
		c.aggregate(e)
		for _, x := range e.examples {
			c.example(x)
		}
	}
}

// objectReference wants a way from the event to what it is about (EDU-01).
func (c *checker) objectReference(e *event) {
	for _, name := range []string{"subject", "dataref"} {
		if len(e.attributes[name]) > 0 {
			c.applies("event-object-reference")
			return
		}
		if slices.ContainsFunc(e.examples, func(x example) bool { return x.attributes[name] != nil }) {
			c.applies("event-object-reference")
			return
		}
	}
	parts := c.gather(e.data, "")
	c.holds("event-object-reference", slices.ContainsFunc(names(parts), identifies), fixed(e.at),
		fmt.Sprintf("Nothing tells which object %s is about.", e.types[0].Type))
}

// identifies reports whether a property names an object, by the word at its end.
func identifies(name string) bool {
	for _, word := range []string{"id", "identifier", "identificatie", "uuid", "key", "uri", "url", "urn", "href", "link", "self", "number", "nummer", "code", "reference", "referentie", "kenmerk", "bsn", "oin"} {
		lower := strings.ToLower(name)
		if lower == word || strings.HasSuffix(lower, "_"+word) || strings.HasSuffix(lower, "-"+word) ||
			strings.HasSuffix(name, strings.ToUpper(word[:1])+word[1:]) || strings.HasSuffix(name, strings.ToUpper(word)) {
			return true
		}
	}
	return false
}

// meanings wants words on the attributes time and id (CE-06, CE-07, CE-20): with the attribute, or in the text.
func (c *checker) meanings(e *event, words string) {
	words += e.words
	for name, code := range map[string]string{"time": "event-time-meaning", "id": "event-id-meaning"} {
		told, place := mentions(words, name), fixed(e.at)
		for _, f := range e.attributes[name] {
			told = told || text(f.schema, "description") != "" || name == "id" && text(f.schema, "format") == "uuid"
			place = f.at
		}
		c.holds(code, told, place, fmt.Sprintf("The document does not say what the attribute %s of %s means.", name, e.types[0].Type))
	}
}

// mentions reports whether a text names an attribute: between quotes, or as the attribute.
func mentions(words, name string) bool {
	forms := []string{"`" + name + "`", `"` + name + `"`, "attribute " + name, "attribuut " + name, "**" + name + "**", "ce-" + name}
	return slices.ContainsFunc(forms, func(form string) bool { return strings.Contains(words, form) })
}

// attributeNames wants names that every binding can carry (CE-02).
func (c *checker) attributeNames(e *event) {
	for _, name := range names(e.attributes) {
		c.holds("event-attribute-names", isAttributeName(name) && len(name) <= 20, e.attributes[name][0].at,
			fmt.Sprintf("%q is no name for an attribute.", short(name)))
	}
}

func isAttributeName(name string) bool {
	return name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789") == ""
}

// sources wants source to be a URN of the Netherlands (CE-08), wherever one is shown.
func (c *checker) sources(e *event) {
	for _, s := range e.values("source") {
		source, ok := s.value.(string)
		if ok {
			c.holds("event-source", strings.HasPrefix(strings.ToLower(source), "urn:nld:") && len(source) > len("urn:nld:"), fixed(s.at),
				fmt.Sprintf("The source %q is no URN of the Netherlands.", short(source)))
		}
	}
}

// dataKinds looks at dataschema and at the media type of the data (CE-17, CE-18).
func (c *checker) dataKinds(e *event) {
	for _, s := range e.values("dataschema") {
		address, _ := s.value.(string)
		u, err := url.Parse(address)
		c.holds("event-dataschema", err == nil && u.IsAbs(), fixed(s.at), fmt.Sprintf("The dataschema %q is no absolute URI.", short(address)))
	}
	c.applies("event-data-json")
	shown := e.values("datacontenttype")
	if len(shown) == 0 {
		shown = []value{{e.types[0].ContentType, e.at}}
	}
	for _, s := range shown {
		media, _ := s.value.(string)
		c.holds("event-data-json", isJSON(media), fixed(s.at), fmt.Sprintf("The data is %q, not JSON.", short(media)))
	}
}

// isJSON also takes what says nothing, for then data is JSON.
func isJSON(media string) bool {
	kind, _, err := mime.ParseMediaType(media)
	return media == "" || err == nil && (kind == "application/json" || kind == "text/json" || strings.HasSuffix(kind, "+json"))
}

// maxWire is the size that intermediaries pass on, in bytes (CE-31).
const maxWire = 64 << 10

// aggregate warns of lists within lists in the data (EDU-01b).
func (c *checker) aggregate(e *event) {
	if e.data == nil {
		return
	}
	c.holds("event-aggregate", c.listDepth(e.data, map[string]bool{}, 0) < 3, e.dataAt,
		fmt.Sprintf("The data of %s holds lists within lists within lists.", e.types[0].Type))
}

// listDepth counts how deep lists are nested in a schema, as far as three.
func (c *checker) listDepth(schema any, seen map[string]bool, depth int) int {
	value, moved := c.follow(schema)
	object, _ := value.(map[string]any)
	if c.work--; object == nil || c.work < 0 || depth > 12 || moved != "" && seen[moved] || len(seen) > 500 {
		return 0
	}
	if moved != "" {
		seen[moved] = true
		defer delete(seen, moved)
	}
	deepest := 0
	if object["items"] != nil {
		deepest = 1 + c.listDepth(object["items"], seen, depth+1)
	}
	properties := child(object, "properties")
	for _, name := range names(properties) {
		if deepest = max(deepest, c.listDepth(properties[name], seen, depth+1)); deepest >= 3 {
			return deepest
		}
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		for _, part := range items(object, key) {
			if deepest = max(deepest, c.listDepth(part, seen, depth+1)); deepest >= 3 {
				return deepest
			}
		}
	}
	return deepest
}
