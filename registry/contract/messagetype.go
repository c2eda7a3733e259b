package contract

import "slices"

// typed is a candidate with the type it defines.
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

// candidate tells the data apart from the event around it.
func (s *eventScan) candidate(m *eventMessage, payload any) candidate {
	c := candidate{eventMessage: m, data: payload, contentType: m.contentType}
	if m.dialect == "" {
		c.data = nil
		return c
	}
	f := s.facts(payload)
	if f.envelope() {
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

// facts are what a schema says of its properties, gathered over references and allOf.
type facts struct {
	refs       *resolver
	properties map[string][]any
	budget     int
	work       *int
}

func (s *eventScan) facts(schema any) *facts {
	f := &facts{refs: s.refs, properties: map[string][]any{}, budget: 200, work: &s.work}
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
	for _, part := range items(object, "allOf") {
		f.gather(part, depth+1)
	}
}

func (f *facts) has(name string) bool { return len(f.properties[name]) > 0 }

// envelope tells whether the properties are those of a CloudEvent.
func (f *facts) envelope() bool {
	return f.has("type") && (f.has("specversion") || f.has("id") && f.has("source"))
}

// headerTypes are the types that headers fix.
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
		if answer := ask(schema); len(answer) > 0 {
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

// distinct drops empty and repeated names and keeps their order.
func distinct(names []string) []string {
	var list []string
	for _, name := range names {
		if name != "" && len(list) < maxEventTypes && !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}
