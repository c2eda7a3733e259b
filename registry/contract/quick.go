package contract

import "github.com/santhosh-tekuri/jsonschema/v6"

// quickSchema is a compiled schema that can be checked without the account of what failed where. That takes a fifth of the
// time and next to no memory, and most documents have no faults to account for. It gives the verdict of the jsonschema
// package, from the schemas that package compiled; only where it says no does the package itself have to explain.
type quickSchema struct {
	root *jsonschema.Schema
	// meta is what the dynamic anchor "meta" leads to: the outermost that has it is always the root.
	meta *jsonschema.Schema
}

// newQuickSchema gives nil for a schema with a keyword that is not known here.
func newQuickSchema(root *jsonschema.Schema) *quickSchema {
	s := &schemaSurvey{seen: map[*jsonschema.Schema]bool{}, anchor: root.Location + "/$defs/schema"}
	s.visit(root)
	if s.unknown || s.dynamic && s.meta == nil {
		return nil
	}
	return &quickSchema{root: root, meta: s.meta}
}

// stepsPerByte bounds the work on a document. Real documents without white space take up to a third of a step for each byte;
// one that needs far more, by forms within forms, is left to the jsonschema package, which looks at nothing twice.
const stepsPerByte = 1

// valid tells whether a document of a size in bytes is surely valid. It may be so when the answer is no.
func (s *quickSchema) valid(document any, size int) bool {
	q := &quick{meta: s.meta, steps: steps(size)}
	return q.valid(s.root, document) && q.steps > 0
}

func steps(size int) int { return 10_000 + stepsPerByte*size }

// quick is one check of a document.
type quick struct {
	meta  *jsonschema.Schema
	steps int // that are left; the verdict counts only when some are
	sieve *sieve
}

// valid tells whether a value fits a schema. It follows the order of the jsonschema package, so that what is costly comes
// last.
func (q *quick) valid(s *jsonschema.Schema, v any) bool {
	if s.Bool != nil {
		return *s.Bool
	}
	if q.steps--; q.steps <= 0 || !fitsType(s, v) || !fitsFixed(s, v) {
		return false
	}
	if s.Format != nil && s.Format.Validate(v) != nil {
		return false
	}
	ok := s.Ref == nil || q.valid(s.Ref, v)
	if s.Ref != nil && s.DraftVersion < 2019 || !ok && q.mayStop() {
		return ok
	}
	ok = q.fitsValue(s, v) && ok
	if !ok && q.mayStop() {
		return false
	}
	ok = q.combined(s, v) && ok
	if object, isObject := v.(map[string]any); isObject && s.UnevaluatedProperties != nil && (ok || !q.mayStop()) {
		ok = q.unevaluated(s, object) && ok
	}
	return ok
}

// fitsValue applies the keywords for the type of the value.
func (q *quick) fitsValue(s *jsonschema.Schema, v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return q.object(s, v)
	case []any:
		return q.list(s, v)
	case string:
		return fitsText(s, v)
	}
	return fitsNumber(s, v)
}

// combined applies the keywords that join schemas for the same value.
func (q *quick) combined(s *jsonschema.Schema, v any) bool {
	ok := s.DynamicRef == nil || q.valid(q.target(s.DynamicRef), v)
	for _, part := range s.AllOf {
		if !ok && q.mayStop() {
			return false
		}
		ok = q.valid(part, v) && ok
	}
	if !ok && q.mayStop() {
		return false
	}
	if s.Not != nil && q.valid(s.Not, v) || len(s.AnyOf) > 0 && q.count(s.AnyOf, v, 1) == 0 || len(s.OneOf) > 0 && q.count(s.OneOf, v, 2) != 1 {
		ok = false
	}
	if s.If == nil || !ok && q.mayStop() {
		return ok
	}
	next := q.branch(s, v)
	return (next == nil || q.valid(next, v)) && ok
}

// branch gives the schema that "if" leads to, or nil.
func (q *quick) branch(s *jsonschema.Schema, v any) *jsonschema.Schema {
	if q.valid(s.If, v) {
		return s.Then
	}
	return s.Else
}

// count gives how many of the schemas a value fits, up to enough.
func (q *quick) count(schemas []*jsonschema.Schema, v any, enough int) int {
	n := 0
	for _, s := range schemas {
		if n < enough && q.valid(s, v) {
			n++
		}
	}
	return n
}

func (q *quick) target(ref *jsonschema.DynamicRef) *jsonschema.Schema {
	if ref.Anchor != "" && ref.Ref.DynamicAnchor == ref.Anchor {
		return q.meta
	}
	return ref.Ref
}
