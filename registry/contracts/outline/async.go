package outline

import (
	"cmp"
	"maps"
	"strings"

	"schakel/registry/jsonpointer"
	"schakel/templates/i18n"
)

// async are the operations, channels and messages of AsyncAPI 3.
func (d *document) async() []Entry {
	var operations, channels []Entry
	messages := newMessages(d)
	all := child(d.root, "channels")
	for _, name := range names(all) {
		channel := d.object(all[name])
		links := []Link{}
		for _, key := range names(child(channel, "messages")) {
			if messages.links > maxLinks {
				break
			}
			links = append(links, messages.link(key, child(channel, "messages")[key], "/channels/"+jsonpointer.Escape(name)+"/messages/"+jsonpointer.Escape(key)))
		}
		channels = append(channels, d.channel(name, cmp.Or(text(channel, "address"), name), channel, links))
	}
	all = child(d.root, "operations")
	for _, name := range names(all) {
		operations = append(operations, d.asyncOperation(name, d.object(all[name]), messages))
	}
	messages.shared()
	return append(append(operations, channels...), messages.entries...)
}

func (d *document) channel(name, address string, channel map[string]any, links []Link) Entry {
	return Entry{
		Kind: KindChannel, Name: name, Summary: cmp.Or(text(channel, "title"), text(channel, "summary")), Pointer: "/channels/" + jsonpointer.Escape(name),
		detail: func() Detail {
			detail := Detail{Text: text(channel, "description"), Links: links}
			detail.fact("outline.address", i18n.Raw(address))
			parameters := child(channel, "parameters")
			table := Table{Title: "outline.address-parameters"}
			for _, name := range names(parameters) {
				p := d.object(parameters[name])
				var schema any = p // from 3.0 on the parameter says itself what it may be
				if inner, ok := p["schema"]; ok {
					schema = inner
				}
				table.Fields = append(table.Fields, d.value(name, schema, p))
			}
			if len(table.Fields) > 0 {
				detail.Tables = append(detail.Tables, table)
			}
			return detail
		},
	}
}

func (d *document) asyncOperation(name string, operation map[string]any, messages *messageList) Entry {
	channel := child(operation, "channel")
	_, at := d.follow(channel)
	links := []Link{{"outline.channel", lastName(at), at}}
	for _, item := range list(operation, "messages") {
		links = append(links, messages.link("", item, ""))
	}
	return Entry{
		Kind: KindOperation, Name: name, Summary: cmp.Or(text(operation, "title"), text(operation, "summary")), Pointer: "/operations/" + jsonpointer.Escape(name),
		detail: func() Detail {
			detail := Detail{Text: cmp.Or(text(operation, "description"), text(operation, "summary")), Links: links}
			detail.fact("outline.action", actionName(text(operation, "action")))
			return detail
		},
	}
}

func actionName(action string) i18n.Message {
	switch action {
	case "send", "subscribe":
		return i18n.M("outline.action-receive", action)
	case "receive", "publish":
		return i18n.M("outline.action-send", action)
	}
	return i18n.Raw(action)
}

// oldAsync are the operations, channels and messages of AsyncAPI 2.
func (d *document) oldAsync() []Entry {
	var operations, channels []Entry
	messages := newMessages(d)
	all := child(d.root, "channels")
	for _, name := range names(all) {
		channel, at := d.object(all[name]), "/channels/"+jsonpointer.Escape(name)
		links := []Link{}
		for _, action := range []string{"publish", "subscribe"} {
			operation := child(channel, action)
			if operation == nil || messages.links > maxLinks {
				continue
			}
			own := messages.ofOperation(operation, at+"/"+action)
			links = append(links, own...)
			operations = append(operations, Entry{
				Kind: KindOperation, Name: action + " " + name, Summary: text(operation, "summary"), Pointer: at + "/" + action,
				detail: func() Detail {
					detail := Detail{Text: text(operation, "description"), Links: append([]Link{{"outline.channel", name, at}}, own...)}
					detail.fact("outline.operation-id", i18n.Raw(text(operation, "operationId")))
					detail.fact("outline.action", actionName(action))
					return detail
				},
			})
		}
		channels = append(channels, d.channel(name, name, channel, links))
	}
	messages.shared()
	return append(append(operations, channels...), messages.entries...)
}

// messageList collects messages, each once.
type messageList struct {
	doc     *document
	known   map[string]string // pointer to name
	links   int
	entries []Entry
}

// maxLinks bounds the links of an outline: many channels may refer to one with many messages.
const maxLinks = 50_000

func newMessages(d *document) *messageList { return &messageList{doc: d, known: map[string]string{}} }

// link adds a message and leads to it; at is its place unless it refers.
func (m *messageList) link(key string, value any, at string) Link {
	if m.links++; m.links > maxLinks {
		return Link{"outline.message", key, at}
	}
	followed, target := m.doc.follow(value)
	at = cmp.Or(target, at)
	name, known := m.known[at]
	if object, _ := followed.(map[string]any); !known && object != nil && at != "" {
		object = m.doc.withTraits(object)
		name = cmp.Or(text(object, "name"), lastName(target), key)
		m.known[at] = name
		m.entries = append(m.entries, m.doc.message(name, at, object))
	}
	return Link{"outline.message", cmp.Or(name, key), at}
}

func (m *messageList) ofOperation(operation map[string]any, at string) []Link {
	message := operation["message"]
	choices := list(m.doc.object(message), "oneOf")
	if len(choices) == 0 {
		return []Link{m.link("message", message, at+"/message")}
	}
	var links []Link
	for i, choice := range choices {
		links = append(links, m.link("message", choice, at+"/message/oneOf/"+short(i)))
	}
	return links
}

// shared adds the messages of components that nothing refers to.
func (m *messageList) shared() {
	messages := child(child(m.doc.root, "components"), "messages")
	for _, name := range names(messages) {
		m.link(name, messages[name], "/components/messages/"+jsonpointer.Escape(name))
	}
}

// withTraits merges the traits of a message: in 2.6 a trait overrides, from 3.0 on it is overridden.
func (d *document) withTraits(object map[string]any) map[string]any {
	merged := maps.Clone(object)
	for _, trait := range list(object, "traits")[:min(len(list(object, "traits")), 20)] {
		for key, value := range d.object(trait) {
			if _, own := object[key]; !own || d.old {
				merged[key] = value
			}
		}
	}
	return merged
}

func (d *document) message(name, at string, object map[string]any) Entry {
	return Entry{
		Kind: KindMessage, Name: name, Summary: cmp.Or(text(object, "title"), text(object, "summary")), Pointer: at, Deprecated: object["deprecated"] == true,
		detail: func() Detail {
			detail := Detail{Text: cmp.Or(text(object, "description"), text(object, "summary")), Examples: shownExamples(d.examplesOf(object))}
			detail.fact("outline.content-type", i18n.Raw(cmp.Or(text(object, "contentType"), text(d.root, "defaultContentType"))))
			payload, format := object["payload"], text(object, "schemaFormat")
			if multi := d.object(payload); multi["schemaFormat"] != nil && multi["schema"] != nil {
				payload, format = multi["schema"], text(multi, "schemaFormat")
			}
			detail.fact("outline.schema-format", i18n.Raw(format))
			if headers := object["headers"]; headers != nil {
				detail.Tables = append(detail.Tables, d.table("outline.headers", headers, ""))
			}
			switch {
			case payload != nil && isJSONSchema(format):
				detail.Tables = append(detail.Tables, d.table("outline.payload", payload, at+"/payload"))
			case payload != nil:
				detail.Examples = append([]Example{{"outline.payload-schema", sample(payload)}}, detail.Examples...)
			}
			return detail
		},
	}
}

func isJSONSchema(format string) bool {
	return format == "" || strings.Contains(format, "asyncapi") || strings.Contains(format, "schema+") || strings.Contains(format, "openapi")
}
