package contract

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
