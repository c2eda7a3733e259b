package compare

import (
	"maps"
	"strings"

	"schakel/registry/jsonpointer"
	"schakel/templates/i18n"
)

// asyncOperations compares what the application does; renamed gives the new key of each old channel.
func (p *pair) asyncOperations(before, after *async, renamed map[string]string) {
	pairs := matchOperations(before, after, renamed)
	matched := map[string]bool{}
	for _, key := range sortedKeys(before.operations) {
		was := before.operations[key]
		other, found := pairs[key]
		if !found {
			if _, stays := renamed[was.channel]; stays || was.channel == "" {
				p.add(Change{
					Level: Breaking, Code: "operation-removed", Pointer: was.at, Removed: true, Side: was.side(), Subjects: []i18n.Message{was.name()},
					EventTypes: before.typesOf(was), Text: "changes.operation-removed", Why: "changes.async-operation-removed-why",
				})
			}
			continue
		}
		matched[other] = true
		p.asyncOperation(was, after.operations[other], before, after, renamed)
	}
	for _, key := range sortedKeys(after.operations) {
		if is := after.operations[key]; !matched[key] {
			p.add(Change{
				Level: Info, Code: "operation-added", Pointer: is.at, Side: is.side(), Subjects: []i18n.Message{is.name()},
				EventTypes: after.typesOf(is), Text: "changes.operation-added", Why: "changes.added-why",
			})
		}
	}
}

// matchOperations finds which operation became which: by key, then by action and channel.
func matchOperations(before, after *async, renamed map[string]string) map[string]string {
	pairs, taken := map[string]string{}, map[string]bool{}
	for key := range before.operations {
		if _, both := after.operations[key]; both {
			pairs[key], taken[key] = key, true
		}
	}
	for _, key := range sortedKeys(before.operations) {
		was := before.operations[key]
		for _, other := range sortedKeys(after.operations) {
			is := after.operations[other]
			if pairs[key] == "" && !taken[other] && was.action == is.action && renamed[was.channel] == is.channel && is.channel != "" {
				pairs[key], taken[other] = other, true
			}
		}
	}
	return pairs
}

// nowAt gives the new key of a channel; one that is gone, or never was, keeps its own.
func nowAt(renamed map[string]string, key string) string {
	if now, ok := renamed[key]; ok {
		return now
	}
	return key
}

func (o asyncOperation) name() i18n.Message { return i18n.M("changes.subject-operation", o.key) }

// side gives the party that waits for the operation: the application sends to consumers and receives from producers.
func (o asyncOperation) side() string {
	if o.action == "receive" {
		return SideProducer
	}
	return SideConsumer
}

func (a *async) typesOf(o asyncOperation) []string {
	if found := a.channels[o.channel]; found != nil {
		return found.types()
	}
	return nil
}

func (p *pair) asyncOperation(was, is asyncOperation, before, after *async, renamed map[string]string) {
	c := Change{Side: is.side(), Subjects: []i18n.Message{is.name()}, EventTypes: after.typesOf(is), Cause: is.at}
	if was.action != is.action {
		c.Level, c.Code, c.Pointer, c.Side = Breaking, "operation-action-changed", is.at+"/action", SideBoth
		c.Text = i18n.M("changes.action", quote(was.action), quote(is.action))
		c.Why = "changes.action-why"
		p.add(c)
		c.Side = is.side()
	}
	if was.channel != "" && nowAt(renamed, was.channel) != is.channel {
		c.Level, c.Code, c.Pointer = Breaking, "operation-channel-changed", is.at+"/channel"
		c.Text = i18n.M("changes.operation-channel", quote(was.channel), quote(is.channel))
		c.Why = "changes.operation-channel-why"
		p.add(c)
	}
	p.operationMessages(c, was, is, before, after)
	p.reply(c, was, is, before, after, renamed)
	p.bindings(c, was.object, was.at, is.object, is.at)
	p.asyncSecurity(c, was.object, is.object, was.at, is.at)
}

// operationMessages reports messages of the channel in which an operation no longer takes part in.
func (p *pair) operationMessages(c Change, was, is asyncOperation, before, after *async) {
	old, new := before.named(was), after.named(is)
	for _, name := range sortedKeys(old) {
		in := after.channels[is.channel]
		if new[name] || in == nil || in.messages[name] == nil {
			continue // a message that is gone altogether is told of at its channel
		}
		c.Level, c.Code, c.Pointer = Breaking, "operation-message-removed", is.at+"/messages"
		c.Text = i18n.M("changes.operation-message", quote(name))
		c.Why = "changes.operation-message-why"
		c.EventTypes = in.messages[name].types
		p.add(c)
	}
}

// named gives the keys of the messages that an operation works with.
func (a *async) named(o asyncOperation) map[string]bool {
	list := map[string]bool{}
	in := a.channels[o.channel]
	if in == nil {
		return list
	}
	probe := &async{c: a.c, channels: map[string]*channel{"": {messages: map[string]*message{}}}}
	for key, m := range in.messages {
		probe.channels[""].messages[key] = &message{key: key, at: m.at}
	}
	probe.direct("", items(o.object, "messages"), "send")
	for key, m := range probe.channels[""].messages {
		if m.sent {
			list[key] = true
		}
	}
	return list
}

// reply compares where and how an answer is given.
func (p *pair) reply(c Change, was, is asyncOperation, before, after *async, renamed map[string]string) {
	c.Pointer = is.at + "/reply"
	switch {
	case was.reply == nil && is.reply == nil:
		return
	case is.reply == nil:
		c.Level, c.Code, c.Pointer, c.Removed = Breaking, "reply-removed", was.at+"/reply", true
		c.Text, c.Why = "changes.reply-removed", "changes.reply-removed-why"
		p.add(c)
		return
	case was.reply == nil:
		c.Level, c.Code, c.Text, c.Why = Warning, "reply-added", "changes.reply-added", "changes.reply-added-why"
		p.add(c)
		return
	}
	if old, new := before.channelOf(was.reply), after.channelOf(is.reply); old != "" && nowAt(renamed, old) != new {
		c.Level, c.Code, c.Text = Breaking, "reply-channel-changed", i18n.M("changes.reply-channel", quote(new))
		c.Why = "changes.reply-channel-why"
		p.add(c)
	}
	old, _ := p.old.object(was.reply["address"], "")
	new, _ := p.new.object(is.reply["address"], "")
	if text(old, "location") != text(new, "location") {
		c.Level, c.Code, c.Text = Breaking, "reply-address-changed", i18n.M("changes.reply-address", quote(text(new, "location")))
		c.Why = "changes.reply-address-why"
		p.add(c)
	}
}

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
		c.Why = "changes.bindings-why"
		switch {
		case after[protocol] == nil:
			c.Pointer, c.Removed = wasAt+"/bindings"+jsonpointer.Join(protocol), true
			c.Text = i18n.M("changes.bindings-removed", quote(protocol))
		case before[protocol] == nil:
			c.Level, c.Text = Info, i18n.M("changes.bindings-added", quote(protocol))
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
		c.Text = i18n.M("changes.bindings-changed", quote(protocol), strings.Join(append(meets, tunes...), ", "))
		c.Why = i18n.M("changes.bindings-meet-why", strings.Join(meets, ", "))
	case len(tunes) > 0:
		c.Text = i18n.M("changes.bindings-changed", quote(protocol), strings.Join(tunes, ", "))
	case same(was["bindingVersion"], is["bindingVersion"]):
		return false
	default:
		c.Level, c.Text = Info, i18n.M("changes.bindings-version", quote(protocol))
		c.Why = "changes.bindings-version-why"
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

func meetsBy(protocol, field string) bool {
	for _, name := range bindingMeets[strings.ToLower(protocol)] {
		if field == name || strings.HasPrefix(field, name+"/") {
			return true
		}
	}
	return false
}
