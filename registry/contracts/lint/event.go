package lint

import (
	"encoding/json"
	"maps"
	"strings"
	"time"

	"schakel/registry/contracts/contract"
)

// event is a message of an AsyncAPI document that defines event types.
type event struct {
	types []contract.EventType
	at    string
	// message is the message with its traits; words is the text that describes it.
	message map[string]any
	words   string
	// attributes holds the schemas of context attributes; whole is set when the payload is the event rather than its data.
	attributes map[string][]form
	whole      bool
	// data is the schema of the data; nil when nothing is known of it.
	data     map[string]any
	dataAt   func() string
	examples []example
}

// readEvents finds the messages that define event types, in the order of the types.
func (c *checker) readEvents() []*event {
	var list []*event
	byPlace := map[string]*event{}
	for _, t := range c.doc.EventTypes() {
		e := byPlace[t.Pointer]
		if e == nil {
			if e = c.readEvent(t.Pointer); e == nil {
				continue
			}
			byPlace[t.Pointer] = e
			list = append(list, e)
		}
		e.types = append(e.types, t)
	}
	return list
}

func (c *checker) readEvent(at string) *event {
	message, at := c.object(map[string]any{"$ref": "#" + at}, at)
	if message == nil {
		return nil
	}
	e := &event{at: at, message: c.withTraits(message), attributes: map[string][]form{}}
	for _, key := range []string{"title", "summary", "description"} {
		e.words += " " + text(e.message, key)
	}
	headers := c.gather(e.message["headers"], below(at, "headers"))
	envelope := isEnvelope(headers)
	for _, name := range names(headers) {
		if attribute, ok := headerAttribute(name); ok {
			e.attributes[attribute] = append(e.attributes[attribute], headers[name]...)
		} else if envelope {
			e.attributes[name] = append(e.attributes[name], headers[name]...)
		}
	}
	c.readPayload(e)
	e.examples = c.readExamples(e)
	return e
}

// readPayload reports whether the payload is the whole event or its data.
func (c *checker) readPayload(e *event) {
	payload, at := c.object(e.message["payload"], below(e.at, "payload"))
	if payload == nil || payload["schemaFormat"] != nil && payload["schema"] == nil {
		return
	}
	if payload["schemaFormat"] != nil {
		payload, at = c.object(payload["schema"], below(at, "schema"))
	}
	parts := c.gather(payload, at)
	if e.whole = isEnvelope(parts); !e.whole {
		e.data, e.dataAt = payload, fixed(at)
		return
	}
	for _, name := range names(parts) {
		e.attributes[name] = append(e.attributes[name], parts[name]...)
	}
	if list := parts["data"]; len(list) > 0 {
		e.data, e.dataAt = list[0].schema, list[0].at
	}
	delete(e.attributes, "data")
	delete(e.attributes, "data_base64")
}

// withTraits gives a message what its traits say and itself does not.
func (c *checker) withTraits(message map[string]any) map[string]any {
	traits := items(message, "traits")
	if len(traits) == 0 {
		return message
	}
	merged := map[string]any{}
	for _, value := range traits[:min(len(traits), 20)] {
		trait, _ := c.object(value, "")
		maps.Copy(merged, trait)
	}
	maps.Copy(merged, message)
	return merged
}

// gather collects the properties of a schema and of those that it is made of.
func (c *checker) gather(value any, at string) map[string][]form {
	parts := map[string][]form{}
	schema, at := c.object(value, at)
	if schema == nil {
		return parts
	}
	for _, f := range c.forms(schema, fixed(at), 0) {
		properties := child(f.schema, "properties")
		for _, name := range names(properties) {
			c.work--
			property, moved := c.follow(properties[name])
			object, ok := property.(map[string]any)
			if !ok || len(parts) > 500 || c.work < 0 {
				continue
			}
			place := func() string { return below(f.at(), "properties", name) }
			if moved != "" {
				place = fixed(moved)
			}
			parts[name] = append(parts[name], form{object, place})
		}
	}
	return parts
}

// isEnvelope reports whether properties describe a CloudEvent.
func isEnvelope[V any](parts map[string]V) bool {
	has := func(name string) bool { _, ok := parts[name]; return ok }
	return has("type") && (has("specversion") || has("id") && has("source"))
}

func headerAttribute(name string) (string, bool) {
	for _, prefix := range []string{"ce-", "ce_", "cloudEvents:", "cloudEvents_"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			return rest, rest != ""
		}
	}
	return "", false
}

// value is something that an attribute can be, and where the document says so.
type value struct {
	value any
	at    string
}

// values lists the values that a document shows of an attribute: in its schema and in examples.
func (e *event) values(name string) []value {
	var list []value
	for _, f := range e.attributes[name] {
		for _, key := range []string{"const", "default", "example"} {
			if v, ok := f.schema[key]; ok {
				list = append(list, value{v, below(f.at(), key)})
			}
		}
		for _, key := range []string{"enum", "examples"} {
			for i, v := range items(f.schema, key) {
				if i < maxExamples {
					list = append(list, value{v, below(f.at(), key, itoa(i))})
				}
			}
		}
	}
	for _, x := range e.examples {
		if v, ok := x.attributes[name]; ok {
			list = append(list, value{v, x.places[name]})
		}
	}
	return list
}

// example holds an event that is shown whole against the rules for attributes (CE-01 to CE-04, CE-11, CE-19, CE-20).
func (c *checker) example(x example) {
	if x.size > 0 {
		c.holds("event-size", x.size <= maxWire, fixed(x.at), "lint.event-size.detail", x.size>>10)
	}
	for _, name := range names(x.attributes) {
		c.holds("event-attribute-names", isAttributeName(name), fixed(x.places[name]), "lint.event-attribute-names.detail", short(name))
		c.holds("event-attributes", isAttributeValue(name, x.attributes[name]), fixed(x.places[name]), "lint.event-attributes.detail", short(name))
	}
	if !x.whole {
		return
	}
	for _, name := range []string{"id", "source", "specversion", "type"} {
		c.holds("event-attributes", x.attributes[name] != nil, fixed(x.at), "lint.event-attributes.lacks", name)
	}
}

// isAttributeValue reports whether an attribute can be this; null is an attribute that is not set.
func isAttributeValue(name string, v any) bool {
	if v == nil {
		return true
	}
	switch name {
	case "specversion":
		return v == "1.0"
	case "time":
		s, ok := v.(string)
		_, err := time.Parse(time.RFC3339Nano, s)
		return ok && err == nil
	case "id", "source", "type", "subject", "dataschema", "datacontenttype", "dataref":
		s, ok := v.(string)
		return ok && s != ""
	}
	switch v.(type) {
	case map[string]any, []any:
		return false
	}
	return true
}

type example struct {
	// attributes are the context attributes, as far as they are shown; places has the pointer of each.
	attributes map[string]any
	places     map[string]string
	at         string
	// whole is set when all attributes are shown.
	whole bool
	size  int // bytes of payload and headers as JSON
}

// maxExamples bounds how many examples of a message are read.
const maxExamples = 100

func (c *checker) readExamples(e *event) []example {
	var list []example
	for i, value := range items(e.message, "examples") {
		shown, _ := value.(map[string]any)
		if shown == nil || i >= maxExamples {
			continue
		}
		list = append(list, e.shown(shown, below(e.at, "examples", itoa(i))))
	}
	payload, at := c.object(e.message["payload"], below(e.at, "payload"))
	for i, value := range items(payload, "examples") {
		if i < maxExamples {
			list = append(list, e.shown(map[string]any{"payload": value}, below(at, "examples", itoa(i))))
			list[len(list)-1].moved(below(at, "examples", itoa(i)))
		}
	}
	return list
}

// shown reads an example of a message: its headers, and its payload when that is the whole event.
func (e *event) shown(value map[string]any, at string) example {
	x := example{attributes: map[string]any{}, places: map[string]string{}, at: at, size: sizeOf(value["payload"]) + sizeOf(value["headers"])}
	headers, payload := child(value, "headers"), child(value, "payload")
	whole := isEnvelope(headers)
	for name, v := range headers {
		if attribute, ok := headerAttribute(name); ok {
			x.set(attribute, v, below(at, "headers", name))
		} else if whole {
			x.set(name, v, below(at, "headers", name))
		}
	}
	if isEnvelope(payload) || e.whole && payload != nil {
		for name, v := range payload {
			if name != "data" && name != "data_base64" {
				x.set(name, v, below(at, "payload", name))
			}
		}
		x.whole = true
	}
	x.whole = x.whole || whole
	return x
}

func (x *example) set(name string, value any, at string) {
	x.attributes[name], x.places[name] = value, at
}

// moved puts an example of a schema, which has no member payload, where it stands.
func (x *example) moved(at string) {
	places := maps.Clone(x.places)
	for name := range places {
		x.places[name] = below(at, name)
	}
}

func sizeOf(value any) int {
	if value == nil {
		return 0
	}
	written, err := json.Marshal(value)
	if err != nil {
		return 0
	}
	return len(written)
}
