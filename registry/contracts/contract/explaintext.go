package contract

import (
	"fmt"
	"slices"
	"strings"

	"schakel/registry/jsonpointer"

	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// findings words one fault.
func (e *explainer) findings(f fault) []Finding {
	at := jsonpointer.Join(f.InstanceLocation...)
	switch k := f.ErrorKind.(type) {
	case *kind.Required:
		return e.missing(at, k.Missing)
	case *kind.AdditionalProperties:
		var list []Finding
		for _, name := range k.Properties {
			list = append(list, e.unknownMember(f.SchemaURL, at+jsonpointer.Join(name), name))
		}
		return list
	case badName:
		return e.badName(at, k.name, f)
	}
	if isUnknownMember(f) && len(f.InstanceLocation) > 0 {
		name := f.InstanceLocation[len(f.InstanceLocation)-1]
		return []Finding{e.unknownMember(strings.TrimSuffix(f.SchemaURL, "/unevaluatedProperties"), at, name)}
	}
	code, detail, remedy := e.words(f)
	return []Finding{{Severity: SeverityError, Code: code, Pointer: at, Detail: detail, Remedy: remedy}}
}

// words gives code, detail and remedy of a fault that makes one finding at its own place.
func (e *explainer) words(f fault) (code, detail, remedy string) {
	switch k := f.ErrorKind.(type) {
	case *kind.FalseSchema:
		return "schema-not-allowed", "This is not allowed here.", "Remove it."
	case *kind.Type:
		return "schema-type", fmt.Sprintf("This is %s, but it must be %s.", typeName(k.Got), typeNames(k.Want)),
			"Change the value; look at quotes and indentation too."
	case *kind.Enum:
		return "schema-value", notAllowed(k.Got), "Use one of: " + listValues(k.Want) + "."
	case *kind.Const:
		return "schema-value", notAllowed(k.Got), "Use " + quoteValue(k.Want) + "."
	case *kind.Pattern:
		return "schema-pattern", fmt.Sprintf("The value %s does not have the form that is needed.", quoteValue(k.Got)),
			"Make it match the pattern " + k.Want + " ."
	case *kind.Format:
		return "schema-format", fmt.Sprintf("The value %s is not a valid %s.", quoteValue(k.Got), k.Want), "Correct the value."
	case *kind.Not:
		return "schema-not-allowed", e.exclusion(f.SchemaURL), "Keep one of them and remove the other."
	case *kind.OneOf:
		return "schema-ambiguous", "This fits more than one of the forms that exclude each other.", "Remove members until one form is left."
	case *kind.UniqueItems:
		return "schema-not-unique", fmt.Sprintf("Items %d and %d of this list are the same.", k.Duplicates[0], k.Duplicates[1]), "Remove one of them."
	}
	return "schema-" + kebab(f.ErrorKind.KeywordPath()), "The value does not fit: " + shorten(f.ErrorKind.LocalizedString(english()), 200) + ".",
		"Correct the value as the specification of this version says."
}

func notAllowed(value any) string {
	return fmt.Sprintf("The value %s is not allowed here.", quoteValue(value))
}

func english() *message.Printer { return message.NewPrinter(language.English) }

func (e *explainer) missing(place string, names []string) []Finding {
	var list []Finding
	for _, name := range names {
		list = append(list, Finding{
			Severity: SeverityError, Code: "schema-required", Pointer: place,
			Detail: fmt.Sprintf("The member %q is missing.", name), Remedy: "Add it: the specification requires it here.",
		})
	}
	return list
}

func (e *explainer) unknownMember(schemaURL, place, name string) Finding {
	remedy := "Remove it, or let its name start with x- when it is an extension of your own."
	if like := closest(name, e.names(e.schemaAt(schemaURL))); like != "" {
		remedy = fmt.Sprintf("Did you mean %q? Otherwise remove it, or let its name start with x-.", like)
	}
	return Finding{
		Severity: SeverityError, Code: "schema-unknown-member", Pointer: place,
		Detail: fmt.Sprintf("The member %q is not known here, or not in this combination.", shorten(name, 80)), Remedy: remedy,
	}
}

func (e *explainer) badName(place, name string, f fault) []Finding {
	remedy := "Choose another name."
	for _, leaf := range f.Causes {
		for _, inner := range e.prune(leaf) {
			if p, ok := inner.ErrorKind.(*kind.Pattern); ok {
				remedy = "Choose a name that matches the pattern " + p.Want + " ."
			}
		}
	}
	return []Finding{{
		Severity: SeverityError, Code: "schema-name", Pointer: place + jsonpointer.Join(name),
		Detail: fmt.Sprintf("The name %q is not allowed here.", shorten(name, 80)), Remedy: remedy,
	}}
}

// exclusion says which members a "not" of the official schema keeps apart.
func (e *explainer) exclusion(schemaURL string) string {
	owner, _ := e.schemaAt(schemaURL).(map[string]any)
	not, _ := owner["not"].(map[string]any)
	required, _ := not["required"].([]any)
	if len(required) == 0 {
		return "This combination of members is not allowed."
	}
	return "These members exclude each other: " + listValues(required) + "."
}

func typeName(t string) string {
	names := map[string]string{
		"string": "a text", "object": "an object", "array": "a list", "number": "a number", "integer": "a whole number",
		"boolean": "true or false", "null": "null",
	}
	if name, ok := names[t]; ok {
		return name
	}
	return t
}

func typeNames(types []string) string {
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = typeName(t)
	}
	return strings.Join(names, " or ")
}

func listValues(values []any) string {
	var names []string
	for _, value := range values {
		names = append(names, quoteValue(value))
	}
	return shorten(strings.Join(names, ", "), 300)
}

func kebab(path []string) string {
	if len(path) == 0 {
		return "rule"
	}
	var b strings.Builder
	for _, r := range strings.TrimPrefix(path[0], "$") {
		if r >= 'A' && r <= 'Z' {
			b.WriteByte('-')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// closest gives the name that a mistyped one was most likely meant to be, if one is near.
func closest(name string, names []string) string {
	if len(name) > 60 {
		return ""
	}
	best, least := "", 3
	for _, candidate := range names {
		if d := distance(strings.ToLower(name), strings.ToLower(candidate)); d < least && d < len(name)/2+1 {
			best, least = candidate, d
		}
	}
	return best
}

// distance is the number of letters to change, add or leave out between two words.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		previous := slices.Clone(row)
		row[0] = i + 1
		for j := range len(b) {
			change := previous[j]
			if a[i] != b[j] {
				change++
			}
			row[j+1] = min(change, row[j]+1, previous[j+1]+1)
		}
	}
	return row[len(b)]
}
