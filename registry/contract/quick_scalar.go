package contract

import (
	"encoding/json"
	"math/big"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// fitsType tells whether a value is of a type that the schema allows.
func fitsType(s *jsonschema.Schema, v any) bool {
	if s.Types == nil || s.Types.IsEmpty() {
		return true
	}
	name := ""
	switch v := v.(type) {
	case nil:
		name = "null"
	case bool:
		name = "boolean"
	case string:
		name = "string"
	case []any:
		name = "array"
	case map[string]any:
		name = "object"
	case json.Number:
		return allowsType(s.Types, "number") || allowsType(s.Types, "integer") && isWhole(v)
	}
	return allowsType(s.Types, name)
}

// allowsType works on the set of types as the jsonschema package keeps it.
func allowsType(types *jsonschema.Types, name string) bool {
	var one jsonschema.Types
	one.Add(name)
	return *types&one != 0
}

func isWhole(number json.Number) bool {
	if !strings.ContainsAny(string(number), ".eE") {
		return true
	}
	value, ok := new(big.Rat).SetString(string(number))
	return ok && value.IsInt()
}

// fitsFixed applies const and enum.
func fitsFixed(s *jsonschema.Schema, v any) bool {
	if s.Const != nil && !sameScalar(v, *s.Const) {
		return false
	}
	if s.Enum == nil {
		return true
	}
	for _, value := range s.Enum.Values {
		if sameScalar(v, value) {
			return true
		}
	}
	return false
}

// sameScalar compares a value of the document with one that is neither list nor object.
func sameScalar(v, fixed any) bool {
	number, isNumber := v.(json.Number)
	other, both := fixed.(json.Number)
	if !isNumber || !both {
		return isScalar(v) && v == fixed
	}
	a, ok := new(big.Rat).SetString(string(number))
	b, okToo := new(big.Rat).SetString(string(other))
	return ok && okToo && a.Cmp(b) == 0
}

func isScalar(v any) bool { return !isContainer(v) }

func fitsText(s *jsonschema.Schema, text string) bool {
	if s.MinLength != nil || s.MaxLength != nil {
		if !withinBounds(utf8.RuneCountInString(text), s.MinLength, s.MaxLength) {
			return false
		}
	}
	return s.Pattern == nil || s.Pattern.MatchString(text)
}

func withinBounds(n int, least, most *int) bool {
	return (least == nil || n >= *least) && (most == nil || n <= *most)
}

// fitsNumber applies the keywords for numbers.
func fitsNumber(s *jsonschema.Schema, v any) bool {
	number, ok := v.(json.Number)
	if !ok || s.Minimum == nil && s.Maximum == nil && s.ExclusiveMinimum == nil && s.ExclusiveMaximum == nil && s.MultipleOf == nil {
		return true
	}
	value, _ := new(big.Rat).SetString(string(number))
	switch {
	case value == nil,
		s.Minimum != nil && value.Cmp(s.Minimum) < 0,
		s.Maximum != nil && value.Cmp(s.Maximum) > 0,
		s.ExclusiveMinimum != nil && value.Cmp(s.ExclusiveMinimum) <= 0,
		s.ExclusiveMaximum != nil && value.Cmp(s.ExclusiveMaximum) >= 0:
		return false
	}
	return s.MultipleOf == nil || new(big.Rat).Quo(value, s.MultipleOf).IsInt()
}

// unique tells whether no two items are the same, as the jsonschema package sees it.
func unique(list []any) bool {
	if len(list) < 2 {
		return true
	}
	return (&jsonschema.Schema{UniqueItems: true, DraftVersion: 2020}).Validate(list) == nil
}
