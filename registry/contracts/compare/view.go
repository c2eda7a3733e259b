package compare

import (
	"encoding/json"
	"math/big"
	"strconv"
)

// kinds are the types that a value may have, as bits. A whole number is both an integer and a number.
type kinds uint8

const (
	kindNull kinds = 1 << iota
	kindBoolean
	kindInteger
	kindFraction // a number that is no integer
	kindString
	kindArray
	kindObject

	kindNumber = kindInteger | kindFraction
	kindAny    = kindNull | kindBoolean | kindNumber | kindString | kindArray | kindObject
)

// bound is a limit of numbers, lengths or counts.
type bound struct {
	value     *big.Rat
	exclusive bool
	at        string
}

// view joins the schemas of a bundle, each keyword in one form.
type view struct {
	types   kinds
	typesAt string
	// null reports whether null is allowed; unsure where a document of OpenAPI 3.0 says nullable beside an enum without null.
	null, unsure bool
	// implied is set when no type is given and the types follow from the keywords.
	implied   bool
	enum      map[string]bool // values as JSON, without null; nil for any
	enumAt    string
	open      map[string]bool // values of x-extensible-enum
	openAt    string
	limits    map[string]bound             // by keyword, such as minLength; exclusive limits under minimum and maximum
	sets      map[string]map[string]string // texts by keyword (pattern, format, …) with the place of each
	multiples map[string]string
	flags     map[string]string // readOnly, writeOnly, deprecated, uniqueItems: where it is said
	nullables []string          // places of a keyword nullable that has no meaning
	values    map[string]located
}

func (b *bundle) view() *view {
	if b.seen == nil {
		b.seen = b.look()
	}
	return b.seen
}

func (b *bundle) look() *view {
	v := &view{
		limits: map[string]bound{}, sets: map[string]map[string]string{}, multiples: map[string]string{}, flags: map[string]string{}, values: map[string]located{},
	}
	for _, part := range b.parts {
		v.assertions(part)
		v.meaningless(b.from, part)
	}
	b.kinds(v)
	v.whole()
	return v
}

// assertions takes in the keywords that hold no schema.
func (v *view) assertions(part located) {
	for key, value := range part.object {
		at := part.at + "/" + key
		switch key {
		case "enum":
			if list, ok := value.([]any); ok && len(list) > 0 {
				v.limit(list, at)
			}
		case "const":
			v.limit([]any{value}, at)
		case "x-extensible-enum":
			v.open, v.openAt = valuesOf(value), at
		case "pattern", "format", "contentEncoding", "contentMediaType", "$dynamicRef", "$recursiveRef":
			if said, ok := value.(string); ok && said != "" && !boundless(key, said) {
				if v.sets[key] == nil {
					v.sets[key] = map[string]string{}
				}
				v.sets[key][said] = at
			}
		case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minimum", "maximum":
			v.bound(key, value, at, false)
		case "exclusiveMinimum", "exclusiveMaximum":
			v.exclusive(part, key, at)
		case "multipleOf":
			if n := rational(value); n != nil && n.Sign() > 0 {
				v.multiples[n.RatString()] = at
			}
		case "readOnly", "writeOnly", "deprecated", "uniqueItems":
			if value == true {
				v.flags[key] = at
			}
		case "default":
			v.values[key] = located{map[string]any{"": value}, at}
		}
	}
}

// boundless reports whether a keyword rules nothing out.
func boundless(key, said string) bool {
	switch key {
	case "format":
		return said == "password" // a hint for forms
	case "pattern":
		return said == ".*" || said == "^.*$" || said == "^.*" || said == ".*$"
	}
	return false
}

// exclusive reads a limit that is not itself allowed: a number, or in OpenAPI 3.0 a flag beside the limit.
func (v *view) exclusive(part located, key, at string) {
	plain := map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}[key]
	if part.object[key] == true {
		v.bound(plain, part.object[plain], part.at+"/"+plain, true)
		return
	}
	v.bound(plain, part.object[key], at, true)
}

// bound keeps the stricter of two limits.
func (v *view) bound(key string, value any, at string, exclusive bool) {
	n := rational(value)
	if n == nil {
		return
	}
	is := bound{n, exclusive, at}
	if was, known := v.limits[key]; !known || stricter(key, is, was) > 0 {
		v.limits[key] = is
	}
}

// stricter compares two limits: more than zero when a is the stricter one.
func stricter(key string, a, b bound) int {
	order := a.value.Cmp(b.value)
	if key[:3] == "max" {
		order = -order
	}
	if order == 0 && a.exclusive != b.exclusive {
		if a.exclusive {
			return 1
		}
		return -1
	}
	return order
}

// limit keeps the values that this list and those before it have in common.
func (v *view) limit(list []any, at string) {
	allowed := valuesOf(list)
	if v.enum != nil {
		for value := range allowed {
			if !v.enum[value] {
				delete(allowed, value)
			}
		}
	}
	v.enum, v.enumAt = allowed, at
}

func valuesOf(value any) map[string]bool {
	list, _ := value.([]any)
	made := map[string]bool{}
	for _, item := range list {
		if n, ok := item.(json.Number); ok {
			if exact := rational(n); exact != nil {
				made[exact.RatString()] = true
				continue
			}
		}
		made[written(item)] = true
	}
	return made
}

// rational reads a number exactly; nil for what is none, or is written with an exponent that no contract needs.
func rational(value any) *big.Rat {
	n, ok := value.(json.Number)
	if !ok || len(n) > 60 {
		return nil
	}
	if near, err := strconv.ParseFloat(n.String(), 64); err != nil || near > 1e300 || near < -1e300 || near != 0 && near < 1e-300 && near > -1e-300 {
		return nil
	}
	exact, ok := new(big.Rat).SetString(n.String())
	if !ok {
		return nil
	}
	return exact
}

// meaningless finds nullable where it is no keyword: from OpenAPI 3.1 on null is a type.
func (v *view) meaningless(from *source, part located) {
	if from.newer() && part.object["nullable"] == true {
		v.nullables = append(v.nullables, part.at+"/nullable")
	}
}

// whole writes limits of integers, and limits that say nothing, in one form.
func (v *view) whole() {
	for key, limit := range v.limits {
		if key[:3] == "min" && key != "minimum" && limit.value.Sign() <= 0 {
			delete(v.limits, key)
		}
		if !limit.exclusive || v.types&kindFraction != 0 {
			continue
		}
		step := big.NewRat(1, 1)
		if key == "maximum" {
			step.Neg(step)
		}
		if limit.value.IsInt() {
			v.limits[key] = bound{new(big.Rat).Add(limit.value, step), false, limit.at}
		}
	}
}
