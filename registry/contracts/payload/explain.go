package payload

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"schakel/registry/jsonpointer"
)

// explain gives the findings of a failed check, by pointer.
func explain(wrong *jsonschema.ValidationError) []Finding {
	var list []Finding
	leaves(wrong, func(e *jsonschema.ValidationError) { list = append(list, findings(e)...) })
	slices.SortStableFunc(list, func(a, b Finding) int {
		return cmp.Or(strings.Compare(a.Pointer, b.Pointer), strings.Compare(a.Code, b.Code), strings.Compare(a.Detail, b.Detail))
	})
	list = slices.Compact(list)
	return list[:min(len(list), maxFindings)]
}

// leaves visits what is wrong in the end. Where one of several forms would do, those of the form that comes closest: it
// fails deepest in the data, and at the fewest places.
func leaves(e *jsonschema.ValidationError, visit func(*jsonschema.ValidationError)) {
	if len(e.Causes) == 0 {
		visit(e)
		return
	}
	switch e.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf:
		leaves(slices.MaxFunc(e.Causes, func(a, b *jsonschema.ValidationError) int {
			aDeep, aMany := closeness(a)
			bDeep, bMany := closeness(b)
			return cmp.Or(cmp.Compare(aDeep, bDeep), cmp.Compare(bMany, aMany))
		}), visit)
	default:
		for _, cause := range e.Causes {
			leaves(cause, visit)
		}
	}
}

func closeness(e *jsonschema.ValidationError) (deepest, many int) {
	leaves(e, func(leaf *jsonschema.ValidationError) {
		deepest, many = max(deepest, len(leaf.InstanceLocation)), many+1
	})
	return deepest, many
}

func findings(e *jsonschema.ValidationError) []Finding {
	at := func(tokens []string, detail string) Finding {
		return Finding{Pointer: jsonpointer.Join(tokens...), Code: code(e.ErrorKind), Detail: detail}
	}
	here := slices.Clone(e.InstanceLocation)
	switch k := e.ErrorKind.(type) {
	case *kind.AdditionalProperties:
		var list []Finding
		for _, name := range k.Properties {
			list = append(list, at(append(slices.Clone(here), name), "the contract does not know this member"))
		}
		return list
	case *kind.Required:
		return []Finding{at(here, "this lacks what the contract requires: "+strings.Join(quoted(k.Missing), ", "))}
	}
	return []Finding{at(here, detail(e.ErrorKind))}
}

// code names the keyword that was not met.
func code(k jsonschema.ErrorKind) string {
	path := k.KeywordPath()
	if len(path) == 0 {
		return "payload-refused"
	}
	var kebab strings.Builder
	for _, r := range path[0] {
		if r >= 'A' && r <= 'Z' {
			kebab.WriteByte('-')
			r += 'a' - 'A'
		}
		kebab.WriteRune(r)
	}
	return "payload-" + strings.TrimPrefix(kebab.String(), "$")
}

// detail words the demand of the schema. The value is not repeated: it may be personal.
func detail(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Type:
		return "this is " + k.Got + ", and must be " + strings.Join(k.Want, " or ")
	case *kind.Enum:
		return "this must be one of " + someValues(k.Want)
	case *kind.Const:
		return "this must be " + someValues([]any{k.Want})
	case *kind.Format:
		return "this must be written as a " + k.Want
	case *kind.Pattern:
		return "this does not match the pattern " + shorten(k.Want)
	case *kind.MinLength:
		return fmt.Sprintf("this has %d characters, and must have at least %d", k.Got, k.Want)
	case *kind.MaxLength:
		return fmt.Sprintf("this has %d characters, and may have at most %d", k.Got, k.Want)
	case *kind.MinItems:
		return fmt.Sprintf("this has %d items, and must have at least %d", k.Got, k.Want)
	case *kind.MaxItems:
		return fmt.Sprintf("this has %d items, and may have at most %d", k.Got, k.Want)
	case *kind.Minimum:
		return "this must be at least " + k.Want.RatString()
	case *kind.Maximum:
		return "this may be at most " + k.Want.RatString()
	case *kind.ExclusiveMinimum:
		return "this must be more than " + k.Want.RatString()
	case *kind.ExclusiveMaximum:
		return "this must be less than " + k.Want.RatString()
	case *kind.MultipleOf:
		return "this must be a multiple of " + k.Want.RatString()
	case *kind.UniqueItems:
		return fmt.Sprintf("items %d and %d are the same, and all must differ", k.Duplicates[0], k.Duplicates[1])
	case *kind.OneOf:
		return "this fits more than one of the forms of which it must have one"
	case *kind.Not:
		return "this is what the contract rules out"
	case *kind.FalseSchema:
		return "the contract allows nothing here"
	}
	return "this is not as " + strings.TrimPrefix(code(k), "payload-") + " of the schema says"
}

func quoted(names []string) []string {
	list := make([]string, 0, len(names))
	for _, name := range names[:min(len(names), 20)] {
		list = append(list, strconv.Quote(shorten(name)))
	}
	return list
}

// someValues writes values of the schema.
func someValues(values []any) string {
	var list []string
	for _, v := range values[:min(len(values), 10)] {
		if text, ok := v.(string); ok {
			v = strconv.Quote(text)
		}
		list = append(list, shorten(fmt.Sprint(v)))
	}
	if len(values) > len(list) {
		list = append(list, "…")
	}
	return strings.Join(list, ", ")
}

// shorten bounds what of a contract stands in an answer.
func shorten(text string) string {
	const most = 100
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}
