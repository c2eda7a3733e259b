package lint

import (
	"mime"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"schakel/store/bsn"
	"schakel/templates/i18n"
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
		"lint.event-object-reference.detail", e.types[0].Type)
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
		c.holds(code, told, place, "lint.event-meaning.detail", name, e.types[0].Type)
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
			"lint.event-attribute-names.detail", short(name))
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
				"lint.event-source.detail", short(source))
		}
	}
}

// dataKinds looks at dataschema and at the media type of the data (CE-17, CE-18).
func (c *checker) dataKinds(e *event) {
	for _, s := range e.values("dataschema") {
		address, _ := s.value.(string)
		u, err := url.Parse(address)
		c.holds("event-dataschema", err == nil && u.IsAbs(), fixed(s.at), "lint.event-dataschema.detail", short(address))
	}
	c.applies("event-data-json")
	shown := e.values("datacontenttype")
	if len(shown) == 0 {
		shown = []value{{e.types[0].ContentType, e.at}}
	}
	for _, s := range shown {
		media, _ := s.value.(string)
		c.holds("event-data-json", isJSON(media), fixed(s.at), "lint.event-data-json.detail", short(media))
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
		"lint.event-aggregate.detail", e.types[0].Type)
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

// typeName holds the name of an event type against CE-12 to CE-14.
func (c *checker) typeName(name, at string) {
	where := fixed(at)
	c.holds("event-type-name", c.is.reverseDomain.MatchString(name), where, "lint.event-type-name.detail", short(name))
	if versions := c.versionsIn(name); len(versions) > 0 {
		ok := len(versions) == 1 && c.is.version.MatchString(versions[0])
		c.holds("event-type-version", ok, where, "lint.event-type-version.detail", short(name), strings.Join(versions, ", "))
	}
	labels := strings.Split(name, ".")
	if len(labels) >= 3 {
		c.holds("event-type-domain", pluralOrSource(labels[1]), where, "lint.event-type-domain.detail", short(labels[1]), short(name))
	}
}

// versionsIn are the parts of a type that are version numbers.
func (c *checker) versionsIn(name string) []string {
	var list []string
	for _, label := range strings.Split(name, ".") {
		switch {
		case c.is.number.MatchString(label):
			list = append(list, label)
		default:
			list = append(list, c.is.suffix.FindAllString(label, -1)...)
		}
	}
	return list
}

// pluralOrSource guesses: data sources are known by a short name, and plurals end in s, en or a.
func pluralOrSource(label string) bool {
	return len(label) <= 5 || strings.Contains(label, "-") || strings.HasSuffix(label, "s") || strings.HasSuffix(label, "en") || strings.HasSuffix(label, "a")
}

type typePatterns struct {
	reverseDomain, version, number, suffix *regexp.Regexp
}

func newTypePatterns() typePatterns {
	return typePatterns{
		reverseDomain: regexp.MustCompile(`^[a-z]{2,}(\.[a-z0-9]([a-z0-9_-]*[a-z0-9])?){2,}$`),
		version:       regexp.MustCompile(`^v\d+$`),
		number:        regexp.MustCompile(`^[vV]?\d+([-_]\d+)*$`),
		suffix:        regexp.MustCompile(`[-_][vV]\d+([-_]\d+)*$`),
	}
}

type patterns struct {
	kebab, lowerCamel, upperCamel, semver, release, major, address *regexp.Regexp
}

func newPatterns() patterns {
	const number, word = `(0|[1-9]\d*)`, `(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)`
	return patterns{
		kebab:      regexp.MustCompile(`^(/|(/_[a-z0-9]+|/(([a-z0-9\-]+|\{[^}]+\})(/([a-z0-9\-.]+|\{[^}]+\}))*)(/_[a-z]+)?)/?)$`),
		lowerCamel: regexp.MustCompile(`^\$?[a-z][a-z\d]*([A-Z][a-z\d]*)*$`),
		upperCamel: regexp.MustCompile(`^[A-Z][a-z0-9]*([A-Z0-9]([a-z0-9]+|$))*$`),
		semver:     regexp.MustCompile(`^` + number + `\.` + number + `\.` + number + `(-` + word + `(\.` + word + `)*)?(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?$`),
		release:    regexp.MustCompile(`^3(\.\d+){1,2}$`),
		address:    regexp.MustCompile(`[^@\s/:]+@[^@\s/:]+\.[A-Za-z]{2,}`),
		major:      regexp.MustCompile(`/v[\d+]`),
	}
}

// expressions are all patterns, compiled once a document.
type expressions struct {
	patterns
	typePatterns
}

// sensitive looks for personal data in the context attributes, which everyone on the way may log (EDU-26): in values that
// are shown, and in what the attribute is said to be.
func (c *checker) sensitive(e *event) {
	for _, name := range names(e.attributes) {
		for _, f := range e.attributes[name] {
			kind := sensitiveSchema(name, f.schema)
			c.holds("event-sensitive", kind == "", f.at, "lint.event-sensitive.purpose", short(name), kind)
		}
		for _, v := range e.values(name) {
			c.sensitiveValue(name, v)
		}
	}
	for _, x := range e.examples {
		for _, name := range names(x.attributes) {
			c.sensitiveValue(name, value{x.attributes[name], x.places[name]})
		}
	}
}

func (c *checker) sensitiveValue(name string, v value) {
	s, ok := v.value.(string)
	if !ok || name == "time" {
		return
	}
	kind := sensitiveText(s)
	if kind == "" && c.is.address.MatchString(s) {
		kind = "lint.sensitive.email"
	}
	c.holds("event-sensitive", kind == "", fixed(v.at), "lint.event-sensitive.detail", short(name), kind)
}

// sensitiveText names the kind of number of a person that a text seems to hold; empty for none.
func sensitiveText(s string) i18n.Message {
	for _, word := range strings.FieldsFunc(s, func(r rune) bool { return !isLetterOrDigit(r) }) {
		rest, ok := bsn.Remainder(word)
		switch {
		case ok && rest == bsn.Citizen:
			return "lint.sensitive.seems-bsn"
		case ok && rest == bsn.Education && word[0] == '1':
			return "lint.sensitive.seems-education-number"
		}
	}
	return ""
}

func isLetterOrDigit(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r > 127
}

// sensitiveSchema names the kind of personal data an attribute is for, by its name, format, pattern and words.
func sensitiveSchema(name string, schema map[string]any) i18n.Message {
	words := strings.FieldsFunc(strings.ToLower(name+" "+text(schema, "title")+" "+text(schema, "description")), func(r rune) bool { return !isLetterOrDigit(r) })
	for _, word := range words {
		switch word {
		case "no", "not", "never", "geen", "niet", "nooit", "without", "zonder":
			return "" // the text warns against such data
		case "bsn", "burgerservicenummer", "bsnnummer":
			return "lint.sensitive.bsn"
		case "pgn", "onderwijsnummer", "persoonsgebondennummer":
			return "lint.sensitive.education-number"
		case "email", "emailadres", "emailaddress":
			return "lint.sensitive.email"
		case "achternaam", "voornaam", "geboortedatum", "surname", "firstname", "lastname", "birthdate", "dateofbirth":
			return i18n.M("lint.sensitive.personal", word)
		}
	}
	switch text(schema, "format") {
	case "email", "idn-email":
		return "lint.sensitive.email"
	}
	switch text(schema, "pattern") {
	case `^\d{9}$`, `^[0-9]{9}$`, `\d{9}`, `[0-9]{9}`:
		return "lint.sensitive.nine-digits"
	}
	return ""
}
