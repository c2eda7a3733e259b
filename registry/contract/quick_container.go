package contract

import "github.com/santhosh-tekuri/jsonschema/v6"

// object applies the keywords for objects, without those that look at what others left over.
func (q *quick) object(s *jsonschema.Schema, object map[string]any) bool {
	ok := withinBounds(len(object), s.MinProperties, s.MaxProperties) && hasAll(object, s.Required)
	if !ok && q.mayStop() {
		return false
	}
	ok = q.members(s, object) && ok
	if !ok && q.mayStop() {
		return false
	}
	ok = q.names(s, object) && ok
	return q.dependent(s, object) && ok
}

// members applies the schemas for the values of members.
func (q *quick) members(s *jsonschema.Schema, object map[string]any) bool {
	if len(s.Properties) == 0 && len(s.PatternProperties) == 0 && s.AdditionalProperties == nil {
		return true
	}
	ok := true
	for name, value := range object {
		if !q.named(s, name, value) {
			if ok = false; q.mayStop() {
				return false
			}
		}
	}
	return ok
}

// named applies each schema that the name of a member leads to.
func (q *quick) named(s *jsonschema.Schema, name string, value any) bool {
	part, known := s.Properties[name]
	ok := !known || q.member(part, name, value)
	for pattern, part := range s.PatternProperties {
		if pattern.MatchString(name) {
			known = true
			ok = q.member(part, name, value) && ok
		}
	}
	if known || s.AdditionalProperties == nil {
		return ok
	}
	if allowed, isBool := s.AdditionalProperties.(bool); isBool {
		return q.judged(name, allowed)
	}
	return q.member(s.AdditionalProperties.(*jsonschema.Schema), name, value)
}

// names holds the names of members against propertyNames.
func (q *quick) names(s *jsonschema.Schema, object map[string]any) bool {
	ok := true
	if s.PropertyNames == nil {
		return true
	}
	for name := range object {
		if !q.valid(s.PropertyNames, name) {
			ok = q.judged(name, false)
		}
	}
	return ok
}

// dependent applies what the presence of a member asks for.
func (q *quick) dependent(s *jsonschema.Schema, object map[string]any) bool {
	ok := true
	for name, part := range s.DependentSchemas {
		if _, present := object[name]; present {
			ok = q.valid(part, object) && ok
		}
	}
	for name, required := range s.DependentRequired {
		if _, present := object[name]; present {
			ok = hasAll(object, required) && ok
		}
	}
	for name, dependency := range s.Dependencies {
		if _, present := object[name]; !present {
			continue
		}
		if required, isList := dependency.([]string); isList {
			ok = hasAll(object, required) && ok
		} else {
			ok = q.valid(dependency.(*jsonschema.Schema), object) && ok
		}
	}
	return ok
}

func hasAll(object map[string]any, names []string) bool {
	for _, name := range names {
		if _, ok := object[name]; !ok {
			return false
		}
	}
	return true
}

// list applies the keywords for lists.
func (q *quick) list(s *jsonschema.Schema, list []any) bool {
	if !withinBounds(len(list), s.MinItems, s.MaxItems) || s.UniqueItems && !unique(list) {
		return false
	}
	first, rest := s.PrefixItems, s.Items2020
	if s.DraftVersion < 2020 {
		first, rest = nil, nil
		switch items := s.Items.(type) {
		case *jsonschema.Schema:
			rest = items
		case []*jsonschema.Schema:
			first = items
			if !q.additional(s, list, len(first)) {
				return false
			}
		}
	}
	for i, item := range list {
		if i < len(first) && !q.member(first[i], "", item) || i >= len(first) && rest != nil && !q.member(rest, "", item) {
			return false
		}
	}
	return s.Contains == nil || q.contains(s, list)
}

// additional applies additionalItems to what stands after the first items.
func (q *quick) additional(s *jsonschema.Schema, list []any, first int) bool {
	for _, item := range list[min(first, len(list)):] {
		switch additional := s.AdditionalItems.(type) {
		case bool:
			if !additional {
				return false
			}
		case *jsonschema.Schema:
			if !q.member(additional, "", item) {
				return false
			}
		}
	}
	return true
}

func (q *quick) contains(s *jsonschema.Schema, list []any) bool {
	matched := 0
	for _, item := range list {
		if q.member(s.Contains, "", item) {
			matched++
		}
	}
	least := 1
	if s.MinContains != nil {
		least = *s.MinContains
	}
	return matched >= least && (s.MaxContains == nil || matched <= *s.MaxContains)
}
