package contract

import "slices"

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
