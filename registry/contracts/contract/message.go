package contract

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// eventMessage is an AsyncAPI message with its traits applied.
type eventMessage struct {
	object      map[string]any
	name, at    string
	payload     any    // as written, or what stands under schema in a multi format schema
	dialect     string // the JSON Schema dialect of the payload; empty when it is no JSON Schema
	contentType string
	examples    []any
}

func (s *eventScan) readMessage(object map[string]any, at, key string) *eventMessage {
	object = s.withTraits(object)
	m := &eventMessage{object: object, at: at, name: member(object, "name"), contentType: member(object, "contentType"), examples: items(object, "examples")}
	m.examples = m.examples[:min(len(m.examples), 100)]
	if m.name == "" {
		m.name = key
	}
	if m.contentType == "" {
		m.contentType = s.contentType
	}
	format := member(object, "schemaFormat")
	m.payload = object["payload"]
	if multi, _ := s.refs.object(m.payload, nil); s.release != "2.6" && multi["schemaFormat"] != nil && multi["schema"] != nil {
		format, m.payload = member(multi, "schemaFormat"), multi["schema"]
	}
	m.dialect = dialectOf(format)
	return m
}

// withTraits merges the traits: in 2.6 a trait overrides the message, from 3.0 on the message overrides the trait.
func (s *eventScan) withTraits(object map[string]any) map[string]any {
	traits := items(object, "traits")
	if len(traits) == 0 {
		return object
	}
	merged := map[string]any{}
	if s.release == "2.6" {
		merged = object
	}
	for _, value := range traits[:min(len(traits), 20)] {
		trait, _ := s.refs.object(value, nil)
		s.work -= len(trait) + len(object)
		merged = MergeTrait(merged, trait)
	}
	if s.release != "2.6" {
		merged = MergeTrait(merged, object)
	}
	return merged
}

const (
	draft07  = "http://json-schema.org/draft-07/schema#"
	draft201 = "https://json-schema.org/draft/2019-09/schema"
	draft202 = "https://json-schema.org/draft/2020-12/schema"
)

// dialectOf gives the dialect a schemaFormat stands for; AsyncAPI's own is a superset of draft-07.
func dialectOf(format string) string {
	format = strings.ToLower(format)
	kind, parameters, _ := strings.Cut(format, ";")
	switch {
	case format == "" || strings.HasPrefix(kind, "application/vnd.aai.asyncapi"):
		return draft07
	case !strings.HasPrefix(kind, "application/schema"):
		if strings.HasPrefix(kind, "application/vnd.oai.openapi") && !strings.Contains(parameters, "version=3.0") {
			return draft202
		}
		return ""
	case strings.Contains(parameters, "2020-12"):
		return draft202
	case strings.Contains(parameters, "2019-09"):
		return draft201
	case parameters == "" || strings.Contains(parameters, "draft-07"):
		return draft07
	}
	return ""
}

// exampleOf gives the first example, of this type when the examples show their type.
func (m *eventMessage) exampleOf(name string) json.RawMessage {
	var chosen any
	for _, value := range m.examples {
		example, _ := value.(map[string]any)
		payload, ok := example["payload"]
		if !ok {
			continue
		}
		kind := exampleType(example)
		if kind == name {
			chosen = payload
			break
		}
		if chosen == nil && kind == "" {
			chosen = payload
		}
	}
	if chosen == nil {
		return m.schemaExample(name)
	}
	return encode(chosen)
}

// schemaExample falls back on the examples of the payload's own schema.
func (m *eventMessage) schemaExample(name string) json.RawMessage {
	schema, _ := m.payload.(map[string]any)
	candidates := append(append([]any{}, items(schema, "examples")...), schema["example"])
	for _, value := range candidates {
		object, ok := value.(map[string]any)
		if kind := member(object, "type"); ok && (!isEnvelopeValue(object) || kind == name) {
			return encode(value)
		}
	}
	return nil
}

// exampleType gives the CloudEvents type a message example shows, empty when it shows none.
func exampleType(example map[string]any) string {
	headers := child(example, "headers")
	for _, key := range typeHeaders() {
		if kind := member(headers, key); kind != "" {
			return kind
		}
	}
	if payload := child(example, "payload"); isEnvelopeValue(payload) {
		return member(payload, "type")
	}
	return ""
}

// isEnvelopeValue reports whether an object is a structured CloudEvent.
func isEnvelopeValue(object map[string]any) bool {
	return member(object, "specversion") != "" && member(object, "type") != ""
}

func typeHeaders() []string {
	return []string{"ce-type", "ce_type", "cloudEvents:type", "cloudEvents_type"}
}

func encode(value any) json.RawMessage {
	written, err := json.Marshal(value)
	if err != nil {
		return nil
	}
	return written
}

// reverseDomain reports whether a message name is an event type, rather than one with dots in it for another reason, by its first
// label: a country, or one of the common other top-level domains.
func reverseDomain(name string) bool {
	shape := regexp.MustCompile(`^(?:[a-z]{2}|com|org|net|edu|gov|int|mil|info|name|biz|dev|app|cloud|frl|amsterdam)(?:\.[A-Za-z0-9_-]+){2,}$`)
	return len(name) <= 255 && shape.MatchString(name)
}

// facts holds what a schema states about its properties, gathered over references and allOf.
type facts struct {
	refs       *resolver
	properties map[string][]any
	required   map[string]bool
	budget     int  // schemas that may still be looked at
	work       *int // what may still be done for the whole document
}

func (s *eventScan) facts(schema any) *facts {
	f := &facts{refs: s.refs, properties: map[string][]any{}, required: map[string]bool{}, budget: 200, work: &s.work}
	f.gather(schema, 0)
	return f
}

// eventProperties are the only ones of interest here.
func eventProperties() []string {
	return append(typeHeaders(), "type", "specversion", "id", "source", "datacontenttype", "data")
}

func (f *facts) gather(schema any, depth int) {
	object, _ := f.refs.object(schema, nil)
	f.budget--
	*f.work--
	if object == nil || depth > 20 || f.budget < 0 || *f.work < 0 {
		return
	}
	properties := child(object, "properties")
	for _, name := range eventProperties() {
		if value, ok := properties[name]; ok {
			f.properties[name] = append(f.properties[name], value)
		}
	}
	for _, name := range texts(object["required"]) {
		f.required[name] = f.required[name] || slices.Contains(eventProperties(), name)
	}
	for _, part := range items(object, "allOf") {
		f.gather(part, depth+1)
	}
}

func (f *facts) has(name string) bool { return len(f.properties[name]) > 0 }

// envelope reports whether the properties describe a CloudEvent.
func (f *facts) envelope() bool {
	return f.has("type") && (f.has("specversion") || f.has("id") && f.has("source"))
}

func (f *facts) headerTypes() []string {
	for _, name := range typeHeaders() {
		if names := f.values(name); len(names) > 0 {
			return names
		}
	}
	if f.envelope() {
		return f.fixedTypes()
	}
	return nil
}

func (f *facts) fixedTypes() []string { return f.values("type") }
func (f *facts) shownTypes() []string { return f.shown("type") }

// values gives the const or enum of a property.
func (f *facts) values(name string) []string {
	return f.each(name, func(schema map[string]any) []string {
		if fixed := texts(schema["const"]); len(fixed) > 0 {
			return fixed
		}
		return texts(schema["enum"])
	})
}

// shown gives the examples or default of a property.
func (f *facts) shown(name string) []string {
	return f.each(name, func(schema map[string]any) []string {
		for _, key := range []string{"example", "examples", "default"} {
			if shown := texts(schema[key]); len(shown) > 0 {
				return shown
			}
		}
		return nil
	})
}

// each asks the schemas of a property, and the parts of their allOf, until one answers.
func (f *facts) each(name string, ask func(map[string]any) []string) []string {
	pending := slices.Clone(f.properties[name])
	for i := 0; i < len(pending) && i < 50; i++ {
		schema, _ := f.refs.object(pending[i], nil)
		if *f.work < 0 {
			return nil
		}
		if answer := ask(schema); len(answer) > 0 {
			*f.work -= len(answer)
			return answer
		}
		pending = append(pending, items(schema, "allOf")...)
	}
	return nil
}

// data is the schema of the property data; all of them when allOf gives several, nil without one.
func (f *facts) data() any {
	switch list := f.properties["data"]; len(list) {
	case 0:
		return nil
	case 1:
		return list[0]
	default:
		return map[string]any{"allOf": list}
	}
}
