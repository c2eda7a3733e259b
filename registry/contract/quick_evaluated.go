package contract

import "github.com/santhosh-tekuri/jsonschema/v6"

// unevaluated applies unevaluatedProperties to the members that no other keyword has looked at.
func (q *quick) unevaluated(s *jsonschema.Schema, object map[string]any) bool {
	ok := true
	for name, value := range object {
		if !q.looksAt(s, object, name) && !q.member(s.UnevaluatedProperties, name, value) {
			if ok = false; q.mayStop() {
				return false
			}
		}
	}
	return ok
}

// evaluates tells whether a schema that the object may or may not fit has looked at a member.
func (q *quick) evaluates(s *jsonschema.Schema, object map[string]any, name string) bool {
	if s == nil || s.Bool != nil {
		return false
	}
	if s.UnevaluatedProperties == nil && !q.looksAt(s, object, name) {
		return false
	}
	return q.valid(s, object)
}

// looksAt tells whether keywords other than unevaluatedProperties have looked at a member.
func (q *quick) looksAt(s *jsonschema.Schema, object map[string]any, name string) bool {
	if _, ok := s.Properties[name]; ok || s.AdditionalProperties != nil {
		return true
	}
	for pattern := range s.PatternProperties {
		if pattern.MatchString(name) {
			return true
		}
	}
	if s.DynamicRef != nil && q.evaluates(q.target(s.DynamicRef), object, name) || s.Ref != nil && q.evaluates(s.Ref, object, name) {
		return true
	}
	for _, parts := range [][]*jsonschema.Schema{s.AllOf, s.AnyOf, s.OneOf} {
		for _, part := range parts {
			if q.evaluates(part, object, name) {
				return true
			}
		}
	}
	return q.looksOnCondition(s, object, name)
}

func (q *quick) looksOnCondition(s *jsonschema.Schema, object map[string]any, name string) bool {
	for trigger, part := range s.DependentSchemas {
		if _, present := object[trigger]; present && q.evaluates(part, object, name) {
			return true
		}
	}
	if s.If == nil {
		return false
	}
	return q.evaluates(s.If, object, name) || q.evaluates(q.branch(s, object), object, name)
}
