package compare

import (
	"maps"
	"strings"

	"schakel/registry/jsonpointer"
)

// bindingMeets lists the fields of bindings by which the parties find or read each other, by protocol and then by the path of
// the field: another value cuts them off. Fields that are not here tune a connection or a broker, and ask for a look.
var bindingMeets = map[string][]string{
	"amqp":         {"is", "exchange/name", "exchange/type", "exchange/vhost", "queue/name", "queue/vhost", "cc", "bcc", "contentEncoding", "messageType"},
	"amqp1":        {"destination", "destinationName"},
	"anypointmq":   {"destination", "destinationType"},
	"googlepubsub": {"topic", "schema/name", "schema/type"},
	"http":         {"method", "statusCode"},
	"ibmmq":        {"destinationType", "queue/objectName", "topic/objectName", "topic/string", "type", "groupId"},
	"jms":          {"destination", "destinationType"},
	"kafka":        {"topic", "schemaIdLocation", "schemaIdPayloadEncoding", "schemaLookupStrategy", "schemaRegistryUrl"},
	"mqtt":         {"payloadFormatIndicator", "contentType", "responseTopic"},
	"pulsar":       {"tenant", "namespace"},
	"sns":          {"name", "topic/name", "topic/arn"},
	"solace":       {"msgVpn", "destinations"},
	"sqs":          {"queue/name", "queues"},
	"stomp":        {"destination"},
	"ws":           {"method"},
	"ros2":         {"role", "node"},
	"amqps":        {"is", "exchange/name", "exchange/type", "exchange/vhost", "queue/name", "queue/vhost"},
	"secure-mqtt":  {"payloadFormatIndicator", "contentType", "responseTopic"},
	"kafka-secure": {"topic", "schemaIdLocation", "schemaIdPayloadEncoding", "schemaLookupStrategy"},
	"https":        {"method", "statusCode"},
	"wss":          {"method"},
}

// bindings compares what is said for each protocol, field by field. A change weighs as its heaviest field: what the parties
// meet by breaks them, a schema of what they exchange and other settings ask for a look, and the version of a binding, which
// is that of its description, changes nothing.
func (p *pair) bindings(c Change, was map[string]any, wasAt string, is map[string]any, isAt string) {
	before, _ := p.old.object(was["bindings"], wasAt+"/bindings")
	after, place := p.new.object(is["bindings"], isAt+"/bindings")
	for _, protocol := range unionKeys(before, after) {
		if same(before[protocol], after[protocol]) {
			continue
		}
		c.Level, c.Code, c.Pointer, c.Removed = Warning, "bindings-changed", place+jsonpointer.Join(protocol), false
		c.Why = "Those who connect by it should look whether their settings still fit."
		switch {
		case after[protocol] == nil:
			c.Pointer, c.Removed = wasAt+"/bindings"+jsonpointer.Join(protocol), true
			c.Text = "What was said for " + quote(protocol) + " was removed."
		case before[protocol] == nil:
			c.Level, c.Text = Info, "What holds for "+quote(protocol)+" was added."
		case !p.binding(&c, protocol, before[protocol], after[protocol]):
			continue
		}
		p.add(c)
	}
}

// binding weighs the fields that differ; it reports whether any does.
func (p *pair) binding(c *Change, protocol string, before, after any) bool {
	old, _ := p.old.object(before, "")
	new, _ := p.new.object(after, "")
	was, is := map[string]any{}, map[string]any{}
	bindingFields(was, "", old, 0)
	bindingFields(is, "", new, 0)
	var meets, tunes []string
	for _, field := range unionKeys(was, is) {
		switch {
		case field == "bindingVersion" || same(orDefault(protocol, field, was[field]), orDefault(protocol, field, is[field])):
		case meetsBy(protocol, field) && was[field] != nil && is[field] != nil: // what was not said before may be as it was
			meets = append(meets, field)
		default:
			tunes = append(tunes, field)
		}
	}
	switch {
	case len(meets) > 0:
		c.Level = Breaking
		c.Text = "What is said for " + quote(protocol) + " changed: " + strings.Join(append(meets, tunes...), ", ") + "."
		c.Why = "The parties meet by " + strings.Join(meets, ", ") + "; those who have the old value no longer reach or understand the others."
	case len(tunes) > 0:
		c.Text = "What is said for " + quote(protocol) + " changed: " + strings.Join(tunes, ", ") + "."
	case same(was["bindingVersion"], is["bindingVersion"]):
		return false
	default:
		c.Level, c.Text = Info, "The version of the description for "+quote(protocol)+" changed."
		c.Why = "It changes nothing in how the parties connect."
	}
	return true
}

// bindingFields gives the fields of a binding by path; schemas and lists are one field.
func bindingFields(to map[string]any, path string, object map[string]any, depth int) {
	for key, value := range object {
		at := strings.TrimPrefix(path+"/"+key, "/")
		inner, isObject := value.(map[string]any)
		if isObject && depth < 3 && !isSchema(inner) && inner["$ref"] == nil {
			bindingFields(to, at, inner, depth+1)
			continue
		}
		if isObject {
			inner = maps.Clone(inner)
			delete(inner, "description")
			value = inner
		}
		to[at] = value
	}
}

// isSchema reports whether an object in a binding is a schema, such as that of a Kafka key or of the query of a request.
func isSchema(object map[string]any) bool {
	for _, key := range []string{"properties", "enum", "items", "oneOf", "anyOf", "allOf"} {
		if object[key] != nil {
			return true
		}
	}
	switch object["type"] {
	case "object", "string", "integer", "number", "array", "boolean":
		return true
	}
	return false
}

// bindingDefaults are the values of fields that are left out, by protocol and path.
var bindingDefaults = map[string]map[string]any{
	"amqp":  {"is": "routingKey", "exchange/vhost": "/", "queue/vhost": "/"},
	"amqps": {"is": "routingKey", "exchange/vhost": "/", "queue/vhost": "/"},
}

func orDefault(protocol, field string, value any) any {
	if value == nil {
		return bindingDefaults[strings.ToLower(protocol)][field]
	}
	return value
}

// meetsBy reports whether the parties meet by a field.
func meetsBy(protocol, field string) bool {
	for _, name := range bindingMeets[strings.ToLower(protocol)] {
		if field == name || strings.HasPrefix(field, name+"/") {
			return true
		}
	}
	return false
}
