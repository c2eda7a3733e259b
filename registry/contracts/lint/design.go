package lint

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"schakel/registry/jsonpointer"
)

// design holds an OpenAPI document against the NL API Design Rules.
func (c *checker) design() {
	c.about()
	c.servers()
	c.paths()
	for _, o := range c.operations() {
		c.operation(o)
	}
	c.securityKeys()
	c.schemaNames()
	c.properties(func(p property) {
		c.formats(p)
		c.dates(p)
		c.propertyName(p)
	})
}

func (c *checker) about() {
	c.holds("doc-openapi", c.is.release.MatchString(c.doc.SpecVersion), fixed("/openapi"),
		"lint.doc-openapi.detail", short(c.doc.SpecVersion))
	info := child(c.root, "info")
	c.contact(info)
	if version, ok := info["version"].(string); ok {
		c.holds("semver", c.is.semver.MatchString(version), fixed("/info/version"), "lint.semver.detail", short(version))
	}
}

func (c *checker) contact(info map[string]any) {
	contact, ok := info["contact"].(map[string]any)
	if c.holds("doc-openapi-contact", ok, fixed("/info"), "lint.doc-openapi-contact.detail"); !ok {
		return
	}
	var missing []string
	for _, name := range []string{"name", "email", "url"} {
		if _, ok := contact[name]; !ok {
			missing = append(missing, name)
		}
	}
	c.holds("doc-openapi-contact", len(missing) == 0, fixed("/info/contact"), "lint.doc-openapi-contact.lacks", strings.Join(missing, ", "))
}

// servers looks at the addresses of the API, and of single paths and operations.
func (c *checker) servers() {
	list := items(c.root, "servers")
	at := "/servers"
	if c.root["servers"] == nil {
		at = ""
	}
	c.holds("publish-openapi", len(list) > 0, fixed(at), "lint.publish-openapi.detail")
	for i, server := range list {
		c.server(server, below("/servers", strconv.Itoa(i)), true)
	}
	paths := child(c.root, "paths")
	for _, path := range names(paths) {
		item, itemAt := c.object(paths[path], below("/paths", path))
		for i, server := range items(item, "servers") {
			c.server(server, below(itemAt, "servers", strconv.Itoa(i)), false)
		}
		for _, method := range methods() {
			for i, server := range items(child(item, method), "servers") {
				c.server(server, below(itemAt, method, "servers", strconv.Itoa(i)), false)
			}
		}
	}
}

func (c *checker) server(server any, at string, whole bool) {
	object, _ := server.(map[string]any)
	url, ok := object["url"].(string)
	if !ok {
		return
	}
	where := fixed(below(at, "url"))
	if whole {
		c.holds("uri-version", c.is.major.MatchString(url), where, "lint.uri-version.detail", short(url))
	}
	c.holds("transport-tls", !strings.HasPrefix(url, "http://"), where, "lint.transport-tls.detail", short(url))
}

func (c *checker) paths() {
	paths := child(c.root, "paths")
	for _, path := range names(paths) {
		if strings.HasPrefix(path, "x-") {
			continue
		}
		where := fixed(below("/paths", path))
		c.holds("no-trailing-slash", path == "/" || !strings.HasSuffix(path, "/"), where, "lint.no-trailing-slash.detail", short(path))
		if !strings.Contains(path, "/openapi.json") && !strings.Contains(path, "yaml") && !strings.HasPrefix(path, "/.well-known/") {
			c.holds("path-segments-kebab-case", c.is.kebab.MatchString(path), where, "lint.path-segments-kebab-case.detail", short(path))
		}
	}
}

// securityKeys looks at keys that are sent in the query.
func (c *checker) securityKeys() {
	schemes := child(child(c.root, "components"), "securitySchemes")
	for _, name := range names(schemes) {
		scheme, at := c.object(schemes[name], below("/components/securitySchemes", name))
		c.queryKey(scheme, at)
	}
}

// queryKey holds the name of something in the query against its rule.
func (c *checker) queryKey(object map[string]any, at string) {
	name, ok := object["name"].(string)
	if !ok || text(object, "in") != "query" {
		return
	}
	c.holds("query-keys-camel-case", c.is.lowerCamel.MatchString(name), fixed(below(at, "name")), "lint.query-keys-camel-case.detail", short(name))
}

func (c *checker) schemaNames() {
	for _, name := range names(child(child(c.root, "components"), "schemas")) {
		c.holds("schema-camel-case", c.is.upperCamel.MatchString(name), func() string { return "/components/schemas" + jsonpointer.Join(name) },
			"lint.schema-camel-case.detail", short(name))
	}
}

// fixed is a place that is known already.
func fixed(at string) func() string { return func() string { return at } }

func itoa(i int) string { return strconv.Itoa(i) }

// operation holds one operation against the rules about methods, parameters and answers. Webhooks and callbacks are
// operations of another's API, so that these rules are not about them.
func (c *checker) operation(o operation) {
	if o.webhook {
		return
	}
	c.holds("http-methods", !o.custom && o.method != "query", fixed(o.at), "lint.http-methods.detail", short(strings.ToUpper(o.method)))
	for _, p := range c.parameters(o) {
		c.queryKey(p.object, p.at)
	}
	responses := child(o.object, "responses")
	for _, status := range names(responses) {
		response, at := c.object(responses[status], below(o.at, "responses", status))
		switch {
		case response == nil || !isStatus(status):
		case status[0] == '2' || status[0] == '3':
			c.versionHeader(o, status, response, at)
		case status[0] == '4' || status[0] == '5':
			c.problem(o, status, response, at)
		}
	}
	c.invalidInput(o, responses)
}

// isStatus reports whether a key is a status or a range of them, not default or an extension.
func isStatus(status string) bool {
	if len(status) != 3 || status[0] < '1' || status[0] > '5' {
		return false
	}
	rest := status[1:]
	return rest == "XX" || strings.Trim(rest, "0123456789") == ""
}

func (c *checker) versionHeader(o operation, status string, response map[string]any, at string) {
	c.applies("version-header")
	headers, ok := response["headers"].(map[string]any)
	if !ok {
		c.fails("version-header", at, "lint.version-header.detail", status, o.title())
		return
	}
	if !slices.ContainsFunc(names(headers), func(n string) bool { return strings.EqualFold(n, "API-Version") }) {
		c.fails("version-header", below(at, "headers"), "lint.version-header.detail", status, o.title())
	}
}

// problem checks the response for an error against RFC 9457.
func (c *checker) problem(o operation, status string, response map[string]any, at string) {
	content, ok := response["content"].(map[string]any)
	if !ok {
		return
	}
	at = below(at, "content")
	isProblem := false
	for _, media := range names(content) {
		kind, _, _ := strings.Cut(strings.ToLower(media), ";")
		if kind = strings.TrimSpace(kind); kind != "application/problem+json" && kind != "application/problem+xml" {
			continue
		}
		isProblem = true
		object, where := c.object(content[media], below(at, media))
		schema, where := c.object(object["schema"], below(where, "schema"))
		c.problemMembers(schema, where)
	}
	c.holds("problem-details", isProblem, fixed(at), "lint.problem-details.detail", status, o.title())
}

func (c *checker) problemMembers(schema map[string]any, at string) {
	properties, ok := schema["properties"].(map[string]any)
	if !ok {
		return
	}
	var missing []string
	for _, name := range []string{"status", "title", "detail"} {
		if _, ok := properties[name]; !ok {
			missing = append(missing, name)
		}
	}
	c.holds("problem-members", len(missing) == 0, fixed(below(at, "properties")), "lint.problem-members.detail", strings.Join(missing, ", "))
}

// invalidInput wants a 400 of what takes input.
func (c *checker) invalidInput(o operation, responses map[string]any) {
	switch o.method {
	case "get", "delete":
		if len(items(o.object, "parameters")) == 0 {
			return
		}
	case "put", "post", "patch":
	default:
		return
	}
	if responses == nil {
		return
	}
	_, exact := responses["400"]
	_, ranged := responses["4XX"]
	c.holds("invalid-input", exact || ranged, fixed(below(o.at, "responses")), "lint.invalid-input.detail", o.title())
}

// formats holds a property against the rules on time zones.
func (c *checker) formats(p property) {
	format, ok := p.schema["format"].(string)
	if !ok {
		return
	}
	at := func() string { return below(p.at(), "format") }
	if strings.HasPrefix(format, "date-time") {
		c.holds("date-time-timezone", format != "date-time-local", at, "lint.date-time-timezone.detail", short(p.name))
	}
	if strings.HasPrefix(format, "time") {
		c.holds("time-format", format != "time", at, "lint.time-format.detail", short(p.name))
	}
}

// dates holds a property that is a date by its name against the rules on dates.
func (c *checker) dates(p property) {
	if !namesDate(p.name) {
		return
	}
	told, other := false, false
	for _, f := range c.forms(p.schema, p.at, 0) {
		format, ok := f.schema["format"].(string)
		if ok && format == "date-time" {
			c.applies("date-omit-time-portion")
			c.fails("date-omit-time-portion", below(f.at(), "format"), "lint.date-omit-time-portion.detail", short(p.name))
		}
		told = told || ok || f.schema["const"] != nil || f.schema["enum"] != nil
		other = other || isOther(f.schema)
	}
	if other && !told {
		return
	}
	c.applies("date-omit-time-portion")
	c.holds("date-format", told, p.at, "lint.date-format.detail", short(p.name))
}

// isOther reports whether a schema is of another type than text.
func isOther(schema map[string]any) bool {
	switch kind := schema["type"].(type) {
	case string:
		return kind != "string" && kind != "array" && kind != "null"
	case []any:
		return len(kind) > 0 && !slices.Contains(kind, any("string")) && !slices.Contains(kind, any("array"))
	}
	return schema["properties"] != nil
}

// namesDate reports whether a property is a date by its name: date or datum by itself, or as a later word of it that no word
// for a time of day follows.
func namesDate(name string) bool {
	if name == "date" || name == "datum" {
		return true
	}
	for _, word := range []string{"Date", "Datum", "_date", "_datum", "_Date", "_Datum"} {
		at := strings.LastIndex(name, word)
		if at < 0 || word[0] != '_' && (at == 0 || !isWordByte(name[at-1])) {
			continue
		}
		rest := strings.ToLower(strings.TrimPrefix(name[at+len(word):], "_"))
		for _, time := range []string{"time", "tijd"} {
			if strings.HasPrefix(rest, time) {
				return false
			}
		}
		return true
	}
	return false
}

func isWordByte(b byte) bool {
	return b == '_' || unicode.IsLetter(rune(b)) || unicode.IsDigit(rune(b))
}

// propertyName leaves names be that others chose: those of HAL, JSON-LD, OData and CloudEvents.
func (c *checker) propertyName(p property) {
	if strings.ContainsAny(p.name[:min(1, len(p.name))], "_@$") {
		return
	}
	if p.name == "data_base64" || isLowerCamel(p.name) {
		c.applies("property-camel-case")
		return
	}
	c.holds("property-camel-case", false, p.own, "lint.property-camel-case.detail", short(p.name))
}

// isLowerCamel is lowerCamel without an expression: there can be hundreds of thousands of properties.
func isLowerCamel(name string) bool {
	for i := range len(name) {
		b := name[i]
		lower, digit, upper := b >= 'a' && b <= 'z', b >= '0' && b <= '9', b >= 'A' && b <= 'Z'
		if !lower && (i == 0 || !digit && !upper) {
			return false
		}
	}
	return name != ""
}
