package lint

import (
	"fmt"
	"strconv"
	"strings"

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
		fmt.Sprintf("The version %q of OpenAPI is no whole version.", short(c.doc.SpecVersion)))
	info := child(c.root, "info")
	c.contact(info)
	if version, ok := info["version"].(string); ok {
		c.holds("semver", c.is.semver.MatchString(version), fixed("/info/version"), fmt.Sprintf("The version %q is not one of semantic versioning.", short(version)))
	}
}

func (c *checker) contact(info map[string]any) {
	contact, ok := info["contact"].(map[string]any)
	if c.holds("doc-openapi-contact", ok, fixed("/info"), "The document does not say whom to ask."); !ok {
		return
	}
	var missing []string
	for _, name := range []string{"name", "email", "url"} {
		if _, ok := contact[name]; !ok {
			missing = append(missing, name)
		}
	}
	c.holds("doc-openapi-contact", len(missing) == 0, fixed("/info/contact"), "The contact lacks "+strings.Join(missing, ", ")+".")
}

// servers looks at the addresses of the API, and of single paths and operations.
func (c *checker) servers() {
	list := items(c.root, "servers")
	at := "/servers"
	if c.root["servers"] == nil {
		at = ""
	}
	c.holds("publish-openapi", len(list) > 0, fixed(at), "The document has no servers, so nobody can tell where the API is.")
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
		c.holds("uri-version", c.is.major.MatchString(url), where, fmt.Sprintf("The address %q does not tell the major version.", short(url)))
	}
	c.holds("transport-tls", !strings.HasPrefix(url, "http://"), where, fmt.Sprintf("The address %q is not one of HTTPS.", short(url)))
}

func (c *checker) paths() {
	paths := child(c.root, "paths")
	for _, path := range names(paths) {
		if strings.HasPrefix(path, "x-") {
			continue
		}
		where := fixed(below("/paths", path))
		c.holds("no-trailing-slash", path == "/" || !strings.HasSuffix(path, "/"), where, fmt.Sprintf("The path %q ends with a slash.", short(path)))
		if !strings.Contains(path, "/openapi.json") && !strings.Contains(path, "yaml") && !strings.HasPrefix(path, "/.well-known/") {
			c.holds("path-segments-kebab-case", c.is.kebab.MatchString(path), where, fmt.Sprintf("The path %q is not in kebab-case.", short(path)))
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
	c.holds("query-keys-camel-case", c.is.lowerCamel.MatchString(name), fixed(below(at, "name")), fmt.Sprintf("The query parameter %q is not in lower camelCase.", short(name)))
}

func (c *checker) schemaNames() {
	for _, name := range names(child(child(c.root, "components"), "schemas")) {
		c.holds("schema-camel-case", c.is.upperCamel.MatchString(name), func() string { return "/components/schemas" + jsonpointer.Join(name) },
			fmt.Sprintf("The schema %q is not in UpperCamelCase.", short(name)))
	}
}

// fixed is a place that is known already.
func fixed(at string) func() string { return func() string { return at } }
