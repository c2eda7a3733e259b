package payload

import (
	"encoding/json"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// quick finds that data fits, for the schemas that most contracts have, at a third of the library's cost: it gathers nothing for
// findings. Where it does not find that, or a schema has a keyword that it does not know, the library decides; so it can never let
// anything pass that the library would not. It is for use by many at once.
type quick struct {
	types    []string // names; nil for any
	among    []any    // strings, booleans and null; nil for any
	format   func(any) error
	also     []*quick // $ref and allOf
	required []string
	members  map[string]*quick
	closed   bool   // no other members
	others   *quick // for all other members
	items    *quick
	distinct bool // no two items are equal
	pattern  jsonschema.Regexp

	leastMembers, mostMembers, leastItems, mostItems, leastLength, mostLength *int
	least, most, above, below, multipleOf                                     *big.Rat
}

// quickKeywords are the fields of a compiled schema that quick knows, or that do not bear on whether data fits. Any other that is
// set makes the schema one for the library.
var quickKeywords = []string{
	"DraftVersion", "Location", "ID", "Anchor", "Bool", "Ref", "Types", "Enum", "Const", "AllOf", "Format", "MaxProperties", "MinProperties",
	"Required", "Properties", "AdditionalProperties", "MinItems", "MaxItems", "Items", "Items2020", "MinLength", "MaxLength", "Pattern", "Maximum",
	"Minimum", "ExclusiveMaximum", "ExclusiveMinimum", "MultipleOf", "UniqueItems", "Title", "Description", "Default", "Comment", "ReadOnly", "WriteOnly", "Examples", "Deprecated",
}

// newQuick makes a quick check of a schema; nil when that is not possible. made holds those of schemas above and beside it.
func newQuick(s *jsonschema.Schema, made map[*jsonschema.Schema]*quick) *quick {
	if q, ok := made[s]; ok {
		return q
	}
	fields := reflect.ValueOf(s).Elem()
	for i := range fields.NumField() {
		if f := fields.Type().Field(i); f.IsExported() && !fields.Field(i).IsZero() && !slices.Contains(quickKeywords, f.Name) {
			return nil
		}
	}
	if s.Bool != nil && !*s.Bool {
		return nil
	}
	q := &quick{
		required: s.Required, pattern: s.Pattern, leastMembers: s.MinProperties, mostMembers: s.MaxProperties, leastItems: s.MinItems, mostItems: s.MaxItems,
		leastLength: s.MinLength, mostLength: s.MaxLength, least: s.Minimum, most: s.Maximum, above: s.ExclusiveMinimum, below: s.ExclusiveMaximum,
		multipleOf: s.MultipleOf, distinct: s.UniqueItems,
	}
	made[s] = q
	if !q.ofValues(s) || !q.ofSchemas(s, made) {
		delete(made, s)
		return nil
	}
	return q
}

// ofValues takes over what a schema says about a value itself.
func (q *quick) ofValues(s *jsonschema.Schema) bool {
	if s.Types != nil && !s.Types.IsEmpty() {
		q.types = s.Types.ToStrings()
	}
	if s.Enum != nil {
		q.among = append([]any{}, s.Enum.Values...)
	}
	if s.Const != nil {
		if q.among != nil {
			return false
		}
		q.among = []any{*s.Const}
	}
	for _, v := range q.among {
		if _, comparable := simple(v); !comparable {
			return false
		}
	}
	if s.Format == nil || s.Format.Name == stepFormat {
		return true
	}
	for _, f := range knownFormats() {
		if f.Name == s.Format.Name {
			q.format = f.Validate
		}
	}
	return q.format != nil
}

// simple returns a value that can be compared, and whether it is one.
func simple(v any) (any, bool) {
	switch v.(type) {
	case string, bool, nil:
		return v, true
	}
	return nil, false
}

// ofSchemas takes over the schemas in a schema.
func (q *quick) ofSchemas(s *jsonschema.Schema, made map[*jsonschema.Schema]*quick) bool {
	all := true
	of := func(s *jsonschema.Schema) *quick {
		inner := newQuick(s, made)
		all = all && inner != nil
		return inner
	}
	if s.Ref != nil {
		q.also = append(q.also, of(s.Ref))
	}
	for _, inner := range s.AllOf {
		q.also = append(q.also, of(inner))
	}
	q.members = make(map[string]*quick, len(s.Properties))
	for name, inner := range s.Properties {
		q.members[name] = of(inner)
	}
	switch others := s.AdditionalProperties.(type) {
	case bool:
		q.closed = !others
	case *jsonschema.Schema:
		q.others = of(others)
	}
	switch items := s.Items.(type) {
	case nil:
	case *jsonschema.Schema:
		q.items = of(items)
	default:
		return false
	}
	if s.Items2020 != nil {
		q.items = of(s.Items2020)
	}
	return all
}

// quickDepth bounds how deep quick follows data and references.
const quickDepth = 100

// fits reports whether it found that a value fits, within steps.
func (q *quick) fits(value any, steps *int, depth int) bool {
	if *steps -= cost(value); *steps < 0 || depth > quickDepth {
		return false
	}
	if q.types != nil && !slices.ContainsFunc(q.types, func(name string) bool { return ofType(value, name) }) {
		return false
	}
	if q.among != nil {
		if v, comparable := simple(value); !comparable || !slices.Contains(q.among, v) {
			return false
		}
	}
	if q.format != nil && q.format(value) != nil {
		return false
	}
	for _, other := range q.also {
		if !other.fits(value, steps, depth+1) {
			return false
		}
	}
	switch v := value.(type) {
	case map[string]any:
		return q.fitsObject(v, steps, depth)
	case []any:
		if !between(len(v), q.leastItems, q.mostItems) || q.distinct && !different(v) {
			return false
		}
		return q.items == nil || !slices.ContainsFunc(v, func(item any) bool { return !q.items.fits(item, steps, depth+1) })
	case string:
		if (q.leastLength != nil || q.mostLength != nil) && !between(utf8.RuneCountInString(v), q.leastLength, q.mostLength) {
			return false
		}
		return q.pattern == nil || q.pattern.MatchString(v)
	case json.Number:
		return q.fitsNumber(v)
	}
	return true
}

func (q *quick) fitsObject(object map[string]any, steps *int, depth int) bool {
	if !between(len(object), q.leastMembers, q.mostMembers) {
		return false
	}
	for _, name := range q.required {
		if _, ok := object[name]; !ok {
			return false
		}
	}
	for name, value := range object {
		inner, known := q.members[name]
		if !known {
			if q.closed {
				return false
			}
			inner = q.others
		}
		if inner != nil && !inner.fits(value, steps, depth+1) {
			return false
		}
	}
	return true
}

func (q *quick) fitsNumber(n json.Number) bool {
	if q.least == nil && q.most == nil && q.above == nil && q.below == nil && q.multipleOf == nil {
		return true
	}
	number, ok := new(big.Rat).SetString(string(n))
	return ok && (q.least == nil || number.Cmp(q.least) >= 0) && (q.most == nil || number.Cmp(q.most) <= 0) &&
		(q.above == nil || number.Cmp(q.above) > 0) && (q.below == nil || number.Cmp(q.below) < 0) &&
		(q.multipleOf == nil || number.Quo(number, q.multipleOf).IsInt())
}

// fewItems bounds the items that are compared each with each.
const fewItems = 20

// different reports whether it found that no two of a few items are equal; those that are not simple may be.
func different(items []any) bool {
	for i, item := range items {
		if _, comparable := simple(item); !comparable || i >= fewItems || slices.Contains(items[:i], item) {
			return false
		}
	}
	return true
}

func between(n int, least, most *int) bool {
	return (least == nil || n >= *least) && (most == nil || n <= *most)
}

// ofType reports whether a value is of a type of JSON Schema; of a whole number that is not written as one it is not sure.
func ofType(value any, name string) bool {
	switch v := value.(type) {
	case nil:
		return name == "null"
	case bool:
		return name == "boolean"
	case string:
		return name == "string"
	case map[string]any:
		return name == "object"
	case []any:
		return name == "array"
	case json.Number:
		return name == "number" || name == "integer" && !strings.ContainsAny(string(v), ".eE")
	}
	return false
}
