package lint

import (
	"encoding/json"
	"maps"
)

// example is an event that the document shows.
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
