package contract

import "strconv"

// structure looks at the items of a list and the members of an object.
func (f *fitter) structure(value any, schema map[string]any, depth int) *misfit {
	switch v := value.(type) {
	case []any:
		return f.array(v, schema, depth)
	case map[string]any:
		if m := f.required(v, schema); m != nil {
			return m
		}
		return f.members(v, schema, depth)
	}
	return nil
}

func (f *fitter) array(list []any, schema map[string]any, depth int) *misfit {
	if least, ok := count(schema["minItems"]); ok && len(list) < least {
		return wrongValue("it has fewer than %d items", least)
	}
	if most, ok := count(schema["maxItems"]); ok && len(list) > most {
		return wrongValue("it has more than %d items", most)
	}
	first := len(items(schema, "prefixItems"))
	if _, isList := schema["items"].([]any); isList || schema["items"] == nil {
		return nil
	}
	for i := first; i < len(list) && i < first+100; i++ {
		if m := f.fits(list[i], schema["items"], depth+1); m != nil {
			return m.within(strconv.Itoa(i))
		}
	}
	return nil
}

// required leaves out what is only read or only written: an example shows one of the two.
func (f *fitter) required(object, schema map[string]any) *misfit {
	for _, name := range texts(schema["required"]) {
		if _, ok := object[name]; ok {
			continue
		}
		property, _ := f.refs.object(child(schema, "properties")[name], nil)
		if property["readOnly"] != true && property["writeOnly"] != true {
			return wrongValue("the member %q is missing", shorten(name, 80))
		}
	}
	return nil
}

func (f *fitter) members(object, schema map[string]any, depth int) *misfit {
	properties, patterns := child(schema, "properties"), child(schema, "patternProperties")
	others, limited := schema["additionalProperties"]
	for _, name := range sortedKeys(object) {
		property, known := properties[name]
		if known {
			if m := f.fits(object[name], property, depth+1); m != nil {
				return m.within(name)
			}
		}
		if !known && limited && !f.matchesAny(patterns, name) {
			if others == false {
				return wrongValue("the member is not known").within(name)
			}
			if m := f.fits(object[name], others, depth+1); m != nil {
				return m.within(name)
			}
		}
	}
	return nil
}

func (f *fitter) matchesAny(patterns map[string]any, name string) bool {
	for pattern := range patterns {
		if f.matches(pattern, name) {
			return true
		}
	}
	return false
}

func (f *fitter) composed(value any, schema map[string]any, depth int) *misfit {
	for _, part := range items(schema, "allOf") {
		if m := f.fits(value, part, depth+1); m != nil {
			return m
		}
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if m := f.oneOf(value, items(schema, key), depth); m != nil {
			return m
		}
	}
	return nil
}

// oneOf gives the misfit when no form fits; that of the only form where there is one.
func (f *fitter) oneOf(value any, forms []any, depth int) *misfit {
	if len(forms) == 0 {
		return nil
	}
	var last *misfit
	for _, form := range forms {
		if last = f.fits(value, form, depth+1); last == nil {
			return nil
		}
	}
	if len(forms) == 1 {
		return last
	}
	return wrongValue("it fits none of the %d forms that are allowed", len(forms))
}
