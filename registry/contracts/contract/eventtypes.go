package contract

import (
	"encoding/json"
	"slices"
	"strings"

	"schakel/registry/jsonpointer"
	"schakel/templates/i18n"
)

// EventType is a CloudEvents type that a message of an AsyncAPI document defines.
type EventType struct {
	// Type is the CloudEvents type, such as nl.example.student.enrolled.
	Type string
	// MessageName is the name of the message, or its key where it has none.
	MessageName string
	// Title, Summary and Description come from the message, empty where absent.
	Title, Summary, Description string
	// Titles are titles in other languages, of the extension x-titles: an object with a text for each language.
	Titles map[string]string
	// ContentType is the media type of the data; empty where the document does not say.
	ContentType string
	// Schema is the JSON Schema of the data, whole in itself: what its references inside the document lead to stands
	// under definitions ($defs from draft 2019-09 on). Nil when the contract says nothing of the data, or not in JSON Schema.
	Schema json.RawMessage
	// DataRequired is set when an event must have data: the payload is the data, or requires its member data.
	DataRequired bool
	// Example is the first example: a structured CloudEvent or its data, as the author wrote it; nil without one.
	Example json.RawMessage
	// Deprecated is set when the message has x-deprecated, or its payload deprecated.
	Deprecated bool
	// Pointer is the JSON Pointer of the message.
	Pointer string
}

// EventTypes gives the event types of an AsyncAPI document, sorted by Type; the package comment describes how they are
// found. A type that several messages define is given once, its schema allowing the data of each of them. It is empty
// for OpenAPI documents.
func (d *Document) EventTypes() []EventType {
	types, _ := d.eventTypes()
	return types
}

// The bounds on what one document may define; beyond them Validate reports an error.
const (
	maxEventTypes = 5_000
	maxSchemaWork = 4_000_000 // nodes read and written for all event types together
	bytesPerNode  = 16        // how long texts count
)

// eventTypes also reports whether a bound was met.
func (d *Document) eventTypes() (types []EventType, cut bool) {
	root, ok := d.Root.(map[string]any)
	if d.Kind != AsyncAPI || !ok {
		return nil, false
	}
	s := &eventScan{
		refs: newResolver(root), release: d.release, contentType: member(root, "defaultContentType"),
		byType: map[string][]candidate{}, seen: map[string]bool{}, work: maxSchemaWork,
	}
	s.scan(root)
	for _, name := range sortedKeys(s.byType) {
		types = append(types, s.eventType(name, s.byType[name]))
	}
	return types, s.cut || s.work < 0
}

// candidate is a message, or one of its forms, that defines a type.
type candidate struct {
	*eventMessage
	// data is the schema of the data; nil when unknown.
	data any
	// contentType is the media type of the data.
	contentType string
	// required is set when an event must have data.
	required bool
}

type eventScan struct {
	refs        *resolver
	release     string
	contentType string
	byType      map[string][]candidate
	seen        map[string]bool // pointers of messages
	count, work int
	cut         bool
}

// scan looks at each message once: those of channels first, then those that stand in components only.
func (s *eventScan) scan(root map[string]any) {
	channels := child(root, "channels")
	for _, name := range sortedKeys(channels) {
		channel, at := s.refs.object(channels[name], top().to("channels", name))
		for _, action := range []string{"publish", "subscribe"} {
			for _, m := range messagesOf(child(channel, action)["message"], at.to(action, "message")) {
				s.message(m.value, m.at, "")
			}
		}
		s.messages(child(channel, "messages"), at.to("messages"))
	}
	s.messages(child(child(root, "components"), "messages"), top().to("components", "messages"))
}

func (s *eventScan) messages(list map[string]any, at *place) {
	for _, key := range sortedKeys(list) {
		s.message(list[key], at.to(key), key)
	}
}

func (s *eventScan) message(value any, at *place, key string) {
	object, at := s.refs.object(value, at)
	where := at.String()
	if object == nil || s.seen[where] || s.work < 0 {
		return
	}
	s.seen[where] = true
	if list, _ := jsonpointer.Tokens(where); key == "" && len(list) == 3 {
		key = list[2]
	}
	m := s.readMessage(object, where, key)
	for _, found := range s.typesOf(m) {
		if s.count++; s.count > maxEventTypes {
			s.cut = true
			return
		}
		s.byType[found.name] = append(s.byType[found.name], found.candidate)
	}
}

func (s *eventScan) eventType(name string, from []candidate) EventType {
	m := from[0].eventMessage
	e := EventType{
		Type: name, MessageName: m.name, Title: member(m.object, "title"), Summary: member(m.object, "summary"),
		Description: member(m.object, "description"), ContentType: from[0].contentType, Pointer: m.at,
		Deprecated: m.object["x-deprecated"] == true, Titles: titlesOf(m.object["x-titles"]),
	}
	if payload, _ := s.refs.object(m.payload, nil); payload["deprecated"] == true {
		e.Deprecated = true
	}
	if s.work < 0 {
		return e // the document is refused; no more is spent on it
	}
	e.Example = m.exampleOf(name)
	s.work -= len(e.Example) / bytesPerNode
	e.Schema = s.schema(from)
	e.DataRequired = e.Schema != nil && !slices.ContainsFunc(from, func(c candidate) bool { return !c.required })
	s.work -= len(e.Schema) / bytesPerNode
	return e
}

// mostTitles bounds the languages of a title, and longestTitle its letters.
const (
	mostTitles   = 40
	longestTitle = 200
)

// titlesOf reads titles by language; what is no short text is left out.
func titlesOf(value any) map[string]string {
	object, _ := value.(map[string]any)
	if len(object) == 0 || len(object) > mostTitles {
		return nil
	}
	titles := make(map[string]string, len(object))
	for language, text := range object {
		if title, ok := text.(string); ok && title != "" && len(title) <= longestTitle && len(language) <= longestTitle {
			titles[language] = title
		}
	}
	return titles
}

// schema bundles the schema of the data; when several messages define a type, any of their schemas will do.
func (s *eventScan) schema(from []candidate) json.RawMessage {
	var forms []any
	for _, c := range from {
		if c.data == nil {
			return nil
		}
		forms = append(forms, c.data)
	}
	b := &bundler{refs: s.refs, dialect: from[0].dialect, work: &s.work}
	return b.bundle(forms)
}

// checkEventTypes reports types that several messages define and documents that define more than can be used.
func checkEventTypes(r *report, d *Document) {
	types, cut := d.eventTypes()
	if cut {
		r.error("event-types-too-many", top(), i18n.M("findings.event-types-too-many", maxEventTypes),
			"findings.split-smaller-remedy")
	}
	if len(types) == 0 && !cut && hasMessages(d.Root) {
		r.add(SeverityInfo, "event-types-none", top().String, "findings.event-types-none",
			"findings.event-types-none-remedy")
	}
	for _, e := range types {
		if !validType(e.Type) {
			r.add(SeverityWarning, "event-type-name", func() string { return e.Pointer }, i18n.M("findings.event-type-name", shorten(e.Type, 100)),
				"findings.event-type-name-remedy")
		}
	}
}

func hasMessages(root any) bool {
	object, _ := root.(map[string]any)
	return len(child(object, "channels"))+len(child(child(object, "components"), "messages")) > 0
}

// validType reports whether a type is written as NL GOV asks: a reverse domain name with at least one more part.
func validType(name string) bool {
	labels := strings.Split(name, ".")
	return len(labels) >= 3 && len(labels[0]) >= 2 && !slices.ContainsFunc(labels, func(l string) bool {
		return l == "" || strings.ContainsFunc(l, func(r rune) bool {
			return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_')
		})
	})
}

type typed struct {
	name string
	candidate
}

// typesOf finds the types of a message in the order the package comment gives.
func (s *eventScan) typesOf(m *eventMessage) []typed {
	payloads := s.forms(m.payload, 0)
	if m.dialect == "" {
		payloads = []any{nil}
	}
	headers := s.facts(m.object["headers"])
	if names := headers.headerTypes(); len(names) > 0 {
		return s.all(m, names, payloads)
	}
	if list := s.fromPayloads(m, payloads, (*facts).fixedTypes); len(list) > 0 {
		return list
	}
	if names := texts(m.object["x-cloudevents-type"]); len(names) > 0 {
		return s.all(m, names, payloads)
	}
	if names := m.exampleTypes(); len(names) > 0 {
		return s.all(m, names, payloads)
	}
	if list := s.fromPayloads(m, payloads, (*facts).shownTypes); len(list) > 0 {
		return list
	}
	if reverseDomain(m.name) {
		return s.all(m, []string{m.name}, payloads)
	}
	return nil
}

// all gives each type the data of the message as a whole.
func (s *eventScan) all(m *eventMessage, names []string, payloads []any) []typed {
	c := s.candidate(m, m.payload)
	if len(payloads) == 1 {
		c = s.candidate(m, payloads[0])
	}
	var list []typed
	for _, name := range distinct(names) {
		list = append(list, typed{name, c})
	}
	return list
}

// fromPayloads gives each form of the payload the types it names itself.
func (s *eventScan) fromPayloads(m *eventMessage, payloads []any, types func(*facts) []string) []typed {
	var list []typed
	for _, payload := range payloads {
		f := s.facts(payload)
		if !f.envelope() {
			continue
		}
		for _, name := range distinct(types(f)) {
			list = append(list, typed{name, s.candidate(m, payload)})
		}
	}
	return list
}

func (m *eventMessage) exampleTypes() []string {
	var names []string
	for _, value := range m.examples {
		example, _ := value.(map[string]any)
		if name := exampleType(example); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// candidate separates the data from the event around it.
func (s *eventScan) candidate(m *eventMessage, payload any) candidate {
	c := candidate{eventMessage: m, data: payload, contentType: m.contentType}
	if m.dialect == "" {
		c.data = nil
		return c
	}
	f := s.facts(payload)
	c.required = true
	if f.envelope() {
		c.required = f.required["data"]
		c.data, c.contentType = f.data(), "application/json"
		if kinds := append(f.values("datacontenttype"), f.shown("datacontenttype")...); len(kinds) > 0 {
			c.contentType = kinds[0]
		}
	} else if isCloudEventsType(m.contentType) {
		c.contentType = "application/json"
	}
	return c
}

func isCloudEventsType(contentType string) bool {
	const prefix = "application/cloudevents"
	return len(contentType) >= len(prefix) && contentType[:len(prefix)] == prefix
}

// forms splits a payload that is one of several schemas; any other is its own only form.
func (s *eventScan) forms(payload any, depth int) []any {
	object, _ := s.refs.object(payload, nil)
	for _, key := range []string{"oneOf", "anyOf"} {
		list := items(object, key)
		if len(list) == 0 || depth > 4 || s.facts(payload).has("type") {
			continue
		}
		var forms []any
		for _, item := range list {
			if len(forms) > 1000 {
				break
			}
			forms = append(forms, s.forms(item, depth+1)...)
		}
		return forms
	}
	return []any{payload}
}

// distinct drops empty and repeated names and keeps their order.
func distinct(names []string) []string {
	var list []string
	seen := map[string]bool{"": true}
	for _, name := range names {
		if !seen[name] {
			seen[name] = true
			list = append(list, name)
		}
	}
	return list
}
