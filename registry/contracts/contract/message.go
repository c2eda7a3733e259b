package contract

import (
	"encoding/json"
	"regexp"
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
