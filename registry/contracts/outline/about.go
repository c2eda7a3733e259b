package outline

import (
	"cmp"
	"strings"

	"schakel/templates/i18n"
)

// about gives what the info object says besides its description.
func (d *document) about() []Fact {
	info := d.root.get("info")
	var facts []Fact
	facts = fact(facts, "outline.summary", i18n.Raw(info.text("summary")))
	contact := info.get("contact")
	facts = linked(facts, "outline.contact", strings.TrimSpace(contact.text("name")+" "+contact.text("email")), contact.text("url"))
	licence := info.get("license")
	facts = linked(facts, "outline.licence", cmp.Or(licence.text("name"), licence.text("identifier")), licence.text("url"))
	facts = linked(facts, "outline.terms", "", info.text("termsOfService"))
	for _, docs := range []spot{d.target(d.root.get("externalDocs")), d.target(info.get("externalDocs"))} {
		facts = linked(facts, "outline.more-documentation", docs.text("description"), docs.text("url"))
	}
	return fact(facts, "outline.content-type", i18n.Raw(d.root.text("defaultContentType")))
}

// maxNamed bounds the servers and security schemes that are shown.
const maxNamed = 100

func (d *document) servers(a anchors) []Named {
	var list []Named
	add := func(name string, s spot) {
		if len(list) == maxNamed {
			return
		}
		address := cmp.Or(s.text("url"), s.text("host")+s.text("pathname"))
		n := Named{
			Name: cmp.Or(name, s.text("name"), s.text("url")), Kind: cmp.Or(strings.TrimSpace(s.text("protocol")+" "+s.text("protocolVersion")), "http"),
			Anchor: a.of("server-" + slug(cmp.Or(name, s.text("name"), s.text("url")))), Pointer: s.at, Detail: i18n.Raw(address),
			Text: cmp.Or(s.text("description"), s.text("summary"), s.text("title")),
		}
		variables := s.get("variables")
		for _, variable := range d.names(variables) {
			v := d.target(variables.get(variable))
			said := i18n.Raw(v.text("description"))
			if allowed := v.get("enum").items(); len(allowed) > 0 {
				said = i18n.M("outline.variable-enum", v.text("default"), oneOf(allowed), v.text("description"))
			} else if v.text("default") != "" {
				said = i18n.M("outline.variable", v.text("default"), v.text("description"))
			}
			n.Facts = append(n.Facts, Fact{Label: i18n.Raw("{" + variable + "}"), Text: said})
		}
		n.Facts = fact(n.Facts, "outline.security", d.required(s.get("security")))
		n.Facts = fact(n.Facts, "outline.tags", i18n.Raw(d.tagNames(s)))
		n.Codes = code(nil, "outline.bindings", d.target(s.get("bindings")))
		list = append(list, n)
	}
	servers := d.root.get("servers")
	for _, s := range servers.items() {
		add("", d.target(s))
	}
	for _, name := range d.names(servers) {
		add(name, d.target(servers.get(name)))
	}
	return list
}

func (d *document) security(a anchors) []Named {
	schemes := d.root.get("components", "securitySchemes")
	var list []Named
	for _, name := range d.names(schemes) {
		s := d.target(schemes.get(name))
		n := Named{Name: name, Kind: s.text("type"), Anchor: a.of("security-" + slug(name)), Pointer: schemes.get(name).at, Text: s.text("description")}
		switch s.text("type") {
		case "http":
			n.Detail = i18n.Raw(strings.TrimSpace(s.text("scheme") + " " + s.text("bearerFormat")))
		case "apiKey", "httpApiKey":
			n.Detail = i18n.M("outline.key-in", s.text("name"), s.text("in"))
		case "openIdConnect":
			n.Detail = i18n.Raw(s.text("openIdConnectUrl"))
		}
		n.Facts = linked(n.Facts, "outline.oauth-metadata", "", s.text("oauth2MetadataUrl"))
		flows := s.get("flows")
		for _, flow := range d.names(flows) {
			n.Facts = append(n.Facts, d.flow(flow, flows.get(flow))...)
		}
		if list = append(list, n); len(list) == maxNamed {
			break
		}
	}
	return list
}

// flow gives what an application needs for a flow of OAuth 2.
func (d *document) flow(name string, flow spot) []Fact {
	facts := fact(nil, "outline.oauth-flow", i18n.Raw(name))
	facts = fact(facts, "outline.oauth-authorization", i18n.Raw(flow.text("authorizationUrl")))
	facts = fact(facts, "outline.oauth-device", i18n.Raw(flow.text("deviceAuthorizationUrl")))
	facts = fact(facts, "outline.oauth-token", i18n.Raw(flow.text("tokenUrl")))
	facts = fact(facts, "outline.oauth-refresh", i18n.Raw(flow.text("refreshUrl")))
	scopes := flow.get("scopes")
	if !scopes.there() {
		scopes = flow.get("availableScopes")
	}
	for _, scope := range d.names(scopes) {
		if len(facts) > maxNamed {
			break
		}
		facts = append(facts, Fact{Label: i18n.M("outline.oauth-scope", scope), Text: i18n.Raw(scopes.text(scope))})
	}
	return facts
}

// tagNames lists the tags of a part, which OpenAPI names and AsyncAPI describes.
func (d *document) tagNames(s spot) string {
	var list []string
	for _, tag := range s.get("tags").items() {
		name, isText := tag.value.(string)
		if !isText {
			name = d.target(tag).text("name")
		}
		if name != "" {
			list = append(list, name)
		}
	}
	return strings.Join(list, ", ")
}

// securityOf gives what a caller of an operation needs.
func (d *document) securityOf(operation spot) i18n.Message {
	if own := operation.get("security"); own.there() {
		if len(own.items()) == 0 {
			return "outline.no-security"
		}
		return d.required(own)
	}
	return d.required(d.root.get("security"))
}

// required gives what a caller needs: any one of the requirements.
func (d *document) required(requirements spot) i18n.Message {
	var ways []i18n.Message
	for _, item := range requirements.items()[:min(len(requirements.items()), 20)] {
		if d.old || item.get("$ref").there() || item.text("type") != "" { // AsyncAPI 3 refers to the scheme itself
			if scheme, ref := d.follow(item); scheme.text("type") != "" {
				ways = append(ways, i18n.Raw(strings.TrimSpace(cmp.Or(lastName(ref), scheme.text("type"))+" "+words(scheme.get("scopes")))))
				continue
			}
		}
		var all []i18n.Message
		for _, name := range d.names(item) {
			all = append(all, i18n.Raw(strings.TrimSpace(name+" "+words(item.get(name)))))
		}
		ways = append(ways, cmp.Or(joined("outline.and", all[:min(len(all), 10)]), "outline.no-security"))
	}
	return joined("outline.or", ways)
}

func words(s spot) string {
	var list []string
	for _, item := range s.items() {
		if said, ok := item.value.(string); ok {
			list = append(list, said)
		}
	}
	return strings.Join(list, ", ")
}

// joined makes one text of several by a key with two arguments.
func joined(key string, list []i18n.Message) i18n.Message {
	switch len(list) {
	case 0:
		return ""
	case 1:
		return list[0]
	}
	half := len(list) / 2
	return i18n.M(key, joined(key, list[:half]), joined(key, list[half:]))
}
