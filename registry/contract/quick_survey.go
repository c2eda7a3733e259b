package contract

import (
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schemaSurvey goes through all schemas that a schema leads to, to see whether each is one that the quick check knows.
type schemaSurvey struct {
	seen    map[*jsonschema.Schema]bool
	anchor  string // where the schema stands that the dynamic anchor leads to
	meta    *jsonschema.Schema
	dynamic bool
	unknown bool
}

func (y *schemaSurvey) visit(schemas ...*jsonschema.Schema) {
	for _, s := range schemas {
		if s == nil || y.seen[s] {
			continue
		}
		y.seen[s] = true
		if s.Location == y.anchor && s.DynamicAnchor == "meta" {
			y.meta = s
		}
		y.judge(s)
		y.below(s)
	}
}

// judge looks for keywords that are not known.
func (y *schemaSurvey) judge(s *jsonschema.Schema) {
	if s.RecursiveRef != nil || s.UnevaluatedItems != nil || s.ContentEncoding != nil || s.ContentMediaType != nil || s.ContentSchema != nil {
		y.unknown = true
	}
	if s.DynamicRef != nil {
		y.dynamic = true
		y.unknown = y.unknown || s.DynamicRef.Anchor != "meta"
	}
	if s.Const != nil && isContainer(*s.Const) || s.Enum != nil && slices.ContainsFunc(s.Enum.Values, isContainer) {
		y.unknown = true
	}
	for _, extension := range s.Extensions {
		if _, ok := extension.(nameCheck); !ok {
			y.unknown = true
		}
	}
}

// below goes on to the schemas that a schema holds or refers to.
func (y *schemaSurvey) below(s *jsonschema.Schema) {
	y.visit(s.Ref, s.Not, s.If, s.Then, s.Else, s.PropertyNames, s.UnevaluatedProperties, s.Contains, s.Items2020)
	for _, list := range [][]*jsonschema.Schema{s.AllOf, s.AnyOf, s.OneOf, s.PrefixItems} {
		y.visit(list...)
	}
	for _, named := range []map[string]*jsonschema.Schema{s.Properties, s.DependentSchemas} {
		for _, part := range named {
			y.visit(part)
		}
	}
	for _, part := range s.PatternProperties {
		y.visit(part)
	}
	for _, part := range s.Dependencies {
		y.visitAny(part)
	}
	if s.DynamicRef != nil {
		y.visit(s.DynamicRef.Ref)
	}
	y.visitAny(s.AdditionalProperties)
	y.visitAny(s.Items)
	y.visitAny(s.AdditionalItems)
}

func (y *schemaSurvey) visitAny(part any) {
	switch part := part.(type) {
	case *jsonschema.Schema:
		y.visit(part)
	case []*jsonschema.Schema:
		y.visit(part...)
	}
}
