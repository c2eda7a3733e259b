package contract

import (
	"slices"
	"strconv"
	"strings"

	"schakel/registry/jsonpointer"
	"schakel/templates/i18n"
)

// asyncAPIRules are the rules on single objects of an AsyncAPI document, wherever they stand.
type asyncAPIRules struct {
	*asyncAPI
	release string
	schemas *schemaRules
	grammar grammar
}

// objects visits each object once.
func (a *asyncAPI) objects(release string) {
	rules := &asyncAPIRules{asyncAPI: a, release: release}
	rules.schemas = &schemaRules{report: a.report, fit: newFitter(a.refs, AsyncAPI, release)}
	checkTags(a.report, a.root, top())
	rules.grammar = asyncAPIGrammar()
	rules.grammar.visitAll(a.root, rules.object)
}

func (a *asyncAPIRules) object(kind string, object map[string]any, at *place) {
	if _, isReference := object["$ref"]; isReference {
		if a.release != "2.6" || kind != kindChannel {
			a.kind(kind, object, at)
		}
		return
	}
	switch kind {
	case "payload":
		a.payload(object, at)
	case kindSchema:
		a.schemas.check(object, at)
	case kindServer:
		checkTags(a.report, object, at)
		checkServerVariables(a.report, object, member(object, "url")+member(object, "host")+" "+member(object, "pathname"), at, false)
	case kindMessage, "messageTrait":
		checkTags(a.report, object, at)
		a.message(object, at)
	case "securityScheme":
		if a.release != "2.6" { // there scopes stand in the requirements
			checkScopes(a.report, object, object["scopes"], at.to("scopes"), false)
		}
	case kindChannel:
		checkTags(a.report, object, at)
		a.channelName(object, at)
	case kindOperation, "operationTrait", "info":
		checkTags(a.report, object, at)
	}
}

// kind holds a reference against what must stand at its end: messages of an operation are in channels, the channels of
// an operation at the root, so only what leads into components is looked at.
func (a *asyncAPIRules) kind(kind string, object map[string]any, at *place) {
	if kind == kindServer || kind == kindOperation || kind == kindChannel {
		return
	}
	checkReferenceKind(a.report, kind, object, at)
}

// payload visits a schema written in JSON Schema and reports unknown formats.
func (a *asyncAPIRules) payload(object map[string]any, at *place) {
	format, isFormat := object["schemaFormat"].(string)
	schema, isMulti := object["schema"]
	if a.release == "2.6" || !isFormat || !isMulti {
		if a.release == "2.6" && at.token == "payload" && !a.jsonMessage(at) {
			return
		}
		a.grammar.object(kindSchema, object, at, a.object)
		return
	}
	a.knownFormat(format, at.to("schemaFormat"))
	if part, ok := schema.(map[string]any); ok && dialectOf(format) != "" {
		a.grammar.value(kindSchema, part, at.to("schema"), a.object)
	}
}

// jsonMessage reports whether the message above a payload of 2.6 declares JSON Schema.
func (a *asyncAPIRules) jsonMessage(at *place) bool {
	value, _ := jsonpointer.Lookup(a.root, at.up().String())
	message, _ := value.(map[string]any)
	return dialectOf(member(message, "schemaFormat")) != ""
}

func (a *asyncAPIRules) knownFormat(format string, at *place) {
	lower := strings.ToLower(format)
	for _, known := range []string{
		"application/vnd.aai.asyncapi", "application/vnd.oai.openapi", "application/schema", "application/vnd.apache.avro",
		"application/raml", "application/vnd.google.protobuf", "application/xml", "application/vnd.xsd", "application/vnd.asyncapi",
	} {
		if strings.HasPrefix(lower, known) {
			return
		}
	}
	a.warn("schema-format-unknown", at, i18n.M("findings.schema-format-unknown", shorten(format, 80)),
		"findings.schema-format-unknown-remedy")
}

func (a *asyncAPIRules) message(message map[string]any, at *place) {
	if format, ok := message["schemaFormat"].(string); ok && a.release == "2.6" {
		a.knownFormat(format, at.to("schemaFormat"))
	}
	a.examples(message, at)
	a.correlation(message, at)
	if a.release == "2.6" {
		return // the schema of 2.6 sees what headers are
	}
	headers, where := a.refs.object(message["headers"], at.to("headers"))
	if kinds := texts(headers["type"]); len(kinds) > 0 && headers["schemaFormat"] == nil && !isOfAny(map[string]any{}, kinds) {
		a.error("headers-type", where.to("type"), "findings.headers-type", "findings.headers-type-remedy")
	}
}

func isOfAny(value any, types []string) bool {
	return slices.ContainsFunc(types, func(name string) bool { return isOfType(value, name) })
}

// schemaOf gives the schema of the headers or payload of a message; nil when it is not JSON Schema.
func (a *asyncAPIRules) schemaOf(message map[string]any, key string) any {
	value := message[key]
	multi, _ := a.refs.object(value, nil)
	if format, ok := multi["schemaFormat"].(string); ok && a.release != "2.6" && multi["schema"] != nil {
		if dialectOf(format) == "" {
			return nil
		}
		return multi["schema"]
	}
	if a.release == "2.6" && key == "payload" && dialectOf(member(message, "schemaFormat")) == "" {
		return nil
	}
	return value
}

func (a *asyncAPIRules) examples(message map[string]any, at *place) {
	for i, value := range items(message, "examples") {
		example, _ := value.(map[string]any)
		for _, key := range []string{"headers", "payload"} {
			shown, ok := example[key]
			schema := a.schemaOf(message, key)
			if ok && schema != nil && i < 100 {
				a.schemas.sample(shown, schema, at.to("examples", strconv.Itoa(i), key))
			}
		}
	}
}

// correlation checks that the place of a correlation id is one that the schemas describe.
func (a *asyncAPIRules) correlation(message map[string]any, at *place) {
	object, where := a.refs.object(message["correlationId"], at.to("correlationId"))
	location := member(object, "location")
	expression, pointer, _ := strings.Cut(location, "#")
	key := map[string]string{"$message.header": "headers", "$message.payload": "payload"}[expression]
	list, ok := jsonpointer.Tokens(pointer)
	if key == "" || !ok {
		return // the schema reports what is no expression
	}
	schema := a.schemaOf(message, key)
	for _, name := range list {
		object, _ := a.refs.object(schema, nil)
		properties := child(object, "properties")
		if properties == nil {
			return
		}
		if has, sure := a.schemas.declares(schema, name, 0); sure && !has {
			a.warn("correlation-location", where.to("location"), i18n.M("findings.correlation-location", key, shorten(name, 80)),
				"findings.correlation-location-remedy")
			return
		}
		schema = properties[name]
	}
}

func (a *asyncAPIRules) channelName(channel map[string]any, at *place) {
	address, ok := channel["address"].(string)
	if a.release == "2.6" {
		address, ok = at.token, at.up() != nil && at.above.token == "channels"
	}
	if !ok {
		return
	}
	bare := address
	for _, name := range templateNames(address) {
		if name == "" {
			a.warn("channel-parameter-empty", at, "findings.channel-parameter-empty", "findings.channel-parameter-empty-remedy")
		}
		bare = strings.Replace(bare, "{"+name+"}", "", 1)
	}
	if a.release == "2.6" && strings.ContainsAny(bare, "?#") {
		a.warn("channel-query", at, "findings.channel-query", "findings.channel-query-remedy")
	}
}
