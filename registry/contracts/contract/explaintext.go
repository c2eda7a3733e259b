package contract

import (
	"encoding/json"
	"slices"
	"strings"

	"schakel/registry/jsonpointer"

	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"schakel/templates/i18n"
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
func (e *explainer) words(f fault) (code string, detail, remedy i18n.Message) {
	switch k := f.ErrorKind.(type) {
	case *kind.FalseSchema:
		return "schema-not-allowed", "findings.schema-not-allowed", "findings.schema-not-allowed-remedy"
	case *kind.Type:
		return "schema-type", i18n.M("findings.schema-type", typeName(k.Got), typeNames(k.Want)),
			"findings.schema-type-remedy"
	case *kind.Enum:
		return "schema-value", notAllowed(k.Got), i18n.M("findings.schema-enum-remedy", listValues(k.Want))
	case *kind.Const:
		return "schema-value", notAllowed(k.Got), i18n.M("findings.schema-const-remedy", quoteValue(k.Want))
	case *kind.Pattern:
		return "schema-pattern", i18n.M("findings.schema-pattern", quoteValue(k.Got)),
			i18n.M("findings.schema-pattern-remedy", k.Want)
	case *kind.Format:
		return "schema-format", i18n.M("findings.schema-format", quoteValue(k.Got), k.Want), "findings.schema-format-remedy"
	case *kind.Not:
		return "schema-not-allowed", e.exclusion(f.SchemaURL), "findings.schema-not-remedy"
	case *kind.OneOf:
		return "schema-ambiguous", "findings.schema-ambiguous", "findings.schema-ambiguous-remedy"
	case *kind.UniqueItems:
		return "schema-not-unique", i18n.M("findings.schema-not-unique", k.Duplicates[0], k.Duplicates[1]), "findings.schema-not-unique-remedy"
	}
	return "schema-" + kebab(f.ErrorKind.KeywordPath()), i18n.M("findings.schema-other", shorten(f.ErrorKind.LocalizedString(english()), 200)),
		"findings.schema-other-remedy"
}

func notAllowed(value any) i18n.Message {
	return i18n.M("findings.schema-value", quoteValue(value))
}

func english() *message.Printer { return message.NewPrinter(language.English) }

func (e *explainer) missing(place string, names []string) []Finding {
	var list []Finding
	for _, name := range names {
		list = append(list, Finding{
			Severity: SeverityError, Code: "schema-required", Pointer: place,
			Detail: i18n.M("findings.schema-required", name), Remedy: "findings.schema-required-remedy",
		})
	}
	return list
}

func (e *explainer) unknownMember(schemaURL, place, name string) Finding {
	remedy := i18n.Message("findings.schema-unknown-member-remedy")
	if like := closest(name, e.names(e.schemaAt(schemaURL))); like != "" {
		remedy = i18n.M("findings.schema-mistyped-remedy", like)
	}
	return Finding{
		Severity: SeverityError, Code: "schema-unknown-member", Pointer: place,
		Detail: i18n.M("findings.schema-unknown-member", shorten(name, 80)), Remedy: remedy,
	}
}

func (e *explainer) badName(place, name string, f fault) []Finding {
	remedy := i18n.Message("findings.schema-name-remedy")
	for _, leaf := range f.Causes {
		for _, inner := range e.prune(leaf) {
			if p, ok := inner.ErrorKind.(*kind.Pattern); ok {
				remedy = i18n.M("findings.schema-name-pattern-remedy", p.Want)
			}
		}
	}
	return []Finding{{
		Severity: SeverityError, Code: "schema-name", Pointer: place + jsonpointer.Join(name),
		Detail: i18n.M("findings.schema-name", shorten(name, 80)), Remedy: remedy,
	}}
}

// exclusion says which members a "not" of the official schema keeps apart.
func (e *explainer) exclusion(schemaURL string) i18n.Message {
	owner, _ := e.schemaAt(schemaURL).(map[string]any)
	not, _ := owner["not"].(map[string]any)
	required, _ := not["required"].([]any)
	if len(required) == 0 {
		return "findings.schema-combination"
	}
	return i18n.M("findings.schema-exclusive", listValues(required))
}

func typeName(t string) i18n.Message {
	switch t {
	case "string":
		return "findings.type-string"
	case "object":
		return "findings.type-object"
	case "array":
		return "findings.type-array"
	case "number":
		return "findings.type-number"
	case "integer":
		return "findings.type-integer"
	case "boolean":
		return "findings.type-boolean"
	}
	return i18n.Raw(t)
}

func typeNames(types []string) i18n.Message {
	switch len(types) {
	case 0:
		return ""
	case 1:
		return typeName(types[0])
	}
	half := len(types) / 2
	return i18n.M("findings.or", typeNames(types[:half]), typeNames(types[half:]))
}

func listValues(values []any) string {
	var names []string
	for _, value := range values {
		written, err := json.Marshal(value)
		if err == nil {
			names = append(names, shorten(string(written), 80))
		}
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
